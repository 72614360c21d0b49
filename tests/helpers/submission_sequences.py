"""Sequences of submissions drawn at random, and a reader of all that was released.

The reader is written apart from the library: he reads logs, and puts every figure into one linear
program over the combinations of codes that are possible. Harm is a group of fewer persons than the
minimum of which he knows how many there are, or what their wages add up to. From quantiles he knows
how many wages are up to them, if no two wages are the same, and otherwise how many at least.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet_fire.queue import Submission, approve, reject, release, submit, view
from discreet_fire.statistics import SafeLimits
from tests.helpers.bounded_sums import BoundedSums
from tests.helpers.quantile_reader import Quantile, QuantileReader
from tests.helpers.queue_parts import new_queue, version

SIZES = {"area": 6, "sex": 2, "age": 5, "job": 2}
#: Every combination of codes that is possible, one column each.
ATOMS = dict(zip(SIZES, np.indices(tuple(SIZES.values())).reshape(4, -1), strict=True))
ATOMS["region"] = ATOMS["area"] // 2
NUMBER = len(ATOMS["area"])
MINIMUM = 3
FLAGS = ("difference", "linked-tables")


@dataclass(frozen=True)
class Command:
    """A command of a program: what it counts or adds up, and of whom."""

    word: str  # tabulate, tabstat, summarize
    by: tuple[str, ...] = ()
    where: tuple[tuple[str, str, int], ...] = ()
    quantiles: tuple[int, ...] = ()  # in percent

    @property
    def text(self) -> str:
        """As it stands in the program."""
        where = " & ".join("".join(map(str, one)) for one in self.where)
        where = f" if {where}" if where else ""
        if self.word == "tabulate":
            return f"tabulate {' '.join(self.by)}{where}"
        if self.word == "tabstat":
            shown = " ".join(f"p{one}" for one in self.quantiles) or "sum"
            return f"tabstat wage{where}, by({self.by[0]}) stat(n {shown})"
        return f"summarize wage{where}"

    def inside(self, codes: dict[str, np.ndarray]) -> np.ndarray:
        """Who is counted."""
        kept = np.ones(len(codes["area"]), dtype=bool)
        for name, sign, code in self.where:
            column = codes[name]
            kept &= {"==": column == code, "!=": column != code, "<": column < code}[sign]
        return kept


def drawn_command(rng: np.random.Generator, *, quantiles: bool) -> Command:
    """A command, mostly of everybody or of a simple selection."""
    names = [*SIZES, "region"]
    where = []
    for _ in range(int(rng.choice([0, 1, 2], p=[0.45, 0.4, 0.15]))):
        name = str(rng.choice(names))
        sign = str(rng.choice(["==", "!=", "<"]))
        most = SIZES.get(name, 3)
        where.append((name, sign, int(rng.integers(sign == "<", most))))
    word = str(rng.choice(["tabulate", "tabstat", "summarize"], p=[0.65, 0.25, 0.1]))
    width = {"tabulate": int(rng.integers(1, 3)), "tabstat": 1, "summarize": 0}[word]
    by = tuple(map(str, rng.choice(names, size=width, replace=False)))
    if not quantiles or rng.random() < 0.4:
        return Command(word, by, tuple(where))
    shown = sorted(rng.choice(_SHARES, size=int(rng.integers(1, 4)), replace=False).tolist())
    return Command("tabstat", by[:1] or ("sex",), tuple(where), tuple(shown))


_SHARES = (5, 10, 20, 25, 40, 50, 60, 75, 80, 90, 95)


def drawn_people(rng: np.random.Generator) -> pl.DataFrame:
    """Persons of a few areas, of which some are small."""
    n = int(rng.integers(120, 900))
    share = rng.dirichlet([1.0] * SIZES["area"])
    codes = {name: rng.integers(0, size, n) for name, size in SIZES.items()}
    codes["area"] = rng.choice(SIZES["area"], size=n, p=share)
    codes["job"] = (rng.random(n) < 0.2 + 0.12 * codes["age"]).astype(int)
    codes["region"] = codes["area"] // 2
    wage = np.round(rng.lognormal(3, 0.5, n), 2)
    return pl.DataFrame({"pid": np.arange(n), **codes, "wage": wage})


# --- the reader -------------------------------------------------------------------------------


@dataclass
class Figure:
    """A figure that is out, or was withheld: of which measure, and of whom."""

    measure: str  # count or wage
    atoms: np.ndarray
    value: float | None
    share: int = 0  # of a quantile, in percent
    number: float = 0.0  # of how many


def read_log(log: str, commands: list[Command]) -> Iterator[Figure]:
    """The figures of a log."""
    blocks = [one.split("\n") for one in log.split("\n. ")]
    blocks = [one for one in blocks if one[0].startswith("fdz")]
    assert len(blocks) == len(commands), (log, commands)
    for command, (head, *lines) in zip(commands, blocks, strict=True):
        assert head.startswith(f"fdz{command.word}"), head
        rows = [line.split("|") for line in lines if "|" in line]
        if rows:
            yield from _FIGURES[command.word](command, rows)


def _value(token: str) -> float | None:
    return None if token == "." else float(token.replace(",", ""))


def _sets(command: Command, name: str, labels: list[str]) -> dict[str, np.ndarray]:
    """For each label of an axis whom it stands for."""
    known = [int(one) for one in labels if one.isdigit()]
    sets = {str(code): ATOMS[name] == code for code in known}
    sets["(other)"] = ~np.isin(ATOMS[name], known)
    sets["Total"] = np.ones(NUMBER, dtype=bool)
    inside = command.inside(ATOMS)
    return {label: own & inside for label, own in sets.items()}


def _tabulate(command: Command, rows: list[list[str]]) -> Iterator[Figure]:
    if len(command.by) == 1:
        labels = [row[0].strip() for row in rows[1:]]
        sets = _sets(command, command.by[0], labels)
        for label, row in zip(labels, rows[1:], strict=True):
            yield Figure("count", sets[label], _value(row[1].split()[0]))
        return
    columns = [*rows[1][1].split(), "Total"]
    labels = [row[0].strip() for row in rows[2:]]
    first, second = (
        _sets(command, name, own) for name, own in zip(command.by, (labels, columns), strict=True)
    )
    for label, row in zip(labels, rows[2:], strict=True):
        for column, token in zip(columns, [*row[1].split(), row[2]], strict=True):
            yield Figure("count", first[label] & second[column], _value(token.strip()))


def _tabstat(command: Command, rows: list[list[str]]) -> Iterator[Figure]:
    labels = [row[0].strip() for row in rows[1:]]
    sets = _sets(command, command.by[0], labels)
    for label, row in zip(labels, rows[1:], strict=True):
        number, *others = map(_value, row[1].split())
        yield Figure("count", sets[label], number)
        for value, share in zip(others, command.quantiles or (0,), strict=True):
            if not share:
                yield Figure("wage", sets[label], value)
            elif value is not None:
                yield Figure("quantile", sets[label], value, share, number)


def _summarize(command: Command, rows: list[list[str]]) -> Iterator[Figure]:
    number, mean = map(_value, rows[1][1].split()[:2])
    inside = command.inside(ATOMS)
    yield Figure("count", inside, number)
    value = None if number is None or mean is None else number * mean
    yield Figure("wage", inside, value)


_FIGURES = {"tabulate": _tabulate, "tabstat": _tabstat, "summarize": _summarize}


@dataclass
class Reader:
    """Somebody who reads all that is out, and knows which codes there are."""

    truth: dict[str, np.ndarray]  # of each combination, to say what is small
    quantiles: QuantileReader
    figures: list[Figure] = field(default_factory=list)

    def harmed(self) -> set[tuple[str, bytes]]:
        """Small groups that he knows the number or the wages of."""
        return {*self._opened("count"), *self._opened("wage"), *self._opened_by_quantiles()}

    def _opened_by_quantiles(self) -> Iterator[tuple[str, bytes]]:
        shown = [one for one in self.figures if one.value is not None]
        counts = [(one.atoms, one.value) for one in shown if one.measure == "count"]
        quantiles = [
            Quantile(one.atoms, one.value, one.share, one.number)
            for one in shown
            if one.measure == "quantile"
        ]
        for persons in self.quantiles.opened(counts, quantiles):
            yield "quantile", persons

    def _targets(self, measure: str) -> list[np.ndarray]:
        """Small groups: withheld ones, differences of two that are out, cells of crossings."""
        own = [one for one in self.figures if one.measure == measure]
        sets = [one.atoms for one in own if one.value is None]
        known = [one.atoms for one in own if one.value is not None]
        out = list({one.tobytes(): one for one in known}.values())
        for one, other in combinations(out, 2):
            sets += [one & ~other, other & ~one] if (one & other).any() else []
        for width in (1, 2, 3, 4):
            for names in combinations(SIZES, width):
                for codes in product(*(range(SIZES[name]) for name in names)):
                    cell = np.ones(NUMBER, dtype=bool)
                    for name, code in zip(names, codes, strict=True):
                        cell &= ATOMS[name] == code
                    sets.append(cell)
        once = {one.tobytes(): one for one in sets}
        count = self.truth["count"]
        return [one for one in once.values() if 0 < count[one].sum() < MINIMUM]

    def _opened(self, measure: str) -> Iterator[tuple[str, bytes]]:
        own = [one for one in self.figures if one.measure == measure and one.value is not None]
        targets = self._targets(measure)
        if not own or not targets:
            return
        rows = np.array([one.atoms for one in own], dtype=float)
        values = np.array([one.value for one in own])
        near = 1e-9 if measure == "count" else 2e-6 * np.abs(values).max()
        zero = rows[values <= near / 2].any(axis=0)  # nobody is in an empty cell
        sums = [(np.flatnonzero(row), 1, value - near, value + near)
                for row, value in zip(rows, values, strict=True)]  # fmt: skip
        program = BoundedSums(np.zeros(NUMBER), np.where(zero, 0.0, np.inf), sums)
        rank = np.linalg.matrix_rank(rows[:, ~zero])
        basis = np.linalg.svd(rows[:, ~zero].T, full_matrices=False)[0][:, :rank]
        for atoms in targets:
            wish = atoms[~zero].astype(float)
            follows = np.abs(basis @ (basis.T @ wish) - wish).max(initial=0.0) < 1e-7
            if not follows and measure == "count":
                low, high = program.interval(np.flatnonzero(atoms))
                follows = np.floor(high + 1e-6) - np.ceil(low - 1e-6) < 1
            if follows:
                yield measure, atoms.tobytes()


# --- sequences --------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What became of the submissions of a sequence."""

    opened: int = 0  # small groups that what was released tells
    targets: int = 0
    submissions: int = 0
    harmless: int = 0  # submissions that tell no small group with what is out
    flagged: int = 0  # and of these, which were flagged
    harmful: int = 0
    caught: int = 0
    said: list[str] = field(default_factory=list)


