"""Protected names with `*`: held for what exists, also for what came after the runtime was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import Registry
from runner.model.paths import covers

_DECLARATION = """<agent><shell_access id="r" extends="builtin:workspace-development@1"><policy default="allow" merge="replace"/></shell_access>
<tool name="sh" type="shell" mode="fixed" runtime="r"><command program="sh"><arg value="-c"/></command></tool>
<tool name="any" type="shell" mode="structured" runtime="r"/></agent>"""


def test_a_submodules_hooks(tmp_path: Path, namespaces: bool) -> None:
    """What runs outside later: without the protection both writes succeed, as the one beside them does."""
    if not namespaces:
        pytest.skip("read-only binds need a mount namespace; enforcement says so")
    file = tmp_path / "agent.xml"
    file.write_text(_DECLARATION)
    workspace = tmp_path / "ws"
    first, second = (workspace / f".git/modules/{name}/hooks" for name in ("one", "two"))
    first.mkdir(parents=True)
    with Registry.load(file, authorize=lambda manifest: True, workspace=workspace) as registry:
        for hooks in (first, second):
            hooks.mkdir(parents=True, exist_ok=True)  # the second after the runtime was made
            result = registry.call("sh", {"arguments": [f"echo evil > {hooks}/post-checkout; echo ok > {hooks.parent}/HEAD"]})
            assert result.error is None and "Read-only" in result.stderr, result
            assert not (hooks / "post-checkout").exists() and (hooks.parent / "HEAD").read_text() == "ok\n"
        told = registry.call("any", {"program": "touch", "arguments": [".git/modules/three/hooks/post-checkout"]})
        assert told.error is not None and told.error.code == "capability_violation"


@pytest.mark.parametrize(
    ("name", "path", "held"),
    [
        ("/w/*/hooks", "/w/a/hooks", True), ("/w/*/hooks", "/w/a/hooks/x", True), ("/w/*/hooks", "/w/a/b/hooks", False),
        ("/w/*/hooks", "/w/hooks", False), ("/w/a*b", "/w/ab", True), ("/w/a*b", "/w/axxb/c", True), ("/w/a*a", "/w/a", False),
        ("/w/*.*.x", "/w/a.b.x", True), ("/w/*b*b", "/w/b", False), ("/w/*b*b", "/w/bb", True), ("/w/h", "/w/h/x", True),
        ("/w/h", "/w/hh", False), ("/w/[a]*", "/w/ab", False), ("/w/[a]*", "/w/[a]b", True),
    ],
)  # fmt: skip
def test_covers(name: str, path: str, held: bool) -> None:
    assert covers(name, path) is held
