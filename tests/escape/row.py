"""What a row of the table says: an attempt to get out, how it shows that it works, and what it must get inside.

The rows are in rows_files.py, rows_processes.py and rows_kernel.py; attacks.py is all of them.

A row's program is one entry of `programs/` with arguments in which `{name}` stands for a value of the world
(world.py). Run bare, it must bring about `effect`; run confined, its verdict must be one of `refused` and nothing on
the host may have changed. Where the bare kernel itself refuses on some hosts, `bare` lists what it may say and `why`
gives the reason: the confined verdict must then differ from it, or the row would prove nothing.

Verdicts: OK, an errno name, SIG… (killed by it), limit:NAME (the result names that limit), REFUSED (nothing started),
or a word of the program's own (SURVIVED: the attacked process lives; SET, NONE, USER: see programs/kernel.c).
"""

from __future__ import annotations

from typing import Any

from runner.model.record import Record


class Attack(Record):
    """needs: any | root | user. effect: "verdict" (it prints OK) or the name of a change that World.changes() sees.

    proof: what is run bare instead, where the attempt itself would damage the machine. host: plain | tty (the host
    process has a controlling terminal) | preload (loader variables in the host's environment) | other-user (the
    workspace belongs to another user). namespaces: the bare attempt itself needs a namespace or a mount, which some
    hosts refuse to everybody. without_namespaces: same | reported (the result says `constraint` is partly or not held).
    """

    id: str
    group: str
    title: str
    program: tuple[str, ...]
    refused: tuple[str, ...]
    needs: str = "any"
    effect: str = "verdict"
    proof: tuple[str, ...] = ()
    bare: tuple[str, ...] = ("OK",)
    why: str = ""
    host: str = "plain"
    cwd: str = "{ws}"
    limits: tuple[tuple[str, float], ...] = ()
    namespaces: bool = False
    without_namespaces: str = "same"
    constraint: str = ""


def row(group: str, name: str, title: str, program: str, refused: str, **more: Any) -> Attack:
    """A row from words separated by blanks; more: the other fields, `proof` and `bare` as words too."""
    words: dict[str, Any] = {key: tuple(more.pop(key).split()) for key in ("proof", "bare") if key in more}
    return Attack(
        id=name,
        group=group,
        title=title,
        program=tuple(program.split()),
        refused=tuple(refused.split()),
        **words,
        **more,
    )


# What several rows expect. Where two answers are right, the second is that of a host without namespaces.
OUTSIDE = "ENOENT EACCES"  # no such name in the view; without one, Landlock's answer
READ_ONLY = "EROFS EACCES"  # visible but not writable
CALL = "EPERM"  # a call the filter knows and refuses
UNKNOWN = "EPERM ENOSYS"
INVISIBLE = "ESRCH EPERM"  # no such process in the view; without one, the signal scope or the filter
NO_SOCKET = "EPERM EAFNOSUPPORT EACCES"
EMPTY_NET = "ENETUNREACH ECONNREFUSED EAFNOSUPPORT EACCES EPERM"
META = {"without_namespaces": "reported", "constraint": "metadata"}
VIEW = {"without_namespaces": "reported", "constraint": "process_view"}
HIDE = {"without_namespaces": "reported", "constraint": "hide"}
MODULES = {"bare": "OK ENOSYS", "why": "kernels built without modules or kexec answer ENOSYS", "needs": "root"}
