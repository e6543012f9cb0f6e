"""The command's environment: what is inherited, what operations do, what no declaration can bring in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import environment
from runner.errors import ManifestError
from runner.model.manifest import Environment, EnvironmentOperation

HOST = {
    "PATH": "/z/bin:/usr/bin:/a/bin", "HOME": "/home/u", "USER": "u", "LOGNAME": "u", "SHELL": "/bin/zsh", "LANG": "C.UTF-8", "LC_ALL": "C",
    "TZ": "UTC", "TMPDIR": "/tmp", "EDITOR": "vi", "GITHUB_TOKEN": "t1", "AWS_SECRET_ACCESS_KEY": "t2", "MY_PASSWORD": "t3",
    "openai_api_key": "t4", "LD_PRELOAD": "/x.so", "DYLD_INSERT_LIBRARIES": "/x", "PYTHONPATH": "/x", "PYTHONUNBUFFERED": "1",
    "RUBYOPT": "-r/x", "PERL5LIB": "/x", "GIT_DIR": "/x", "BASH_FUNC_ls%%": "() { :; }", "ENV": "/x", "BASH_ENV": "/x", "SHELLOPTS": "x",
    "CDPATH": "/x", "IFS": ",", "ZDOTDIR": "/x", "NODE_OPTIONS": "-r /x", "TERM": "xterm", "PAGER": "less",
}  # fmt: skip
FORCED = {"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}
Operation = EnvironmentOperation


def _build(*operations: Operation, inherit: str = "none", host: dict[str, str] | None = None) -> tuple[dict[str, str], list[str]]:
    spec = Environment(inherit=inherit, operations=operations)
    return environment.build(spec, HOST if host is None else host, lambda text: text.replace("${workspace}", "/w"))


def _values(*operations: Operation, inherit: str = "none", host: dict[str, str] | None = None) -> dict[str, str]:
    return _build(*operations, inherit=inherit, host=host)[0]


# -- inheriting -------------------------------------------------------------------------------------------------------


def test_safe_is_a_list_of_what_is_let_in() -> None:
    expected = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")
    assert _values(inherit="safe") == {name: HOST[name] for name in expected} | FORCED


@pytest.mark.parametrize("inherit", ["none", "selected"])
def test_nothing_inherited(inherit: str) -> None:
    assert _values(inherit=inherit) == {**FORCED, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    assert _values(Operation(kind="pass", name="EDITOR"), inherit=inherit)["EDITOR"] == "vi"


def test_all_sanitized_leaves_out_code_and_credentials() -> None:
    found = _values(inherit="all_sanitized")
    assert found["EDITOR"] == "vi" and found["HOME"] == "/home/u"
    assert not set(found.values()) & {"t1", "t2", "t3", "t4", "/x", "/x.so", ","}
    assert "PYTHONUNBUFFERED" not in found and "BASH_FUNC_ls%%" not in found


NEVER = ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "IFS", "PYTHONHOME", "PYTHONPATH", "RUBYLIB",
         "PERL5LIB", "NODE_OPTIONS", "GIT_EXEC_PATH", "GIT_CONFIG", "GIT_CONFIG_COUNT"]  # fmt: skip


@pytest.mark.parametrize("name", NEVER)
def test_what_loads_code_never_gets_in(name: str) -> None:
    host = {**HOST, name: "/evil"}
    for inherit in ("none", "safe", "selected", "all_sanitized", "raw"):
        for operations in ((), (Operation(kind="pass", name=name),), (Operation(kind="set", name=name, value="/evil"),)):
            assert name not in _values(*operations, inherit=inherit, host=host)


def test_raw_is_all_else() -> None:
    found = _values(inherit="raw")
    assert found["GITHUB_TOKEN"] == "t1" and found["EDITOR"] == "vi" and {**found, **FORCED} == found


# -- operations -------------------------------------------------------------------------------------------------------


def test_operations_go_in_order() -> None:
    a, b = Operation(kind="set", name="A", value="1"), Operation(kind="set", name="A", value=" 2 ")
    gone = Operation(kind="unset", name="A")
    assert _values(a, b)["A"] == " 2 " and "A" not in _values(a, gone) and _values(gone, a)["A"] == "1"
    assert _values(Operation(kind="set", name="A", value=""))["A"] == ""


def test_pass() -> None:
    assert _values(Operation(kind="pass", name="GITHUB_TOKEN"), inherit="safe")["GITHUB_TOKEN"] == "t1"
    assert "ABSENT" not in _values(Operation(kind="pass", name="ABSENT"))
    for kind in ("pass", "path_env"):
        with pytest.raises(ManifestError) as caught:
            _build(Operation(kind=kind, name="ABSENT", required=True))
        assert caught.value.code == "shell.environment_missing" and "ABSENT" in caught.value.message


def test_a_secret_is_told_once_and_is_not_in_the_message() -> None:
    values, secrets = _build(Operation(kind="pass", name="GITHUB_TOKEN", secret=True), Operation(kind="pass", name="EDITOR"))
    assert secrets == ["t1"] and values["GITHUB_TOKEN"] == "t1"
    assert _build(Operation(kind="pass", name="ABSENT", secret=True))[1] == []


def test_nul_is_refused() -> None:
    with pytest.raises(ManifestError) as caught:
        _build(Operation(kind="set", name="A", value="a\0b"))
    assert caught.value.code == "shell.environment_nul"


def test_unset_prefix() -> None:
    found = _values(Operation(kind="unset_prefix", value="L"), inherit="safe")
    assert not [name for name in found if name.startswith("L")] and "HOME" in found


def test_path_operations() -> None:
    front = Operation(kind="path", value="${workspace}/bin", position="prepend")
    back = Operation(kind="path", value="/opt/bin")
    assert _values(front, back, inherit="safe")["PATH"] == "/w/bin:/z/bin:/usr/bin:/a/bin:/opt/bin"
    assert _values(back)["PATH"] == "/opt/bin"
    host = {"VENV": "/v", **HOST}
    venv = Operation(kind="path_env", name="VENV", suffix="bin", position="prepend")
    assert _values(venv, inherit="safe", host=host)["PATH"].startswith("/v/bin:/z/bin")
    assert _values(venv.replace(suffix=""), host=host)["PATH"] == "/v"
    assert _values(Operation(kind="path_env", name="ABSENT"), inherit="safe")["PATH"] == HOST["PATH"]


# -- what holds in every mode -----------------------------------------------------------------------------------------

PATHS = {
    "/z:/a:/m": "/z:/a:/m",  # G19: never sorted
    "/b:/a:/b:/a": "/b:/a",
    ":/a::/b:": "/a:/b",
    ".:/a:bin:../x:~/bin": "/a",
    "": "/usr/bin:/bin:/usr/sbin:/sbin",
    "relative": "/usr/bin:/bin:/usr/sbin:/sbin",
}


@pytest.mark.parametrize("value", PATHS)
def test_the_search_path_is_cleaned_and_keeps_its_order(value: str) -> None:
    for inherit, operations in (("raw", ()), ("none", (Operation(kind="set", name="PATH", value=value),))):
        assert _values(*operations, inherit=inherit, host={"PATH": value})["PATH"] == PATHS[value]


def test_pager_and_colour_are_forced_even_over_set() -> None:
    found = _values(*(Operation(kind="set", name=name, value="x") for name in FORCED), inherit="raw")
    assert {name: found[name] for name in FORCED} == FORCED


names = st.text(st.characters(exclude_characters="=\0", exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from([*HOST, *NEVER])


@given(st.dictionaries(names, st.text(max_size=5)), st.sampled_from(["none", "safe", "selected", "all_sanitized", "raw"]))
def test_always_sorted_clean_and_from_the_host(host: dict[str, str], inherit: str) -> None:
    before = dict(host)
    found = _values(inherit=inherit, host=host)
    assert list(found) == sorted(found) and host == before
    assert not set(NEVER) & set(found) and all(entry.startswith("/") for entry in found["PATH"].split(":"))
    assert all(host[name] == value for name, value in found.items() if name not in (*FORCED, "PATH"))


@given(st.lists(st.sampled_from(["/a", "/b/c", "", "x", "."]), max_size=8))
def test_cleaning_a_path_twice_is_once(entries: list[str]) -> None:
    once = environment.clean_path(":".join(entries))
    assert environment.clean_path(once) == once and len(set(once.split(":"))) == len(once.split(":"))
