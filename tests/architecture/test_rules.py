"""The shape of the code, held by tests: who may import whom, what an import may cost, how long a module may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((*ROOT.glob("runner/**/*.py"), *ROOT.glob("backends/**/*.py")))
PURE = ("compiler", "request", "decision", "planning", "output")
ALLOWED_TOP = {
    "pyproject.toml", "runner", "backends", "images", "profiles", "tests", "Makefile", "README.md", "LICENSE", "CHANGELOG.md",
    "examples", ".ci", ".gitignore",
}  # fmt: skip


def _imports(path: Path) -> set[str]:
    """Absolute names of every module imported anywhere in the file."""
    package = path.relative_to(ROOT).with_suffix("").parts
    package = package[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            name = ".".join([*base, *(node.module.split(".") if node.module else [])])
            found |= {f"{name}.{alias.name}" if not node.module else name for alias in node.names}
    return found


def _ours(path: Path) -> set[str]:
    return {name for name in _imports(path) if name.split(".")[0] in ("runner", "backends")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_import_rules(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    names = _ours(path)
    if parts[:2] == ("runner", "model") or parts == ("runner", "errors.py"):
        assert all(name.startswith("runner.model") for name in names), names
    elif parts[0] == "runner" and parts[1] in PURE:
        allowed = ("runner.model", "runner.errors", "runner.units", "runner.share", "runner.grammar", f"runner.{parts[1]}")
        allowed += ("runner.output.terminal",) if parts[1] == "request" else ()
        assert all(name.startswith(allowed) for name in names), names
        assert not {"subprocess", "socket", "signal"} & _imports(path)
    elif parts[0] == "backends":
        allowed = ("runner.model", "runner.errors", "runner.backend", "runner.share", "backends")
        assert all(name.startswith(allowed) for name in names), names
    if parts[:2] == ("runner", "adapters"):
        assert not {"subprocess", "os.posix_spawn"} & _imports(path)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 340, "split it: a module has 60 to 250 lines, a few need more"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 80, node.name


HEAVY = {
    "asyncio", "docker", "importlib.metadata", "lxml", "pydantic", "argparse", "subprocess", "typing", "json", "dataclasses",
    "re", "inspect", "ctypes", "socket", "selectors", "threading", "tempfile", "shutil", "pathlib", "logging", "psutil",
    "pyseccomp", "landlockpy", "rfc8785", "hashlib", "tomllib",
}  # fmt: skip
LIGHT = (
    "import runner",
    "import runner.model.manifest, runner.model.command, runner.model.outcome, runner.errors",
    "import runner.backend, runner.host, runner.execution.pump, runner.oneshot",
)


def _loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}\nprint(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


@pytest.mark.parametrize("code", LIGHT)
def test_import_budget(code: str) -> None:
    assert not _loaded(code) & HEAVY


def test_import_runner_loads_nothing_of_ours() -> None:
    assert {name for name in _loaded("import runner") if name.startswith("runner")} == {"runner"}


def test_a_one_shot_run_imports_nothing_heavy() -> None:
    code = "from runner.adapters.cli import main\nassert main(['run', '--', 'true']) == 0"
    assert not _loaded(code) & HEAVY


def _files() -> list[str]:
    """Every file of the project, committed or about to be."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    assert "pyproject.toml" in found
    return found


def test_top_level_entries() -> None:
    assert {name.split("/")[0] for name in _files()} <= ALLOWED_TOP


# Put together here, so that this file does not name them either.
FOREIGN = [
    "".join(parts)
    for parts in (
        ("/wo", "rk/"), ("/tmp", "/w/"), ("/root/", ".pyenv"), ("/opt/", "wheels"), ("/opt/", "pypi"), ("py", "pi.org"),
        ("python", "hosted.org"), ("npm", "js.org"), ("deb.", "debian.org"), ("docker", ".io"), ("crates", ".io"),
    )
]  # fmt: skip


@pytest.mark.parametrize("word", FOREIGN)
def test_no_machine_and_no_registry_is_named(word: str) -> None:
    naming = [name for name in _files() if word.encode() in (ROOT / name).read_bytes()]
    assert naming == []


def test_launcher_stays_small() -> None:
    assert len((ROOT / "backends/launcher/launcher.c").read_text().splitlines()) < 900


def test_landlock_numbers_are_the_bindings_own() -> None:
    import landlockpy

    from backends.landlock import rights

    for abi in range(1, 8):
        known = int(landlockpy.fs_for_abi(abi)) & ((1 << 16) - 1)
        assert rights.handled(abi) == known, abi
    assert int(landlockpy.net_for_abi(4)) == rights.BIND_TCP | rights.CONNECT_TCP
    assert int(landlockpy.scope_for_abi(6)) == rights.ABSTRACT_UNIX | rights.SIGNALS
