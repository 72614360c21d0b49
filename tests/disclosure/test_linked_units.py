"""Persons and households side by side, with an attacker written apart from the product.

The attacker knows that a household of size 3 has three persons. His unknowns are numbers of
households by area and exact size; whatever is printed of persons or households is a sum of them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import LinearConstraint

import discreet as dc
from discreet.disclosure import LinkedRecords, UnitLink
from discreet.errors import DiscreetError, SuppressionError
from discreet.release import audit_release
from tests.helpers.reader_of_records import single_valued

#: No household of these data is larger.
LARGEST = 7
HOMES = UnitLink(unit="homes", parts="", by=("home",))
RULES = [dc.rules.MinimumFrequency(4)]


def records_of(seed: int, homes: int = 60) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Persons and their households, with the size in classes: 1, 2, 3, 4, and 5 and more."""
    draw = np.random.default_rng(seed)
    size = draw.choice(np.arange(1, LARGEST + 1), homes, p=[0.35, 0.3, 0.15, 0.1, 0.05, 0.03, 0.02])
    units = pl.DataFrame(
        {
            "home": range(homes),
            "area": [f"a{at}" for at in draw.integers(0, 4, homes)],
            "size": [str(n) if n < 5 else "5+" for n in size],
            "number": size,
        }
    )
    persons = units.select(pl.all().repeat_by("number").explode())
    sex = pl.Series("sex", draw.choice(["m", "w"], len(persons)))
    return persons.with_columns(sex), units


def counted(
    persons: pl.DataFrame, units: pl.DataFrame, by: list[list[str]]
) -> tuple[list[dc.Table], list[Any]]:
    """A table of persons and one of households, with their sensitive cells."""
    tables = [
        dc.tabulate(persons, by=by[0], name="persons"),
        replace(dc.tabulate(units, by=by[1], name="homes"), unit="homes"),
    ]
    return tables, [dc.primary(table, RULES) for table in tables]


def figures_of(safe: dc.ProtectedTable) -> dict[tuple[str, ...], float | None]:
    """What a table shows of each of its cells, zeros included; None where it is hidden."""
    frame = safe.to_polars(complete=True)
    names = [dimension.name for dimension in safe.dimensions]
    return dict(zip(frame.select(names).rows(), frame["value"].to_list(), strict=True))


def open_cells(
    units: pl.DataFrame,
    tables: list[dc.Table],
    figures: list[dict[tuple[str, ...], float | None]],
    judged: list[Any],
) -> int:
    """How many sensitive cells a reader of both tables knows exactly."""
    areas = sorted(units["area"].unique())
    kinds = [(area, size) for area in areas for size in range(1, LARGEST + 1)]
    shown: list[float | None] = []
    sums, secret = [], []
    for table, figure, found in zip(tables, figures, judged, strict=True):
        names = [dimension.name for dimension in table.dimensions]
        cells = table.to_polars().select(names).rows()
        sensitive = dict(zip(cells, found.sensitive, strict=True))
        for codes, value in figure.items():
            own = dict(zip(names, codes, strict=True))
            if own.get("sex", "Total") != "Total":
                continue  # households do not say of which sex their members are
            inside = [
                own.get("area", "Total") in ("Total", area)
                and own.get("size", "Total") in ("Total", str(size) if size < 5 else "5+")
                for area, size in kinds
            ]
            number = [1 if table.unit else size for _, size in kinds]
            sums.append(np.array(number) * np.array(inside))
            shown.append(value)
            secret.append(bool(sensitive.get(codes, False)))
    printed = np.array([value is not None for value in shown])
    right = np.array([value or 0 for value in shown], dtype=float)[printed]
    rows = np.array(sums)
    limits = LinearConstraint(rows[printed], right, right)
    return int(single_valued(rows[secret], limits, whole=True).sum()) if any(secret) else 0


def hidden_cells(tables: list[dc.ProtectedTable]) -> int:
    """How many cells tables hide."""
    return sum(int((one.status == dc.CellStatus.suppressed).sum()) for one in tables)


BY = {
    "both by area and size": [["area", "size"], ["area", "size"]],
    "sizes of persons alone": [["area", "size"], ["area"]],
    "with sex": [["area", "size", "sex"], ["area", "size"]],
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.exhaustive if name == "with sex" else ()) for name in BY],
)
def test_links_are_protected(name: str) -> None:
    """Apart, persons give households away; together nothing that is called safe is open.

    The price: about twice as many hidden cells, of tables in which a third is sensitive.
    """
    opened = refused = together = apart = 0
    for seed in range(4):
        persons, units = records_of(seed)
        tables, judged = counted(persons, units, BY[name])
        single = [
            dc.suppress(table, found, method="fast", zero_cells="partners", records=own)
            for table, found, own in zip(tables, judged, (persons, units), strict=True)
        ]
        by_one = open_cells(units, tables, [figures_of(one) for one in single], judged)
        opened += by_one
        linked = LinkedRecords({"": persons, "homes": units}, [HOMES], tables)
        options: dict[str, Any] = {"zero_cells": "partners", "records": linked}
        if by_one:
            assert dc.audit(single, tables, judged, **options).verdict == "open"
        try:
            pairs = list(zip(tables, judged, strict=True))
            safe = dc.suppress(pairs, method="fast", **options)
        except SuppressionError:
            refused += 1
            continue
        assert dc.audit(safe, tables, judged, **options).safe
        assert open_cells(units, tables, [figures_of(one) for one in safe], judged) == 0
        together, apart = together + hidden_cells(safe), apart + hidden_cells(single)
    assert opened > 0
    assert refused <= 1
    assert together <= 2.5 * apart


