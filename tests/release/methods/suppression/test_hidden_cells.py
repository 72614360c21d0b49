"""Programmes that hide cells: what a release consists of, and what makes it anew."""

import json
import stat
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.release import audit_release, protect
from tests.helpers.firm_programmes import (
    FIRST,
    HEAD,
    PARTS,
    TOTAL,
    content,
    firms,
    published,
    write,
)

# -- what a release consists of -----------------------------------------------------------


def test_common_cells_are_hidden_in_all_tables_and_for_all_values(hidden: Path) -> None:
    first = hidden / "first"
    branches, sizes = published(first / "branches.csv"), published(first / "sizes.csv")
    wages = published(first / "sizes.csv", "wages")
    common = set(branches) & set(sizes)
    assert len(common) == 5
    assert all(branches[cell] == sizes[cell] for cell in common)
    assert {c for c, v in sizes.items() if v is None} == {c for c, v in wages.items() if v is None}
    assert any(value is None for value in wages.values())


def test_reasons_and_words_are_published_and_parameters_are_not(hidden: Path) -> None:
    frame = pl.read_csv(hidden / "first" / "branches.csv")
    blank = frame.filter(pl.col("status") == "suppressed")
    told = set(blank["reason"])
    assert {"minimum-frequency", "secondary"} <= told
    assert told <= {"minimum-frequency", "p-percent", "secondary"}
    assert frame.filter(pl.col("status") != "suppressed")["reason"].null_count() == len(
        frame
    ) - len(blank)
    files = [p for p in (hidden / "first").rglob("*") if p.suffix in (".csv", ".json", ".html")]
    for text in (path.read_text("utf-8") for path in files):
        for secret in ('"p_percent"', '"fast"', '"proof"', '"cost"', '"bound"'):
            assert secret not in text


def test_the_public_report_has_numbers_of_cells_and_the_internal_one_values(
    hidden: Path,
) -> None:
    public = json.loads((hidden / "first" / "suppression.json").read_text("utf-8"))
    assert set(public["tables"]) == {"branches", "sizes", "firms"}
    told = public["tables"]["branches"]["values"]["turnover"]
    shown = published(hidden / "first" / "branches.csv")
    assert told["hidden"] == sum(value is None for value in shown.values())
    assert told["hidden"] == told["primary"] + told["secondary"]
    assert public["tables"]["branches"]["with"] == ["sizes"]
    assert "value" not in json.dumps(public).replace('"values"', "")
    internal = json.loads((hidden / "inside" / "suppression-internal.json").read_text("utf-8"))
    linked = internal["systems"][0]["values"]["turnover"]
    assert {"cost", "bound", "gap", "proof", "parts"} <= set(linked)
    assert sum(part["hidden_value"] for part in linked["parts"]) > 0
    assert [list(system["tables"]) for system in internal["systems"]] == [
        ["branches", "sizes"],
        ["firms"],
    ]
    for path in (hidden / "inside").iterdir():
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077


def test_manifest_and_pages_name_the_tables_and_print_no_digest_to_be_tried(
    hidden: Path,
) -> None:
    manifest = json.loads((hidden / "first" / "release.json").read_text("utf-8"))
    assert [table["name"] for table in manifest["tables"]] == ["branches", "sizes", "firms"]
    assert all(table["digests"] == {} for table in manifest["tables"])  # records have no keys
    assert "suppression.json" in manifest["reports"]
    assert not (hidden / "first" / "quality.json").exists()
    assert "Turnover" in (hidden / "first" / "sizes.csv").read_text("utf-8")
    assert "gesperrt" in (hidden / "first" / "index.de.html").read_text("utf-8")


# -- again ---------------------------------------------------------------------------------


def test_a_second_run_makes_nothing_and_a_lost_file_comes_back_as_it_was(hidden_copy: Path) -> None:
    before = content(hidden_copy / "first")
    assert protect(hidden_copy / "first.toml", hidden_copy / "first").fresh == 0
    assert content(hidden_copy / "first") == before
    (hidden_copy / "first" / "sizes.csv").unlink()
    again = protect(hidden_copy / "first.toml", hidden_copy / "first")
    assert again.fresh == 0
    assert content(hidden_copy / "first") == before


def lost_and_back(path: Path, out: Path) -> None:
    """Make a release, lose its tables, and find them as they were, of what is remembered."""
    protect(path, out)
    before = content(out)
    for file in before:
        if file.startswith(("branches", "sizes")):
            (out / file).unlink()
    assert protect(path, out).fresh == 0
    assert content(out) == before


