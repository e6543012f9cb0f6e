"""The one question that every layer asks of two paths. Pure text: both are absolute and canonical."""

from __future__ import annotations


def inside(path: str, root: str) -> bool:
    """Whether path is root or lies below it, by whole names; `/` holds everything."""
    return path == root or root == "/" or path.startswith(root + "/")


def covers(name: str, path: str) -> bool:
    """inside(path, name), where `*` in name stands for any part of one name between two slashes."""
    if "*" not in name:
        return inside(path, name)
    from fnmatch import fnmatchcase  # few names hold one

    wanted, given = only_star(name).split("/"), path.split("/")
    return len(given) >= len(wanted) and all(map(fnmatchcase, given, wanted))


def only_star(name: str) -> str:
    """The name as a pattern of glob and fnmatch in which `*` alone is special."""
    from glob import escape

    return "*".join(map(escape, name.split("*")))
