"""The conservative command language: what is read, and every refusal with its byte offset and remedy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.grammar import GrammarError, parse, parse_single

READ = [
    ("ls", [("", [["ls"]])]),
    ("wc -l 'my file' && echo ok", [("", [["wc", "-l", "my file"]]), ("&&", [["echo", "ok"]])]),
    ("a|b||c;d&&e", [("", [["a"], ["b"]]), ("||", [["c"]]), (";", [["d"]]), ("&&", [["e"]])]),
    ("a\nb", [("", [["a"]]), (";", [["b"]])]),
    ("\n a \n\n b\n", [("", [["a"]]), (";", [["b"]])]),
    ("a &&\n b |\n\n c", [("", [["a"]]), ("&&", [["b"], ["c"]])]),
    ("a;\nb", [("", [["a"]]), (";", [["b"]])]),
    ("a \\\n b\\\nc", [("", [["a", "bc"]])]),
    ("echo '' \"\" a''b", [("", [["echo", "", "", "ab"]])]),
    (r'echo "a\nb\\c\"d\$e\`f"', [("", [["echo", r'a\nb\c"d$e`f']])]),
    ('echo "a\\\nb" "c\nd"', [("", [["echo", "ab", "c\nd"]])]),
    (r"echo a\ b \$x \* \# \'", [("", [["echo", "a b", "$x", "*", "#", "'"]])]),
    ("[ -f x ]", [("", [["[", "-f", "x", "]"]])]),
    ("git show HEAD@{1} {} a{b} {x},{y} a#b a~b c=d x!y 100% ^a", [("", [["git", "show", "HEAD@{1}", "{}", "a{b}", "{x},{y}", "a#b", "a~b", "c=d", "x!y", "100%", "^a"]])]),
    ("echo if then { }", [("", [["echo", "if", "then", "{", "}"]])]),
    ("'if' x", [("", [["if", "x"]])]),
    ("'A'=1 x", [("", [["A=1", "x"]])]),
    ("./a=b", [("", [["./a=b"]])]),
    ("echo é ünï 日本", [("", [["echo", "é", "ünï", "日本"]])]),
    ("a\r\nb", [("", [["a"]]), (";", [["b"]])]),
    ("echo '{a,b}' \"{1..3}\" {a\\,b}", [("", [["echo", "{a,b}", "{1..3}", "{a,b}"]])]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ)
def test_what_is_read(text: str, expected: object) -> None:
    assert [(item.operator, [[one.program, *one.arguments] for one in item.commands]) for item in parse(text)] == expected


REFUSED = [
    ("", 0, "empty"), (" \n\t ", 0, "empty"), ("; a", 0, "expected"), ("a;;b", 2, "expected"), ("a ;", 3, "expected"), ("a |", 3, "expected"),
    ("a &&", 4, "expected"), ("| a", 0, "expected"), ("a || && b", 5, "expected"), ("a; \n ; b", 5, "expected"), ("a &&\n", 5, "expected"),
    ("'' x", 0, "empty"), ('a; ""', 3, "empty"), ("a\0b", 1, "NUL"),
    ("cat a>b", 5, "redirection"), ("a <b", 2, "redirection"), ("a 2>b", 3, "redirection"), ("a <<X", 2, "redirection"), ("a <(b)", 2, "redirection"),
    ("echo `x`", 5, "substitution"), ("echo $(x)", 5, "expands"), ("echo $HOME", 5, "expands"), ("echo a$", 6, "expands"), ('echo "$x"', 6, "expands"),
    ('echo "`x`"', 6, "expands"), ("echo $'a'", 5, "expands"), ("echo ${x}", 5, "expands"), ("echo $((1))", 5, "expands"),
    ("nap 5 &", 6, "background"), ("a & b", 2, "background"), ("a |& b", 3, "background"), ("a &> b", 2, "background"), ("a 2>&1", 3, "redirection"),
    ("(a)", 0, "grouping"), ("a (b", 2, "grouping"), ("f() { x; }", 1, "grouping"), ("{ a; }", 0, "syntax"), ("a; } ", 3, "syntax"),
    ("ls *", 3, "expands"), ("ls a?b", 4, "expands"), ("ls a[bc]", 4, "expands"), ("ls [ab]", 3, "expands"), ("[[ a ]]", 0, "expands"),
    ("ls ~", 3, "home"), ("ls ~/x", 3, "home"), ("ls a=~/x", 5, "home"), ("ls a=b:~/x", 7, "home"), ("a #b", 2, "comment"), ("# a", 0, "comment"),
    ("A=1 b", 0, "assignment"), ("A=1", 0, "assignment"), ("a; B+=2 c", 3, "assignment"), ("_x='y z' c", 0, "assignment"),
    ("! a", 0, "syntax"), ("a && ! b", 5, "syntax"), ("echo !", 5, "shell"), ("echo {a,b}", 5, "braces"), ("echo x{1..3}", 6, "braces"),
    ("echo {a,{b}}", 5, "braces"), ("echo {a{b,c}}", 7, "braces"),
    ("if a; then b; fi", 0, "syntax"), ("for x in a; do b; done", 0, "syntax"), ("while a; do b; done", 0, "syntax"), ("case a in b) c;; esac", 11, "grouping"),
    ("function f", 0, "syntax"), ("time a", 0, "syntax"), ("a; do b", 3, "syntax"), ("a 'b", 2, "unterminated"), ('a "b', 2, "unterminated"), ("a \\", 2, "trailing"),
    ("ä `x`", 3, "substitution"), ("é é > x", 6, "redirection"), ("日本 'x", 7, "unterminated"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "offset", "word"), REFUSED)
def test_what_is_refused_where_and_why(text: str, offset: int, word: str) -> None:
    with pytest.raises(GrammarError) as caught:
        parse(text)
    assert caught.value.offset == offset and word in str(caught.value) and caught.value.remedy


@pytest.mark.parametrize(("text", "offset"), [("a | b", 2), ("a; b", 1), ("é && b", 3), ("a\nb", 1)])
def test_a_single_command_is_one(text: str, offset: int) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_single(text)
    assert caught.value.offset == offset


WORDS = st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), min_size=1), min_size=1)


@given(WORDS)
def test_quoted_words_come_back(words: list[str]) -> None:
    command = parse_single(" ".join("'" + word.replace("'", "'\\''") + "'" for word in words))
    assert [command.program, *command.arguments] == words


@given(st.text(st.sampled_from("ab '\"\\|;&\n$`*?[]{},.~#=!<>()\r\té"), max_size=30))
def test_any_text_is_read_or_refused_with_an_offset_in_it(text: str) -> None:
    try:
        assert parse(text)
    except GrammarError as error:
        assert 0 <= error.offset <= len(text.encode()) and error.remedy
