"""What holds for every text: nothing lost, nothing missed, never an error, never slow."""

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_fire.stata.parser import parse_do
from discreet_fire.stata.statements import DoFile
from discreet_fire.texts import read_source
from tests.helpers.do_files import MARKED, Planted, planted_do_files
from tests.helpers.places import FIRE_DATA

CORPUS = sorted((FIRE_DATA / "stata_corpus").glob("*.do"))
GAP = re.compile(r"[\s;\ufeff\u200b\x1a]*")
FRAGMENTS = [
    "list x", "/*", "*/", "//", " ///", "\n", "\r\n", ";", "#delimit ;", "#d cr\n", '"', "`", "'",
    '`"', "\"'", "{", "}", "(", ")", ":", "$", "${", "* ", "mata\n", "end\n", "input a\n",
    "program p\n", "if x ", "else ", "qui ", "by x: ", "mi xeq: ", "`a'", " ", "\t", "\xa0",
    "python:\n", "for x: ", "\\",
]  # fmt: skip


def assert_covered(do: DoFile) -> None:
    """Statements and blanks make up the text."""
    at = 0
    for one in do.statements:
        assert GAP.fullmatch(do.text, at, one.start), do.text[at : one.start]
        assert one.start < one.end
        words = [*one.prefixes, *([one.command] if one.command else [])]
        assert [do.text[word.start : word.end] for word in words] == [word.text for word in words]
        places = [place for word in words for place in (word.start, word.end)]
        assert places == sorted(places)
        assert not places or one.start <= places[0] <= places[-1] <= one.end
        for reading in one.readings:
            command = reading.statement.command
            assert command is not None
            assert do.text[command.start : command.end] == command.text
        at = one.end
    assert GAP.fullmatch(do.text, at)


def found(do: DoFile) -> frozenset[tuple[int, int, str]]:
    words = [one.command for one in do.commands if one.command and one.canonical in MARKED]
    return frozenset((word.start, word.end, str(word.canonical)) for word in words)


def found_again(do: DoFile) -> frozenset[tuple[int, int, str]]:
    readings = [reading.statement for one in do.statements for reading in one.readings]
    words = [one.command for one in readings if one.command and one.canonical in MARKED]
    return frozenset((word.start, word.end, str(word.canonical)) for word in words)


# 300 do-files of about seven planted commands each: a place that goes wrong in one file out
# of a hundred is met with a chance of 95 %.
@given(planted_do_files())
def test_planted_commands_are_found_with_their_places_and_decoys_are_not(do: Planted) -> None:
    parsed = parse_do(do.text)
    assert_covered(parsed)
    assert found(parsed) == do.live
    assert do.maybe <= found_again(parsed)


@given(planted_do_files(), st.sampled_from(["// list x", "* list x", "/* list x */", "  "]))
def test_a_comment_at_the_end_changes_nothing_before_it(do: Planted, comment: str) -> None:
    before, after = parse_do(do.text), parse_do(f"{do.text}\n{comment}")
    kept = [(one.start, one.end, one.command) for one in after.statements][: len(before.statements)]
    assert kept == [(one.start, one.end, one.command) for one in before.statements]
    assert found(after) == do.live


@given(
    st.one_of(st.text(max_size=80), st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
)
def test_every_text_is_read(text: str) -> None:
    assert_covered(parse_do(text))


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 8)):
        at, cut = chance.randrange(len(text) + 1), chance.choice([0, 0, 1, 2, 30])
        text = text[:at] + chance.choice(["", *FRAGMENTS]) + text[at + cut :]
    return text


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_damaged_programs_are_read(path: Path) -> None:
    text, chance = read_source(path).text, random.Random(path.stem)
    assert_covered(parse_do(text))
    for _ in range(30):
        assert_covered(parse_do(mutated(text, chance)))


def test_a_command_in_front_of_any_damage_is_found() -> None:
    chance = random.Random(20)
    text = "\n".join(read_source(path).text for path in CORPUS)
    for _ in range(20):
        damaged = mutated(text[chance.randrange(2_000) :], chance)
        do = parse_do("list first\n" + damaged)
        assert (0, 4, "list") in found(do)


def seconds(text: str) -> float:
    """Processor time, the less of two."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        parse_do(text)
        spent.append(time.process_time() - start)
    return min(spent)


LONG = {
    "corpus": "\n".join(read_source(path).text for path in CORPUS if "awk" not in path.stem) + "\n",
    "open comments": "/*",
    "star comments": "* /* x\n",
    "open quotes": 'di "a\n',
    "open compound quotes": 'di `"a ',
    "open macros": "di `x ",
    "nested macros": "`",
    "braces": "{",
    "closing braces": "}",
    "blocks without end": "mata\nlist x\n",
    "prefixes": "qui ",
    "conditions": "if x ",
    "brackets": "if (",
    "continuation": "x ///\n",
    "words": "reg y x1 ",
    "programs": "program p\n",
}


@pytest.mark.parametrize("name", LONG)
def test_the_time_grows_as_the_length(name: str) -> None:
    unit, size = LONG[name], 4_000
    text = unit * (size // len(unit) + 1)
    short, long = text[:size], text[:size] + text[:size] + text[:size] + text[:size]
    assert seconds(long) < 7 * seconds(short) + 0.02
