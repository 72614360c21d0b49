"""How less would be hidden: every entry of the list is what the changed records give."""

import json
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.release.coarser_tables import Savings, hide_less
from discreet.release.record_tables import RecordTable, rules_from


@pytest.fixture
def firms() -> pl.DataFrame:
    draw, size = np.random.default_rng(4), 160
    codes = draw.choice([*"abcde"], size, p=[0.5, 0.3, 0.1, 0.06, 0.04]).tolist()
    return pl.DataFrame(
        {
            "region": draw.choice(["11", "12", "21", "22"], size).tolist(),
            "branch": [None if at % 40 == 0 else code for at, code in enumerate(codes)],
            "turnover": np.ceil(draw.lognormal(6, 1, size)).astype(int),
            "group": [f"g{at}" for at in draw.integers(0, 60, size)],
        }
    )


def of(firms: pl.DataFrame, **more: object) -> RecordTable:
    region = dc.Classification.from_prefixes("region", ["11", "12", "21", "22"], [1, 2])
    how: dict[str, object] = {"by": [region, "branch"], "values": ["turnover"]}
    how |= {"records": firms, "rules": rules_from(["n=3", "p=10"]), **more}
    return RecordTable(**how)  # type: ignore[arg-type]


def hidden(table: RecordTable) -> int:
    done = table.suppressed(table.judged(), method="fast")
    frame = done.tables[0].to_polars()
    return frame.filter(pl.col("status") == "suppressed").height


def test_the_list_is_what_changed_records_give(firms: pl.DataFrame) -> None:
    table = of(firms, holding="group")
    found = hide_less(table, method="fast")
    assert found.now.hidden == hidden(table)
    assert [each.saved for each in found.ranked] == sorted(
        (each.saved for each in found.ranked), reverse=True
    )
    merges = [each for each in found.ranked if each.codes]
    assert merges
    for each in merges:
        both = pl.col(each.variable).replace(dict.fromkeys(each.codes, "one"))
        by: list[object] = [*table.by]
        if each.variable == "region":
            parents = {"1": None, "2": None, "one": each.codes[0][0]}
            rest = [code for code in ("11", "12", "21", "22") if code not in each.codes]
            parents |= {code: code[0] for code in rest}
            by[0] = dc.Classification.from_parents("region", parents)
        assert each.after.hidden == hidden(of(firms.with_columns(both), holding="group", by=by)), (
            each.change
        )
    levels = [each for each in found.ranked if not each.codes]
    short = firms.with_columns(region=pl.col("region").str.head(1))
    for each in levels:
        assert each.change == "region: 1 of 2 levels"
        assert each.after.hidden == hidden(of(short, holding="group", by=["region", "branch"]))


@pytest.mark.exhaustive
def test_missing_codes_and_codes_of_rules_are_not_merged(firms: pl.DataFrame) -> None:
    found = hide_less(of(firms), method="fast")
    missing = of(firms).judged()[0].dimensions[1].classifications[0].missing
    assert not any(missing in each.codes for each in found.ranked)
    rules = of(firms).rules.entry.model_dump(exclude_none=True)
    own = {**rules, "codes": [{"cells": {"branch": ["d"]}, "minimum_frequency": 4}]}
    from discreet.release.programme.rule_sections import RuleSetEntry
    from discreet.rules import RuleSet

    strict = hide_less(of(firms, rules=RuleSet(RuleSetEntry.model_validate(own))), method="fast")
    assert not any("d" in each.codes for each in strict.ranked)


def test_a_filter_on_a_merged_variable_still_holds(firms: pl.DataFrame) -> None:
    table = of(firms, where="branch in ('c', 'd', 'e')")
    found = hide_less(table, method="fast")
    assert found.ranked
    assert all(each.after.published >= 0 for each in found.ranked)
    assert found.to_polars().height == len(found.ranked)


def test_nothing_to_save_is_said() -> None:
    frame = pl.DataFrame({"branch": ["a"] * 5 + ["b"] * 5})
    found: Savings = hide_less(of(frame, by=["branch"], values=[], rules=rules_from(["n=3"])))
    assert found.ranked == ()
    assert "None of 0 changes" in found.text()


def test_the_terminal_has_numbers_of_cells_only(
    firms: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    firms.write_csv("firms.csv")
    words = ["suppress", "firms.csv", "--by", "region,branch", "--value", "turnover"]
    words += ["--rule", "n=3", "--rule", "p=10", "--method", "fast", "--hide-less"]
    done = CliRunner().invoke(app, [*words, "--check", "--internal", "less.json", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["hide_less"]
    assert "share" not in done.stdout
    assert told["ranked"][0]["hidden"] < told["now"]["hidden"]
    inside = json.loads(Path("less.json").read_text())["hide_less"]
    assert 0 < inside["now"]["share"] < 1
    assert stat.S_IMODE(Path("less.json").stat().st_mode) == 0o600
    marked = ["suppress", "firms.csv", "--by", "region", "--status", "branch", "--hide-less"]
    assert CliRunner().invoke(app, [*marked, "--out", "x.csv"]).exit_code == 2
