"""Change the code in small ways, and see whether a test notices.

In: the modules that carry the promise, each with the test files that must notice (mutants.toml
beside this file). Out: the score of a sample of changes, and those that no test noticed; exit
code 1 if the score is below 95 %, 2 if the tests fail without any change or nothing was measured.

    python scripts/mutate.py [--number 60] [--seed 1 2] [--only WORD] [--function NAME] [--jobs 2]

Each run draws a sample of its own, whose seed stands beside the score; `--seed` draws it again.

All tests run once without any change; this says how long each takes and which functions it
enters. Each change is then tried in a process of its own: tests that enter the changed function
come first, the quickest before the others, and the first that fails ends it. A change that no
test of its module notices has survived; so has one that only a test notices that fails without
the change as well. A change that cannot make a difference is listed in mutants.toml with its
reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("mutants.toml")
SCORE = 0.95
IMPORT = "its import"  # what notices a change that cannot even be loaded
LIMIT = 60  # seconds for a test, beside what it takes without any change
COPIED = ("src", "tests", "docs", "stata", "R", "scripts", "pyproject.toml", "Makefile")

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
_CALLED |= {"minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    path: str
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str
    text: str
    again: int
    compiled: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.function})\n    {self.before}\n    {self.after}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the change for as long as the code of the place stays."""
        return self.path, self.function, self.before, self.after

    def rank(self, seed: int) -> bytes:
        """Its place in a random order: other changes of the code do not move it."""
        return hashlib.sha256(repr((seed, self.key, self.again)).encode()).digest()


def is_compiled(node: ast.FunctionDef) -> bool:
    """Whether a function is compiled to machine code."""
    return any("njit" in ast.unparse(one) for one in node.decorator_list)


# -- changes --------------------------------------------------------------------------


def expressions(node: ast.expr) -> Iterator[ast.expr]:
    """The same expression with one change of its own."""
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=ops):
            for at, op in enumerate(list(ops)):
                ops[at] = _COMPARED[type(op)]()
                yield changed
                ops[at] = op
        case ast.BinOp(op=op) if type(op) in _COUNTED and not isinstance(
            changed.left, ast.Constant
        ):
            changed.op = _COUNTED[type(op)]()
            yield changed
        case ast.BoolOp(op=op, values=values):
            changed.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield changed
            for at in range(len(values)):
                kept = [*values[:at], *values[at + 1 :]]
                yield kept[0] if len(kept) == 1 else ast.BoolOp(op=op, values=kept)
        case ast.UnaryOp(op=ast.Not()):
            yield changed.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _CALLED:
            if isinstance(changed.func, ast.Name):
                changed.func.id = _CALLED[name]
            elif isinstance(changed.func, ast.Attribute):
                changed.func.attr = _CALLED[name]
            yield changed


class _Places(ast.NodeVisitor):
    """Nodes that a program runs: no annotations, texts, decorators, or words of errors."""

    def __init__(self) -> None:
        self.function = "module"
        self.found: list[tuple[str, ast.expr | ast.stmt]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self.function = self.function, node.name
        for part in (*node.args.defaults, *node.args.kw_defaults, *node.body):
            if part is not None:
                self.visit(part)
        self.function = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.body:
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        if not _says_unreachable(node):
            self.found.append((self.function, node))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "zip":
            # `strict` is a check of the code itself: it makes no difference to what is right.
            node.keywords = [one for one in node.keywords if one.arg != "strict"]
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Places within a text with values are not known to Python 3.11."""

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.found.append((self.function, node))
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            self.found.append((self.function, node))
        super().generic_visit(node)


def _says_unreachable(node: ast.Raise) -> bool:
    called = node.exc.func if isinstance(node.exc, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == "AssertionError"


def mutants(path: Path, root: Path = ROOT) -> list[Mutant]:
    """Every change of a module."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data, places = text.encode(), _Places()
    found: list[Mutant] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    tree = ast.parse(text)
    places.visit(tree)
    loops = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and is_compiled(node)
    ]
    for function, node in places.found:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = data[start:end].decode()
        for after in _afters(node):
            name = path.relative_to(root).as_posix()
            plain = " ".join(before.split())
            same = function, plain, after
            line = data[starts[node.lineno - 1] : starts[node.lineno]].decode().strip()
            constant = bool(loops) and function == "module"
            compiled = constant or any(node.lineno in one for one in loops)
            found.append(
                Mutant(
                    name, function, node.lineno, start, end, plain, after, line, seen[same],
                    compiled,
                )
            )  # fmt: skip
            seen[same] += 1
    return found