def test_tables_of_units_without_a_link_are_not_examined() -> None:
    """Nobody has said how persons and households hang together: that is no proof of anything."""
    persons, units = records_of(0)
    tables, judged = counted(persons, units, BY["both by area and size"])
    audit = dc.audit(
        [dc.suppress(*pair, method="fast") for pair in zip(tables, judged, strict=True)],
        tables, judged, records=persons,
    )  # fmt: skip
    assert not audit.safe
    assert "links between the main records, homes" in [gap.name for gap in audit.judgement.gaps]


def test_areas_are_no_sizes() -> None:
    """That all households of an area have one size is chance, and no reader knows of it."""
    persons, units = records_of(3, homes=400)
    tables, _ = counted(persons, units, [["area"], ["area"]])
    linked = LinkedRecords({"": persons, "homes": units}, [HOMES], tables)
    assert set(np.abs(linked.system(tables).relations.coef).tolist()) == {1}
    assert not linked.unexamined


def test_persons_without_a_household_and_empty_homes() -> None:
    """Rows hold for households with persons, and for persons who live in one."""
    persons, units = records_of(5, homes=200)
    some = persons.with_columns(home=pl.when(pl.col("home") % 7 > 0).then("home"))
    tables, _ = counted(some, units, BY["with sex"])
    linked = LinkedRecords({"": some, "homes": units}, [HOMES], tables)
    system = linked.system(tables)
    count = np.concatenate([table.count for table in (*tables, *system.nobody)])
    assert not system.relations.residuals(count).any()
    assert {2, 3, 4} <= set(np.abs(system.relations.coef).tolist())


PROGRAMME = """\
title = "Homes"
languages = ["en"]
date = "2026-11-21"

[data]
name = "persons"
source = "persons.parquet"

[sources.homes]
source = "homes.parquet"
consists_of = { source = "persons", by = "home" }

[suppression]
method = "fast"
zero_cells = "partners"

[rules.few]
minimum_frequency = 4

[defaults]
formats = ["csv"]
protect = "suppress"
rules = "few"

[tables.persons]
by = ["area", "size"]

[tables.homes]
from = "homes"
by = ["area", "size"]
"""


def test_programmes_state_links(tmp_path: Path) -> None:
    """Tables of linked sources are one group; a source without a link is a gap by its name."""
    persons, units = records_of(2)
    persons.write_parquet(tmp_path / "persons.parquet")
    units.write_parquet(tmp_path / "homes.parquet")
    path = tmp_path / "linked.toml"
    path.write_text(PROGRAMME, "utf-8")
    path.chmod(0o600)
    dc.protect(path, out=tmp_path / "out")
    tables, judged = counted(persons, units, BY["both by area and size"])
    figures = []
    for table in tables:
        texts = {"area": pl.String, "size": pl.String, "value": pl.String}
        frame = pl.read_csv(tmp_path / "out" / f"{table.name}.csv", schema_overrides=texts)
        value = frame["value"].cast(pl.Float64, strict=False).to_list()
        figures.append(dict(zip(frame.select("area", "size").rows(), value, strict=True)))
    assert any(None in figure.values() for figure in figures)
    assert open_cells(units, tables, figures, judged) == 0
    assert audit_release(path, tmp_path / "out").safe
    apart = PROGRAMME.replace('consists_of = { source = "persons", by = "home" }\n', "")
    path.write_text(apart, "utf-8")
    with pytest.raises(DiscreetError, match="links between persons, homes"):
        dc.protect(path, out=tmp_path / "apart")
    wrong = PROGRAMME.replace('by = "home" }', 'by = "hom" }')
    path.write_text(wrong, "utf-8")
    with pytest.raises(DiscreetError) as refused:
        dc.protect(path, out=tmp_path / "wrong")
    assert {problem.where for problem in refused.value.problems} == {
        "line 11, sources.homes.consists_of.by"
    }
    accepted = apart.replace("[rules", 'accept = ["links between persons, homes"]\n\n[rules')
    path.write_text(accepted, "utf-8")
    dc.protect(path, out=tmp_path / "apart")
    assert audit_release(path, tmp_path / "apart").safe
