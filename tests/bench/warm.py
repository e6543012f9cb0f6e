"""registry.call of /bin/true, fully confined, output captured, beside subprocess.run and bwrap."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner import Registry

from .measure import Work, in_turn, interleaved, show

DECLARATION = """<agent>
<shell_access id="bench" extends="builtin:workspace-readonly@1">
  <policy><rule id="t" action="allow"><basename value="true"/></rule></policy>
</shell_access>
<tool name="true" type="shell" mode="fixed" runtime="bench"><command program="/bin/true"/><arguments mode="none"/></tool>
</agent>"""
BWRAP = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true"]


@contextmanager
def works() -> Iterator[dict[str, Work]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.xml"
        file.write_text(DECLARATION)
        with Registry.load(file, authorize=lambda manifest: True, workspace=folder) as registry:
            assert registry.call("true", {}).success
            found: dict[str, Work] = {
                "subprocess.run": lambda: subprocess.run(["/bin/true"], capture_output=True, check=False),
                "fumehood registry.call": lambda: registry.call("true", {}),
            }
            if shutil.which("bwrap"):
                found["bwrap --unshare-all"] = lambda: subprocess.run(BWRAP, capture_output=True, check=False)
            yield found


def paused() -> None:
    with works() as found:
        show("warm call, 10 ms apart", interleaved(found, 150, 0.01), "subprocess.run", "<= 1.3 x")


def back_to_back() -> None:
    with works() as found:
        show("warm call, back to back", in_turn(found, 150), "subprocess.run", "<= 3 x")


def big_caller() -> None:
    """The same with 1 GiB of touched memory in this process: the launcher is never forked from it."""
    with works() as found:
        small = interleaved(found, 60, 0.01)
        ballast = bytearray(b"x") * (1 << 30)
        big = interleaved(found, 60, 0.01)
        assert ballast
    both = {f"{name}, {size}": value for size, group in (("small", small), ("1 GiB", big)) for name, value in group.items()}
    show("warm call from a big process", both, "fumehood registry.call, small", "no slower")
