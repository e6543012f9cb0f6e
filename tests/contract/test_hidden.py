"""protect and hide below a root, and names that appear after the runtime was made live."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import Registry, run

DECLARATION = """<agent><shell_access id="r" extends="builtin:workspace-readonly@1"/>
<tool name="cat" command="cat" runtime="r"/></agent>"""


@pytest.fixture
def place() -> Iterator[Path]:
    base = Path(f"/var/tmp/hidden-{os.getpid()}")
    shutil.rmtree(base, ignore_errors=True)
    (base / "repo/.git/hooks").mkdir(parents=True)
    (base / "repo/secrets").mkdir()
    (base / "repo/secrets/key").write_text("SECRET")
    yield base
    shutil.rmtree(base)


ATTACKS = [
    "echo x > .git/hooks/pre-commit",
    "mv .git old && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    "cd .git && mv hooks h2 && mkdir hooks && echo x > hooks/pre-commit",
    "echo x > p && mv p .git/hooks/pre-commit",
    "rm -rf .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit",
    "ln -s $PWD/.git/hooks h && echo x > h/pre-commit",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_protected_folder_stays(attack: str, place: Path, namespaces: bool) -> None:
    repo = place / "repo"
    done = subprocess.run(["sh", "-c", attack], cwd=repo, capture_output=True, check=False)
    assert done.returncode == 0 and (repo / ".git/hooks/pre-commit").exists(), done.stderr
    shutil.rmtree(repo / ".git")
    shutil.rmtree(repo / "old", ignore_errors=True)
    (repo / ".git/hooks").mkdir(parents=True)
    for name in ("p", "h"):
        (repo / name).unlink(missing_ok=True)
    before = (repo / ".git/hooks").stat().st_ino
    result = run(["sh", "-c", attack], write=[str(repo)], cwd=str(repo), protect=[str(repo / ".git/hooks")])
    if not namespaces:
        assert any(row.constraint == "protect" and row.level == "not" for row in result.enforcement)
        return
    assert not result.success
    assert (repo / ".git/hooks").stat().st_ino == before and not list((repo / ".git/hooks").iterdir())


def test_hidden_folder_is_out_of_sight(place: Path, namespaces: bool) -> None:
    repo = place / "repo"
    script = "cat secrets/key; ls secrets; mv secrets s2; cat s2/key; chmod 777 secrets; cp -r . /tmp/c; cat /tmp/c/*/key"
    bare = subprocess.run(["sh", "-c", "cat secrets/key"], cwd=repo, capture_output=True, text=True, check=False)
    assert bare.stdout == "SECRET"
    result = run(["sh", "-c", script], write=[str(repo)], cwd=str(repo), hide=[str(repo / "secrets")])
    if namespaces:
        assert "SECRET" not in result.stdout and "key\n" not in result.stdout
    assert (repo / "secrets/key").read_text() == "SECRET"


def test_an_env_file_that_appears_later_is_hidden_from_the_next_call(place: Path, namespaces: bool) -> None:
    declaration = place / "agent.xml"
    declaration.write_text(DECLARATION)
    repo = place / "repo"
    (repo / "notes").write_text("fine")
    with Registry.load(declaration, authorize=lambda manifest: True, workspace=repo) as registry:
        assert registry.call("cat", {"arguments": ["notes"]}).stdout == "fine"
        (repo / ".env").write_text("SECRET")
        assert registry.call("cat", {"arguments": ["notes"]}).stdout == "fine"
        result = registry.call("cat", {"arguments": [".env"]})
        assert not namespaces or "SECRET" not in result.stdout


def test_a_replaced_root_is_bound_anew(place: Path) -> None:
    declaration = place / "agent.xml"
    declaration.write_text(DECLARATION)
    repo = place / "repo"
    (repo / "notes").write_text("old")
    with Registry.load(declaration, authorize=lambda manifest: True, workspace=repo) as registry:
        assert registry.call("cat", {"arguments": ["notes"]}).stdout == "old"
        repo.rename(place / "gone")
        repo.mkdir()
        (repo / "notes").write_text("new")
        assert registry.call("cat", {"arguments": ["notes"]}).stdout == "new"
