"""Prints cell suppression side by side: cost, seconds, open cells, memory. See `run.py`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from suppression_tasks import AUDITED, OURS, SPANS, THEIRS, reference

#: Runs a task in a process of its own for at most so many seconds; says what became of it.
Runner = Callable[[str, Path, int, float], dict[str, Any]]

SMALL = ("SizeReg", "YearSizeReg")


def side_by_side(run: Runner, folder: Path, *, quick: bool, limit: float) -> None:
    """All methods of both tools on the same tables, then both audits of the same pattern."""
    if reference() is None or importlib.util.find_spec("pytauargus") is None:
        print("\nCell suppression beside pytauargus: left out, there is no reference data")
        return
    print(f"\nCell suppression, rule P(10), each task at most {limit:,.0f} seconds", flush=True)
    run("suppression tables", folder, 0, 600)
    tables = SMALL if quick else [name for name in SPANS if name != "SizeRegInd"]
    head = (
        "secondaries",
        "cost",
        "bound",
        "seconds",
        "CPU s",
        "open outside",
        "open inside",
        "peak MB",
    )
    for name in tables:
        print(f"\n  {name:22}" + "".join(f"{word:>13}" for word in head))
        tasks = [f"pytauargus {method} {name}" for method in THEIRS]
        for task in [*tasks, *(f"discreet {method} {name}" for method in OURS)]:
            _shown(task, name, run(task, folder, 0, limit), head)
    _audits(run, folder, ["RegInd"] if not quick else [], limit)


def large_audit(run: Runner, folder: Path, limit: float) -> None:
    """Both audits of a table of 59,292 cells; hours for one of them."""
    if reference() is None or importlib.util.find_spec("pytauargus") is None:
        print("\nAudits beside pytauargus: left out, there is no reference data")
        return
    _audits(run, folder, ["SizeRegInd"], limit)


def growth(run: Runner, folder: Path, sizes: Sequence[int], limit: float) -> None:
    """`fast` on sparse frequency tables of growing size."""
    head = ("cells", "sensitive", "secondaries", "open inside", "seconds", "CPU s", "peak MB")
    print("\nSuppression at size: sparse frequency tables in five variables, method fast")
    print(f"  {'':22}" + "".join(f"{word:>13}" for word in head))
    for cells in sizes:
        found = run("suppression sparse", folder, cells, limit)
        _shown(f"about {cells:,} cells", "", found, head)


def _audits(run: Runner, folder: Path, names: Sequence[str], limit: float) -> None:
    for name in names:
        print(f"\n  Audit of {name} with blanks by our method {AUDITED[name]}", flush=True)
        run(f"pattern {name}", folder, 0, 600)
        ours = run(f"discreet audit {name}", folder, 0, limit)
        theirs = run(f"pytauargus audit {name}", folder, 0, limit)
        head = ("hidden", "open", "seconds", "CPU s", "peak MB")
        print(f"  {'':22}" + "".join(f"{word:>13}" for word in head))
        _shown("discreet audit", "", ours, head)
        _shown("pytauargus audit", "", theirs, head)
        if "cpu" in ours and "cpu" in theirs:
            print(f"  ours takes 1/{theirs['cpu'] / ours['cpu']:,.0f} of its CPU time")
        elif "seconds" in ours:
            print(f"  ours is more than {limit / ours['seconds']:,.0f} times as fast")


def _shown(task: str, name: str, found: dict[str, Any], head: Sequence[str]) -> None:
    label = task.removesuffix(name).strip()
    if "failed" in found:
        print(f"  {label:22}   {found['failed'][:90]}", flush=True)
        return
    values = {**found, "peak MB": found["peak"], "seconds": f"{found['seconds']:.2f}"}
    values["CPU s"] = f"{found['cpu']:.2f}"
    print(f"  {label:22}" + "".join(f"{_text(values.get(word)):>13}" for word in head), flush=True)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:,.0f}"
