"""Failures that other sandboxes were reported for, each the whole input and the whole outcome.

Sources beside each test (repository#issue): what must work, after a story of how it did not.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runner import run
from tests.e2e.commands import GIT, PY
from tests.e2e.place import confined, sh


def _chown(place: Path, uid: int) -> None:
    for path in (place / "ws", *(place / "ws").rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)


@pytest.mark.parametrize("network", [False, True])
def test_rename_into_a_fresh_folder(network: bool, place: Path) -> None:
    """nolabs-ai/nono#1396: a second Landlock layer without REFER forbids what the first allows."""
    (place / "ws" / "t").write_text("x")
    code = "import os; os.mkdir('new'); os.rename('t', 'new/t')"
    result = confined([PY, "-c", code], place, network=network, limits={"wall_time": 60, "memory": 256 << 20, "processes": 20})
    assert result.success, (result.error, result.stderr)
    assert (place / "ws/new/t").read_text() == "x"


def test_grants_of_single_files(place: Path) -> None:
    """Zouuup/landrun#15: rights of a folder on a plain file made the whole rule set fail."""
    outside = place / "out"
    outside.mkdir()
    for name in ("one.txt", "two.txt"):
        (outside / name).write_text(name)
    (place / "ws" / "log.txt").write_text("old\n")
    (place / "ws" / "sibling").write_text("old\n")
    grants = {"read": [str(outside / "one.txt")], "write": [str(place / "ws/log.txt")]}
    script = (
        f"cat {outside}/one.txt && echo new >> {place}/ws/log.txt && head -c 1 /dev/urandom > /dev/null"
        f" && ! cat {outside}/two.txt; echo new >> {place}/ws/sibling; true"
    )
    result = run(["sh", "-c", script], **grants)
    assert (result.success, result.stdout) == (True, "one.txt"), (result.error, result.stderr)
    assert (place / "ws/log.txt").read_text() == "old\nnew\n"
    assert (place / "ws/sibling").read_text() == "old\n"


def test_a_granted_fifo_is_read(place: Path) -> None:
    """Zouuup/landrun#15, for a file that is neither regular nor a folder."""
    fifo = place / "fifo"
    os.mkfifo(fifo)
    os.chmod(fifo, 0o644)
    with subprocess.Popen(["sh", "-c", f"echo through > {fifo}"]) as writer:
        result = confined(["cat", str(fifo)], place, read=[str(fifo)])
        writer.kill()
    assert result.stdout == "through\n", (result.error, result.stderr)


def test_shared_memory_is_private_to_the_run(place: Path, namespaces: bool) -> None:
    """openai/codex#7251, eugene1g/agent-safehouse#171: a /dev/shm that cannot be written breaks multiprocessing."""
    name = f"everyday{os.getpid()}"
    code = (
        "from concurrent.futures import ProcessPoolExecutor as P; from multiprocessing.shared_memory import SharedMemory as S;"
        f"print(sum(P(2).map(abs, [-1, -2, 3]))); S(name={name!r}, create=True, size=10)"
    )
    result = confined([PY, "-c", code], place)
    assert not (Path("/dev/shm") / name).exists()
    assert result.success == namespaces and (not namespaces or result.stdout == "6\n"), (result.error, result.stderr)


@pytest.mark.parametrize(
    "argv",
    [
        [PY, "-c", "import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()"],
        ["bash", "-c", "echo 1 | cat"],
        ["node", "-e", "new (require('worker_threads').Worker)('console.log(1)', {eval: true})"],
    ],
    ids=["python", "bash", "node"],
)
def test_threads(argv: list[str], place: Path) -> None:
    """oasisprotocol/oasis-core#4687, tinfoilsh/cvmimage#236: the C library falls back to clone on ENOSYS alone."""
    assert confined(argv, place).stdout == "1\n"


def test_device_files(place: Path) -> None:
    """google-gemini/gemini-cli#13480, openai/codex#16451: without /dev/null half of all scripts fail."""
    script = (
        "echo x > /dev/null; echo y 2> /dev/null; head -c3 /dev/zero | wc -c; head -c3 /dev/urandom | wc -c;"
        " echo z > /dev/stderr; echo q > /dev/full"
    )
    result = confined(["bash", "-c", script], place)
    assert result.stdout.split() == ["y", "3", "3"]
    assert result.stderr.startswith("z\n") and "No space left" in result.stderr
    assert result.status is not None and result.status.model_dump() == {"exited": 1}


