"""The command's environment: an initial set, the declared operations in order, then what is always removed and set.

`safe` is an allow-list; `all_sanitized` the caller's variables without the ones that load code or look like credentials.
"""

from __future__ import annotations

from .errors import ManifestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .model.manifest import Environment, EnvironmentOperation

_SAFE = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR")
_BLOCKED_PREFIXES = ("DYLD_", "LD_", "PYTHON", "RUBY", "PERL", "GIT_", "BASH_", "ZDOTDIR")
_BLOCKED = ("ENV", "BASH_ENV", "SHELLOPTS", "CDPATH", "IFS")
_CREDENTIAL = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY", "AUTH")
_NEVER_PREFIXES = ("DYLD_", "LD_")
_NEVER = (
    "BASH_ENV", "ENV", "IFS", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT", "PERL5LIB", "PERL5OPT",
    "NODE_OPTIONS", "GIT_EXEC_PATH", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GCONV_PATH", "LOCPATH", "NLSPATH", "SHELLOPTS",
    "BASHOPTS", "PS4", "PROMPT_COMMAND", "JAVA_TOOL_OPTIONS",
)  # fmt: skip
FORCED = {"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}
DEFAULT_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def safe(host: Mapping[str, str]) -> dict[str, str]:
    """The allow-list: where programs are, who and where the user is, the language, the time zone."""
    return {name: value for name, value in host.items() if name in _SAFE or name.startswith("LC_")}


def _all_sanitized(host: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in host.items()
        if not name.startswith(_BLOCKED_PREFIXES)
        and name not in _BLOCKED
        and not any(word in name.upper() for word in _CREDENTIAL)
    }


_INHERIT: dict[str, Callable[[Mapping[str, str]], dict[str, str]]] = {
    "none": lambda host: {},
    "selected": lambda host: {},
    "safe": safe,
    "all_sanitized": _all_sanitized,
    "raw": dict,
}


def build(spec: Environment, host: Mapping[str, str], resolve: Callable[[str], str]) -> tuple[dict[str, str], list[str]]:
    """(environment sorted by name, secret values). resolve makes a path expression absolute.

    Raises ManifestError `shell.environment_missing` or `shell.environment_nul`.
    """
    values = _INHERIT[spec.inherit](host)
    secrets: list[str] = []
    for operation in spec.operations:
        _OPERATIONS[operation.kind](operation, values, host, resolve)
        if operation.secret and operation.name in values:
            secrets.append(values[operation.name])
    return finish(values), secrets


def finish(values: Mapping[str, str]) -> dict[str, str]:
    """What holds in every mode: no variable that loads code, a clean search path, no pager, no colour."""
    kept = {
        name: value for name, value in values.items() if name not in _NEVER and not name.startswith(_NEVER_PREFIXES)
    }
    kept["PATH"] = clean_path(kept.get("PATH", ""))
    return dict(sorted({**kept, **FORCED}.items()))


def clean_path(value: str) -> str:
    """Absolute entries, each once, in the order given."""
    entries = dict.fromkeys(entry for entry in value.split(":") if entry.startswith("/"))
    return ":".join(entries) or DEFAULT_PATH


def _set(op: EnvironmentOperation, values: dict[str, str], host: Mapping[str, str], resolve: Callable[[str], str]) -> None:
    if "\0" in op.value:
        raise ManifestError(f"the value of `{op.name}` holds a NUL byte", code="shell.environment_nul")
    values[op.name] = op.value


def _pass(op: EnvironmentOperation, values: dict[str, str], host: Mapping[str, str], resolve: Callable[[str], str]) -> None:
    if op.name in host:
        values[op.name] = host[op.name]
    elif op.required:
        raise missing(op.name)


def _unset(op: EnvironmentOperation, values: dict[str, str], host: Mapping[str, str], resolve: Callable[[str], str]) -> None:
    values.pop(op.name, None)


def _unset_prefix(
    op: EnvironmentOperation, values: dict[str, str], host: Mapping[str, str], resolve: Callable[[str], str]
) -> None:
    for name in [name for name in values if name.startswith(op.value)]:
        del values[name]


def _path(op: EnvironmentOperation, values: dict[str, str], host: Mapping[str, str], resolve: Callable[[str], str]) -> None:
    _join(values, resolve(op.value), op.position)


def _path_env(
    op: EnvironmentOperation, values: dict[str, str], host: Mapping[str, str], resolve: Callable[[str], str]
) -> None:
    if op.name in host:
        _join(values, host[op.name] + (f"/{op.suffix}" if op.suffix else ""), op.position)
    elif op.required:
        raise missing(op.name)


_OPERATIONS = {
    "set": _set, "pass": _pass, "unset": _unset, "unset_prefix": _unset_prefix, "path": _path, "path_env": _path_env,
}  # fmt: skip


def _join(values: dict[str, str], entry: str, position: str) -> None:
    old = values.get("PATH", "")
    parts = [entry, old] if position == "prepend" else [old, entry]
    values["PATH"] = ":".join(part for part in parts if part)


def missing(name: str) -> ManifestError:
    """A variable of the host that the declaration cannot do without."""
    return ManifestError(
        f"the environment has no `{name}`", code="shell.environment_missing", remedy=f"set `{name}`, or declare it optional"
    )
