"""What a program is told where a command fails: nothing of a few, and never an internal error."""

from __future__ import annotations

import polars as pl
import pytest

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.registry import find
from discreet_fire.runners.builtin.runner import run_do
from tests.helpers.run_data import Run

PEOPLE = pl.DataFrame(
    {
        "pid": range(1, 41),
        "group": [who % 4 for who in range(1, 41)],
        "wage": [1000.0 + 10 * who for who in range(1, 41)],
        "code": [-9 if who <= 5 else who % 3 for who in range(1, 41)],
        "rare": [-9 if who == 7 else who % 3 for who in range(1, 41)],
        "text": [f"t{who}" for who in range(1, 41)],
    }
)

#: Lines that fail because of one person, the same because of many, and the return code.
FAILING = [
    ("summarize wage [aw=wage - 1015]", "summarize wage [aw=wage - 1200]", 402),
    ("summarize wage [fw=cond(pid == 7, 1.5, 1)]", "summarize wage [fw=wage / 1000]", 401),
    ("regress wage i.rare", "regress wage i.code", 452),
    ("mvencode wage, mv(1010)", "mvencode code, mv(1)", 9),
    ("collapse wage if wage > 1400", "collapse wage if group == 9", 2000),
    ("contract group if wage > 1400", "contract group if group == 9", 2000),
    ("replace pid = 2 in 1\nisid pid", "isid group", 459),
    ("replace wage = . in 1\nisid wage", "replace wage = . in 1/20\nisid wage", 459),
    ("replace pid = 2 in 1\ntsset pid", "tsset group", 451),
    ("encode text in 1/39, generate(k) label(l)\nencode text, generate(m) label(l) noextend",
     "encode text in 1/9, generate(k) label(l)\nencode text, generate(m) label(l) noextend", 180),
    ("generate q2 = 1\nreplace text = \"a b\" in 1\nsplit text, generate(q)",
     "generate q1 = 1\nsplit text, generate(q)", 110),
    ("replace group = 9 in 1\ngenerate d5 = 1\ntabulate group, generate(d)",
     "generate d2 = 1\ntabulate group, generate(d)", 110),
    ("bsample 1 if wage > 1400", "bsample 100", 498),
    ("generate z = \"a\" * (1000000 - 1390 + wage)", "display \"a\" * 2000000", 198),
    ("generate z = regexr(text, text + \"(\", \"\")", "display regexr(\"a\", \"(\", \"\")", 198),
]  # fmt: skip


def error_of(text):
    """What stops a program."""
    with pytest.raises((DoError, UnsupportedError)) as found:
        Run(text, PEOPLE, entity="pid")
    return found.value


@pytest.mark.parametrize(("few", "many", "code"), FAILING)
def test_a_failure_is_told_only_where_it_is_about_many(few, many, code):
    assert error_of(few).redacted
    told = error_of(many)
    assert not told.redacted
    assert told.rc == code


def test_keys_of_a_merge_that_few_have_twice_are_not_told(tmp_path):
    PEOPLE.select("pid", "group").write_parquet(tmp_path / "u.parquet")
    for text, redacted in (
        ('replace pid = 2 in 1\nmerge 1:1 pid using "u.parquet"', True),
        ('merge 1:1 group using "u.parquet"', False),
        ('drop if pid == 1\nmerge 1:1 pid using "u.parquet", assert(match)', True),
        ('drop if group == 1\nmerge 1:1 pid using "u.parquet", assert(match)', False),
    ):
        with pytest.raises(DoError) as found:
            Run(text, PEOPLE, folder=tmp_path, entity="pid")
        assert found.value.redacted is redacted, text


def test_long_texts_of_few_are_not_told_when_data_are_saved(tmp_path):
    for text, redacted in (
        ('generate s = "a" * cond(wage > 1390, 3000, 1)\nsave x', True),
        ('generate s = "a" * 3000\nsave x', False),
    ):
        with pytest.raises(UnsupportedError) as found:
            Run(text, PEOPLE, folder=tmp_path, entity="pid")
        assert found.value.redacted is redacted


def test_an_internal_error_shows_nothing_of_the_run(tmp_path, monkeypatch):
    known = find("count")
    monkeypatch.setitem(known.__dict__, "run", lambda session, call: [][1])
    PEOPLE.write_parquet(tmp_path / "d.parquet")
    (tmp_path / "p.do").write_text("display 5\ncount")
    result = run_do(tmp_path / "p.do", data=tmp_path / "d.parquet")
    assert "display 5" not in result.log
    assert result.error.code == "internal"
    assert "IndexError" in str(result.error)
    assert result.line is None
    assert not result.outputs


