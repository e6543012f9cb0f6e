"""Effects: command lines against what the programs really do, the traps of names and of options among them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.decision import effects
from runner.model.command import Command, Executable, Fingerprint
from runner.share import profile_path

TABLE = effects.load(Path(profile_path("effects", "builtin.toml")).read_text(encoding="utf-8"))
PRINT = Fingerprint(device=1, inode=1, mode=0o100755, uid=0, gid=0, size=1, mtime_ns=1, ctime_ns=1, sha256="0" * 64)
CODE = {"arbitrary_code", "child_processes"}


def _infer(line: str, canonical: str = "", trusted: bool = True) -> set[str]:
    """Paths below the working folder /w are given relative to it."""
    program, *arguments = shlex.split(line)
    path = f"/usr/bin/{program.rpartition('/')[2]}"
    executable = Executable(
        requested=program, path=path, canonical=canonical or path, trusted=trusted, stable=True, fingerprint=PRINT
    )
    found = effects.infer(Command(program=program, arguments=tuple(arguments)), executable, "/w", TABLE)
    assert len(set(found)) == len(found)
    return {str(effect).replace(":/w/", ":") for effect in found}


def _code(found: set[str]) -> bool:
    return found >= CODE


ROWS: dict[str, str] = {
    # inert
    "pwd": "", "echo -n /etc/passwd": "", "printf %s /etc/passwd": "", "true x": "", "false": "",
    # operands
    "cat": "", "cat -": "", "cat a - b": "read:a read:b", "cat -n a": "read:a", "cat -- -n -": "read:-n",
    "cat ../x": "read:../x", "cat /etc/passwd": "read:/etc/passwd", "cat a a": "read:a",
    "wc -l a": "read:a",
    "ls": "read:.", "ls -la": "read:.", "ls d e": "read:d read:e", "ls -w 80 d": "read:d", "ls -w80 d": "read:d",
    "ls -I pat d": "read:d", "ls --": "read:.", "ls -": "read:-",
    # values that are no paths (G15)
    "head -n 5 f": "read:f", "head -n5 f": "read:f", "head -5 f": "read:f", "head -qn 5 f": "read:f", "head --lines=5 f": "read:f",
    "head --lines 5 f": "read:f", "head f -n 5": "read:f", "head -n -5 f": "read:f", "head -n": "",
    "tail -f a": "read:a", "tail -c 9 a b": "read:a read:b", "tail -fn 3 a": "read:a", "tail --pid 7 a": "read:a",
    "tail --pi=7 a": "read:a",
    # patterns
    "grep": "", "grep pat": "", "grep pat f": "read:f", "grep pat -": "", "grep -e pat f": "read:f", "grep -epat f": "read:f",
    "grep -f p f": "read:p read:f", "grep -fp f": "read:p read:f", "grep -nf p f": "read:p read:f", "grep --file=p f": "read:p read:f",
    "grep --fi=p f": "read:p read:f", "grep -m 1 pat f": "read:f", "grep -A2 pat f": "read:f", "grep -- -pat f": "read:f",
    "grep pat f -e q": "read:pat read:f", "grep --exclude-from x pat f": "read:x read:f", "egrep pat f": "read:f",
    "grep -r pat": "read:.", "grep -R pat": "read:.", "grep -nr pat": "read:.", "grep --recursive pat": "read:.",
    "grep --recurs pat": "read:.", "grep pat -r": "read:.", "grep -r pat d": "read:d", "grep -re pat": "read:.",
    "rg pat": "read:.", "rg": "read:.", "rg pat d": "read:d", "rg -e pat": "read:.", "rg -e pat d": "read:d", "rg --files": "read:.",
    "rg --files d": "read:d", "rg -g *.py pat": "read:.", "rg -f p d": "read:p read:d", "rg --ignore-file i pat": "read:i read:.",
    # writers
    "rm a b": "write:a write:b", "rm -rf a": "write:a", "rm -- -rf": "write:-rf", "rm -": "write:-", "rmdir a": "write:a",
    "mkdir -p a": "write:a", "mkdir -m 700 a": "write:a", "touch a": "write:a", "touch -r x a": "read:x write:a",
    "touch -d now a": "write:a", "tee a": "write:a", "tee -a a b": "write:a write:b", "tee -": "write:-", "tee": "",
    "cp a b": "read:a write:b", "cp a b d": "read:a read:b write:d", "cp -r a b": "read:a write:b", "cp -- -a -b": "read:-a write:-b",
    "cp -t d a b": "read:a read:b write:d", "cp -td a": "read:a write:d", "cp -rt d a": "read:a write:d",
    "cp --target-directory=d a": "read:a write:d", "cp --target-directory d a": "read:a write:d", "cp --target=d a": "read:a write:d",
    "cp a -t d": "read:a write:d", "cp -S .b a b": "read:a write:b", "cp a -": "read:a write:-",
    "sort a": "read:a", "sort -o g a": "read:a write:g", "sort a -o g": "read:a write:g", "sort -og": "write:g",
    "sort --output=g a": "read:a write:g", "sort --out=g a": "read:a write:g", "sort -ro g a": "read:a write:g",
    "sort -k 2 a": "read:a", "sort -T d a": "read:a write:d",
    # find
    "find": "read:.", "find d": "read:d", "find d e -name x": "read:d read:e", "find -name x": "read:.", "find -L d": "read:d",
    "find -H -P d -type f": "read:d", "find -O3 d": "read:d", "find -D stat d": "read:d", "find -- d": "read:d",
    "find ( -name x )": "read:.", "find ! -name x": "read:.", "find !d": "read:!d", "find d -newer x": "read:d read:x",
    "find d -delete": "read:d write:d", "find -delete": "read:. write:.", "find a b -name x -delete": "read:a read:b write:a write:b",
    "find d -fprint o": "read:d write:o", "find d -fls o": "read:d write:o", "find d -fprintf o %p": "read:d write:o",
    "find d -fprint0 o -fprint p": "read:d write:o write:p", "find d -name -fprint": "read:d", "find -": "read:-",
    # privilege, network
    "sudo ls": "privilege_change write:/w child_processes", "chmod 777 x": "privilege_change write:/w child_processes",
}  # fmt: skip


@pytest.mark.parametrize("line", ROWS)
def test_row(line: str) -> None:
    quoted = line.replace("(", "'('").replace(")", "')'").replace("*", "'*'")
    assert _infer(quoted) == set(ROWS[line].split())


RUNS_CODE = [
    "sh -c id", "bash x", "zsh", "fish", "dash x", "python x.py", "python3 -c x", "ruby x", "perl -e x", "node x", "env ls", "xargs rm",
    "rg --pre cmd pat", "rg --pre=cmd pat", "rg pat --pre cmd", "rg --hostname-bin=x pat", "rg -z pat", "rg -nz pat", "rg --search-zip pat",
    "find . -exec rm {} +", "find . -execdir x ;", "find d -ok x ;", "find d -okdir x ;", "find . -name x -exec y ;",
    "sort --compress-program=x a", "sort --compress-program x a", "sort --comp x a", "git status", "cargo test", "make", "npm ci",
    "timeout 5 cat f", "nice cat f", "nohup cat f", "time cat f", "stdbuf -o0 cat f", "setsid cat f", "busybox cat f", "awk 1 f",
    "sed s/a/b/ f", "tar cf x y", "vim f", "less f", "xxd f", "cat2 f", "ls9", "head.1 f", "2 f",
]  # fmt: skip


@pytest.mark.parametrize("line", RUNS_CODE)
def test_runs_code(line: str) -> None:
    assert _code(_infer(line.replace(";", "';'")))


@pytest.mark.parametrize("program", ["git", "cargo", "make", "dune", "npm", "pnpm", "opam"])
def test_build_tools_touch_the_folder_and_more(program: str) -> None:
    found = _infer(f"{program} x")
    assert found >= {*CODE, "read:/w", "write:/w", "unknown"}


@pytest.mark.parametrize("program", ["curl", "wget", "ssh", "scp", "nc", "ncat", "telnet"])
def test_network_tools(program: str) -> None:
    assert _infer(f"{program} host") >= {"network", "write:/w", "unknown"}


def test_what_nothing_describes_says_so() -> None:
    found = _infer("unheard-of x")
    assert found >= CODE and any(text.startswith("unknown:") for text in found)


INERT = ["cat f", "echo x", "ls", "pwd", "grep p f", "find d"]


@pytest.mark.parametrize("line", INERT)
def test_a_name_alone_proves_nothing(line: str) -> None:
    """G12: only the resolved, trusted file counts."""
    name = line.split()[0]
    assert not _code(_infer(line))
    assert _code(_infer(line, trusted=False))
    assert _code(_infer(f"./{line}", canonical=f"/w/{name}", trusted=False))
    assert _code(_infer(f"/tmp/{line}", canonical=f"/tmp/{name}", trusted=False))
    for real in ("/usr/bin/busybox", "/usr/bin/toybox", "/usr/bin/coreutils", "/usr/bin/bash", "/usr/bin/rm-of-mine", f"/usr/bin/{name}.real"):
        assert _code(_infer(line, canonical=real)), real


def test_an_alias_is_what_it_leads_to() -> None:
    assert _infer("echo f", canonical="/usr/bin/rm") == {"write:f"}
    assert _infer("rm f", canonical="/usr/bin/cat") == {"read:f"}


@pytest.mark.parametrize("real", ["python3.11", "python3.13", "perl5.36.0", "ruby3.2"])
def test_versions_of_interpreters(real: str) -> None:
    assert _infer("tool x", canonical=f"/usr/bin/{real}") == CODE


@pytest.mark.parametrize("line", ["grep --binary pat f", "rg --ignore pat f", "cp", "mv", "grep --fi p f", "sort --outp g a"])
def test_what_cannot_be_read_for_sure_is_unknown(line: str) -> None:
    """An abbreviation that may or may not take the next word; a copy of nothing."""
    assert _code(_infer(line)) and any(text.startswith("unknown:") for text in _infer(line))


# What a careless row of the table gives too little for.
TABLE_GAPS = {
    "grep --color pat f": "read:f",  # an optional value comes only after `=`
    "grep --colour pat f": "read:f",
    "ls --color d": "read:d",
    "cp --backup a b": "read:a write:b",
    "cp --reflink a b": "read:a write:b",
    "cp --context a b": "read:a write:b",
    "grep -d recurse pat": "read:.",
    "grep --directories=recurse pat": "read:.",
    "mv a b": "read:a write:a write:b",  # moving takes the source away
    "mv -t d a": "read:a write:a write:d",
    "find d -newermm x": "read:d read:x",
}


@pytest.mark.parametrize("line", TABLE_GAPS)
def test_the_table_gives_all_that_is_done(line: str) -> None:
    found = _infer(line)
    assert _code(found) or found >= set(TABLE_GAPS[line].split())


@pytest.mark.parametrize("line", ["wc --files0-from=l", "sort --files0-from=l", "find -files0-from l"])
def test_files_named_by_a_file_may_be_any(line: str) -> None:
    assert _code(_infer(line)) or any(text.startswith("unknown") for text in _infer(line))


@given(st.sampled_from(sorted(name for row in TABLE.values() for name in row["programs"])), st.lists(st.text(max_size=6), max_size=5))
def test_any_arguments_have_effects_with_absolute_targets(program: str, arguments: list[str]) -> None:
    executable = Executable(requested=program, path=f"/b/{program}", canonical=f"/b/{program}", trusted=True, stable=True, fingerprint=PRINT)
    for effect in effects.infer(Command(program=program, arguments=tuple(arguments)), executable, "/w", TABLE):
        assert effect.kind not in ("read", "write") or effect.target.startswith("/")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6), min_size=1, max_size=5))
def test_after_two_dashes_every_word_is_a_path(words: list[str]) -> None:
    executable = Executable(requested="rm", path="/b/rm", canonical="/b/rm", trusted=True, stable=True, fingerprint=PRINT)
    found = effects.infer(Command(program="rm", arguments=("--", *words)), executable, "/w", TABLE)
    assert len(found) == len({word if word.startswith("/") else f"/w/{word}" for word in words})
