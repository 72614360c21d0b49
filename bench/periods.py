"""What tables of five years give away, by who keeps his record key.

    python bench/periods.py panel --persons 20_000
    python bench/periods.py stock

`panel` makes a synthetic panel, publishes all crossings of five variables in each year, attacks
them as a reader and as an insider would, and prints a row for each attack and option. `stock`
publishes counts of which nothing changes, and averages them over all crossings and years.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment.attacks import PublishedFigures, attacked_panel, estimated
from discreet.demo.panel import panel
from discreet.microdata.period_keys import PeriodOption
from discreet.protection.noise import PerturbationTable

_SECRET = "an example, no secret"
_OPTIONS: tuple[PeriodOption, ...] = ("same", "period", "changed")
_BY = ["area", "sex", "age", "work", "origin"]


def _noise() -> PerturbationTable:
    return dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))


def attack(persons: int) -> None:
    """A row for each attack and option."""
    years, ptable = panel(persons), _noise()
    print(f"{'attack':56}{'option':9}{'cases':>8}{'alone':>8}{'found':>8}{'95 %':>15}{'sure':>8}")
    rows: dict[str, list[str]] = {}
    for option in _OPTIONS:
        began = time.process_time()
        for each in attacked_panel(
            years, id="person", by=_BY, unknown=["work", "origin"], ptable=ptable,
            option=option, secret=_SECRET,
        ):  # fmt: skip
            alone = "–" if each.alone is None else f"{each.alone:.3f}"
            right = "" if each.right is None else f"  {each.right:.3f} right"
            rows.setdefault(each.attack, []).append(
                f"{each.attack:56}{option:9}{each.cases:>8,}{alone:>8}{each.found:>8.3f}"
                f"  {each.low:.3f}–{each.high:.3f}{each.sure:>8,}{right}"
            )
        print(f"{option}: {time.process_time() - began:.0f} CPU s", flush=True)
    print("\n".join(line for lines in rows.values() for line in lines))


def stock() -> None:
    """Counts of 20,000 dwellings in 100 streets by four attributes, found by the mean."""
    draw, size = np.random.default_rng(1), 20_000
    codes = {"street": 100, "a": 2, "b": 2, "c": 3, "d": 4}
    columns = {name: draw.integers(0, number, size) for name, number in codes.items()}
    frame = pl.DataFrame({"id": np.arange(size), **columns})
    by, ptable = list(codes), _noise()
    true = dict(frame.group_by("street").len().iter_rows())
    for option in _OPTIONS:
        shares: list[str] = []
        total, weight, previous = np.zeros(100), np.zeros(100), None
        for year in map(str, range(5)):
            more: dict[str, Any] = {}
            if option == "changed":
                more = {"watched": by, "previous": previous, "first": previous is None}
            previous = dc.with_period_keys(
                frame, id="id", secret=_SECRET, period=year, option=option, **more,
            )  # fmt: skip
            table = dc.tabulate(previous, by=by, record_key="record_key")
            system = PublishedFigures.of({"": [dc.perturb(table, ptable)]}).systems[""]
            (key,) = [each for each in system.layers if system.title(each) == "street"]
            own, axis = estimated(system)[key], system.axes[key[0][0]]
            total, weight = total + own.exposure * own.estimate, weight + own.exposure
            counts = [true[int(axis.codes(1)[at])] for at in own.layer.ids.tolist()]
            shares.append(f"{np.mean(np.rint(total / weight) == counts):.2f}")
        exposure = float(np.mean(own.exposure))
        print(f"{option:9} exposure {exposure:.2f} a year; found after 1 … 5 years: {shares}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=["panel", "stock"])
    parser.add_argument("--persons", type=int, default=20_000)
    chosen = parser.parse_args()
    attack(chosen.persons) if chosen.what == "panel" else stock()
