"""Names that are out of sight unless granted by name: credentials of the home folder and of the system."""

from __future__ import annotations

from ..model.paths import inside

CREDENTIALS = (
    ".ssh", ".aws", ".gnupg", ".config/gcloud", ".kube", ".docker/config.json", ".netrc", ".npmrc", ".pypirc",
    ".config/gh", ".git-credentials", ".config/git/credentials", ".azure", ".password-store", ".cargo/credentials",
    ".cargo/credentials.toml", ".gem/credentials", ".local/share/uv/credentials", ".conda/.condarc-tokens",
)  # fmt: skip
SYSTEM = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private")


def default_hidden(home: str, roots: tuple[str, ...], tools: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Absolute names to hide: those below a root or a toolchain, but not one that is (or holds) a granted root.

    `.env` files are looked for by the backend itself, at each use: they come and go.
    """
    names = [*(f"{home.rstrip('/')}/{name}" for name in CREDENTIALS), *SYSTEM]
    found = [name for name in names if any(inside(name, root) for root in (*roots, *tools))]
    return tuple(name for name in found if not any(inside(root, name) for root in roots))
