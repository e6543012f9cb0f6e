"""Names that are out of sight unless granted by name: credentials of the home folder, .env files of each root."""

from __future__ import annotations

CREDENTIALS = (
    ".ssh", ".aws", ".gnupg", ".config/gcloud", ".kube", ".docker/config.json", ".netrc", ".npmrc", ".pypirc",
    ".config/gh", ".git-credentials", ".azure", ".password-store",
)  # fmt: skip


def inside(path: str, root: str) -> bool:
    return path == root or root == "/" or path.startswith(root + "/")


def default_hidden(home: str, roots: tuple[str, ...], env_files: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Absolute names to hide: those below a root, but not the ones that are (or hold, or lie below) a granted name.

    env_files: the `.env` and `.env.*` that exist at the root of each root, as the host found them.
    """
    names = [f"{home.rstrip('/')}/{name}" for name in CREDENTIALS]
    found = [name for name in names if any(inside(name, root) for root in roots if not inside(root, name))]
    return tuple(name for name in (*found, *env_files) if not any(inside(root, name) for root in roots))
