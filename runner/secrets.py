"""Declared secrets, read once when a runtime is made live. An empty value is no pattern."""

from __future__ import annotations

from .environment import missing
from .errors import ManifestError
from .share import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .model.manifest import SecretSource

_LARGEST = 1 << 20  # bytes of a secret file: a key, a token, a certificate; a device or a log is none


def load(sources: Iterable[SecretSource], environ: Mapping[str, str], place: Callable[[str], str]) -> tuple[str, ...]:
    """The values in declaration order. Raises ManifestError `shell.environment_missing`, `shell.secret_file_missing`,
    `shell.secret_load_failed`; never with a value in its message."""
    return tuple(value for source in sources if (value := _LOADERS[source.kind](source, environ, place)))


def _literal(source: SecretSource, environ: Mapping[str, str], place: Callable[[str], str]) -> str:
    return source.value


def _from_env(source: SecretSource, environ: Mapping[str, str], place: Callable[[str], str]) -> str:
    if source.name not in environ and not source.optional:
        raise missing(source.name)
    return environ.get(source.name, "")


def _from_file(source: SecretSource, environ: Mapping[str, str], place: Callable[[str], str]) -> str:
    path = place(source.name)
    try:
        data = read_regular(path, _LARGEST)
    except FileNotFoundError as error:
        if source.optional:
            return ""
        raise ManifestError(
            f"there is no secret file `{path}`", code="shell.secret_file_missing", remedy="make it, or declare it optional"
        ) from error
    except OSError as error:
        raise _unloaded(path, error.strerror or "it cannot be read") from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _unloaded(path, "it is not UTF-8") from error
    if source.strip and text.endswith("\n"):
        text = text[:-1].removesuffix("\r")
    return text


def _unloaded(path: str, why: str) -> ManifestError:
    return ManifestError(f"the secret file `{path}` cannot be loaded: {why}", code="shell.secret_load_failed", remedy="name a readable text file")


_LOADERS = {"literal": _literal, "from_env": _from_env, "from_file": _from_file}
