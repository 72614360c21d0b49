"""Lines of the same wording are read once: the outcome is that of reading each by itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.stata import parser
from discreet_fire.stata.line_cache import KnownLines
from discreet_fire.stata.parser import parse_do
from discreet_fire.stata.statements import DoStatement
from discreet_fire.texts import read_source
from tests.helpers.do_files import Planted, planted_do_files
from tests.helpers.places import FIRE_DATA

FILES = [*sorted((FIRE_DATA / "stata_corpus").glob("*.do")), FIRE_DATA / "attacks.do"]
#: Lines whose meaning a line before or behind them may change.
LINES = (
    "list x", "qui su wage // r(max)", 'di "max: `r(max)\'"', "local m = r(max)", "di `m'", "{",
    "}", "if `m' > 1 {", "program p", "end", "mata", "#delimit ;", "#delimit cr", "list x;",
    "/* open", "*/", "* note", "* note ///", "gen top = r(max)", "tab top", "scalar s = r(min)",
    "di s", "di scalar(s)", "by id: su x", "cap noi list in 1", "su x, d", "input a", "1 2 3",
    "mi xeq: su x ; list x", "`cmd' list", 'local c "list x"', "reg y x1 ///", 'di "open',
    "foreach v in a b {", "  su `v', d", "local v_`i' = r(max)", "di $S_1 `v_1'", "nosuch: list",
)  # fmt: skip


def plain(statement: DoStatement) -> tuple[Any, ...]:
    """All that is known of a statement but for its form."""
    readings = tuple((why, plain(one)) for why, one in statement.readings)
    return (*statement._replace(form=None, readings=())[:-1], readings)


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and rewrite a text with forms and without; they must not differ."""
    read, done = parse_do(text), rewrite(text)
    with monkeypatch.context() as patch:
        patch.setattr(parser, "line_at", lambda text, at: None)
        one, other = parse_do(text), rewrite(text)
    assert not any(statement.form for statement in one.statements)
    assert [plain(each) for each in read.statements] == [plain(each) for each in one.statements]
    assert (read.findings, read.programs) == (one.findings, one.programs)
    assert (done.text, done.edits, done.findings, done.calls) == (
        other.text, other.edits, other.findings, other.calls,
    )  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_programs_that_repeat_themselves(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = read_source(path).text
    both(f"{text}\n{text}", monkeypatch)
    lines, chance = text.splitlines(), random.Random(path.stem)
    for _ in range(20):
        both("\n".join(chance.choices(lines, k=60)), monkeypatch)


# 400 texts of up to 40 lines of 37 kinds: a pair of lines whose order matters and that goes
# wrong in one text of a hundred is met with a chance of 98 %.
@given(st.lists(st.sampled_from(LINES), max_size=40), st.sampled_from(["\n", "\r\n", "\r"]))
def test_lines_that_change_each_other(lines: list[str], newline: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        both(newline.join(lines), patch)


@given(planted_do_files())
def test_planted_commands(do: Planted) -> None:
    with pytest.MonkeyPatch.context() as patch:
        both(f"{do.text}\n{do.text}", patch)


def test_a_line_is_judged_anew_where_more_is_known() -> None:
    """The same line before and behind the place from which on a variable holds a figure."""
    done = rewrite("tab top\ngen top = r(max)\ntab top\n")
    assert [finding.line for finding in done.findings if finding.rule == "shown"] == [3]


def test_a_line_is_judged_anew_under_a_condition() -> None:
    done = rewrite("di 1\nif r(max) > 5 {\ndi 1\n}\ndi 1\n")
    assert [finding.line for finding in done.findings if finding.rule == "shown"] == [3]


def test_lines_of_the_same_form_keep_their_own_places() -> None:
    text = "qui su wage in 1/5 // all\nlist id wage if wage > 3\n"
    do = parse_do(text * 3)
    for number in range(3):
        first, comment_end = number * len(text), text.index("\n")
        one, other = do.statements[2 * number : 2 * number + 2]
        assert (one.start, one.end) == (first, first + comment_end)
        assert one.spans[0].start == first + text.index("//")
        assert other.command is not None
        assert do.text[other.command.start : other.command.end] == "list"
    assert len({one.form for one in do.statements}) == 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lines_that_are_known_from_other_programs(path: Path) -> None:
    text = read_source(path).text
    known: KnownLines = {}
    for other in FILES:
        parse_do("\n" + read_source(other).text, known)
    assert known
    read, alone = parse_do(text, known), parse_do(text)
    assert [plain(each) for each in read.statements] == [plain(each) for each in alone.statements]
    assert (read.findings, read.programs) == (alone.findings, alone.programs)
