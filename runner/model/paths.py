"""The one question that every layer asks of two paths. Pure text: both are absolute and canonical."""

from __future__ import annotations


def inside(path: str, root: str) -> bool:
    """Whether path is root or lies below it, by whole names; `/` holds everything."""
    return path == root or root == "/" or path.startswith(root + "/")