def _afters(node: ast.expr | ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Raise):
        yield "pass"
    elif isinstance(node, ast.Return):
        if not isinstance(node.value, ast.Constant):
            yield "return None"
    elif isinstance(node, ast.expr):
        for changed in expressions(node):
            yield f"({ast.unparse(ast.fix_missing_locations(changed))})"


def wrong(what: str) -> NoReturn:
    """Nothing was measured: no score, good or bad."""
    print(what, file=sys.stderr)
    raise SystemExit(2)


# -- runs -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """A module and the test files that must notice its changes."""

    module: str
    tests: tuple[str, ...]

    @property
    def files(self) -> list[str]:
        """The test files one by one."""
        found: list[Path] = []
        for name in self.tests:
            found += [ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("test_*.py")
        return sorted({path.relative_to(ROOT).as_posix() for path in found})


def targets(only: str) -> list[Target]:
    """The modules that are changed."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["target"]
    every = [Target(module, tuple(one["tests"])) for one in listed for module in one["modules"]]
    names = Counter(one.module for one in every)
    missing = {name for one in every for name in (one.module, *one.tests)}
    missing = {name for name in missing if not (ROOT / name).exists()}
    if missing:
        wrong(f"mutants.toml names what is not there: {', '.join(sorted(missing))}")
    if twice := [name for name, times in names.items() if times > 1]:
        wrong(f"mutants.toml names these modules twice: {', '.join(twice)}")
    if untested := [one.module for one in every if not one.files]:
        wrong(f"mutants.toml names no tests for {', '.join(untested)}")
    return [one for one in every if only in one.module]


def at_end(mutant: Mutant, near: set[str]) -> bool:
    """Whether a change only says what holds where one side equals another one of these names."""
    if not any(name in mutant.before for name in near) or not mutant.after.startswith("("):
        return False
    before, after = (ast.parse(text, mode="eval").body for text in (mutant.before, mutant.after))
    if not isinstance(before, ast.Compare) or not isinstance(after, ast.Compare):
        return False
    sides = [before.left, *before.comparators]
    return all(
        {type(one), type(other)} in ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE})
        and not near.isdisjoint(
            getattr(node, "id", getattr(node, "attr", ""))
            for side in sides[at : at + 2]
            for node in ast.walk(side)
        )
        for at, (one, other) in enumerate(zip(before.ops, after.ops, strict=True))
        if type(one) is not type(other)
    )


def equivalent(every: Sequence[Mutant]) -> set[Mutant]:
    """Changes that make no difference, as listed; a list of what is not there is wrong.

    Each is named by its place and, where a function has the same text twice, by its line. Limits
    that may have any value near theirs are named by their lines alone: comparisons with them, with
    tolerances and with the clock may come out either way where both sides are equal.
    """
    listed = tomllib.loads(LIST.read_text("utf-8"))
    near = {
        module: {node.id for node in ast.walk(ast.parse("\n".join(lines))) if hasattr(node, "id")}
        for module, lines in listed.get("limits", {}).items()
    }
    always = {*listed.get("tolerances", ()), "monotonic"}
    found = {one for one in every if at_end(one, always | near.get(one.path, set()))}
    for module, lines in listed.get("limits", {}).items():
        for line in lines:
            place = module, "module", line
            chosen = [one for one in every if (one.path, one.function, one.text) == place]
            if not chosen:
                wrong(f"mutants.toml names no limit by {place}")
            found.update(chosen)
    for one in listed.get("equivalent", []):
        key = one["module"], one["function"], one["before"], one["after"]
        alike = [mutant for mutant in every if mutant.key == key]
        chosen = [mutant for mutant in alike if one.get("line", mutant.text) == mutant.text]
        if not chosen or (len(chosen) > 1 and not one.get("each")):
            wrong(f"mutants.toml names {len(chosen)} changes by {key}")
        found |= set(chosen)
    return found


@dataclass(frozen=True)
class Run:
    """What became of some tests: those that ran, in their order, and the one that ended it."""

    code: int
    said: str
    ran: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    entered: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    @property
    def last(self) -> str:
        """The test that failed or ended the process; nothing if none had begun."""
        return (self.failed or self.ran or [""])[-1]


@dataclass(frozen=True)
class Measured:
    """What tests do without any change: how long they take, and which functions they enter."""

    seconds: dict[str, float]
    entered: dict[str, set[tuple[str, str]]]
    unsteady: set[str]

    def order(self, mutant: Mutant, target: Target) -> list[str]:
        """The tests of a target: first those that enter the changed function, the quickest first.

        Then those of the same files (what is made once is used by many), then all others. A
        compiled function cannot say who enters it: any function of its module stands for it.
        """
        files = set(target.files)
        tests = [test for test in self.seconds if test.partition("::")[0] in files]
        place = mutant.path, mutant.function
        anywhere = mutant.compiled or mutant.function == "module"

        def enters(test: str) -> bool:
            seen = self.entered[test]
            return any(path == mutant.path for path, _ in seen) if anywhere else place in seen

        near = {test.partition("::")[0] for test in tests if enters(test)}
        return sorted(
            tests,
            key=lambda test: (
                not enters(test),
                test.partition("::")[0] not in near,
                self.seconds[test],
            ),
        )


class Bench:
    """A copy of the repository in which one module at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)  # compiled loops come along
            elif source.exists():
                shutil.copy2(source, folder / name)
        reference = os.environ.get("DISCREET_REFERENCE", str(ROOT.parent / "shared" / "reference"))
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(Path(__file__).parent)]),
            "DISCREET_REFERENCE": reference,
        }

    def run(self, files: Sequence[str], *options: str, anew: bool = False, **plan: Any) -> Run:
        """Run tests in a process of their own; `anew` compiles every loop again."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            log, environment = Path(name, "log"), dict(self.environment)
            environment["DISCREET_MUTANTS"] = str(Path(name, "plan"))
            environment["HYPOTHESIS_PROFILE"] = "exhaustive"
            measures = "marked" in plan
            limit = LIMIT * (10 if measures else 3 if anew else 1)
            whole = {"log": str(log), "limit": limit, "seconds": {}, "marked": ()}
            whole |= {"order": (), "without": (), "only": (), **plan}
            Path(name, "plan").write_text(json.dumps(whole), "utf-8")
            if anew:
                environment["NUMBA_CACHE_DIR"] = name
            if not measures:  # a later change would be taken for this one
                environment["PYTHONDONTWRITEBYTECODE"] = "1"
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            command += ["-p", "mutant_tests", "--no-header", "--tb=no", "--hypothesis-seed=0"]
            command += ["-m", "not exhaustive and not spark and not browser", *options, *files]
            with (
                Path(name, "said").open("wb") as output,
                subprocess.Popen(
                    command, cwd=self.folder, env=environment, start_new_session=True,
                    stdout=output, stderr=subprocess.STDOUT,
                ) as process,
            ):  # fmt: skip
                code = process.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it has left running
            said = Path(name, "said").read_text("utf-8", "replace").splitlines()
            return self._read(Run(code, "\n".join(said[-20:])), log)

    def _read(self, run: Run, log: Path) -> Run:
        lines = log.read_text("utf-8").splitlines() if log.exists() else []
        for line in map(json.loads, lines):
            run.ran.extend([line["begins"]] if "begins" in line else [])
            run.failed.extend([line["fails"]] if "fails" in line else [])
            if "ends" in line:
                places = [(Path(path), name) for path, name in line["entered"]]
                run.seconds[line["ends"]] = line["seconds"]
                run.entered[line["ends"]] = {
                    (path.relative_to(self.folder).as_posix(), name) for path, name in places
                }
        return run

    def failing(self, tests: set[str]) -> set[str]:
        """Those of some tests that fail without any change."""
        files = sorted({test.partition("::")[0] for test in tests})
        run = self.run(files, only=sorted(tests)) if files else Run(0, "")
        return set(run.failed) if run.code in (0, 1) else tests

    def tried(self, mutant: Mutant, target: Target, measured: Measured) -> str:
        """The test that notices a change; nothing if none does."""
        path, order, without = self.folder / mutant.path, measured.order(mutant, target), set[str]()
        kept, times = path.read_bytes(), path.stat()
        anew = mutant.compiled
        while True:
            plan = {"order": order, "without": sorted(without), "seconds": measured.seconds}
            path.write_bytes(kept[: mutant.start] + mutant.after.encode() + kept[mutant.end :])
            try:
                run = self.run(target.files, "-x", anew=anew, **plan)
            finally:
                path.write_bytes(kept)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if run.code == 0:
                return ""
            if run.code in (1, 2) and run.last not in measured.unsteady:
                return run.last or IMPORT  # tests failed, or could not be collected
            if run.code in (4, 5):
                wrong(f"no tests were run for {mutant}")
            # A crash, or a test that has failed before: does it happen without the change, too?
            if self.run(target.files, "-x", anew=anew, only=run.ran, **plan).code == 0:
                return run.last or IMPORT
            if not run.last or run.last in without:
                wrong(f"tests crash without any change: {' '.join(target.tests)}")
            without.add(run.last)


def measure(sample: Sequence[tuple[Mutant, Target]], benches: Sequence[Bench]) -> Measured | None:
    """One run of all tests without any change; none if some fail."""
    files = sorted({name for _, target in sample for name in target.files})
    modules = {target.module for _, target in sample}

    def part(at: int) -> tuple[Bench, list[str], Run]:
        bench, own = benches[at], files[at :: len(benches)]
        marked = [str(bench.folder / module) for module in modules]
        return bench, own, bench.run(own, marked=marked)

    begin, unsteady, broken = time.monotonic(), set[str](), set[str]()
    measured = Measured({}, {}, unsteady)
    with ThreadPoolExecutor(len(benches)) as pool:
        parts = list(pool.map(part, range(min(len(benches), len(files)))))
    for bench, own, run in parts:
        measured.seconds.update(run.seconds)
        measured.entered.update(run.entered)
        unsteady.update(run.failed)
        if run.code not in (0, 1) or (run.code and not run.failed):
            broken.add(f"{run.last or 'before the first test'}: exit code {run.code}\n{run.said}")
        elif run.failed:  # some tests measure time: on a busy machine they may fail once
            again = bench.run(own, only=run.failed)
            broken.update(again.failed or ([again.said] if again.code else []))
    print(f"{time.monotonic() - begin:.0f} s: {len(measured.seconds):,} tests without any change")
    for test in sorted(broken):
        print(f"fails without any change: {test}")
    empty = {target for mutant, target in sample if not measured.order(mutant, target)}
    if empty and not broken:
        wrong(f"no tests were run for {', '.join(one.module for one in empty)}")
    return None if broken else measured


def drawn(listed: Sequence[Target], options: argparse.Namespace) -> dict[int, list[Mutant]]:
    """The sample of each seed: the same for as long as the code of each place stays."""
    every = [mutant for one in listed for mutant in mutants(ROOT / one.module)]
    skipped = equivalent([mutant for one in targets("") for mutant in mutants(ROOT / one.module)])
    left = [
        mutant
        for mutant in every
        if mutant not in skipped
        and options.line in (0, mutant.line)
        and options.function in ("", mutant.function)
    ]
    chosen = options.line or options.function
    number = len(left) if chosen else min(options.number, len(left))
    print(
        f"{number} of {len(left):,} changes of {len(listed)} modules; "
        f"{len(every) - len(left):,} more " + ("are not asked for" if chosen else "are equivalent"),
        flush=True,
    )
    if number < 1:
        wrong("there is nothing to change: see --only, --function, --line, --number")
    return {
        seed: sorted(left, key=lambda mutant: mutant.rank(seed))[:number]
        for seed in ([1] if chosen else options.seed)
    }


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--number", type=int, default=60)
    fresh = [int(time.time())]
    parser.add_argument("--seed", type=int, default=fresh, nargs="+", help="each draws a sample")
    parser.add_argument("--only", default="", help="modules whose path has this in it")
    parser.add_argument("--line", type=int, default=0, help="every change of this line")
    parser.add_argument("--function", default="", help="every change of this function")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main() -> int:
    """Measure and print."""
    options = _asked()
    listed = {target.module: target for target in targets(options.only)}
    samples = drawn(list(listed.values()), options)
    every = dict.fromkeys(mutant for sample in samples.values() for mutant in sample)
    pairs = {mutant: (mutant, listed[mutant.path]) for mutant in every}
    with tempfile.TemporaryDirectory(prefix="discreet-mutants-") as name:
        benches = [Bench(Path(name) / str(job)) for job in range(options.jobs)]
        measured = measure(list(pairs.values()), benches)
        if measured is None:
            return 2
        free: SimpleQueue[Bench] = SimpleQueue()
        for bench in benches:
            free.put(bench)

        def tried(pair: tuple[Mutant, Target]) -> str:
            bench, begin = free.get(), time.monotonic()
            try:
                test = bench.tried(*pair, measured)
            finally:
                free.put(bench)
            said = f"noticed  {pair[0].path}:{pair[0].line} by {test}"
            said = said if test else f"SURVIVED {pair[0]}"
            print(f"{time.monotonic() - begin:4.0f} s  {said}", flush=True)
            return test

        code, by = 0, dict[Mutant, str]()
        for seed, sample in samples.items():
            new = [mutant for mutant in sample if mutant not in by]
            with ThreadPoolExecutor(options.jobs) as pool:
                by.update(zip(new, pool.map(tried, [pairs[one] for one in new]), strict=True))
            wrongly = benches[0].failing({by[mutant] for mutant in new} - {"", IMPORT})
            for mutant in [mutant for mutant in new if by[mutant] in wrongly]:
                print(f"SURVIVED {mutant}\n    {by[mutant]} fails without any change, too")
                by[mutant] = ""
            number = sum(bool(by[mutant]) for mutant in sample)
            share = f"{number / len(sample):.1%}"
            print(f"seed {seed}: {number} of {len(sample)} changes noticed: {share}", flush=True)
            code |= number < SCORE * len(sample)
    return code


if __name__ == "__main__":
    sys.exit(main())