def test_what_is_remembered_is_the_table_with_reasons_and_intervals(tmp_path: Path) -> None:
    text = FIRST.replace('method = "fast"', 'method = "fast"\nintervals = true')
    text = text.replace('formats = ["csv"]', 'formats = ["csv", "parquet", "xlsx", "json"]')
    lost_and_back(write(tmp_path, "first.toml", text), tmp_path / "out")
    frame = pl.read_parquet(tmp_path / "out" / "branches.parquet")
    hidden = frame.filter(pl.col("value").is_null())
    assert len(hidden) > 4
    assert hidden["low"].null_count() == hidden["reason"].null_count() == 0


def test_intervals_stand_in_the_place_of_hidden_values(tmp_path: Path) -> None:
    text = FIRST.replace('method = "fast"', 'method = "fast"\nintervals = "instead"')
    text = text.replace('formats = ["csv"]', 'formats = ["csv", "xlsx", "html"]')
    lost_and_back(write(tmp_path, "first.toml", text), tmp_path / "out")
    hidden = pl.read_csv(tmp_path / "out" / "branches.csv").filter(pl.col("value").is_null())
    assert "." not in hidden["symbol"].to_list()
    assert hidden["symbol"].str.contains("–").all()
    wrong = write(tmp_path, "wrong.toml", text.replace('"instead"', '"inside"'))
    with pytest.raises(dc.errors.DiscreetError, match="true, false or 'instead'"):
        protect(wrong, tmp_path / "wrong")


def test_tables_that_share_cells_are_made_anew_together_and_others_stay(hidden_copy: Path) -> None:
    text = FIRST.replace('by = ["branch", "size"]', 'by = ["branch", "size"]\nwhere = "wages > 0"')
    write(hidden_copy, "first.toml", text)
    summary = protect(hidden_copy / "first.toml", hidden_copy / "first")
    assert [table.name for table in summary.tables if table.fresh] == ["branches", "sizes"]


def test_columns_under_other_names_are_protected_together(tmp_path: Path) -> None:
    land = pl.col("region").str.head(1).replace({"1": "north", "2": "south"}).alias("land")
    firms().with_columns(land).write_parquet(tmp_path / "firms.parquet")
    tables = {"regions": '"region", "branch"', "lands": '"land", "branch"', "sizes": '"land"'}
    text = HEAD + "".join(
        f'\n[tables.{name}]\nby = [{by}]\nvalue = "turnover"\n' for name, by in tables.items()
    )
    write(tmp_path, "lands.toml", text.replace("prefixes = [1, 2]", 'label.en = "Region"'))
    protect(tmp_path / "lands.toml", tmp_path / "out")
    report = json.loads((tmp_path / "out" / "suppression.json").read_text("utf-8"))
    assert report["tables"]["regions"]["with"] == ["lands", "sizes"]
    regions = published(tmp_path / "out" / "regions.csv")
    lands = pl.read_csv(tmp_path / "out" / "lands.csv").filter(pl.col("land") != TOTAL)
    opened = 0
    for name, branch, value in lands.select("land", "branch", "value").rows():
        codes = PARTS["region"]["1" if name == "north" else "2"]
        parts = [regions[code, branch, TOTAL] for code in codes]
        opened += value is not None and parts.count(None) == 1
    assert any(value is None for value in regions.values())
    assert opened == 0
    assert audit_release(tmp_path / "lands.toml", tmp_path / "out").safe


def test_other_data_rules_marks_or_files_of_marks_make_tables_anew(hidden_copy: Path) -> None:
    (hidden_copy / "manual.hst").write_text("a;Total;c;5\n")
    marked = FIRST.replace('"wages"]\n', '"wages"]\nmarks = "manual.hst"\n', 1)
    steps = {
        "rules": FIRST.replace("p_percent = 12", "p_percent = 13"),
        "marks": marked,
    }
    for text in steps.values():
        write(hidden_copy, "first.toml", text)
        assert protect(hidden_copy / "first.toml", hidden_copy / "first").fresh >= 2
        assert protect(hidden_copy / "first.toml", hidden_copy / "first").fresh == 0
    (hidden_copy / "manual.hst").write_text("a;Total;c;50\n")
    assert protect(hidden_copy / "first.toml", hidden_copy / "first").fresh == 2
    firms(seed=8).write_parquet(hidden_copy / "firms.parquet")
    assert protect(hidden_copy / "first.toml", hidden_copy / "first").fresh == 3


def test_another_pattern_than_before_is_pointed_out(hidden_copy: Path) -> None:
    marks = '\n[[tables.branches.marks]]\ncells = { region = "11", branch = "a" }\n'
    write(hidden_copy, "first.toml", FIRST + marks + 'status = "unsafe"\n')
    summary = protect(hidden_copy / "first.toml", hidden_copy / "first")
    assert any("branches has another suppression pattern" in text for text in summary.warnings)
    rounded = 'protect = "rounding"\n[protection.rounding]\nbase = 3\nmethod = "conventional"\n'
    assert FIRST.endswith('value = "count"\n')
    write(hidden_copy, "first.toml", FIRST.removesuffix('value = "count"\n') + rounded)
    summary = protect(hidden_copy / "first.toml", hidden_copy / "first")
    assert any("firms had protect = 'suppress' in the previous" in t for t in summary.warnings)


