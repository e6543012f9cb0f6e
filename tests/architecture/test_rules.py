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
    "examples",
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
        allowed = ("runner.model", "runner.errors", "runner.units", "runner.share", f"runner.{parts[1]}")
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


HEAVY = ("asyncio", "docker", "importlib.metadata", "lxml", "pydantic", "argparse", "subprocess", "typing", "json", "dataclasses")


def _loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}\nprint(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_import_runner_is_almost_nothing() -> None:
    loaded = _loaded("import runner")
    assert not loaded & set(HEAVY)
    assert {name for name in loaded if name.startswith("runner")} == {"runner"}


def test_a_one_shot_run_imports_nothing_heavy() -> None:
    code = "from runner.adapters.cli import main\nassert main(['run', '--', 'true']) == 0"
    assert not _loaded(code) & set(HEAVY)


def test_top_level_entries() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    top = {name.split("/")[0] for name in listed if not name.startswith(".")}
    assert top <= ALLOWED_TOP


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
