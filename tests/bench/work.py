"""No tax on the work: the same loops inside and outside, in turn; the kernel's floor for Landlock is printed beside."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from backends.landlock import LandlockBackend
from runner import host
from runner.execution.capture import Capture
from runner.execution.pump import Pump
from runner.model.command import Access, Stage
from runner.model.manifest import Limits

from .measure import interleaved

PYTHON = "/usr/bin/python3"
LOOPS = {
    "50,000 stat": "import os\nfor i in range(50000): os.stat('f')",
    "20,000 open+read": "import os\nfor i in range(20000):\n f=os.open('f',0); os.read(f,64); os.close(f)",
    "find /usr/lib": "import subprocess; subprocess.run(['find','/usr/lib','-type','f'],stdout=subprocess.DEVNULL)",
    "500 fork+exec": "import os\nfor i in range(500): os.waitpid(os.posix_spawn('/bin/true',['true'],{}),0)",
    "3,000 create+rename+unlink": "import os\nfor i in range(3000):\n os.close(os.open('a',65)); os.rename('a','b'); os.unlink('b')",
}
C_LOOP = r"""
#include <fcntl.h>
#include <unistd.h>
int main(void) { char b[64]; for (int i = 0; i < 200000; i++) { int f = open("f", 0); if (read(f, b, 64) < 0) return 1; close(f); } return 0; }
"""


def tax() -> None:
    print("\nno tax on the work   (target: <= 1.05 x; open+read in C <= 1.4 x, Landlock's own cost)")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f").write_text("x" * 64)
        Path(folder, "loop.c").write_text(C_LOOP)
        subprocess.run(["cc", "-O2", "-o", "loop", "loop.c"], cwd=folder, check=True)
        commands = {name: [PYTHON, "-I", "-c", code] for name, code in LOOPS.items()}
        commands["200,000 open+read in C"] = [f"{folder}/loop"]
        for name, argv in commands.items():
            _compare(name, argv, folder)


def _compare(name: str, argv: list[str], folder: str) -> None:
    def outside() -> None:
        subprocess.run(argv, cwd=folder, check=True)

    access = Access(cwd=folder, write=(folder,), home="/nonexistent", limits=Limits(tmp_size=1 << 30))
    sandbox = LandlockBackend().prepare(access)
    program = host.resolve(argv[0], search_path=("/usr/bin",), cwd=folder, trusted_roots=("/usr",), write_roots=(folder,))
    stage = Stage(executable=program, arguments=tuple(argv[1:]), cwd=folder, environment=(("PATH", "/usr/bin:/bin"),))

    def inside() -> None:
        instance = sandbox.open()
        nothing = Capture(0, 0)
        ends = Pump(instance, Limits(), nothing, nothing, deadline=float("inf")).run((stage,), None)
        instance.close()
        assert ends[0][0].status.success, ends

    found = interleaved({"outside": outside, "inside": inside}, 15)
    sandbox.close()
    ratio = found["inside"] / found["outside"]
    print(f"  {name:<28} outside {found['outside'] * 1e3:8.1f} ms   inside {found['inside'] * 1e3:8.1f} ms   {ratio:5.2f} x")