def test_the_internal_report_is_made_when_it_is_missing(hidden_copy: Path) -> None:
    before, other = content(hidden_copy / "first"), hidden_copy / "other"
    pair = hidden_copy / "first.toml", hidden_copy / "first"
    assert protect(*pair, internal=other).fresh == 3
    assert content(hidden_copy / "first") == before
    assert (other / "suppression-internal.txt").read_text().startswith("CONFIDENTIAL")
    assert protect(*pair, internal=other).fresh == 0


def test_files_databases_and_row_orders_give_the_same_bytes(hidden: Path, tmp_path: Path) -> None:
    wanted = {k: v for k, v in content(hidden / "first").items() if k.endswith(".csv")}
    firms().sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "firms.csv")
    with duckdb.connect(tmp_path / "firms.duckdb") as base:
        base.execute(f"create table firms as from '{hidden / 'firms.parquet'}'")
    csv = 'source = "firms.csv"\ntext = ["region"]'
    for source in (csv, 'database = "firms.duckdb"\ntable = "firms"'):
        path = write(tmp_path, "first.toml", FIRST.replace('source = "firms.parquet"', source))
        protect(path, tmp_path / "out", resume=False)
        made = content(tmp_path / "out")
        assert {name: made[name] for name in wanted} == wanted


# -- more kinds of tables -----------------------------------------------------------------------


def test_holdings_requests_shadows_weights_and_several_rules(tmp_path: Path) -> None:
    frame = firms().with_columns(weight=pl.Series(np.linspace(1, 2, 300)))
    frame.write_parquet(tmp_path / "firms.parquet")
    text = HEAD.replace(
        "p_percent = 12",
        'p_percent = { p = 12, per = "holding" }\ndominance = [[1, 60], [2, 85]]\n'
        "request = { where = \"asked == 'yes'\", percent = 30 }",
    )
    text = text.replace('rules = "business"', "")
    text += """
[rules.counts]
minimum_frequency = 12
missing_safe = true

[tables.T1]
by = ["region", "branch"]
value = "wages"
shadow = "turnover"
rules = "business"
holdings = "holding"

[tables.T2]
by = ["region", "size"]
rules = "counts"
weight = "weight"
"""
    path = write(tmp_path, "more.toml", text)
    protect(path, tmp_path / "out")
    assert audit_release(path, tmp_path / "out").safe
    frame = pl.read_csv(tmp_path / "out" / "T1.csv")
    assert {"request", "dominance"} <= set(frame["reason"].drop_nulls())
    assert pl.read_csv(tmp_path / "out" / "T2.csv")["value"].null_count() > 0


@pytest.mark.parametrize("reasons", ["kind", "none"])
def test_reasons_can_be_kept_back(tmp_path: Path, reasons: str) -> None:
    text = FIRST.replace('reasons = "rule"', f'reasons = "{reasons}"')
    protect(write(tmp_path, "first.toml", text), tmp_path / "out")
    frame = pl.read_csv(tmp_path / "out" / "branches.csv")
    told = json.loads((tmp_path / "out" / "suppression.json").read_text("utf-8"))
    entry = told["tables"]["branches"]["values"]["turnover"]
    if reasons == "kind":
        assert set(frame["reason"].drop_nulls()) == {"primary", "secondary"}
    else:
        assert "reason" not in frame.columns
        assert set(entry) == {"cells", "hidden", "parts"}


def test_suppressed_tables_stand_beside_noisy_ones_of_other_records(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    people = pl.DataFrame(
        {"sex": draw.choice(["m", "w"], 200), "record_key": draw.integers(0, 10**15, 200)}
    )
    people.write_parquet(tmp_path / "persons.parquet")
    noise = {0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}}
    dc.PerturbationTable.from_rows(noise).write(tmp_path / "ptable.json")
    text = FIRST.replace('source = "firms.parquet"', 'source = "persons.parquet"')
    text += """
[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[sources.firms]
source = "firms.parquet"

[tables.people]
by = ["sex"]
protect = "noise"
"""
    for name in ("branches", "sizes", "firms"):
        text = text.replace(f"[tables.{name}]", f'[tables.{name}]\nfrom = "firms"')
    summary = protect(write(tmp_path, "both.toml", text), tmp_path / "out")
    assert len(summary.tables) == 4
    quality = json.loads((tmp_path / "out" / "quality.json").read_text("utf-8"))
    assert quality["tables"] == 1
    assert audit_release(tmp_path / "both.toml", tmp_path / "out").safe
    assert protect(tmp_path / "both.toml", tmp_path / "out").fresh == 0
