"""What is wrong with programmes that hide cells is said at once, by key, before any output."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.errors import DiscreetError
from discreet.release import audit_release, check_release, open_inputs, protect
from discreet.release.programme.rule_sections import RuleSetEntry
from discreet.rules import RuleSet, rule_problems
from tests.helpers.firm_programmes import FIRST, HEAD, firms, write
from tests.helpers.programmes import replaced
from tests.helpers.rows import grouped

TABLE = '\n[tables.T1]\nby = ["region", "branch"]\nvalue = "turnover"\n'
NOISE = """
[keys]
column = "key"

[perturbation]
table = "ptable.json"

[magnitudes.turnover]
table = "rent.csv"
strength = { kind = "simple", share = 0.1 }

[tables.noisy]
by = ["region"]
protect = "noise"
"""


def with_noise(folder: Path) -> None:
    """Firms with keys, and the noise of counts and of values."""
    frame = firms().with_columns(key=pl.Series(np.random.default_rng(1).integers(0, 10**15, 300)))
    frame.write_parquet(folder / "firms.parquet")
    noise = {0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}
    dc.PerturbationTable.from_rows(noise).write(folder / "ptable.json")
    dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=4).write(folder / "rent.csv")


def mistakes(folder: Path, text: str) -> list[str]:
    path = write(folder, "wrong.toml", text)
    with pytest.raises(DiscreetError) as caught:
        check_release(path)
    return [f"{each.where}: {each.what}" for each in caught.value.problems]


MISTAKES = grouped(
    {
        "p_percent = 12": [
            ("p_percent = -1", "rules.business.p_percent", "p must be a number above 0"),
            ("p_percent = [1, 2]", "rules.business.p_percent", "wrong value for the rule"),
            ("p_percent = { p = 1, k = 2 }", "p_percent", "unknown key: k"),
            ("p_percent = { n = 2 }", "rules.business.p_percent", "is missing"),
            ('p_percent = "12"', "rules.business.p_percent", "not a rule"),
            ("p_precent = 12", "rules.business.p_precent", "unknown key"),
            ("pq = [50, 10]", "rules.business.pq", "q must be above p and at most 100"),
            ("dominance = [0, 50]", "dominance", "n must be a whole number of at least"),
            ("request = { percent = 1 }", "rules.business.request", "where"),
            (
                'request = { percent = 1, where = "askd == 1" }',
                "rules.business.request",
                "'askd'",
            ),
            (
                'p_percent = { p = 12, per = "holding" }',
                "defaults.rules",
                "a rule applies to holdings, but holdings is missing",
            ),
        ],
        'rules = "business"': [
            ('rules = "busines"', "defaults.rules", "rules 'busines' not found"),
            ("", "tables.T1.rules", "rules is missing"),
        ],
        'value = "turnover"': [
            ('value = "turnovr"', "tables.T1.value", "no column 'turnovr'"),
            ('value = "size"', "tables.T1.value", "not a number"),
            ('value = ["wages", "wages"]', "T1.value", "named twice"),
            ('value = "weight"', "T1.value", "cannot be called 'weight'"),
            ('marks = "no.hst"', "tables.T1.marks[0]", "file 'no.hst' not found"),
            (
                'marks = [{ cells = { size = "s" }, status = "unsafe" }]',
                "tables.T1.marks[0]",
                "'size' is not a spanning variable of the table",
            ),
            (
                'marks = [{ cells = { branch = "a" } }]',
                "tables.T1.marks[0]",
                "the mark lacks a status or a cost",
            ),
            ("marks = [{ cost = 1 }]", "marks[0]", "a mark needs a file or cells"),
            ("marks = [3]", "tables.T1.marks[0]", "table of keys"),
            ('official = "region == 1"', "official", 'protect = "noise"'),
            ('shadow = "wages"', "tables.T1.shadow", "counts cannot have a shadow variable"),
            ('shadow = "wage"\nvalue = "wages"', "T1.shadow", "no column 'wage'"),
            ('holdings = "holding"', "T1.holdings", "no rule of this table"),
            (
                'figures = { a = { kind = "count" } }',
                "tables.T1.figures",
                '"noise", "rounding" or "sample"',
            ),
        ],
        'method = "fast"': [
            ('method = "magic"', "suppression.method", "unknown value"),
            ("time_limit = 0", "suppression.time_limit", "above 0"),
            ('cost = { of = "value", power = -1 }', "cost.power", "at least 0"),
            ('cost = { of = "value", power = 5 }', "cost.power", "at most 4"),
            ('cost = { of = "value", totals = 2000 }', "cost.totals", "at most 1000"),
            ("bounds = { below = -1 }", "suppression.bounds.below", "at least 0"),
            ('earlier = "nowhere"', "suppression.earlier", "file 'nowhere' not found"),
            ('earlier = "."', "suppression.earlier", "no release in this folder"),
        ],
        'unit = { en = "EUR 1,000", de = "1 000 EUR" }': [
            ("decimals = 12", "values", "at most 9"),
        ],
    }
)


@pytest.mark.parametrize(("old", "new", "key", "what"), MISTAKES)
def test_every_mistake_is_placed_at_its_key(
    tmp_path: Path, old: str, new: str, key: str, what: str
) -> None:
    found = mistakes(tmp_path, replaced(HEAD + TABLE, (old, new), times=1))
    assert len(found) == 1, found
    assert key in found[0]
    assert what in found[0]


def test_all_mistakes_are_listed_at_once_and_no_parameter_of_a_rule_is_shown(
    tmp_path: Path,
) -> None:
    text = HEAD.replace("p_percent = 12", "p_percent = -97.25\ndominance = [3, 973.5]")
    found = mistakes(tmp_path, text + TABLE.replace('"branch"', '"brnch"') + 'shadow = "x"\n')
    assert len(found) == 4
    assert not re.search(r"97|73\.5", "".join(found))


def test_keys_and_noise_are_needed_for_noisy_tables_only(tmp_path: Path) -> None:
    path = write(tmp_path, "fine.toml", HEAD + TABLE)
    assert check_release(path).protected["suppress"] == ("T1",)
    found = mistakes(tmp_path, (HEAD + TABLE).replace('protect = "suppress"', 'protect = "noise"'))
    assert any("[keys] is missing" in each for each in found)
    assert any("[perturbation] is missing" in each for each in found)
    assert any('this needs protect = "suppress" or "unit-noise"' in each for each in found)


@pytest.mark.parametrize(
    ("hidden", "noisy", "clash"),
    [
        ("", "", True),  # counts and counts
        ('value = "turnover"', "", False),
        ('value = ["turnover", "count"]', "", True),
        ('value = "turnover"', 'figures.x = { kind = "sum", of = "turnover" }', True),
        ('value = "turnover"', 'figures.x = { kind = "mean", of = "turnover" }', True),
        ("", 'figures.x = { kind = "mean", of = "turnover" }', True),
        ("", 'figures.x = { kind = "sum", of = "turnover" }', False),
        ('value = "wages"', 'figures.x = { kind = "sum", of = "turnover" }', False),
    ],
)
def test_one_value_of_one_population_is_protected_in_one_way(
    tmp_path: Path, hidden: str, noisy: str, clash: bool
) -> None:
    text = HEAD + NOISE + noisy + "\n" + TABLE.replace('value = "turnover"', hidden)
    with_noise(tmp_path)
    path = write(tmp_path, "mixed.toml", text)
    if not clash:
        assert len(check_release(path).tables) == 2
        return
    with pytest.raises(DiscreetError, match="with noise") as caught:
        check_release(path)
    assert "noise on values that are suppressed elsewhere discloses them" in str(caught.value)
    # Another name for the same file is no way around it.
    text = text.replace("[tables.T1]", '[sources.again]\nsource = "./firms.parquet"\n\n[tables.T1]')
    text = text.replace("[tables.T1]", '[tables.T1]\nfrom = "again"')
    with pytest.raises(DiscreetError, match="with noise"):
        check_release(write(tmp_path, "mixed.toml", text))


def test_an_earlier_release_with_noise_forbids_to_hide_and_the_other_way_round(
    tmp_path: Path,
) -> None:
    with_noise(tmp_path)
    counts = HEAD + TABLE.replace('value = "turnover"', "")
    noisy = HEAD + NOISE
    for first, second in ((counts, noisy), (noisy, counts)):
        out = tmp_path / f"out{len(first)}"
        protect(write(tmp_path, "one.toml", first), out)
        after = second.replace('method = "fast"', f'method = "fast"\nearlier = "{out.name}"')
        found = mistakes(tmp_path, after)
        assert len(found) == 1
        assert "suppression.earlier[0]" in found[0]
        assert "published with" in found[0]


# -- what only the data tell ---------------------------------------------------------------


def refused(folder: Path, text: str) -> DiscreetError:
    path = write(folder, "wrong.toml", text)
    with pytest.raises(DiscreetError) as caught:
        protect(path, folder / "out")
    assert not (folder / "out").exists()
    return caught.value


def test_contradictory_marks_are_refused_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "manual.hst").write_text("11;a;u\n11;a;s\n")
    error = refused(tmp_path, HEAD + TABLE + 'marks = "manual.hst"\n')
    assert "different statuses" in str(error)
    assert "tables.T1.marks" in str(error)
    marks = (
        'marks = [{ cells = { region = "11", branch = "a" }, status = "protected" }, '
        '{ cells = { region = "11", branch = "a" }, status = "unsafe" }]\n'
    )
    assert "different statuses" in str(refused(tmp_path, HEAD + TABLE + marks))


def test_marks_of_cells_there_are_none_of_are_refused_unless_told_otherwise(
    tmp_path: Path,
) -> None:
    marks = 'marks = [{ cells = { branch = "zz" }, status = "unsafe" }]\n'
    text = HEAD + TABLE + marks
    error = refused(tmp_path, text)
    assert "no code 'zz'" in str(error)
    assert "tables.T1.marks" in str(error)
    text = text.replace('method = "fast"', 'method = "fast"\nunmatched = "ignore"')
    assert protect(write(tmp_path, "fine.toml", text), tmp_path / "out").fresh == 1


def test_a_sensitive_cell_that_must_be_published_is_refused(tmp_path: Path) -> None:
    text = HEAD.replace("minimum_frequency = 3", "minimum_frequency = 500")
    marks = 'marks = [{ cells = { region = "Total", branch = "Total" }, status = "protected" }]\n'
    error = refused(tmp_path, text + TABLE + marks)
    assert "sensitive by a rule and marked as protected" in str(error)
    assert "500" not in str(error)


def test_what_no_pattern_can_protect_is_refused_by_name(tmp_path: Path) -> None:
    marks = "marks = [\n" + "".join(
        f'  {{ cells = {{ branch = "{code}" }}, status = "{status}" }},\n'
        for code, status in {"a": "protected", "b": "protected", "c": "protected"}.items()
    )
    marks += '  { cells = { branch = "Total" }, status = "protected" },\n'
    marks += '  { cells = { branch = "d", region = "Total" }, status = "unsafe" },\n]\n'
    text = HEAD.replace("minimum_frequency = 3\np_percent = 12", "minimum_frequency = 1")
    error = refused(tmp_path, text + TABLE + marks)
    assert error.code == "infeasible"
    assert "branch=d" in str(error)
    assert "wrong.toml, T1" in str(error)


def test_a_rule_on_holdings_with_records_without_one(tmp_path: Path) -> None:
    frame = firms().with_columns(holding=pl.lit(None, dtype=pl.String))
    frame.write_parquet(tmp_path / "firms.parquet")
    text = HEAD.replace("p_percent = 12", 'p_percent = { p = 12, per = "holding" }')
    error = refused(tmp_path, text + TABLE + 'holdings = "holding"\n')
    assert "belong to no holding" in str(error)


def test_records_without_a_value_contribute_nothing(tmp_path: Path) -> None:
    frame = firms().with_columns(
        turnover=pl.when(pl.col("branch") == "d").then(None).otherwise(pl.col("turnover"))
    )
    frame.write_parquet(tmp_path / "firms.parquet")
    few = 'minimum_frequency = { n = 3, of = "values" }'
    text = HEAD.replace("minimum_frequency = 3", few)
    path = write(tmp_path, "empty.toml", text + TABLE)
    protect(path, tmp_path / "out")
    shown = pl.read_csv(tmp_path / "out" / "T1.csv")
    assert shown.filter(branch="d", region="Total")["value"].to_list() == [0]
    assert audit_release(path, tmp_path / "out").safe


# -- rules -----------------------------------------------------------------------------------


@given(
    n=st.integers(1, 8),
    k=st.floats(1, 99),
    p=st.floats(0.5, 90),
    as_table=st.booleans(),
)
def test_rules_are_what_they_say_however_they_are_written(
    n: int, k: float, p: float, as_table: bool
) -> None:
    dominance = {"n": n, "k": k} if as_table else [n, k]
    entry = RuleSetEntry(dominance=[dominance, [1, 50]], p_percent={"p": p, "n": 2})
    assert not list(rule_problems(entry))
    made = RuleSet(entry)
    assert made.rules(counts=False, asked={}) == [
        dc.rules.Dominance(n, k),
        dc.rules.Dominance(1, 50),
        dc.rules.PPercent(p, n=2),
    ]
    assert made.contributions == max(n, 3)
    assert made.rules(counts=True, asked={}) == [dc.rules.NothingSensitive()]
    assert repr(made) == "<RuleSet: secret>"


def test_what_is_rounded_or_unjudged_is_said(tmp_path: Path) -> None:
    """Tables with hidden cells are not rounded; counts beside values need a rule of their own."""
    firms().write_parquet(tmp_path / "firms.parquet")
    found = mistakes(tmp_path, HEAD + "round_to = 10\n" + TABLE)
    assert any("does not round the values of 'T1'" in each for each in found)
    found = mistakes(tmp_path, HEAD + TABLE + "round_to = 10\n")
    assert any('this needs protect = "noise", "rounding" or "sample"' in each for each in found)
    both = TABLE.replace('"turnover"', '["turnover", "count"]')
    lifted = HEAD + "round_to = 10\n" + both + "round_to = 1\n"
    assert not any("counts" in text for text in said(tmp_path, lifted))
    unjudged = said(tmp_path, lifted.replace("minimum_frequency = 3\n", ""))
    assert any("no rule of [rules.business] applies to counts" in text for text in unjudged)


def said(folder: Path, text: str) -> tuple[str, ...]:
    return tuple(open_inputs(write(folder, "right.toml", text)).warnings)


# -- the command line ----------------------------------------------------------------------------


def test_commands_on_programmes(tmp_path: Path) -> None:
    path = write(tmp_path, "first.toml", FIRST)
    run, out = CliRunner().invoke, str(tmp_path / "out")
    assert run(app, ["protect", str(path), "--out", out]).exit_code == 0
    done = run(app, ["audit", str(path), "--release", out, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["safe"]
    write(tmp_path, "first.toml", FIRST.replace("minimum_frequency = 3", "minimum_frequency = 20"))
    opened = run(app, ["audit", str(path), "--release", out])
    assert opened.exit_code == 1
    assert "NOT safe" in opened.stdout
    for words in (
        ["audit", str(path)],
        ["audit", str(path), "--release", str(tmp_path)],
        ["audit", "x.jj", "--release", out],
        ["suppress", str(path), "--out", out],
    ):
        assert run(app, words).exit_code == 2


def test_an_audit_needs_hidden_cells(tmp_path: Path) -> None:
    with_noise(tmp_path)
    text = HEAD + NOISE.partition("[magnitudes")[0] + "[tables.noisy]\nby = ['size']\n"
    path = write(tmp_path, "noisy.toml", text.replace('"suppress"', '"noise"'))
    with pytest.raises(DiscreetError, match="no table with suppressed cells"):
        audit_release(path, tmp_path)


def test_other_weights_are_not_taken_for_other_cells(tmp_path: Path) -> None:
    """Where all weights are 1, one table shows what the other hides."""
    firms().with_columns(one=pl.lit(1)).write_parquet(tmp_path / "firms.parquet")
    weighted = TABLE.replace("T1", "T2") + 'weight = "one"\n'
    with pytest.raises(DiscreetError, match="tables of other weights: one"):
        protect(write(tmp_path, "both.toml", HEAD + TABLE + weighted), tmp_path / "both")
    protect(write(tmp_path, "first.toml", HEAD + TABLE), tmp_path / "first")
    later = HEAD.replace("[suppression]", '[suppression]\nearlier = ["first"]') + weighted
    with pytest.raises(DiscreetError, match="tables of other weights: one"):
        protect(write(tmp_path, "later.toml", later), tmp_path / "later")
