"""Change the code in small ways, and see whether a test notices.

In: the modules that carry the promise, each with the test files that must notice (mutants.toml
beside this file). Out: the score of a sample of changes, and those that no test noticed; exit
code 1 if the score is below 95 %, 2 if the tests fail without any change.

    python scripts/mutate.py [--number 60] [--seed 1] [--only WORD] [--function NAME] [--jobs 2]

A change that cannot make a difference is listed in mutants.toml with its reason.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("mutants.toml")
SCORE = 0.95
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

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.function})\n    {self.before}\n    {self.after}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the change for as long as the code of the place stays."""
        return self.path, self.function, self.before, self.after

    def rank(self, seed: int) -> bytes:
        """Its place in a random order: other changes of the code do not move it."""
        return hashlib.sha256(repr((seed, self.key, self.again)).encode()).digest()


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
    places.visit(ast.parse(text))
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
            found.append(
                Mutant(name, function, node.lineno, start, end, plain, after, line, seen[same])
            )
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


# -- runs -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """A module and the test files that must notice its changes, the quickest first."""

    module: str
    tests: tuple[str, ...]


def targets(only: str) -> list[Target]:
    """The modules that are changed."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["target"]
    found = [
        Target(module, tuple(one["tests"]))
        for one in listed
        for module in one["modules"]
        if only in module
    ]
    missing = {name for one in found for name in (one.module, *one.tests) if not _there(name)}
    if missing:
        raise SystemExit(f"mutants.toml names what is not there: {', '.join(sorted(missing))}")
    return found


def _there(name: str) -> bool:
    return (ROOT / name).exists()


def equivalent(every: Sequence[Mutant]) -> set[Mutant]:
    """Changes that make no difference, as listed; a list of what is not there is wrong.

    Each is named by its place and, where a function has the same text twice, by its line.
    """
    found: set[Mutant] = set()
    for one in tomllib.loads(LIST.read_text("utf-8")).get("equivalent", []):
        key = one["module"], one["function"], one["before"], one["after"]
        alike = [mutant for mutant in every if mutant.key == key]
        chosen = [mutant for mutant in alike if one.get("line", mutant.text) == mutant.text]
        if not chosen or (len(chosen) > 1 and not one.get("each")):
            raise SystemExit(f"mutants.toml names {len(chosen)} changes by {key}")
        found |= set(chosen)
    return found


class Bench:
    """A copy of the repository in which one module at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)  # compiled loops come along
            else:
                shutil.copy2(source, folder / name)
        reference = os.environ.get("DISCREET_REFERENCE", str(ROOT.parent / "shared" / "reference"))
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "src"),
            "DISCREET_REFERENCE": reference,
        }

    def passes(self, tests: Sequence[str], limit: float, *, compiled: bool = False) -> bool:
        """Whether all tests pass; those that take too long do not."""
        environment = dict(self.environment)
        if compiled:  # what others keep of a compiled loop does not know that it has changed
            environment["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=self.folder)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["-m", "not exhaustive and not spark", "--no-header", "--tb=no", *tests]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True,
                timeout=limit, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def survives(self, mutant: Mutant, tests: Sequence[str], limit: float) -> bool:
        """Whether no test notices a change."""
        path = self.folder / mutant.path
        kept, times = path.read_bytes(), path.stat()
        path.write_bytes(kept[: mutant.start] + mutant.after.encode() + kept[mutant.end :])
        try:
            return self.passes(tests, limit, compiled=b"njit" in kept)
        finally:
            path.write_bytes(kept)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def drawn(listed: Sequence[Target], options: argparse.Namespace) -> list[tuple[Mutant, Target]]:
    """The sample: the same for the same seed, for as long as the code of each place stays."""
    every = {mutant: one for one in listed for mutant in mutants(ROOT / one.module)}
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
    left.sort(key=lambda mutant: mutant.rank(options.seed))
    return [(mutant, every[mutant]) for mutant in left[:number]]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose path has this in it")
    parser.add_argument("--line", type=int, default=0, help="every change of this line")
    parser.add_argument("--function", default="", help="every change of this function")
    parser.add_argument("--limit", type=float, default=0, help="seconds; no run without a change")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    sample = drawn(targets(options.only), options)
    with tempfile.TemporaryDirectory(prefix="discreet-mutants-") as name:
        free: SimpleQueue[Bench] = SimpleQueue()
        for job in range(options.jobs):
            (Path(name) / str(job)).mkdir()
            free.put(Bench(Path(name) / str(job)))
        limits = {one.tests: options.limit for _, one in sample}
        found = limits if options.limit else _limits(sample, free, options.jobs)
        if found is None:
            return 2
        limits = found

        def tried(pair: tuple[Mutant, Target]) -> tuple[Mutant, bool]:
            bench = free.get()
            try:
                survived = bench.survives(pair[0], pair[1].tests, limits[pair[1].tests])
            finally:
                free.put(bench)
            print("survived" if survived else "killed  ", pair[0] if survived else
                  f"{pair[0].path}:{pair[0].line}", flush=True)  # fmt: skip
            return pair[0], survived

        with ThreadPoolExecutor(options.jobs) as pool:
            alive = [mutant for mutant, survived in pool.map(tried, sample) if survived]
    score = 1 - len(alive) / max(len(sample), 1)
    print(f"{len(sample) - len(alive)} of {len(sample)} changes noticed: {score:.1%}")
    return int(score < SCORE)


def _limits(
    sample: Sequence[tuple[Mutant, Target]], free: SimpleQueue[Bench], jobs: int
) -> dict[tuple[str, ...], float] | None:
    """How long tests may take: some times what they take without a change."""

    def timed(tests: tuple[str, ...]) -> float | None:
        bench, begin = free.get(), time.monotonic()
        # Some tests measure time; on a busy machine they may fail once.
        passed = bench.passes(tests, 3_600) or bench.passes(tests, 3_600)
        free.put(bench)
        seconds = time.monotonic() - begin
        said = f"{seconds:5.0f} s" if passed else "these fail without any change:"
        print(said, " ".join(tests), flush=True)
        return 60 + 5 * seconds if passed else None

    every = sorted({target.tests for _, target in sample})
    with ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(every, pool.map(timed, every), strict=True))
    limits = {tests: limit for tests, limit in found.items() if limit is not None}
    return limits if len(limits) == len(every) else None


if __name__ == "__main__":
    sys.exit(main())
