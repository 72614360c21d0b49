"""Logs about tables are put together, sealed and opened; wrong ones are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.assessment.release_quality import Overall, QualityLog
from discreet.derived import KeyFigure
from discreet.errors import PublicationError, TableError
from discreet.protection.noise import PerturbationTable, count_ingredient, perturb
from discreet.tables import ProtectedTable, Table

ROW = [0.1, 0.3, 0.7, 0.9, 1.0]
PTABLE = PerturbationTable.from_cumulative(
    [[0, 0, 1, 1, 1], [0, 0.3, 0.7, 1, 1], ROW], noise=range(-2, 3)
)
KEY = b"k" * 32


def counted(size: int = 400, by: Any = ("region", "sex", "age")) -> Table:
    random = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "region": random.choice(["N1", "N2", "S1"], size),
            "sex": random.choice(["m", "w"], size),
            "age": random.choice([str(age) for age in range(10)], size),
            "rk": random.integers(0, 10**15, size),
        }
    )
    return dc.tabulate(frame, list(by), record_key="rk")


def added(table: Table, protected: ProtectedTable, **more: Any) -> QualityLog:
    log = QualityLog()
    log.add("T", table, protected, **more)
    return log


def three() -> dict[str, tuple[Table, ProtectedTable]]:
    tables = {f"T{size}": counted(size, by=["sex", "age"]) for size in (50, 200, 500)}
    return {name: (table, perturb(table, PTABLE)) for name, table in tables.items()}


def test_neither_order_nor_interruption_changes_anything() -> None:
    tables = three()
    one, other = QualityLog(), QualityLog()
    for name in tables:
        one.add(name, *tables[name])
    for name in reversed(tables):
        other.add(name, *tables[name])
    assert one.to_dict() == other.to_dict()
    resumed = QualityLog.opened(other.only("T50").sealed(KEY), KEY).merge(
        other.only("T500", "T200")
    )
    assert resumed.sealed(KEY) == one.sealed(KEY)
    assert QualityLog.from_dict(one.to_dict()).to_dict() == one.to_dict()


def test_row_order_of_cells_changes_nothing() -> None:
    table = counted()
    order = np.random.default_rng(3).permutation(len(table))
    shuffled = replace(
        table,
        index=tuple(part[order] for part in table.index),
        count=table.count[order],
        cell_key=table.cell_key[order],
    )
    protected = perturb(table, PTABLE)
    assert added(shuffled, protected).to_dict() == added(table, protected).to_dict()


def test_a_sealed_log_shows_nothing_and_no_nonce_is_used_twice() -> None:
    table = counted()
    log = added(table, perturb(table, PTABLE))
    other = added(table, perturb(table, PTABLE, suppress_below=3))
    sealed = log.sealed(KEY)
    assert sealed == log.sealed(KEY)
    assert sealed[:16] != other.sealed(KEY)[:16]
    assert b"region" not in sealed
    assert b"noise" not in sealed


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:20] + b"x" + b[21:], lambda b: b""]
)
def test_a_damaged_log_is_refused(damage: Any) -> None:
    sealed = QualityLog().sealed(KEY)
    with pytest.raises(PublicationError, match="damaged"):
        QualityLog.opened(damage(sealed), KEY)


def test_a_log_of_another_release_is_refused() -> None:
    with pytest.raises(PublicationError, match="damaged"):
        QualityLog.opened(QualityLog().sealed(KEY), b"other" * 8)
    with pytest.raises(PublicationError, match="at least 16 bytes"):
        QualityLog().sealed(b"short")
    for entry in (
        {},
        {"format": "discreet-quality-log", "version": 1, "tables": {}},
        {"tables": 1},
    ):
        with pytest.raises(PublicationError, match="damaged"):
            QualityLog.from_dict(entry)


def test_wrong_input_is_refused() -> None:
    table, other = counted(50, by=["sex"]), counted(50, by=["age"])
    log = added(table, perturb(table, PTABLE))
    with pytest.raises(TableError, match="assessed before"):
        log.add("T", table, perturb(table, PTABLE))
    with pytest.raises(TableError, match="assessed before"):
        log.merge(log)
    with pytest.raises(TableError, match="table not found in the log"):
        log.only("T2")
    with pytest.raises(TableError, match="differ in their spanning variables"):
        log.add("T2", other, perturb(table, PTABLE))
    with pytest.raises(
        TableError, match="figures other than counts are assessed through their ingredients"
    ):
        log.add("T3", None, perturb(table, PTABLE))
    parts = {"n": count_ingredient(table, PTABLE)}
    figures = [KeyFigure(name="n", kind="count", of="n")]
    with pytest.raises(TableError, match="the key figures do not belong to the table"):
        log.add("T4", None, perturb(table, PTABLE), ingredients=parts, figures=figures)
    assert list(log.tables) == ["T"]


def test_nothing_confidential_is_shown_by_accident() -> None:
    table = counted()
    log = added(table, perturb(table, PTABLE))
    for thing in (log, log.tables["T"], log.tables["T"].counts, Overall(log), Overall(log).noise()):
        assert "onfidential" in repr(thing)
        assert str(len(table)) not in repr(thing)
