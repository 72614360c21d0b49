"""A session beside acro, on the examples that acro comes with: verdicts, time, what is let through.

    git clone https://github.com/AI-SDC/ACRO
    python -m venv acro && acro/bin/pip install acro
    python bench/output_checking_acro.py --acro acro/bin/python --examples ACRO/data

The examples are those of acro's notebooks and tests: applications to a nursery school, and
charities by year and kind of grant. Limits are those that acro comes with: ten cases, k = 90,
p = 10. acro runs with suppression in an interpreter of its own, the session of discreet here; both
get the same frame. Let through are numbers about fewer than ten cases that are shown, and hidden
counts that follow, or nearly follow, from all counts of the session and the number of records, by
linear programs (`discreet_fire.linked_tables`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Data, and what is asked for: a method of both, variables down, across, of which values.
NURSERY = [
    ("crosstab", ["recommendation"], ["parents"], ""),
    ("crosstab", ["recommendation"], ["finance"], ""),
    ("crosstab", ["recommendation"], ["children"], ""),
    ("crosstab", ["parents", "finance"], ["recommendation"], "children"),
]
CHARITIES = [
    ("crosstab", ["year"], ["grant_type"], ""),
    ("crosstab", ["year"], ["survivor"], ""),
    ("crosstab", ["year", "survivor"], ["grant_type"], ""),
    ("crosstab", ["year"], ["grant_type"], "inc_grants"),
    ("crosstab", ["grant_type"], ["survivor"], "inc_activity"),
    ("ols", ["inc_activity"], ["inc_grants", "inc_donations", "total_costs"], ""),
    ("logit", ["alive"], ["inc_activity", "inc_grants", "inc_donations", "total_costs"], ""),
    ("hist", ["inc_grants"], [], ""),
    ("survival", ["year_of"], ["dead"], ""),
]
EXAMPLES = {"nursery": NURSERY, "charities": CHARITIES}
_ROUNDS = 3


def frame_of(name: str, folder: Path) -> Any:
    """The data of an example as acro's notebooks prepare it."""
    import numpy as np
    import pandas as pd

    if name == "charities":
        frame = pd.read_stata(folder / "test_data.dta", convert_categoricals=True)
        frame["survivor"] = frame["survivor"].astype(str)
        frame["dead"] = (frame["survivor"] == "Dead in 2015").astype(int)
        frame["alive"] = 1 - frame["dead"]
        frame["year_of"] = frame["year"].astype(int) - 2009
        for column in frame.columns:
            if frame[column].dtype == "float32":
                frame[column] = frame[column].astype(float)
        return frame
    lines = (folder / "nursery.arff").read_text(encoding="utf-8").splitlines()
    names = [line.split()[1].strip("'") for line in lines if line.lower().startswith("@attribute")]
    rows = [line.split(",") for line in lines if line and line[0] not in "%@ " and "," in line]
    rows = [[one.strip().strip("'") for one in row] for row in rows if len(row) == len(names)]
    frame = pd.DataFrame(rows, columns=names).rename(columns={"class": "recommendation"})
    more = np.random.default_rng(1).integers(4, 10, len(frame))
    known = pd.to_numeric(frame["children"], errors="coerce")
    frame["children"] = np.where(known.isna(), more, known).astype(int)
    return frame


# The side of acro ---------------------------------------------------------------------------------


def acro_side(folder: Path) -> dict[str, Any]:
    """What acro says and shows, with the seconds of the processor."""
    import logging

    import pandas as pd
    from acro import ACRO

    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    found = {}
    for data, examples in EXAMPLES.items():
        frame = frame_of(data, folder)
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            for at, (method, down, across, values) in enumerate(examples):
                seconds, one = [], None
                for _ in range(_ROUNDS):
                    session = ACRO(suppress=True)
                    begun = time.process_time()
                    run = _acro_call(session, frame, method, down, across, values)
                    run()
                    seconds.append(time.process_time() - begun)
                    one = session.results.get_index(0)
                cells = []
                if method == "crosstab" and isinstance(one.output[0], pd.DataFrame):
                    cells = _cells(one.output[0])
                found[f"{data} {at}"] = {
                    "status": one.status,
                    "summary": " ".join(one.summary.split()),
                    "seconds": statistics.median(seconds),
                    "cells": cells,
                }
    return found


