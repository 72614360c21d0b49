"""Measure discreet beside others, in one run: ``make bench``.

Every task runs in a process of its own (once to warm up, then timed), tasks
that are compared take turns, and what is reported is the median and the ratio.
``make bench ARGS="--quick"`` leaves out the long ones; ``--rows-parquet N`` sets
the size of the largest. ``--suppression`` measures cell suppression only, each task for at
most ``--limit`` seconds; ``--large`` adds a sparse table of a million cells and the audit of
one of 59,292 cells; ``--audits`` measures that audit only. Output checking is measured by files
of its own, which the last lines name.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from suppression_side import growth, large_audit, side_by_side
from tasks import TASKS

MILLION = 1_000_000
OUTPUT_CHECKING = """
Output checking, in one run each:
  python bench/output_checking.py                          safe commands beside polars
  python bench/output_checking_rewriting.py                a megabyte of do-files
  python bench/output_checking_models.py                   models beside statsmodels
  python bench/output_checking_acro.py --acro PYTHON       beside acro, in its environment
  python bench/output_queue.py                             the review queue"""


def measure(name: str, folder: Path, rows: int, repeats: int) -> dict[str, Any]:
    """Time one task in this process; what it gives may have more figures to tell."""
    run = TASKS[name](folder, rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if repeats > 1:
        run()
    times, found = [], None
    before_run = time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    cpu = (time.process_time() - before_run) / repeats
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = found.figures() if hasattr(found, "figures") else {}
    return {**told, "seconds": statistics.median(times), "cpu": cpu, "peak": peak, "before": before}


def command_for(name: str, folder: Path, rows: int, repeats: int) -> list[str]:
    """How to run one task by itself."""
    command = [sys.executable, __file__, "--task", name, "--folder", str(folder)]
    return [*command, "--rows", str(rows), "--repeats", str(repeats)]


def within(name: str, folder: Path, rows: int, limit: float) -> dict[str, Any]:
    """Run one task once, in a fresh process; what it says if it fails or takes too long."""
    command = command_for(name, folder, rows, 1)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"not within {limit:,.0f} seconds"}
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return {"failed": said[-1]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def in_process(name: str, folder: Path, rows: int, repeats: int) -> dict[str, Any]:
    """Time one task in a fresh process."""
    command = command_for(name, folder, rows, repeats)
    # What a task has to say of its progress is shown.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def suppression(folder: Path, *, quick: bool, large: bool, limit: float) -> None:
    """Cell suppression: beside others, and at size."""
    side_by_side(within, folder, quick=quick, limit=limit)
    sizes = [10_000] if quick else [10_000, 100_000]
    growth(within, folder, [*sizes, MILLION] if large else sizes, 3_600)
    if large:
        large_audit(within, folder, max(limit, 1_800))


def compare(
    title: str,
    names: Sequence[str],
    folder: Path,
    rows: int,
    repeats: int,
    rounds: int,
    unit: str = "rows",
) -> None:
    """Print tasks side by side; the ratio is first task over this one, round by round."""
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            results[name].append(in_process(name, folder, rows, repeats))
    print(f"\n{title}, {rows:,} {unit}", flush=True)
    print(f"  {'':32} {'seconds':>9} {unit + '/s':>14} {'peak MB':>9}  {names[0]} takes")
    first = results[names[0]]
    for name in names:
        seconds = statistics.median(result["seconds"] for result in results[name])
        peak = max(result["peak"] for result in results[name])
        ratio = statistics.median(
            one["seconds"] / two["seconds"] for one, two in zip(first, results[name], strict=True)
        )
        shown = "" if name == names[0] else f"{ratio:.2f} × its time"
        print(f"  {name:32} {seconds:9.3f} {rows / seconds:14,.0f} {peak:9,.0f}  {shown}")


def main() -> None:
    """Run all comparisons, or one task for the parent process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rows", type=int, default=MILLION)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows-parquet", type=int, default=83 * MILLION)
    parser.add_argument("--suppression", action="store_true")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--audits", action="store_true")
    options = parser.parse_args()
    if options.task:
        print(json.dumps(measure(options.task, options.folder, options.rows, options.repeats)))
        return
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        if options.audits:
            large_audit(within, folder, options.limit)
            return
        suppression(folder, quick=options.quick, large=options.large, limit=options.limit)
        if options.suppression:
            return
        for rows in [MILLION] if options.quick else [MILLION, 10 * MILLION]:
            for kind in ("integer", "category", "string"):
                names = [f"discreet {kind}", f"polars {kind}"]
                if kind != "category":
                    names.append(f"cell-key-perturbation {kind}")
                title = "400 × 18 × 2: all margins perturbed, beside inner cells only"
                compare(title, names, folder, rows, 3, 3)
        for engine in ("frame", "polars file", "duckdb file"):
            names = [f"{engine}, sums and top 2", f"{engine}, sums"]
            for rows in [MILLION] if options.quick else [MILLION, 10 * MILLION]:
                compare(
                    "400 × 18 × 2: largest contributions beside sums", names, folder, rows, 3, 3
                )
        compare("Noise of many cells", ["lookup"], folder, 10 * MILLION, 3, 1)
        for kind in ("integer", "string"):
            compare("Record keys", [f"keys {kind}"], folder, 2 * MILLION, 3, 1)
        for size in (20, 100):
            compare(
                "Design of a perturbation table", ["design"], folder, size, 5, 1, "maximum noise"
            )
        names = ["ten tables, one pass", "ten tables, ten passes"]
        compare("Two-way tables of five variables", names, folder, 2 * MILLION, 3, 3)
        rows = MILLION // 10 if options.quick else MILLION
        names = ["programme, protected", "programme, unprotected", "programme, taken up half way"]
        title = "600 tables, region by up to three more variables, with all margins"
        compare(title, names, folder, rows, 1, 1, "persons")
        rows = 5 * MILLION if options.quick else options.rows_parquet
        names = ["discreet parquet", "polars parquet"]
        compare("11,000 regions on three levels × 18 × 2, from Parquet", names, folder, rows, 1, 1)
    print(OUTPUT_CHECKING)


if __name__ == "__main__":
    main()
