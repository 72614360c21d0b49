"""The internal report sounds an alarm where noise is constant, or depends on the count alone."""

from __future__ import annotations

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment.release_quality import Overall, QualityLog
from discreet.release.report.quality import QualityReport
from tests.helpers.rows import for_all_rows

COUNT = 20_000
RNG = np.random.default_rng(12)
PTABLE = dc.design_perturbation(max_noise=4, variance=2)
KEYS = {
    "proper": RNG.integers(0, 10**15, COUNT),
    "identifiers": np.arange(COUNT),
    "income": RNG.lognormal(10, 1, COUNT).astype(np.int64),
    "another grid": RNG.integers(0, 2**32, COUNT),
    "one constant": np.full(COUNT, 381_966_011_250_105),
}


def log_of(keys: np.ndarray, areas: int) -> QualityLog:
    people = pl.DataFrame({"area": RNG.integers(0, areas, COUNT), "key": keys})
    table = dc.tabulate(people, ["area"], record_key="key", allow_unsuitable_keys=True)
    log = QualityLog()
    log.add("T1", table, dc.perturb(table, PTABLE))
    return log


@for_all_rows(
    ("name", "alarms"),
    [
        ("proper", []),
        ("identifiers", ["constant"]),
        ("income", ["constant"]),
        ("another grid", ["constant"]),
        ("one constant", ["count-alone"]),
    ],
)
@for_all_rows("areas", [100, 400])
def test_alarms(name: str, alarms: list[str], areas: int):
    log = log_of(KEYS[name], areas)
    assert Overall(log).alarms() == alarms
    assert Overall(QualityLog.opened(log.sealed(b"0" * 32), b"0" * 32)).alarms() == alarms


def test_few_cells_give_none():
    assert Overall(log_of(KEYS["identifiers"], 5)).alarms() == []
    assert Overall(QualityLog()).alarms() == []


def test_only_the_internal_page_tells():
    report = QualityReport(log=log_of(KEYS["identifiers"], 100), title={"en": "Census"})
    assert report.internal["alarms"] == ["constant"]
    assert "alarms" not in report.public
    for language, word in (("en", "Alarm: nine in ten"), ("de", "Alarm: Neun von zehn")):
        assert word in report.html(language, internal=True)
        assert word not in report.html(language)
