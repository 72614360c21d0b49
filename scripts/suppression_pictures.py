"""Draw the pictures of hidden cells that the documentation shows.

In: nothing; the firms are drawn by chance. Out: docs/images/hidden-*.png, the same bytes
each time.

    python scripts/suppression_pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment.pictures import Picture, hidden_by_code, hidden_by_part, hidden_cells
from discreet.protection.suppression import Suppression

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"

REGIONS = {
    "1": ("North", "Norden"),
    "11": ("Coast", "Küste"),
    "12": ("Marsh", "Marsch"),
    "13": ("Heath", "Heide"),
    "2": ("South", "Süden"),
    "21": ("Hills", "Hügelland"),
    "22": ("Lakes", "Seenland"),
}
BRANCHES = {
    "a": ("Trade", "Handel"),
    "b": ("Crafts", "Handwerk"),
    "c": ("Industry", "Industrie"),
    "d": ("Mining", "Bergbau"),
}
SIZES = {"s": ("small", "klein"), "l": ("large", "groß")}


def suppression() -> Suppression:
    """A table of three variables with its hidden cells."""
    draw = np.random.default_rng(7)
    leaves = [code for code in REGIONS if len(code) == 2]
    firms = pl.DataFrame(
        {
            "region": draw.choice(leaves, 700),
            "branch": draw.choice(list(BRANCHES), 700, p=[0.5, 0.3, 0.17, 0.03]),
            "size": draw.choice(list(SIZES), 700, p=[0.8, 0.2]),
            "turnover": np.ceil(draw.lognormal(4, 1.2, 700)).astype(int),
        }
    )
    region = dc.Classification.from_prefixes(
        "region", leaves, [1, 2], labels=_labels(REGIONS), titles={"en": "Region", "de": "Region"}
    )
    branch = dc.Classification.flat(
        "branch", BRANCHES, labels=_labels(BRANCHES), titles={"en": "Branch", "de": "Branche"}
    )
    size = dc.Classification.flat(
        "size", SIZES, labels=_labels(SIZES), titles={"en": "Size", "de": "Größe"}
    )
    table = dc.tabulate(firms, [region, branch, size], values=["turnover"], contributions=2)
    primary = dc.primary(
        table, [dc.rules.MinimumFrequency(3), dc.rules.PPercent(10)], value="turnover"
    )
    titles = {"en": "Turnover by region, branch, size", "de": "Umsatz nach Region, Branche, Größe"}
    return Suppression.of((table, primary), method="fast", titles=titles)


def _labels(named: dict[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {code: {"en": english, "de": german} for code, (english, german) in named.items()}


def pictures() -> dict[str, Picture]:
    """Every picture by the name of its file."""
    done = suppression()
    return {
        "cells": hidden_cells(done.tables[0], at={"size": "l"}),
        "by-code": hidden_by_code(done, "region", nested="size", language="de"),
        "by-part": hidden_by_part(done.tables[0]),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the pictures into the folder named in `arguments`, or the documentation's."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        path = picture.save(folder / f"hidden-{name}.png")
        path.chmod(0o644)  # the example is not secret
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