def test_proc_self_of_children(place: Path, namespaces: bool) -> None:
    """multikernel/sandlock#218, navikt/cplt#30: a rule on /proc/self binds to the folder of one process."""
    script = (
        "cat /proc/self/maps > /dev/null && readlink /proc/self/exe"
        f" && {PY} -c 'print(open(\"/proc/self/status\").readline().split()[1])'"
    )
    result = sh(f"sh -c '{script.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}'", place)
    assert result.success == namespaces, (result.error, result.stderr)
    if namespaces:
        program, name = result.stdout.split()
        assert os.path.basename(program) == "readlink" or "busybox" in program or "coreutils" in program
        assert name.startswith("python3")


def test_a_repository_of_another_owner(place: Path) -> None:
    """microsoft/vscode#336048, jbcoe/cc-protocol#307: git calls a mounted project's ownership dubious."""
    subprocess.run(f"{GIT} init -q {place}/ws && touch {place}/ws/new", shell=True, check=True)
    if os.geteuid() == 0:
        _chown(place, 12345)
    result = sh("git status -s && git config --global user.name", place)
    assert (result.success, result.stdout) == (True, "?? new\neveryday\n"), (result.error, result.stderr)


@pytest.mark.parametrize("uid", [12345])
def test_a_workspace_only_its_owner_may_enter(uid: int, place: Path) -> None:
    """openclaw/openclaw#124179: the command's user could not read its own working folder."""
    owner = uid if os.geteuid() == 0 else os.geteuid()
    (place / "ws/.tools/skills").mkdir(parents=True)
    (place / "ws/.tools/skills/s").write_text("skill\n")
    if os.geteuid() == 0:
        _chown(place, owner)
    (place / "ws").chmod(0o700)
    result = sh("ls -la . > /dev/null && cat .tools/skills/s && echo x > f", place)
    assert (result.success, result.stdout) == (True, "skill\n"), (result.error, result.stderr)
    assert (place / "ws/f").stat().st_uid == owner


def test_a_protected_folder_in_a_workspace_only_its_owner_may_enter(place: Path, namespaces: bool) -> None:
    """openclaw/openclaw#126631: the parents of a read-only mount inside the workspace were unreadable."""
    skills = place / "ws/.tools/skills"
    skills.mkdir(parents=True)
    (skills / "s").write_text("skill\n")
    if os.geteuid() == 0:
        _chown(place, 12345)
    (place / "ws").chmod(0o700)
    result = sh("ls .tools && cat .tools/skills/s && echo x > .tools/f && ! echo x > .tools/skills/s", place, protect=[str(skills)])
    assert result.success == namespaces, (result.error, result.stderr)
    assert (skills / "s").read_text() == ("skill\n" if namespaces else "x\n") and (place / "ws/.tools/f").exists()


def test_names_like_gits_own_are_ordinary_files(place: Path) -> None:
    """anthropics/claude-code#25603: matching by prefix on .git, or HEAD and config taken for a bare repository's."""
    workspace = place / "ws"
    subprocess.run(f"cd {workspace} && {GIT} init -q . && {GIT} commit -q --allow-empty -m subj", shell=True, check=True)
    if os.geteuid() == 0:
        _chown(place, 12345)
    script = "echo x > .gitignore; echo x > .gitattributes; echo y > HEAD; echo z > config; mkdir objects; git log -1 --format=%s HEAD --"
    result = sh(script, place, protect=[])
    assert (result.success, result.stdout, result.stderr) == (True, "subj\n", ""), result.error
    assert sorted(os.listdir(workspace)) == [".git", ".gitattributes", ".gitignore", "HEAD", "config", "objects"]


@pytest.mark.parametrize(
    "argv",
    [
        ["node", "-e", "console.log(1)"],
        [PY, "-c", "import threading as t; s = [t.Thread(target=input) for _ in range(50)]; [i.start() for i in s]; print(1)"],
    ],
    ids=["node", "threads"],
)
def test_a_memory_limit_is_none_of_address_space(argv: list[str], place: Path) -> None:
    """google/syzkaller#488, sosy-lab/benchexec#295: runtimes reserve many GB that they never touch."""
    result = confined(argv, place, limits={"wall_time": 60, "memory": 512 << 20})
    assert result.stdout == "1\n" and result.limit is None, (result.error, result.stderr[-500:])


@pytest.mark.parametrize("code", [0, 1, 2, 77, 124, 125, 126, 127, 128, 129, 137, 139, 255])
def test_exit_codes_come_back_as_they_are(code: int, place: Path) -> None:
    result = confined(["sh", "-c", f"exit {code}"], place)
    assert result.status is not None and result.status.model_dump() == {"exited": code}


@pytest.mark.parametrize("number", [1, 2, 3, 6, 8, 9, 11, 13, 14, 15, 24, 25, 31])
def test_signals_come_back_as_they_are(number: int, place: Path) -> None:
    result = confined(["sh", "-c", f"kill -{number} $$"], place)
    assert result.status is not None and result.status.model_dump() == {"signaled": number}
