"""Both sides of the message format describe the same bytes; the decoders hold against whatever is fed to them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backends.launcher import wire
from backends.launcher.build import build

HERE = Path(__file__).resolve().parents[2] / "backends/launcher"
LAYOUT = """
#include "launcher.h"
#include <stddef.h>
#include <stdio.h>
int main(void) {
    printf("%zu %zu %zu %zu %zu %zu %zu %zu\\n", sizeof(struct config), sizeof(struct op), sizeof(struct rule), sizeof(struct limit),
           sizeof(struct group), sizeof(struct gwrite), sizeof(struct counter), sizeof(struct start));
    printf("%zu %d %d %d %d %d\\n", sizeof(struct packet), P_COPY, P_START, P_READY, P_ERROR, S_COPY);
    printf("%d %d %d %d %d\\n", OP_MOVE, O_OWNED, F_SETIDS, F_DIRECT, F_NETNS);
}
"""


def test_layout_is_the_same_on_both_sides(tmp_path: Path) -> None:
    source = tmp_path / "layout.c"
    source.write_text(LAYOUT)
    subprocess.run(["cc", f"-I{HERE}", "-o", str(tmp_path / "layout"), str(source)], check=True)
    said = subprocess.run([str(tmp_path / "layout")], capture_output=True, text=True, check=True).stdout.split("\n")
    sizes = [wire._HEAD.size, wire._OP.size, wire._RULE.size, wire._LIMIT.size, wire._GROUP.size, wire._WRITE.size,
             wire._COUNTER.size, wire._START.size]  # fmt: skip
    assert said[0].split() == [str(size) for size in sizes]
    assert said[1].split() == [str(n) for n in (wire.PACKET.size, wire.COPY, wire.START, wire.READY, wire.ERROR, wire.STEPS.index("copy"))]
    assert said[2].split() == [str(n) for n in (wire.MOVE, wire.OWNED, wire.SETIDS, wire.DIRECT, wire.NETNS)]


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fuzz") / "fuzz"
    build(str(out), source="fuzz.c", sanitize=True)
    return out


def test_decoders_survive_mutation_under_sanitizers(fuzz: Path) -> None:
    rounds = "2000000" if os.environ.get("FUMEHOOD_FULL") else "200000"
    done = subprocess.run([str(fuzz)], env={"FUMEHOOD_ROUNDS": rounds}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, accepted = int(done.stdout.split()[0]), int(done.stdout.split()[2])
    assert count == int(rounds) and 0 < accepted < count


def test_decoders_accept_what_python_writes(fuzz: Path, tmp_path: Path) -> None:
    config = wire.encode_config(
        wire.Config(flags=1, host_pid=os.getpid(), uid=1, gid=1, ops=(wire.Op(kind=wire.FILE, path="/etc/x", content=b"abc"),),
                    rules=(("/", 8),), bpf=b"\0" * 16, limits=((4, 0, 0),),
                    groups=(wire.Group(path="/g", writes=(("a", "1"),)),), counters=(wire.Counter(group=0, file="f", key="k"),))
    )  # fmt: skip
    start = wire.encode_start("/bin/true", "/", ["true", "\udcff"], [("A", "1")], None)
    for name, data in (("config", config), ("start", start)):
        (tmp_path / name).write_bytes(data)
        for size in range(0, len(data), 7):
            (tmp_path / f"{name}-{size}").write_bytes(data[:size])
    files = [str(path) for path in tmp_path.iterdir() if path.is_file()]
    done = subprocess.run([str(fuzz), *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_launcher_that_is_fed_nonsense_ends() -> None:
    """Not started by a host: no socket, or one that says something else. It never runs on."""
    launcher = HERE / "launcher"
    assert subprocess.run([str(launcher)], stdin=subprocess.DEVNULL, check=False, timeout=10).returncode == 125
    code = (
        "import os, socket, sys; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.send(b'x' * 200)\n"
        f"pid = os.posix_spawn({str(launcher)!r}, ['l'], {{}}, file_actions=[(os.POSIX_SPAWN_DUP2, b.fileno(), 3)])\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10, check=True).stdout == "125\n"