def _acro_call(
    session: Any, frame: Any, method: str, down: list[str], across: list[str], values: str
) -> Callable[[], object]:
    import statsmodels.api as sm

    if method == "crosstab":
        options = {"values": frame[values], "aggfunc": "mean"} if values else {}
        rows = [frame[one] for one in down]
        columns = [frame[one] for one in across]
        return lambda: session.crosstab(
            rows[0] if len(rows) == 1 else rows,
            columns[0] if len(columns) == 1 else columns,
            **options,
        )
    if method == "hist":
        return lambda: session.hist(frame, down[0])
    if method == "survival":
        return lambda: session.surv_func(frame[down[0]], frame[across[0]], output="table")
    data = frame[[*down, *across]].dropna()
    fit = session.ols if method == "ols" else session.logit
    return lambda: fit(data[down[0]], sm.add_constant(data[across]))


def _cells(table: Any) -> list[list[Any]]:
    """Labels and number of each cell; None where it is hidden."""
    import pandas as pd

    found = []
    for row, line in table.iterrows():
        for column, value in line.items():
            labels = [*(row if isinstance(row, tuple) else [row])]
            own = column if isinstance(column, tuple) else (column,)
            labels.append(own[-1])
            number = None if pd.isna(value) else float(value)
            found.append([[_label(one) for one in labels], number])
    return found


