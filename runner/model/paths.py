"""The one question that every layer asks of two paths. Pure text: both are absolute and canonical."""

from __future__ import annotations


def inside(path: str, root: str) -> bool:
    """Whether path is root or lies below it, by whole names; `/` holds everything."""
    return path == root or root == "/" or path.startswith(root + "/")


def covers(name: str, path: str) -> bool:
    """inside(path, name), where `*` in name stands for any part of one name between two slashes."""
    if "*" not in name:
        return inside(path, name)
    wanted, given = name.split("/"), path.split("/")
    return len(given) >= len(wanted) and all(map(_alike, wanted, given))


def _alike(pattern: str, text: str) -> bool:
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first) or not text.endswith(rest[-1]) or len(text) < len(first) + len(rest[-1]):
        return False
    at = len(first)
    end = len(text) - len(rest[-1])
    for part in rest[:-1]:  # leftmost is enough: what follows only ever has more room
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
