"""The pure half of the Linux sandbox: which operations, rules and groups one Access becomes."""

from __future__ import annotations

import os
from pathlib import Path

from backends.landlock import cgroup, rights, view
from backends.launcher import wire
from runner.model.command import Access
from runner.model.manifest import Limits
from runner.share import profile_path

TABLE = Path(profile_path("views", "linux.view")).read_text()


def _build(**access: object) -> view.View:
    given = {"cwd": "/", "home": "/nonexistent-home", **access}
    return view.build(Access(**given), TABLE, 1 << 20, proc=True, old_proc=False)  # type: ignore[arg-type]


def _paths(found: view.View, kind: int) -> list[str]:
    return [op.path for op in found.ops if op.kind == kind]


def test_a_root_below_tmp_is_parked_and_moved(tmp_path: Path) -> None:
    """The first view test: the private /tmp is mounted first, then the workspace is put into it."""
    root = Path("/tmp") / f"fumehood-view-{os.getpid()}"
    root.mkdir()
    try:
        found = _build(write=(str(root),))
    finally:
        root.rmdir()
    kinds = [(op.kind, op.path) for op in found.ops if op.flags & wire.PER_INSTANCE]
    assert kinds.index((wire.TMPFS, "/tmp")) < kinds.index((wire.MOVE, str(root)))
    assert (str(root), rights.WRITE) in found.rules


def test_nested_roots_come_by_depth_and_the_stronger_grant_wins(tmp_path: Path) -> None:
    inner = Path("/var/tmp") / f"fumehood-view-{os.getpid()}"
    (inner / "sub").mkdir(parents=True)
    try:
        found = _build(read=(str(inner), str(inner / "sub")), write=(str(inner / "sub"),))
    finally:
        (inner / "sub").rmdir()
        inner.rmdir()
    moves = _paths(found, wire.MOVE)
    assert moves.index(str(inner)) < moves.index(str(inner / "sub"))
    assert (str(inner / "sub"), rights.WRITE) in found.rules and (str(inner / "sub"), rights.READ) not in found.rules


def test_etc_is_an_allow_list() -> None:
    found = _build()
    bound = _paths(found, wire.BIND)
    assert "/etc" not in bound and not [path for path in _paths(found, wire.FILE) if "shadow" in path]
    accounts = next(op.content for op in found.ops if op.path == "/etc/passwd").decode()
    assert f":{os.getuid()}:" in accounts


def test_granting_the_root_folder_leaves_out_the_hosts_own(monkeypatch: object) -> None:
    names = view.expand(("/",))
    assert not {"/tmp", "/proc", "/dev", "/run", "/sys"} & set(names) and "/usr" in names


def test_a_home_that_is_granted_is_not_private() -> None:
    found = _build(home="/usr", read=("/usr",))
    assert "/usr" not in [op.path for op in found.ops if op.kind == wire.TMPFS]


def test_hidden_names_are_masked_where_they_are(tmp_path: Path) -> None:
    root = Path("/var/tmp") / f"fumehood-view-{os.getpid()}"
    root.mkdir()
    (root / ".env").touch()
    try:
        found = _build(read=(str(root),), hide=("/somewhere/else",))
    finally:
        (root / ".env").unlink()
        root.rmdir()
    (mask,) = _paths(found, wire.MASK)
    assert mask.endswith("/.env") and mask.startswith("/.fumehood/roots/")


def test_groups_hold_one_process_more_for_init() -> None:
    plan = cgroup.plan(Limits(processes=10, memory=1 << 20))
    for group in plan.groups:
        for file, text in group.writes:
            if file == "pids.max":
                assert text == "11"
    assert bool(plan.groups) == bool(plan.memory or plan.processes)
