"""Secrets from files and the environment: what is loaded is never seen again, what cannot be loaded is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from runner import Registry
from runner.errors import ManifestError

VALUE = "s3cr3t-0123456789"


def _load(tmp_path: Path, secrets: str, environ: Mapping[str, str] | None = None) -> Registry:
    (tmp_path / "ws").mkdir(exist_ok=True)
    file = tmp_path / "agent.xml"
    file.write_text(
        f"""<agent><shell_access id="r" extends="builtin:workspace-readonly@1"><secrets>{secrets}</secrets>
        <policy default="allow"/></shell_access><tool name="any" type="shell" mode="structured" runtime="r"/></agent>"""
    )
    return Registry.load(file, authorize=lambda manifest: True, workspace=tmp_path / "ws", environ=environ)


def _said(registry: Registry, text: str) -> str:
    return registry.call("any", {"program": "echo", "arguments": [text]}).stdout


@pytest.mark.parametrize(
    ("content", "strip", "secret", "shown"),
    [
        (f"{VALUE}\n", "true", VALUE, "[REDACTED]"),
        (f"{VALUE}\r\n", "true", VALUE, "[REDACTED]"),
        (VALUE, "true", VALUE, "[REDACTED]"),
        (f"{VALUE}\n", "false", f"{VALUE}\nx", "[REDACTED]x"),
        (f" {VALUE}\n\n", "true", f" {VALUE}\nx", "[REDACTED]x"),
        ("", "true", VALUE, VALUE),
        ("\n", "true", VALUE, VALUE),
    ],
)
def test_a_secret_file(tmp_path: Path, content: str, strip: str, secret: str, shown: str) -> None:
    (tmp_path / "token").write_bytes(content.encode())
    with _load(tmp_path, f'<from_file path="token" strip="{strip}"/>') as registry:
        assert _said(registry, f"<{secret}>") == f"<{shown}>\n"
        assert VALUE not in registry.manifest.canonical.decode()


def _make(kind: str, path: Path) -> None:
    {
        "folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "large": lambda: path.write_bytes(b"a" * ((1 << 20) + 1)),
        "binary": lambda: path.write_bytes(b"\xff\xfe"), "loop": lambda: path.symlink_to(path),
        "device": lambda: path.symlink_to("/dev/zero"), "missing": lambda: None,
    }[kind]()  # fmt: skip


@pytest.mark.parametrize("kind", ["folder", "pipe", "large", "binary", "loop", "device", "missing"])
def test_a_secret_file_that_is_none(tmp_path: Path, kind: str) -> None:
    _make(kind, tmp_path / "token")
    with pytest.raises(ManifestError) as caught:
        _load(tmp_path, '<from_file path="token"/>')
    code = "shell.secret_file_missing" if kind == "missing" else "shell.secret_load_failed"
    assert caught.value.code == code and str(tmp_path / "token") in str(caught.value) and caught.value.remedy


def test_what_is_optional(tmp_path: Path) -> None:
    both = '<from_file path="token" optional="true"/><from_env name="NOT_SET_HERE" optional="true"/>'
    with _load(tmp_path, both, {"PATH": "/usr/bin:/bin"}) as registry:
        assert _said(registry, VALUE) == f"{VALUE}\n"
    os.mkfifo(tmp_path / "token")
    with pytest.raises(ManifestError, match="not a regular file"):  # optional is about absence alone
        _load(tmp_path, both, {"PATH": "/usr/bin:/bin"})


def test_a_variable_that_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        _load(tmp_path, '<from_env name="NOT_SET_HERE"/>', {"PATH": "/usr/bin:/bin"})
    assert caught.value.code == "shell.environment_missing"
    with _load(tmp_path, '<from_env name="TOKEN"/>', {"PATH": "/usr/bin:/bin", "TOKEN": VALUE}) as registry:
        assert _said(registry, VALUE) == "[REDACTED]\n"