def _label(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# The side of discreet -----------------------------------------------------------------------------


def our_side(folder: Path) -> dict[str, Any]:
    """What a session of discreet says and shows, before and after tables are protected together."""
    import discreet_fire as fire
    from discreet_fire.statistics import SafeLimits

    limits = SafeLimits(minimum=10, k=90, p=10, residual_df=10)
    warnings.filterwarnings("ignore")
    found: dict[str, Any] = {}
    for data, examples in EXAMPLES.items():
        frame = frame_of(data, folder)
        whole = fire.session(data, data=frame, limits=limits)
        for at, example in enumerate(examples):
            seconds = []
            for _ in range(_ROUNDS):
                alone = fire.session(data, data=frame, limits=limits)
                begun = time.process_time()
                shown = _our_call(alone, *example)
                seconds.append(time.process_time() - begun)
            _our_call(whole, *example)
            found[f"{data} {at}"] = {
                "status": shown.verdict.value,
                "summary": shown.summary,
                "seconds": statistics.median(seconds),
            }
        begun = time.process_time()
        whole.protect()
        found[f"{data} together"] = {"seconds": time.process_time() - begun}
        for at, one in enumerate(whole.outputs):
            counted = examples[at][0] == "crosstab" and one.table is not None
            found[f"{data} {at}"]["cells"] = _our_cells(one) if counted else []
    return found


def _our_call(session: Any, method: str, down: list[str], across: list[str], values: str) -> Any:
    if method == "crosstab":
        return session.crosstab(down, across, values=values or None)
    if method == "hist":
        return session.hist(down[0])
    if method == "survival":
        return session.survival(down[0], across[0])
    formula = f"{down[0]} ~ {' + '.join(across)}"
    return session.ols(formula) if method == "ols" else session.logit(formula)


def _our_cells(output: Any) -> list[list[Any]]:
    table = output.table
    names = [name for name, _ in table.axes]
    wanted = next((one for one in table.measures if one.startswith("mean")), "n")
    return [
        [[row[name] for name in names], row[wanted]]
        for row in output.frame.rows(named=True)
        if "Total" not in [row[name] for name in names]
    ]


# What each lets through ---------------------------------------------------------------------------


def let_through(found: dict[str, Any], folder: Path) -> dict[str, dict[str, int]]:
    """For each table: hidden cells, small ones that are shown; hidden counts that follow."""
    import numpy as np
    import polars as pl

    from discreet_fire.linked_tables import linked_findings, shown_counts
    from discreet_fire.statistics import SafeLimits

    told: dict[str, dict[str, int]] = {}
    for data, examples in EXAMPLES.items():
        frame = frame_of(data, folder)
        linked = []
        for at, (method, down, across, values) in enumerate(examples):
            cells = found[f"{data} {at}"]["cells"]
            if method != "crosstab" or not cells:
                continue
            names = [*down, *across]
            used = frame.dropna(subset=[*names, *([values] if values else [])])
            labels = pl.DataFrame(
                {name: [_label(one) for one in used[name].tolist()] for name in names}
            )
            sizes = {tuple(key): n for *key, n in labels.group_by(names).len().rows()}
            small = {key for key, n in sizes.items() if n < 10}
            shown = {tuple(key): value for key, value in cells}
            told[f"{data} {at}"] = {
                "cells": len(sizes),
                "small": len(small),
                "hidden": sum(shown.get(key) is None for key in sizes),
                "small and shown": sum(shown.get(key) is not None for key in small),
            }
            if not values:
                table = pl.DataFrame(
                    [
                        {
                            **dict(zip(names, key, strict=True)),
                            "n": None if n and shown.get(key) is None else float(n),
                        }
                        for key in _product(labels, names)
                        for n in [sizes.get(key, 0)]
                    ],
                    schema_overrides={"n": pl.Float64},
                )
                numbers = np.array(used.index.to_list(), dtype=np.int64)
                one = shown_counts(f"table {at}", table, labels, numbers)
                assert one is not None
                linked.append(one)
        # Everybody knows how many records there are: each model and picture says so.
        everyone = pl.DataFrame({"n": [float(len(frame))]})
        numbers = np.arange(len(frame), dtype=np.int64)
        whole = shown_counts("all", everyone, pl.DataFrame({}), numbers)
        linked += [] if whole is None else [whole]
        sentences = [one.what for one in linked_findings(linked, limits=SafeLimits(minimum=10))]
        open_ones = [one for one in sentences if " follows from " in one or " nearly told " in one]
        more = [int(one.split()[0]) for one in sentences if "more withheld cells" in one]
        told[f"{data} together"] = {"told": len(open_ones) + sum(more)}
    return told


def _product(labels: Any, names: list[str]) -> list[tuple[str, ...]]:
    import itertools

    return list(itertools.product(*(sorted(set(labels[name].to_list())) for name in names)))


def report(acro: dict[str, Any], ours: dict[str, Any], folder: Path) -> str:
    """Two lines for each example, and what each lets through."""
    lines = []
    through = {"acro": let_through(acro, folder), "discreet": let_through(ours, folder)}
    for data, examples in EXAMPLES.items():
        for at, (method, down, across, values) in enumerate(examples):
            key = f"{data} {at}"
            of = f" of {values}" if values else ""
            lines.append(f"{data}: {method} {' '.join(down)} by {' '.join(across)}{of}")
            for tool, found in (("acro", acro), ("discreet", ours)):
                one = found[key]
                counts = through[tool].get(key, {})
                told = ", ".join(f"{n} {name}" for name, n in counts.items())
                lines.append(
                    f"  {tool:<9} {one['status']:<7} {one['seconds']:.3f} s  {told or '-'}"
                )
                lines.append(f"            {one['summary'][:150]}")
        for tool in ("acro", "discreet"):
            told = through[tool][f"{data} together"]["told"]
            lines.append(f"{data}, counts together, {tool}: {told} hidden cells follow or nearly")
        lines.append(f"  discreet protects them in {ours[f'{data} together']['seconds']:.2f} s")
    return "\n".join(lines)


def main() -> int:
    """Run both sides and print what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--acro", help="interpreter of an environment that has acro")
    parser.add_argument("--examples", type=Path, help="folder `data` of acro's repository")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side == "acro":
        print(json.dumps(acro_side(given.examples)))
        return 0
    if not given.examples or not (given.examples / "nursery.arff").is_file():
        print("The data of acro's examples are not there: git clone "
              "https://github.com/AI-SDC/ACRO, then --examples ACRO/data")  # fmt: skip
        return 2
    given.examples = given.examples.resolve()
    has = (
        [given.acro, "-c", "import acro; from acro.version import __version__ as v; print(v)"]
        if given.acro
        else []
    )
    done = subprocess.run(has, capture_output=True, text=True, check=False) if has else None
    if done is None or done.returncode:
        print("acro is not installed there; name an interpreter that has it with --acro: "
              "python -m venv acro && acro/bin/pip install acro")  # fmt: skip
        return 2
    command = [given.acro, __file__, "--side", "acro", "--examples", str(given.examples)]
    acro = subprocess.run(command, capture_output=True, text=True, check=False)
    if acro.returncode:
        print(f"acro failed:\n{acro.stderr}")
        return 1
    theirs = json.loads(acro.stdout.splitlines()[-1])
    print(f"acro {done.stdout.strip().splitlines()[-1]}\n")
    print(report(theirs, our_side(given.examples), given.examples))
    return 0


if __name__ == "__main__":
    sys.exit(main())
