"""Protected names with `*`: held for what exists, also for what came after the runtime was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends import landlock
from runner import Registry
from runner.errors import IsolationError
from runner.host import canonicalise_pattern
from runner.model.command import Access
from runner.model.manifest import Limits
from runner.model.paths import covers

_DECLARATION = """<agent><shell_access id="r" extends="builtin:workspace-development@1">%s<policy default="allow" merge="replace"/></shell_access>
<tool name="sh" type="shell" mode="fixed" runtime="r"><command program="sh"><arg value="-c"/></command></tool>
<tool name="any" type="shell" mode="structured" runtime="r"/></agent>"""


def test_a_submodules_hooks(tmp_path: Path, namespaces: bool) -> None:
    """What runs outside later, as the same runtime without that protection shows."""
    file = tmp_path / "agent.xml"
    file.write_text(_DECLARATION % "")
    workspace = tmp_path / "ws"
    first, second = (workspace / f".git/modules/{name}/hooks" for name in ("one", "two"))
    first.mkdir(parents=True)
    if not namespaces:  # read-only binds need a mount namespace, and this profile names them
        with pytest.raises(IsolationError, match="protect"):
            Registry.load(file, authorize=lambda manifest: True, workspace=workspace)
        return
    with Registry.load(file, authorize=lambda manifest: True, workspace=workspace) as registry:
        for hooks in (first, second):
            hooks.mkdir(parents=True, exist_ok=True)  # the second after the runtime was made
            result = registry.call("sh", {"arguments": [f"echo evil > {hooks}/post-checkout; echo ok > {hooks.parent}/HEAD"]})
            assert result.error is None and "Read-only" in result.stderr, result
            assert not (hooks / "post-checkout").exists() and (hooks.parent / "HEAD").read_text() == "ok\n"
        told = registry.call("any", {"program": "touch", "arguments": [".git/modules/three/hooks/post-checkout"]})
        assert told.error is not None and told.error.code == "capability_violation"
    file.write_text(_DECLARATION % '<capabilities merge="replace" child_processes="true" arbitrary_code="true"><write path="${workspace}"/></capabilities>')
    with Registry.load(file, authorize=lambda manifest: True, workspace=workspace) as registry:
        registry.call("sh", {"arguments": [f"echo evil > {first}/post-checkout"]})
        assert (first / "post-checkout").read_text() == "evil\n", "the attack works where nothing is protected"


@pytest.mark.parametrize("bare", [False, True])
def test_names_that_stand_still_renew_nothing(tmp_path: Path, bare: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view is made again for names that came or went, not at each call; also where there is no view to hold them."""
    if bare:
        monkeypatch.setattr(landlock, "_arrangements", lambda network: (0,))
    (tmp_path / "one/hooks").mkdir(parents=True)
    (tmp_path / "secret").touch()
    root = str(tmp_path)
    access = Access(cwd=root, home="/nonexistent", write=(root,), hide=(f"{root}/secret",), protect=(f"{root}/*/hooks",), limits=Limits())
    sandbox = landlock.LandlockBackend().prepare(access)
    try:
        made = sandbox.factory
        for _ in range(2):
            sandbox.open().close()
        assert sandbox.factory is made
        (tmp_path / "two/hooks").mkdir(parents=True)
        sandbox.open().close()
        assert sandbox.factory is not made
    finally:
        sandbox.close()


def test_a_file_that_is_called_star(tmp_path: Path) -> None:
    """The pattern stays one, whatever a link of that very name says."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/*").symlink_to("/")
    assert canonicalise_pattern(f"{tmp_path}/link/*/x") == f"{tmp_path}/real/*/x"
    assert canonicalise_pattern(f"{tmp_path}/link/a*") == f"{tmp_path}/real/a*"
    assert canonicalise_pattern(f"{tmp_path}/link") == f"{tmp_path}/real" and canonicalise_pattern("/*") == "/*"


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
