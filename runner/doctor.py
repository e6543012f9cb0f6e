"""What this host can enforce, constraint by constraint, and a real denial of each axis witnessed once.

Looks at the default backend. The sandbox it makes grants an empty temporary folder and nothing else; what it runs inside
is a handful of attempts that must fail, each shown with the answer the kernel gave.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from .backend import load
from .errors import RunnerError
from .oneshot import Job, perform

# attempt -> shell words that succeed only where it is not denied
WITNESSES = (
    ("read a file outside the roots", "cat /etc/shadow || cat {outside}/secret"),
    ("write outside the roots", "echo x > {outside}/written"),
    ("see a process of the host", "kill -0 {pid}"),
    ("make a user namespace", "unshare -U true"),
    ("connect to a host port", "bash -c 'echo > /dev/tcp/127.0.0.1/{port}'"),
    ("write a kernel setting", "echo core > /proc/sys/kernel/core_pattern"),
)


def examine() -> dict[str, Any]:
    """The report as plain data; `sandbox` is null where none can be made, `why` tells the reason."""
    report: dict[str, Any] = {
        "kernel": os.uname().release,
        "machine": os.uname().machine,
        "user": "root" if os.geteuid() == 0 else f"uid {os.geteuid()}",
        "landlock_abi": _abi(),
        "sandbox": None,
        "why": "",
        "enforcement": [],
        "witnessed": [],
    }
    try:
        backend = load("landlock")
        report["enforcement"] = [row.as_dict() for row in backend.probe()]
        report["sandbox"] = backend.name
        report["witnessed"] = _witness()
    except RunnerError as error:
        report["why"] = error.message
    return report


def _abi() -> int:
    import landlockpy

    return int(landlockpy.abi_version()) if landlockpy.supported() else 0


def _witness() -> list[dict[str, str]]:
    """Each attempt run confined against a real victim of ours."""
    import socket

    with tempfile.TemporaryDirectory() as outside, tempfile.TemporaryDirectory() as inside, socket.socket() as server:
        with open(os.path.join(outside, "secret"), "w", encoding="ascii") as file:
            file.write("witness")
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        values = {"outside": outside, "pid": os.getpid(), "port": server.getsockname()[1]}
        return [
            {"attempt": name, "outcome": _attempt(script.format(**values), inside)} for name, script in WITNESSES
        ]


def _attempt(script: str, folder: str) -> str:
    outcome = perform(Job(argv=("sh", "-c", script), write=(folder,), cwd=folder, limits={"wall_time": 10.0}))
    if outcome.status is None:
        return f"not tried: {outcome.error[1] if outcome.error else ''}"
    if outcome.status.success:
        return "NOT DENIED"
    lines = (outcome.stderr.head + outcome.stderr.tail).decode("utf-8", "replace").strip().splitlines()
    return f"denied: {lines[-1].split(': ')[-1]}" if lines else "denied"
