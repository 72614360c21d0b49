"""Programs that try to make the log tell what one person has.

Each program of `attacks.do` is run on data sets that differ in the values of one person only:
his wage, his name, whether a second person is in his club. The logs must not differ at all,
so that no condition, count, type, error or number of lines carries what he has.
"""

import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_fire.runners.builtin.commands import COMMANDS
from tests.helpers.places import FIRE_DATA
from tests.helpers.run_panel import run_do

PROGRAMS = [one.strip() for one in (FIRE_DATA / "attacks.do").read_text().split("* ----\n")[1:]]


def frame(secret: int = 92_017, club: int = 2, name: str = "Quentin") -> pl.DataFrame:
    """Two years of sixty persons; person 17 earns the secret in the second."""
    draw = random.Random(5)
    rows = []
    for who in range(1, 61):
        level, sex, hours = draw.randint(1500, 4000), draw.randint(0, 1), draw.randint(20, 45)
        for year in (2001, 2002):
            wage = level + draw.randint(0, 300)
            his = who == 17
            rows.append(
                {
                    "pid": who,
                    "year": year,
                    "region": who % 4 + 1,
                    "sex": sex,
                    "hours": hours + draw.randint(0, 3),
                    "wage": secret if his and year == 2002 else wage,
                    "club": int(17 <= who < 17 + club),
                    "small": 7 if his and secret > 90_000 else who % 4 + 1,
                    "name": name if his else f"n{who}",
                    "kind": "abc"[who % 3],
                }
            )
    return pl.DataFrame(rows)


PLAIN = frame()
OTHERS = {"wage": frame(secret=61_244), "name": frame(name="Zebulon"), "club": frame(club=1)}


def log_of(text: str, data: pl.DataFrame, folder: Path, **options: object) -> str:
    """The log of a program without the head that names its files, and what else is told."""
    folder.mkdir()
    data.write_parquet(folder / "d.parquet")
    (folder / "p.do").write_text(text)
    result = run_do(folder / "p.do", data=folder / "d.parquet", seconds=60, **options)
    assert result.error is None or result.error.code != "internal", result.error
    told = "" if result.error is None else f"{result.error} {result.line}"
    return result.log.split("-" * 79 + "\n", 2)[2] + told


#: All are tried by `make test-more`.
FEW = [
    pytest.param(text, marks=() if at % 12 == 0 else pytest.mark.exhaustive)
    for at, text in enumerate(PROGRAMS)
]


@pytest.mark.parametrize("text", FEW)
def test_the_log_is_the_same_whatever_one_person_has(text, tmp_path):
    log = log_of(text, PLAIN, tmp_path / "plain", entity="pid")
    for what, data in OTHERS.items():
        if what != "wage" and what not in text:
            continue
        assert log_of(text, data, tmp_path / what, entity="pid") == log, what
    if "92017" not in text and "Quentin" not in text:
        assert "92017" not in log
        assert "Quentin" not in log


@pytest.mark.parametrize("text", [*FEW[::36], *FEW[4::8]])
def test_nor_is_it_where_nobody_is_named_as_entity(text, tmp_path):
    log = log_of(text, PLAIN, tmp_path / "plain")
    for what in ("wage", "name"):
        assert log_of(text, OTHERS[what], tmp_path / what) == log, what


def test_there_are_enough_attacks():
    assert len(PROGRAMS) > 129


# --- honest programs still show what they should ------------------------------------------

HONEST = """
summarize wage hours
tabulate region sex, row
generate lwage = ln(wage) if wage > 0
generate young = hours < 30
recode young (0 = 0 "no") (1 = 1 "yes"), generate(youth)
tabulate youth
generate income = hours * 10
regress income i.region young
replace hours = . if hours > 60
xtset pid year
xtsum hours
keep if year == 2002
count
"""


def test_honest_programs_show_what_they_did(tmp_path):
    log = log_of(HONEST, PLAIN, tmp_path / "plain", entity="pid")
    assert "(withheld)" not in log.replace("wage |", "")
    for piece in ("yes |", "  60\n"):
        assert piece in log, piece


# --- nothing fails in a way that nobody can read --------------------------------------------

WORDS = [
    "wage", "region", "sex", "name", "nothing", "_all", "w*", "1", "-3", ".", "\"", "\"a b\"",
    "(", ")", "{", "}", "`x'", "`=wage[34]'", "`=", "$y", "\\", ",", "=", "==",
    "if", "in", "using", "if wage > 5", "if name == \"a\"", "in 1/5", "in 1/`=wage[34]'",
    "[fw=region]", "[aw=wage]", ", by(region)", ", detail", ", generate(new)", ", replace",
    "wage[34]", "r(max)", "_rc", "_N", "i.region", "L.wage", "c.hours##i.sex", "new = wage * 2",
    "new = sum(wage", "1e400", "1/0", "%9.2f", "(mean) wage", "(1 = 2)", "2/", ": count",
    "++", "+", "#", ";", "_b[hours]", "e(sample)", "é",
]  # fmt: skip
HEADS = [
    "", "", "", "", "quietly ", "by region: ", "bysort pid: ", "capture ", "if wage[34] > 5 ",
    "forvalues i = 1/3 {\n", "program p\n",
]  # fmt: skip
NAMES = [
    *sorted(COMMANDS),
    *["list", "egen", "continue", "exit", "do", "mata", "nonsense", "`x'", "{", "}"],
]

lines = st.builds(
    lambda head, name, words: f"{head}{name} {' '.join(words)}",
    st.sampled_from(HEADS),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), max_size=5),
)


@given(
    program=st.lists(lines, min_size=1, max_size=4), end=st.sampled_from(["", "}", "}\n}", "end"])
)
def test_any_lines_are_a_result_or_a_clear_error(tmp_path_factory, program, end):
    folder = tmp_path_factory.mktemp("fuzz") / "run"
    text = "\n".join([*program, end])
    log = log_of(text, PLAIN, folder, entity="pid")  # asserts that it is no internal error
    assert "92017" not in log
    assert "Quentin" not in log
    assert "Traceback" not in log


HUGE = {
    "drop if " + "(" * 3000 + "1" + ")" * 3000: "invalid syntax in an expression",
    "drop if " + "+".join(["1"] * 5000): "nested too deeply",
    "fdzrun " * 3000 + "count": "nested too deeply",
    "{\n" * 300 + "}\n" * 300: "does not know blocks",
}


@pytest.mark.parametrize("text", HUGE)
def test_what_is_too_large_is_a_clear_error(text, tmp_path):
    PLAIN.write_parquet(tmp_path / "d.parquet")
    (tmp_path / "p.do").write_text(text)
    result = run_do(tmp_path / "p.do", data=tmp_path / "d.parquet", seconds=60)
    assert HUGE[text] in str(result.error)
    assert "line" in result.error.where
