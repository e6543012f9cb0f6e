"""What of the caller's home a command sees: credentials never, unless granted by name; toolchains where PATH leads to them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runner import Result, run
from tests.e2e.place import confined, sh

CREDENTIALS = (
    ".ssh/id_ed25519", ".aws/credentials", ".gnupg/secring.gpg", ".config/gcloud/access.db", ".kube/config",
    ".docker/config.json", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".env", ".env.local",
)  # fmt: skip


def _fill(home: Path) -> None:
    for name in CREDENTIALS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("SECRET\n")
    (home / "notes").write_text("fine\n")


def _bare(script: str) -> str:
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False).stdout


def _hidden(result: Result, secret: str, namespaces: bool) -> None:
    """Out of sight; or, where nothing can hide a name, the result says so."""
    if namespaces:
        assert secret not in result.stdout
    else:
        assert {row.constraint: row.level for row in result.enforcement}["hide"] == "not"


def test_credentials_are_hidden_even_below_a_granted_home(place: Path, namespaces: bool) -> None:
    home = place / "home"
    _fill(home)
    script = f"cd ~ && cat {' '.join(CREDENTIALS)}; cat notes; ls .ssh .aws"
    assert _bare(script).count("SECRET") == len(CREDENTIALS) and "id_ed25519" in _bare(script)
    result = run(["sh", "-c", script], read=[str(home)], cwd=str(home))
    assert "fine" in result.stdout
    _hidden(result, "SECRET", namespaces)
    _hidden(result, "id_ed25519", namespaces)


def test_nothing_of_the_home_is_readable_ungranted_but_the_git_configuration(place: Path) -> None:
    _fill(place / "home")
    script = f"cd ~; cat {' '.join(CREDENTIALS)} notes; git config --global user.email"
    assert _bare(script).count("SECRET") == len(CREDENTIALS)
    assert sh(script, place).stdout.strip() == "e@x"


def test_a_hidden_name_granted_by_name_is_there(place: Path) -> None:
    result = run(["cat", str(place / "home/.ssh/id_rsa")], read=[str(place / "home/.ssh")])
    assert result.stdout == "SECRET"


def test_a_toolchain_below_home_is_found_through_the_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = place / "home" / ".cargo" / "bin"
    tools.mkdir(parents=True)
    (tools / "mytool").write_text("#!/bin/sh\necho from $0\n")
    (tools / "mytool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    result = confined(["mytool"], place)
    assert result.success and result.stdout.startswith("from "), (result.error, result.stderr)


def test_a_toolchains_own_credentials_are_hidden(place: Path, monkeypatch: pytest.MonkeyPatch, namespaces: bool) -> None:
    cargo = place / "home" / ".cargo"
    (cargo / "bin").mkdir(parents=True)
    (cargo / "credentials.toml").write_text("SECRET")
    (cargo / "config.toml").write_text("fine")
    (place / "home/.config/git").mkdir(parents=True)
    (place / "home/.config/git/credentials").write_text("SECRET")
    monkeypatch.setenv("PATH", f"{cargo}/bin:{os.environ['PATH']}")
    script = "cat ~/.cargo/config.toml ~/.cargo/credentials.toml ~/.config/git/credentials"
    assert _bare(script).count("SECRET") == 2
    result = sh(script, place)
    assert "fine" in result.stdout
    _hidden(result, "SECRET", namespaces)
