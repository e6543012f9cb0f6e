"""A new process each time: `fumehood run -- true` beside the interpreter's own start, and what imports cost."""

from __future__ import annotations

import os
import shutil
import sys

from .measure import Work, interleaved, show


def _spawn(argv: list[str]) -> Work:
    def work() -> None:
        pid = os.posix_spawn(argv[0], argv, dict(os.environ))
        os.waitpid(pid, 0)

    return work


def oneshot() -> None:
    _compile()
    command = os.path.join(os.path.dirname(sys.executable), "fumehood")
    found = {
        "python -I -c pass": _spawn([sys.executable, "-I", "-c", "pass"]),
        "fumehood run -- true": _spawn([command, "run", "--", "true"]),
        "python -m runner run -- true": _spawn([sys.executable, "-m", "runner", "run", "--", "true"]),
    }
    bwrap = shutil.which("bwrap")
    if bwrap:
        found["bwrap --unshare-all"] = _spawn([bwrap, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true"])
    show("one-shot", interleaved(found, 40), "python -I -c pass", "<= 4 x")


def _compile() -> None:
    """Bytecode as an installation has it, whatever PYTHONDONTWRITEBYTECODE says here."""
    import compileall

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for name in ("runner", "backends"):
        compileall.compile_dir(os.path.join(root, name), quiet=2)


def imports() -> None:
    _compile()
    found = {
        "python -c pass": _spawn([sys.executable, "-c", "pass"]),
        "import runner": _spawn([sys.executable, "-c", "import runner"]),
        "from runner import run": _spawn([sys.executable, "-c", "from runner import run"]),
        "from runner import Registry": _spawn([sys.executable, "-c", "from runner import Registry"]),
    }
    show("imports", interleaved(found, 30), "python -c pass", "import runner <= +30 ms")
