"""One GiB through a pipeline of eight stages, beside bash running the same."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from runner import Registry

from .measure import interleaved, show

SIZE = 1 << 30
CHAIN = f"head -c {SIZE} /dev/zero " + "| cat " * 6 + "| wc -c"
DECLARATION = """<agent><shell_access id="r" extends="builtin:workspace-readonly@1" pipefail="true">
<capabilities child_processes="true" arbitrary_code="true"/><policy default="allow"/></shell_access>
<tool name="chain" type="shell" mode="chain" runtime="r"/></agent>"""


def eight_stages() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agent.xml"
        file.write_text(DECLARATION)
        with Registry.load(file, authorize=lambda manifest: True, workspace=folder) as registry:

            def ours() -> None:
                assert registry.call("chain", {"command": CHAIN}).stdout == f"{SIZE}\n"

            def bash() -> None:
                done = subprocess.run(["bash", "-c", f"set -o pipefail; {CHAIN}"], capture_output=True, check=True)
                assert done.stdout == f"{SIZE}\n".encode()

            found = interleaved({"bash": bash, "fumehood": ours}, 5)
    show("1 GiB through 8 stages", found, "bash", "rate >= 0.7 x, so time <= 1.43 x")
    print(f"  rate {found['bash'] / found['fumehood']:.2f} x")
