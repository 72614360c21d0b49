"""Measure discreet beside others: ``make bench ARGS="GROUP … --quick"``.

What is compared with what stands in `comparisons.py`, the tasks in a module per group. A task
sets itself up, then gives what is timed; before that it runs once to warm up. Tasks that are
compared take turns, each in a process of its own, or in one process where they take
milliseconds. Printed are medians, and the ratio to the first task, round by round. The program
ends with 1 where the first task misses its goal beside the second in every round.

``--smoke`` runs every task once, small, to see that it runs; ``--quick`` leaves out long ones;
``--large`` adds those of many minutes; ``--only TEXT`` leaves tasks whose names contain it. A
task may take ``--limit`` seconds of the processor. What needs another
interpreter (``--acro PYTHON``), an older checkout (``--old FOLDER``) or data that are not there
is left out, and said.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from comparisons import COMPARISONS, Comparison

Result = dict[str, Any]
#: Engines of others, which crash beside ours in one process or live in another environment.
APART = ("pytauargus", "acro_side")
#: On a shared machine a task is given so many times its limit by the clock.
_PATIENCE = 10
#: Ends the names of tasks that are run with the code of an older checkout.
BEFORE = ", before"


# -- one process ----------------------------------------------------------------------


def measure(
    tasks: Sequence[str], folder: Path, size: int, rounds: int, *, warm: bool
) -> list[Result]:
    """Time tasks in turns in this process; what they give may have more to tell (`told`)."""
    runs, results = [], []
    for task in tasks:
        module, name = task.split(": ")
        runs.append(importlib.import_module(module).TASKS[name](folder, size))
        results.append({"seconds": [], "cpu": []})
    if warm:
        for run in runs:
            run()
    for _ in range(rounds):
        for run, result in zip(runs, results, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            found = run()
            result["cpu"].append(time.process_time() - cpu)
            result["seconds"].append(time.perf_counter() - wall)
            result["found"] = found
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for result in results:
        told = getattr(result.pop("found"), "told", dict)
        result.update(told(), peak=peak)
    return results


def apart(
    comparison: Comparison, tasks: Sequence[str], options: argparse.Namespace
) -> list[Result]:
    """The same in a fresh process; where it fails or takes too long, what it says."""
    python = options.acro if comparison.needs == "acro" and "acro_side" in tasks[0] else None
    command = [python or sys.executable, __file__, "--folder", str(options.folder)]
    command += [f"--task={task.removesuffix(BEFORE)}" for task in tasks]
    environment = dict(os.environ)
    if tasks[0].endswith(BEFORE):
        environment["PYTHONPATH"] = str(Path(options.old).resolve() / "src")
    command += ["--size", str(options.size), "--rounds", str(comparison.rounds_together)]
    command += ["--warm"] if comparison.warm else []
    most = int(options.limit)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE * options.limit,
            env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most)),
        )
        late = done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    except subprocess.TimeoutExpired:
        late = True
    if late:
        return [{"failed": f"not within {most:,} CPU seconds"} for _ in tasks]
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return [{"failed": said[-1]} for _ in tasks]
    results: list[Result] = json.loads(done.stdout.splitlines()[-1])
    return results


# -- comparisons ------------------------------------------------------------------------


def missing(needs: str, options: argparse.Namespace) -> str:
    """Why a comparison cannot be made; nothing if it can."""
    from suppression import reference

    if needs == "old":
        return "" if options.old else "name an older checkout with --old"
    if needs == "acro":
        return "" if options.acro else "name an interpreter that has acro with --acro"
    if needs == "reference" and reference() is None:
        return "there is no reference data"
    if needs not in ("", "reference") and importlib.util.find_spec(needs) is None:
        return f"there is no {needs}"
    return ""


def compare(comparison: Comparison, options: argparse.Namespace) -> bool:
    """Measure and print one comparison of one size; whether its goal is kept."""
    results: dict[str, list[Result]] = {task: [] for task in comparison.tasks}
    for _ in range(1 if comparison.together else comparison.rounds):
        if comparison.together:
            found = apart(comparison, comparison.tasks, options)
            for task, result in zip(comparison.tasks, found, strict=True):
                results[task].append(result)
            continue
        for task in comparison.tasks:
            if not any("failed" in earlier for earlier in results[task]):
                results[task] += apart(comparison, [task], options)
    print(f"\n{comparison.title}, {options.size:,} {comparison.unit}", flush=True)
    columns = ("seconds", "CPU s", "peak MB", "× time", "× CPU", *comparison.told)
    print(f"  {'':34}" + "".join(f"{word:>12}" for word in columns))
    first = _times(results[comparison.tasks[0]])
    for task, listed in results.items():
        _print_row(task.split(": ")[1], listed, first, comparison.told)
    return is_kept(comparison.goal(options.size), [_times(own) for own in results.values()])


def is_kept(most: float, times: Sequence[Sequence[tuple[float, float]]]) -> bool:
    """Whether a goal is kept: the first of some tasks takes so much of the second, in its best
    round at least. What could not be measured is not kept.
    """
    if not most or len(times) < 2:
        return True
    ratios = sorted(own / other for (_, own), (_, other) in zip(*times[:2], strict=False) if other)
    kept = bool(ratios) and ratios[0] <= most
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}" if ratios else "not measured"
    print(f"  goal: × CPU {most} of the second; {spread}{'' if kept else ': MISSED'}", flush=True)
    return kept


def _times(results: Sequence[Result]) -> list[tuple[float, float]]:
    """Seconds and processor seconds of each round."""
    if any("failed" in result for result in results):
        return []
    pairs = [zip(result["seconds"], result["cpu"], strict=True) for result in results]
    return [pair for one in pairs for pair in one]


def _print_row(
    name: str, results: Sequence[Result], first: Sequence[tuple[float, float]], told: Sequence[str]
) -> None:
    times, last = _times(results), results[-1]
    if not times:
        print(f"  {name:34}   {last.get('failed', '')[:90]}", flush=True)
        return
    seconds, cpu = (statistics.median(column) for column in zip(*times, strict=True))
    row = [f"{seconds:.3f}", f"{cpu:.3f}", f"{last['peak']:,.0f}"]
    for clock in (0, 1):
        ratios = [
            mine[clock] / others[clock]
            for mine, others in zip(times, first, strict=False)
            if others[clock]
        ]
        row.append(f"{statistics.median(ratios):.2f}" if ratios else "")
    row += [_text(last.get(word)) for word in told]
    print(f"  {name:34}" + "".join(f"{text:>12}" for text in row), flush=True)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.2f}"


def chosen(options: argparse.Namespace) -> Iterator[Comparison]:
    """The comparisons that are asked for and can be made; others are told."""
    for comparison in COMPARISONS:
        if options.groups and comparison.group not in options.groups:
            continue
        if options.smoke and not comparison.smoke:
            continue
        if comparison.large and not (options.large or options.smoke):
            continue
        why = missing(comparison.needs, options)
        if why and os.environ.get("CI") and comparison.needs not in ("acro", "old"):
            raise SystemExit(f"{comparison.title} cannot be measured: {why}")
        if why:
            print(f"\n{comparison.title}: left out, {why}", flush=True)
            continue
        yield comparison


def run_all(options: argparse.Namespace) -> bool:
    """Every comparison that is asked for; whether all goals are kept."""
    kept = True
    for every in chosen(options):
        tasks = tuple(task for task in every.tasks if options.only in task)
        if not tasks:
            continue
        comparison = replace(every, tasks=tasks)
        for size in comparison.sizes[:1] if options.quick else comparison.sizes:
            options.size = size
            kept &= compare(comparison, options)
    return kept


def smoke(options: argparse.Namespace) -> bool:
    """Run each task once, all in this process but for those of others; whether all ran."""
    failed = 0
    for comparison in chosen(options):
        for task in comparison.tasks:
            begin = time.monotonic()
            options.size = comparison.smoke
            try:
                if task.endswith(BEFORE) or any(word in task for word in APART):
                    (found,) = apart(comparison, [task], options)
                else:
                    (found,) = measure([task], options.folder, comparison.smoke, 1, warm=False)
                lost = [word for word in comparison.told if word not in found]
                said = found.get("failed") or (f"nothing of {', '.join(lost)}" if lost else "")
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            failed += bool(said)
            print(f"  {time.monotonic() - begin:5.1f} s  {task}  {said}", flush=True)
    print(f"{failed} tasks failed" if failed else "every task ran")
    return not failed


#: Programs beside this one that measure many records, or a service: their words at full size, and
#: small; none where tests do the same.
SCALE = {
    "store.py": ("--persons 83_000_000", "--persons 20_000 --seconds 0.1 --rounds 1"),
    "places.py": ("--persons 83_000_000 --memory 4GB", ""),
    "studio.py": ("--rounds 9", "--smoke"),
}


def scale(options: argparse.Namespace) -> bool:
    """Run the programs for many records; whether all ran."""
    done = []
    for name, words in SCALE.items():
        if not words[options.smoke]:
            continue
        print(f"\n{name} {words[options.smoke]}", flush=True)
        folder = ["--folder", str(options.folder / "scale")] if name == "store.py" else []
        program = [sys.executable, str(Path(__file__).with_name(name))]
        done.append(subprocess.run([*program, *words[options.smoke].split(), *folder], check=False))
    return not any(each.returncode for each in done)


def main() -> int:
    """Run the comparisons, or some tasks for the parent process."""
    parser = argparse.ArgumentParser(description=__doc__)
    groups = sorted({"scale", *(comparison.group for comparison in COMPARISONS)})
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(groups))
    for flag in ("--smoke", "--quick", "--large"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--limit", type=float, default=3_600)
    parser.add_argument("--only", default="", help="part of the names of tasks to run")
    parser.add_argument("--old", help="folder of an older checkout, to compare with")
    parser.add_argument("--acro", help="interpreter of an environment that has acro")
    for hidden, kind in (("--folder", Path), ("--size", int), ("--rounds", int)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--task", action="append", help=argparse.SUPPRESS)
    parser.add_argument("--warm", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        found = measure(
            options.task, options.folder, options.size, options.rounds, warm=options.warm
        )
        print(json.dumps(found))
        return 0
    unknown = set(options.groups) - set(groups)
    if unknown:
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        options.folder = Path(name)
        if options.smoke:
            return 0 if smoke(options) and scale(options) else 1
        kept = run_all(options)
        if options.large and options.groups in ([], ["scale"]) and not options.only:
            kept &= scale(options)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
