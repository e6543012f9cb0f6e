"""Programs outside the system's folders: which of them a command's search path needs to be readable.

An entry of PATH below the home folder opens its toolchain (table: profiles/views/toolchains.view); a virtual environment
opens whole; any other entry opens itself. The user's git configuration is readable, credentials never are.
"""

from __future__ import annotations

import os

from .model.paths import inside
from .share import profile_path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store")
CONFIGURATION = (".gitconfig", ".config/git")


def discover(search_path: str, home: str) -> tuple[str, ...]:
    """Canonical folders and files to be granted for reading, each existing."""
    found: dict[str, None] = {}
    for entry in search_path.split(":"):
        if entry.startswith("/") and os.path.isdir(entry):
            for place in _places(entry, home):
                found[os.path.realpath(place)] = None
    for name in CONFIGURATION:
        path = os.path.join(home, name)
        if home != "/" and os.path.exists(path):
            found[os.path.realpath(path)] = None
    return tuple(path for path in found if path not in ("/", home) and not _system(path))


def companion(program: str, home: str = "/") -> tuple[str, ...]:
    """What a program outside the system needs to be readable: its environment (a virtual one, or a prefix with `lib`
    beside `bin`), else the file alone. Never the home folder for what lies in ~/bin."""
    folder = os.path.dirname(program)
    if _system(program):
        return ()
    prefix = os.path.dirname(folder)
    environment = os.path.exists(os.path.join(prefix, "pyvenv.cfg"))
    installed = os.path.basename(folder) == "bin" and os.path.isdir(os.path.join(prefix, "lib"))
    if (environment or installed) and prefix not in ("/", home) and prefix.count("/") > 1:
        return (prefix,)
    return (program,)


def _places(entry: str, home: str) -> list[str]:
    if _system(os.path.realpath(entry)):
        return []
    parent = os.path.dirname(entry)
    if os.path.exists(os.path.join(parent, "pyvenv.cfg")):
        return [parent, *_base_of(parent)]
    if home != "/" and entry.startswith(home + "/"):
        inner = entry[len(home) + 1 :]
        return [os.path.join(home, name) for name in _table() if inside(inner, name)]
    return [entry]


def _base_of(environment: str) -> list[str]:
    """The installation a virtual environment was made from (pyvenv.cfg, key `home`)."""
    try:
        with open(os.path.join(environment, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
            pairs = [line.partition("=") for line in file]
    except OSError:
        return []
    homes = [value.strip() for key, _, value in pairs if key.strip() == "home"]
    return [os.path.dirname(os.path.realpath(path)) for path in homes if not _system(os.path.realpath(path))]


def _table() -> list[str]:
    with open(profile_path("views", "toolchains.view"), encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def _system(path: str) -> bool:
    return any(inside(path, root) for root in SYSTEM)
