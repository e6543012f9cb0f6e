"""Odd but honest uses of `fumehood run`: roots in odd places and with odd names, a bare environment, closed descriptors."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place() -> Iterator[Path]:
    base = Path(f"/var/tmp/edges-{os.getpid()}")
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    yield base
    shutil.rmtree(base)


def _run(*argv: object, cwd: Path, env: dict[str, str] | None = None, shell: str = "") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    environment = {name: value for name, value in environment.items() if value != "-"}
    command = [sys.executable, "-m", "runner", "run", *(a if isinstance(a, bytes) else str(a) for a in argv)]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("home", ["-", "/", ""])
def test_home_is_a_writable_folder(home: str, place: Path, namespaces: bool) -> None:
    done = _run("--write", place, "--", "sh", "-c", 'test "$HOME" != / && echo x > ~/f && cat ~/f', cwd=place, env={"HOME": home})
    if namespaces:
        assert done.stdout == b"x\n", done.stderr
    else:  # no private home can be mounted: it stays out of reach, and nothing appears outside
        assert done.returncode and not done.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors(closed: str, place: Path) -> None:
    assert _run("--write", place, "--", "sh", "-c", "cat; echo ran > ran", cwd=place, shell=closed).returncode == 0
    assert (place / "ran").read_text() == "ran\n"


def test_open_descriptors_of_the_caller_do_not_get_in(place: Path) -> None:
    code = "import os\nfor fd in range(3, 64):\n  try: os.fstat(fd); print(fd)\n  except OSError: pass"
    done = _run("--read", place, "--", "/usr/bin/python3", "-I", "-c", code, cwd=place,
                shell="7</etc/hosts 8>/dev/null 3</etc/hosts 4<&3")  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b""), done


def test_a_removed_working_folder_is_one_clear_line(place: Path) -> None:
    gone = place / "gone"
    gone.mkdir()
    script = f"rmdir {gone}; exec {sys.executable} -m runner run -- true"
    done = subprocess.run(["sh", "-c", script], cwd=gone, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert done.returncode == 125 and b"no longer exists" in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize("base", ["/tmp", "/var/tmp", "/dev/shm"])
def test_roots_below_shared_folders(base: str, namespaces: bool) -> None:
    root = Path(base) / f"edges-root-{os.getpid()}"
    root.mkdir()
    try:
        (root / "in").write_text("in")
        done = _run("--write", root, "--cwd", root, "--", "sh", "-c", "cat in && echo out > out", cwd=root)
        assert done.stdout == b"in" and (root / "out").read_text() == "out\n", done.stderr
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("name", [b"a b", b"new\nline", b"n\xff", b"-dash", b"$x'\"", b"\xc3\xa4"])
def test_roots_with_odd_names(name: bytes, place: Path) -> None:
    path = os.path.join(os.fsencode(place), name)
    os.mkdir(path)
    done = _run(b"--write", path, b"--cwd", path, "--", "sh", "-c", "echo x > f; ls", cwd=place)
    assert done.stdout == b"f\n", done.stderr
    assert os.listdir(path) == [b"f"]


def test_a_file_as_root_grants_that_file_alone(place: Path) -> None:
    (place / "one").write_text("one")
    (place / "two").write_text("two")
    done = _run("--read", place / "one", "--", "sh", "-c", f"cat {place}/one; cat {place}/two; echo x > {place}/one", cwd=place)
    assert done.stdout == b"one" and (place / "one").read_text() == "one"


def test_a_linked_root_is_the_folder_it_leads_to(place: Path) -> None:
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    assert _run("--write", place / "link", "--cwd", place / "link", "--", "pwd", cwd=place).stdout.decode() == f"{place}/real\n"


def test_the_home_as_write_root_is_the_real_one(place: Path) -> None:
    done = _run("--write", place, "--cwd", place, "--", "sh", "-c", "echo x > ~/f", cwd=place, env={"HOME": str(place)})
    assert done.returncode == 0 and (place / "f").exists(), done.stderr


def test_a_hundred_thousand_arguments(place: Path) -> None:
    code = "import sys; print(len(sys.argv))"
    done = _run("--read", place, "--", "/usr/bin/python3", "-c", code, *range(100_000), cwd=place)
    assert done.stdout == b"100001\n", done.stderr


def test_a_thousand_roots(place: Path, namespaces: bool) -> None:
    roots = [place / str(number) for number in range(1000)]
    for root in roots:
        root.mkdir()
    shown = [place] if namespaces else ["-d", *roots]
    grants = [word for root in roots for word in ("--read", root)]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))  # the number of roots is not bound by it
    try:
        done = _run(*grants, "--", "ls", *shown, cwd=place)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (done.returncode, len(done.stdout.split())) == (0, 1000), done.stderr


def test_granting_everything_still_hides_the_systems_credentials(place: Path, namespaces: bool) -> None:
    if not namespaces or os.geteuid():
        return  # an ordinary user cannot read it anyway; without a view nothing below a granted root can be hidden, and doctor says so
    assert Path("/etc/shadow").read_text()
    done = _run("--read", "/", "--", "sh", "-c", "cat /etc/shadow; cat /etc/hostname > /dev/null && echo rest", cwd=place)
    assert done.stdout == b"rest\n"


def test_no_search_path(place: Path) -> None:
    assert _run("--read", place, "--", "sh", "-c", "echo ok", cwd=place, env={"PATH": "-"}).stdout == b"ok\n"