ODD = {
    "local i 1e999\nlocal ++i": 198,
    "local i nan\ndisplay `++i'": 198,
    "expand 1e300": 909,
    "egen x = seq(), from(nan)": 198,
    "egen x = pctile(wage), p(200)": 198,
    "egen x = rowpctile(wage pid), p(0)": 198,
    "egen x = cut(wage), group(1e300)": 198,
    "_pctile wage, percentiles(200)": 198,
    "xtile q = wage, nquantiles(1000000)": 198,
    "xtile q = wage, cutpoints(text)": 109,
    "pctile strange q = wage": 198,
    "centile wage, level(abc)": 198,
    "histogram wage, width(abc)": 198,
    "regress wage pid, level(abc)": 198,
    "forvalues i = 0(1e-300)1e300 {\n}": 123,
    "clear\ninput x\ninf\nend": 198,
    "clear\ninput x\n1_0\nend": 198,
    "recode wage (1/2 = nan)": 198,
    "label define l 99999999999 \"x\"": 198,
    "label define l 1.5 \"x\"": 198,
    "recode wage (1 = 1.5 \"a\"), generate(z)": 198,
    "confirm integer number 1e999": 7,
    "ttest wage pid, by(group)": 198,
    "ttest , by(group)": 198,
    "set obs 1e15": 909,
}  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_odd_input_is_an_error_of_the_program(text):
    assert error_of(text).rc == ODD[text]


@pytest.mark.parametrize("text", [
    "display 1e999", 'display real("1e400")', "display real(\"nan\")", "display rpoisson(-1)",
    "display dofm(1e12)", "display dofm(96480)", "display dofw(-1e300)", "display rgamma(0, 1)",
    "display rbinomial(10, 2)", "display rnormal(0, .)", "display runiform(., 1)",
])  # fmt: skip
def test_what_has_no_value_is_missing(text):
    assert Run(text).log[-1] == "."


def test_draws_are_missing_only_where_their_arguments_are_wrong():
    run = Run("generate x = rpoisson(cond(pid > 20, -1, 5))", PEOPLE)
    assert all((one == ".") == (at >= 20) for at, one in enumerate(run["x"]))


def test_later_random_numbers_do_not_hang_on_earlier_ones():
    logs = [
        Run(f"generate x = rgamma({shape}, 1)\ndrop if pid > {rows}\nsample 50\ndisplay runiform()",
            PEOPLE).log[-1] for shape, rows in (("pid", 30), ("wage", 20))
    ]  # fmt: skip
    assert logs[0] == logs[1]


def test_data_sorted_by_others_again_may_be_used_in_their_order():
    secret = "generate z = wage[3] * mod(pid, 2)\nsort z\n"
    assert "(withheld)" in Run(secret + "summarize wage in 1/20", PEOPLE).text
    assert "(withheld)" not in Run(secret + "sort pid\nsummarize wage in 1/20", PEOPLE).text


@pytest.mark.parametrize("text", ['display abbrev("", -1)', 'display abbrev("abcd", 1)'])
def test_short_names_are_not_abbreviated(text):
    assert Run(text).log[-1] in ("", "abcd")


def test_the_table_of_merge_counts_persons(tmp_path):
    years = pl.concat([PEOPLE.with_columns(year=pl.lit(year)) for year in (1, 2, 3)])
    years.filter(pl.col("pid") < 3).select("pid", "year").write_parquet(tmp_path / "two.parquet")
    years.filter(pl.col("pid") < 9).select("pid", "year").write_parquet(tmp_path / "more.parquet")
    text = 'merge 1:1 pid year using "{}.parquet"'
    two = Run(text.format("two"), years, folder=tmp_path, entity="pid").text
    more = Run(text.format("more"), years, folder=tmp_path, entity="pid").text
    assert " 6" not in two
    assert "114" not in two
    assert " 24  (_merge==3)" in more
    assert "96  (_merge==1)" in more


def test_models_of_groups_of_few_are_one_line_however_many_there_are():
    frame = PEOPLE.with_columns(part=pl.when(pl.col("pid") > 36).then(pl.col("pid")).otherwise(0))
    text = "bysort part: regress wage group"
    log = Run(text, frame, entity="pid").text
    assert log.count("-> groups of few") == 1
    assert log.count("->") == 2
    again = Run(text, frame.with_columns(part=pl.min_horizontal("part", 39)), entity="pid")
    assert again.text.count("->") == 2
