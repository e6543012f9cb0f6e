"""Run a program on a host that refuses namespaces: `python tests/escape/nousers.py PROGRAM ARGUMENT…`.

A container engine's default filter refuses to make namespaces and mounts; this installs the same refusals (EPERM, and
ENOSYS for clone3, whose flags no filter can see) and then becomes the program. The filter holds for all it starts.
Source: the default seccomp profile of the Moby project, documented in its security guide.
"""

from __future__ import annotations

import errno
import os
import sys

import pyseccomp  # type: ignore[import-untyped, unused-ignore]

NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET, clone(2)
_REFUSED = ("unshare", "setns", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsmount",
            "fsconfig", "fspick", "mount_setattr")  # fmt: skip


def refuse_namespaces() -> None:
    """Installs the filter for this process and its children. Only an ordinary user needs no_new_privs for it."""
    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.CTL_NNP, int(os.geteuid() != 0))
    for name in _REFUSED:
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for bit in (1 << position for position in range(32) if NEW_NAMESPACES >> position & 1):
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, bit, bit))
    rules.load()


if __name__ == "__main__":
    refuse_namespaces()
    os.execvp(sys.argv[1], sys.argv[1:])
