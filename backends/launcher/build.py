"""Compiles launcher.c with the system's C compiler: once when the wheel is built or the checkout installed, never later."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fstack-protector-strong", "-fno-strict-aliasing"]
HARDENED = ["-D_FORTIFY_SOURCE=2", "-static-pie", "-fPIE", "-Wl,-z,relro,-z,now", "-s"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


class BuildError(Exception):
    """The compiler is missing or refused; the message says what to install."""


def compiler() -> str:
    """The C compiler's name. Raises BuildError."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return name
    raise BuildError("no C compiler found: install gcc and libc6-dev (or clang)")


def build(out: str, *, source: str = "launcher.c", sanitize: bool = False, define: tuple[str, ...] = ()) -> None:
    """Compile `source` (beside this file) to `out`: static and hardened, or with sanitizers for tests."""
    command = [compiler(), *FLAGS, *(SANITIZED if sanitize else HARDENED), *(f"-D{name}" for name in define)]
    done = subprocess.run([*command, "-o", out, os.path.join(HERE, source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{source} does not compile (is libc6-dev, the static C library, installed?):\n{done.stderr}")


if __name__ == "__main__":
    try:
        build(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "launcher"))
    except BuildError as problem:
        sys.exit(f"fumehood: {problem}")
