"""bash is the oracle: what the grammar accepts means what it means to bash, byte for byte; all else is refused.

Both run under the same confinement. FUMEHOOD_FULL=1 runs the full counts. Failures print the chain; the seed is fixed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from runner import Registry, Result
from runner.grammar import GrammarError, parse

FULL = os.environ.get("FUMEHOOD_FULL") == "1"
CHAINS, WORDS, REFUSED = (20_000, 200_000, 50_000) if FULL else (2_000, 20_000, 5_000)
DECLARATION = """<agent>
<shell_access id="r" extends="builtin:workspace-readonly@1" pipefail="true">
  <capabilities child_processes="true" arbitrary_code="true"/>
  <policy default="allow"/>
</shell_access>
<tool name="chain" type="shell" mode="chain" runtime="r"/>
<tool name="bash" type="shell" mode="raw" executable="/bin/bash" runtime="r" arguments_before_script='["--norc", "-c"]' stdin="optional"/>
</agent>"""
# Builtins that are also files: both sides shall run the file.
PROLOGUE = "enable -n echo printf test [ true false pwd kill; set -o pipefail\n"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    place = tmp_path_factory.mktemp("ws")
    file = place.parent / "chain-bash.xml"
    file.write_text(DECLARATION)
    with Registry.load(file, authorize=lambda manifest: True, workspace=place) as made:
        yield made


# -- chains -----------------------------------------------------------------------------------------------------------

_PLAIN = "abcXYZ019_-+.,/:@%^=é日"
_SPECIAL = " \t$`\"'\\*?[]{}~#!&|;<>()\n"


def _word(random: random.Random) -> str:
    """A word of several pieces, each quoted in one of the ways there are."""
    return "".join(_piece(random) for _ in range(random.randint(1, 3)))


def _piece(random: random.Random) -> str:
    kind = random.randrange(4)
    if kind == 0:
        return "".join(random.choices(_PLAIN.replace("=", ""), k=random.randint(1, 5)))
    text = "".join(random.choices(_PLAIN + _SPECIAL, k=random.randint(0, 6)))
    if kind == 1:
        return "'" + text.replace("'", "") + "'"
    if kind == 2:
        return '"' + "".join("\\" + char if char in '$`"\\' else char for char in text) + '"'
    return "".join("\\" + char for char in text if char != "\n") or "''"


def _source(random: random.Random) -> str:
    words = " ".join(_word(random) for _ in range(random.randint(0, 3)))
    return random.choice(
        (f"echo {words}", f"printf '%s|' x {words}", f"printf '%s\\n' x {words}", "true", "false", f"sh -c 'exit {random.randint(0, 255)}'",
         "sh -c 'kill -9 $$'", "sh -c 'echo out; echo err >&2; exit 3'", "cat", f"test -n {_word(random)}", "[ a = b ]", "env -i pwd")
    )  # fmt: skip


def _filter(random: random.Random) -> str:
    """Reads all of its input: whether an early end reaches the producer in time is a race in any shell."""
    return random.choice(
        ("cat", "tr a-z A-Z", "wc -c", "sort -r", "rev", f"grep -c {random.choice('abX')}", "sed s/a/b/", "od -c", "sh -c 'cat; exit 5'",
         "sh -c 'cat >/dev/null; kill -15 $$'", "cat -n", "tail -n 1")
    )  # fmt: skip


def _chain(random: random.Random) -> str:
    text = ""
    for index in range(random.randint(1, 5)):
        if index:
            text += random.choice((";", " ; ", "&&", " && ", "||", " || ", "\n", " \\\n; ", " &&\n", "\n\n"))
        text += _source(random)
        for _ in range(random.choice((0, 0, 0, 1, 1, 2, 4))):
            text += random.choice(("|", " | ", " |\n")) + _filter(random)
    return text


def _seen(result: Result) -> tuple[str, str, int]:
    assert result.error is None and result.status is not None, result
    status = result.status
    code = status.exited if hasattr(status, "exited") else 128 + status.signaled
    return result.stdout, result.stderr, code


def test_an_accepted_chain_does_what_bash_does(registry: Registry) -> None:
    source = random.Random(20_261_206)
    for number in range(CHAINS):
        text = _chain(source)
        ours = _seen(registry.call("chain", {"command": text}))
        theirs = _seen(registry.call("bash", {"script": PROLOGUE + text}))
        # bash reports the death of a stage on its own stderr.
        assert (ours[0], ours[2]) == (theirs[0], theirs[2]), (number, text)


# -- words ------------------------------------------------------------------------------------------------------------

_SOUP = "ab1_ \t'\"\\$`*?[]{}~#!=,.:/-+@%^é\\'\""


def _soup(random: random.Random) -> str:
    return "".join(random.choices(_SOUP, k=random.randint(1, 9)))


def test_accepted_words_are_the_words_bash_sees(registry: Registry) -> None:
    """Any soup of quotes and special characters: refused, or the same words."""
    source = random.Random(1206)
    texts, expected = [], []
    for _ in range(WORDS):
        text = f"printf '<%s>\\n' x {_soup(source)}"
        try:
            (pipeline,) = parse(text)
        except (GrammarError, ValueError):
            continue
        texts.append(text)
        expected.append("".join(f"<{word}>\n" for word in pipeline.commands[0].arguments[1:]))
    assert len(texts) > WORDS // 20, "too few are accepted to mean anything"
    for start in range(0, len(texts), 500):
        script = "\necho ---\n".join(texts[start : start + 500])
        result = registry.call("bash", {"script": "eval \"$(cat)\"", "stdin": script})
        assert result.error is None, result
        assert result.stdout == "---\n".join(expected[start : start + 500]), start


# -- refusals ---------------------------------------------------------------------------------------------------------

_INTRUDERS = (
    "$x", "${x}", "$(ls)", "`ls`", "$((1+1))", ">f", "2>f", ">>f", "<f", "<<EOF", "<<<x", "&", "& ls", "(ls)", "*", "*.c", "a?", "[ab]",
    "~", "~/x", "#x", "{a,b}", "{1..3}", "!", "|&cat", "&>f", "a=~", '"$x"', '"`ls`"', '"${x}"', "$'a'", ")", "; ;", "&& &&", "| |", "|", "'", '"', "\\",
)  # fmt: skip
_LEADERS = (
    "if", "then", "for", "while", "until", "case", "{", "}", "!", "function", "do", "done", "fi", "esac", "elif", "else", "A=1", "A+=1", "x=", "[[", "time", "coproc", "select",
)  # fmt: skip


def test_what_is_outside_the_grammar_is_refused() -> None:
    source = random.Random(61_226)
    for number in range(REFUSED):
        words = [_word(source) for _ in range(source.randint(1, 4))]
        if source.random() < 0.75:
            intruder = source.choice(_INTRUDERS)
            words.insert(source.randint(1, len(words)) if intruder not in ("; ;", "&& &&", "| |") else 1, intruder)
            text = "echo " + " ".join(words)
            if intruder in ("|", "\\", "'", '"'):
                text = "echo " + " ".join(word for word in words if word != intruder) + " " + intruder
        else:
            text = " ".join((source.choice(_LEADERS), *words))
        with pytest.raises(GrammarError) as caught:
            parse(text)
        assert 0 <= caught.value.offset <= len(text.encode()) and caught.value.remedy and str(caught.value), (number, text)


def test_every_refusal_reaches_the_model_with_its_place(registry: Registry) -> None:
    for text, place in (("echo $x", 5), ("cat a>b", 5), ("nap 5 &", 6), ("echo é `x`", 8), ("ls |", 4), ("; ls", 0)):
        result = registry.call("chain", {"command": text})
        assert result.status is None and result.error is not None and result.error.code == "shell.tool_chain_parse"
        assert f"at byte {place}:" in result.error.message, (text, result.error.message)


