"""Primary marked elsewhere, secondary here: a CSV of cells with a status; national patterns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.protection.suppression import audit_published
from discreet.rules import marked_cells
from tests.helpers.attacker_apart import Attacker
from tests.helpers.command import run

COUNTRIES, BRANCHES = ["AT", "DE", "FR", "IT"], [*"abcde"]


def national(seed: int) -> pl.DataFrame:
    """Four countries that hide cells each for itself, and their sum, EU, not yet published."""
    draw = np.random.default_rng(seed)
    inner = draw.integers(1000, 1500, (4, 5))
    status = np.full((5, 6), "P", dtype=object)
    for at in range(4):
        first, second = draw.choice(5, 2, replace=False)
        status[at, first], status[at, second] = "U", "M"
    status[4, :] = "S"  # the sums of the union are free
    whole = np.vstack([inner, inner.sum(axis=0)])
    whole = np.hstack([whole, whole.sum(axis=1, keepdims=True)])
    rows = [
        (country, branch, int(whole[i, j]), str(status[i, j]))
        for i, country in enumerate([*COUNTRIES, "EU"])
        for j, branch in enumerate([*BRANCHES, "Total"])
    ]
    return pl.DataFrame(rows, schema=["country", "branch", "turnover", "st"], orient="row")


def reader(cells: dict[tuple[str, str], float], hidden: set[tuple[str, str]]) -> Attacker:
    """Who knows the sums over countries and branches."""
    lines = [[*((c, b) for c in COUNTRIES), ("EU", b)] for b in [*BRANCHES, "Total"]]
    lines += [[*((c, b) for b in BRANCHES), (c, "Total")] for c in [*COUNTRIES, "EU"]]
    sums = [({total: -1, **dict.fromkeys(parts, 1)}, 0.0) for *parts, total in lines]
    shown = {cell: value for cell, value in cells.items() if cell not in hidden}
    return Attacker(shown, dict.fromkeys(hidden, (0.0, 1e6)), sums)


WORDS = ("--by", "country,branch", "--value", "turnover", "--status", "st", "--total", "country=EU")
MEANING = ("--meaning", "U=unsafe", "--meaning", "M=secondary", "--meaning", "S=safe")


@pytest.mark.parametrize("seed", range(2))
def test_sums_over_national_patterns_open_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = national(seed)
    frame.with_columns(st=pl.col("st").replace("P", "S")).write_csv("cells.csv")
    out = ("--published", "country != 'EU'", "--out", "safe.csv", "--method", "optimal")
    done = run("suppress", "cells.csv", *WORDS, *MEANING, *out, "--json")
    assert done.exit_code == 0, done.output
    safe = pl.read_csv("safe.csv")
    gone = set(safe.filter(pl.col("value").is_null()).select("country", "branch").rows())
    before = set(frame.filter(pl.col("st").is_in(["U", "M"])).select("country", "branch").rows())
    assert {cell for cell in gone if cell[0] != "EU"} == before  # what is out stays as it is
    true = {(row[0], row[1]): row[2] for row in frame.rows()}
    opened, after, apart = 0, reader(true, gone), reader(true, before)
    for cell in frame.filter(st="U").select("country", "branch").rows():
        low, high = after.interval(cell)
        assert low <= 0.8 * true[cell] + 1e-3
        assert high >= 1.2 * true[cell] - 1e-3
        alone = apart.interval(cell)  # if the union published all of its sums
        opened += alone[1] - alone[0] < 1e-3
    assert (len(gone) > len(before)) or not opened


def test_the_package_does_what_the_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = national(1).with_columns(n=pl.lit(5), low=pl.lit(None, pl.Int64), high=pl.lit(40))
    frame.write_csv("cells.csv")
    more = ("--count", "n", "--levels", "low,high", "--meaning", "P=protected", "--out", "safe.csv")
    done = run("suppress", "cells.csv", *WORDS, *MEANING, *more, "--method", "fast")
    assert done.exit_code == 0, done.output
    country = dc.Classification.flat("country", COUNTRIES, total="EU").replace(found="all")
    meaning = {"U": "unsafe", "M": "secondary", "S": "safe", "P": "protected"}
    table, found = marked_cells(
        frame,
        [country, "branch"],
        value="turnover",
        status="st",
        count="n",
        lower="low",
        upper="high",
        meaning=meaning,
        name="cells",
    )
    assert found.upper[found.sensitive].tolist() == [40.0] * 4
    assert (found.lower[found.sensitive] > 40).all()  # 20 %, where the column is empty
    safe = dc.suppress(table, found, method="fast")
    assert safe.write("api.csv").read_bytes() == (tmp_path / "safe.csv").read_bytes()


def test_counts_are_published_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cells.csv").write_text("sex,n,s\nTotal,18,safe\nm,9,Safe \nw,7,free\nd,2,UNSAFE\n")
    words = ("--by", "sex", "--count", "n", "--status", "s", "--out", "safe.csv")
    done = run("suppress", "cells.csv", *words, "--method", "fast")
    assert done.exit_code == 0, done.output
    assert pl.read_csv("safe.csv")["value"].to_list()[0] == 18
    assert pl.read_csv("safe.csv")["value"].null_count() == 2


def test_totals_that_cells_lack_are_computed_and_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{a},{b},{4 + a * b},{'u' if a == b == 1 else 'f'}" for a in range(3) for b in range(3)
    ]
    Path("cells.csv").write_text("\n".join(["a,b,n,s", *rows]))
    words = ("--by", "a,b", "--count", "n", "--status", "s", "--out", "safe.csv", "--json")
    done = run("suppress", "cells.csv", *words, "--method", "fast")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["notes"][0].startswith("7 missing totals were computed")
    safe = pl.read_csv("safe.csv", schema_overrides={"a": pl.String, "b": pl.String})
    assert safe.height == 16
    assert safe["value"].null_count() == 4
    assert audit_published(safe, ["a", "b"]).exact.sum() == 0


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("m,9,P", (), "unknown status 'P'"),  # protected there, primary here
        ("m,9,S", (), "unknown status 'S'"),  # safe there, secondary here
        ("m,9,x", (), "unknown status 'x'"),
        ("m,9,", (), "cells lack a status"),
        ("m,,u", (), "1 cells lack a number"),
        ("m,much,u", (), "lack a number"),
        ("m,9,u\nm,9,u", (), "more than once"),
        (
            "m,9,u",
            ("--meaning", "q=hidden"),
            "a status must mean unsafe, safe, protected or secondary",
        ),
        ("m,9,u", ("--rule", "n=3"), "--rule"),
        ("m,9,u", ("--holding", "n"), "--holding"),
        ("m,9,u", ("--published", "sx == 1"), "sx"),
        (",9,u", ("--published", "sex == 'Total'"), "the filter is undecided for"),
        ("m,9,u", ("--levels", "v"), "two columns"),
        ("m,9,u", ("--levels", "v,w"), "column 'w'"),
        ("m,9,u", ("--total", "age=1"), "age"),
        ("m,9,u", ("--status", "none"), "column 'none'"),
    ],
)
def test_a_status_that_could_mean_two_things_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, more: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cells.csv").write_text(f"sex,v,s\nTotal,4711,safe\n{text}\nw,4702,free\n")
    words = ("--by", "sex", "--value", "v", "--status", "s", "--out", "safe.csv", *more)
    done = run("suppress", "cells.csv", *words, "--json")
    assert done.exit_code == 2, done.output
    assert told in json.loads(done.stdout)["error"]["what"] + done.output
    assert "47" not in done.output
    assert not Path("safe.csv").exists()


def test_frames_are_refused_likewise() -> None:
    frame = pl.DataFrame({"sex": ["Total", "m"], "v": [5.0, float("nan")], "s": ["safe", "safe"]})
    with pytest.raises(DiscreetError):
        marked_cells(frame, ["sex"], status="s", value="v")
    with pytest.raises(DiscreetError):
        marked_cells(frame, ["sex"], status="s")


@pytest.mark.parametrize("rule", ["p_10", "freq_maxN3_allowZerosFALSE"])
def test_cells_that_another_tool_marked_are_protected(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """Primaries of sdcTable, its own relations for the attacker."""
    monkeypatch.chdir(tmp_path)
    folder = reference / "sdctable"
    cells = pl.read_csv(folder / "T1_cells_and_primary.csv.gz")
    cells.write_csv("cells.csv")
    words = ("--by", "region,gender", "--value", "val", "--count", "freq", "--status", rule)
    words += ("--total", "region=total", "--total", "gender=total", "--meaning", "s=safe")
    done = run("suppress", "cells.csv", *words, "--out", "safe.csv", "--method", "optimal")
    assert done.exit_code == 0, done.output
    safe = pl.read_csv("safe.csv").select("region", "gender", "value")
    both = cells.join(safe, on=["region", "gender"], how="left", maintain_order="left")
    gone = both["value"].is_null()
    assert gone.filter(cells[rule] == "u").all()
    assert (both["value"] == both["val"]).filter(~gone).all()
    relations = pl.read_csv(folder / "T1_constraints.csv.gz")
    rows = relations.group_by("row", maintain_order=True)
    sums = [(dict(zip(own["col"] - 1, own["val"].cast(int), strict=True)), 0.0) for _, own in rows]
    value = dict(enumerate(cells["val"].cast(float)))
    blanks = dict.fromkeys(np.flatnonzero(gone.to_numpy()).tolist(), (0.0, 10000000.0))
    attacker = Attacker({at: v for at, v in value.items() if at not in blanks}, blanks, sums)
    for at in np.flatnonzero((cells[rule] == "u").to_numpy()).tolist():
        low, high = attacker.interval(at)
        assert low <= 0.8 * value[at] + 1e-2
        assert high >= 1.2 * value[at] - 1e-2