def play(seed: int, folder: Path, submissions: int = 5, *, quantiles: bool = False) -> Outcome:
    """Hand submissions in one after the other; what is not flagged is released.

    Of quantiles, every second time no two wages are the same, and otherwise many are.
    """
    rng = np.random.default_rng(seed)
    people = drawn_people(rng)
    distinct = quantiles and seed % 2 == 0
    if quantiles:
        wage = np.sort(rng.choice(600_000, people.height, replace=False)) / 1e4 + 5
        ranked = people["wage"].rank("ordinal").to_numpy() - 1
        people = people.with_columns(
            wage=pl.Series(wage[ranked] if distinct else wage[ranked].round())
        )
    folder.mkdir(parents=True, exist_ok=True)
    people.write_csv(folder / "d.csv")
    codes = {name: people[name].to_numpy() for name in ATOMS}
    place = sum(
        codes[name] * int(np.prod(list(SIZES.values())[at + 1 :])) for at, name in enumerate(SIZES)
    )
    readers = QuantileReader(ATOMS, place, people["wage"].to_numpy(), distinct, MINIMUM)
    reader = Reader({"count": np.bincount(place, minlength=NUMBER)}, readers)
    queue, done = new_queue(folder, minimum=MINIMUM), Outcome()
    known: set[tuple[str, bytes]] = set()
    for at in range(submissions):
        number = int(rng.integers(1, 4))
        commands = [drawn_command(rng, quantiles=quantiles) for _ in range(number)]
        program = folder / f"{at}.do"
        program.write_text("".join(f"{one.text}\n" for one in commands))
        number = submit(
            queue,
            Submission(
                program=program,
                researcher="Weber",
                data=(folder / "d.csv",),
                unit="pid",
                limits=SafeLimits(minimum=MINIMUM),
            ),
        )
        shown = view(queue, number)
        log = (queue.store(queue.told(number, "token")) / "outputs" / f"{at}.log").read_text()
        findings = [one for one in shown.findings if one.rule in FLAGS]
        figures = [*reader.figures, *read_log(log, commands)]
        together = Reader(reader.truth, readers, figures)
        new = together.harmed() - known
        done.submissions += 1
        done.targets += len(together._targets("count"))
        done.harmful += bool(new)
        done.caught += bool(new) and bool(findings)
        done.harmless += not new
        done.flagged += not new and bool(findings)
        if bool(new) != bool(findings):
            texts = [one.what for one in findings] or ["missed"]
            done.said.append(f"{seed}.{at}: {' ; '.join(one.text for one in commands)} → {texts}")
        if findings:
            reject(queue, number, person="Anna", reason="no", version=version(queue, number))
            continue
        try:
            for person in ("Anna",):
                now = version(queue, number)
                approve(queue, number, person=person, version=now, reason="looked at it")
            release(queue, number, person="Anna", reason="out", version=version(queue, number))
        except OutputCheckError as error:
            done.said.append(f"{seed}.{at}: not released: {error}")
            continue
        reader.figures = together.figures
        done.opened += len(new)
        known |= new
    return done
