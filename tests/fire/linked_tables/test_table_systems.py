"""Systems of tables and differences between them, against counts and ranks worked out apart."""

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import replace

import highspy
import numpy as np
import pytest

from discreet_fire.linked_tables import (
    ShownCounts,
    ShownTable,
    difference_findings,
    linked_findings,
)
from discreet_fire.linked_tables.advice import more_withheld, opened_cells, related_sums
from discreet_fire.linked_tables.small_counts import WEIGHTS, ShownSums, TableAxis
from discreet_fire.linked_tables.system import (
    LinkedSystem,
    same_values,
    sum_systems_of,
    systems_of,
)
from discreet_fire.statistics.limits import SafeLimits

LIMITS = SafeLimits()
#: Categories of three variables of which every combination has records.
SIZES = {"area": 3, "sex": 2, "job": 2}


class People:
    """Records in all combinations of categories: those of one have the same table cells."""

    def __init__(self, seed: int, gap: bool = False) -> None:
        self.draw = np.random.default_rng(seed)
        units = self.draw.choice([1, 1, 2, 3, 9], 12)
        units[5] *= not gap  # nobody there, though every two of its categories go together
        atoms = np.repeat(np.arange(12), units)
        twice = 1 + (self.draw.random(len(atoms)) < 0.3)  # some have two records
        self.atom = np.repeat(atoms, twice)
        self.owner = np.repeat(self.draw.permutation(len(atoms)) + 50, twice)
        self.units = units
        codes = np.unravel_index(self.atom, tuple(SIZES.values()))
        self.codes = dict(zip(SIZES, codes, strict=True))
        self.number = 7 + 3 * self.draw.permutation(len(self.atom))
        self.pay = self.draw.lognormal(7, 0.4, len(self.atom)).round(2)

    def table(
        self, name: str, spans: Sequence[str], filtered: bool = False, hides: float = 0.25
    ) -> ShownCounts:
        """A table of all, or of those of one job; some of its cells are withheld."""
        kept = np.flatnonzero((self.codes["job"] == 0) | (not filtered))
        kept = self.draw.permutation(kept)
        shape = tuple(SIZES[one] + 1 for one in spans)
        return ShownCounts(
            name=name,
            axes=tuple(
                TableAxis(
                    name=one,
                    labels=tuple(f"{one[0]}{at}" for at in range(SIZES[one])),
                    codes=self.codes[one][kept].astype(np.int64),
                )
                for one in spans
            ),
            records=self.number[kept].astype(np.int64),
            owners=self.owner[kept],
            hidden=self.draw.random(shape) < hides,
            silent=False,
        )

    def tables(self, many: int, hides: float = 0.25, filters: bool = True) -> list[ShownCounts]:
        """Tables of some of the variables."""
        spans = [own for size in range(3) for own in itertools.combinations(SIZES, size)]
        found = []
        for at in range(many):
            own = spans[int(self.draw.integers(len(spans)))]
            filtered = filters and "job" not in own and self.draw.random() < 0.4
            found.append(self.table(f"table {at}", own, filtered, hides))
        return found

    def atoms_of(self, table: ShownCounts, place: int) -> np.ndarray:
        """Which combinations a cell is made of."""
        inside = np.isin(np.arange(12), self.atom[np.isin(self.number, table.records)])
        codes = dict(
            zip(SIZES, np.unravel_index(np.arange(12), tuple(SIZES.values())), strict=True)
        )
        where = np.unravel_index(place, table.hidden.shape) if table.axes else ()
        for axis, at in zip(table.axes, where, strict=True):
            inside &= (codes[axis.name] == at) | (at == SIZES[axis.name])
        return inside

    def inside(self, table: ShownCounts, place: int) -> np.ndarray:
        """Which records a cell has."""
        return np.isin(self.number, table.records) & self.atoms_of(table, place)[self.atom]

    def shown(self, tables: Sequence[ShownCounts]) -> np.ndarray:
        """The combinations of each cell that is shown."""
        cells = [
            self.atoms_of(one, place)
            for one in tables
            for place in np.flatnonzero(~one.hidden.ravel()).tolist()
        ]
        return np.array(cells, dtype=float).reshape(len(cells), 12)

    def sums(self, table: ShownCounts, name: str = "pay", factor: float = 1.0) -> ShownSums:
        """The sums of a variable in the cells of a table."""
        of = dict(zip(self.number.tolist(), (factor * self.pay).tolist(), strict=True))
        values = np.array([of[one] for one in table.records.tolist()])
        return ShownSums(place=table, variable=name, values=values, digits=7)


def adds_up(sets: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether a figure is a combination of those of sets."""
    rank = np.linalg.matrix_rank(sets) if len(sets) else 0
    return bool(np.linalg.matrix_rank(np.vstack([sets, wanted])) == rank)


def small_sets(people: People) -> list[np.ndarray]:
    """All sets of combinations that have fewer units than the minimum, of which there are some."""
    pairs = [*itertools.combinations(range(12), 1), *itertools.combinations(range(12), 2)]
    sets = [np.isin(np.arange(12), atoms) for atoms in pairs]
    return [one for one in sets if people.units[one].sum() < LIMITS.minimum]


def told_number(findings: Sequence[object]) -> int:
    """How many figures are told of, one by one or as a number of more."""
    texts = [one.what for one in findings]  # type: ignore[attr-defined]
    more = [re.match(r"([1-9]\d*) more groups", text) for text in texts]
    return sum(1 if one is None else int(one[1]) for one in more)


@pytest.mark.parametrize("seed", range(12))
def test_figures_of_few_are_told_if_and_only_if_tables_tell_them(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = People(seed)
    earlier, tables = people.tables(2), people.tables(3)
    findings, complete = difference_findings(tables, limits=LIMITS, earlier=earlier)
    before, after = people.shown(earlier), people.shown([*earlier, *tables])
    fresh = [one for one in small_sets(people) if adds_up(after, one) and not adds_up(before, one)]
    assert complete
    assert told_number(findings) == len(fresh)
    monkeypatch.setattr("discreet_fire.linked_tables.advice._TOLD", len(fresh))
    singly = difference_findings(tables, limits=LIMITS, earlier=earlier)[0]
    assert len(findings) <= len(singly) <= len(fresh)
    assert not any(" more groups " in one.what for one in singly)
    assert difference_findings([], limits=LIMITS, earlier=[*earlier, *tables]) == ([], True)
    assert difference_findings(people.tables(2, hides=1.1), limits=LIMITS) == ([], True)
    for text in (one.what for one in findings if " differ" in one.what and " more" not in one.what):
        plus, minus = text.removesuffix(" by fewer units than the minimum").split(" from ")
        assert plus.endswith(" together differ" if ";" in plus else " differs")
        assert minus.endswith(" together") == (";" in minus)
        named = named_cells(text, people, [*earlier, *tables])
        assert any(adds_up(named, one) for one in fresh), text


def named_cells(text: str, people: People, tables: Sequence[ShownCounts]) -> np.ndarray:
    """The combinations of the cells that a sentence names, all of which are shown."""
    by_name, sets = {one.name: one for one in tables}, []
    for name, where in re.findall(r"(table \d)((?:: (?:all|(?:\w+ = \w+(?:, )?)+))?)", text):
        labels = dict(re.findall(r"(\w+) = (\w+)", where))
        table = by_name[name]
        place = tuple(
            axis.labels.index(labels[axis.name]) if axis.name in labels else -1
            for axis in table.axes
        )
        assert not table.hidden[place]
        number = np.arange(table.hidden.size).reshape(table.hidden.shape)[place]
        sets.append(people.atoms_of(table, int(number)))
    return np.array(sets, dtype=float)


@pytest.mark.parametrize("seed", range(8))
def test_after_the_advice_nothing_of_few_is_told(seed: int) -> None:
    people = People(seed)
    earlier, tables = people.tables(1), people.tables(2)
    for _ in range(5):
        findings, _ = difference_findings(tables, limits=LIMITS, earlier=earlier)
        if not findings:
            break
        tables = advised(tables, findings[-1].hint)
    assert not findings


def advised(tables: Sequence[ShownCounts], hint: str) -> list[ShownCounts]:
    """Tables as a hint wants them: two categories are one, a variable or tables are gone."""
    if merge := re.fullmatch(r"merge (\w+) (\w+) with (\w+) in (.+)", hint):
        variable, one, two, name = merge.groups()
        return [merged(own, variable, (one, two)) if own.name == name else own for own in tables]
    if leave := re.fullmatch(r"leave out (\w+) in (.+)", hint):
        variable, name = leave.groups()
        return [without(own, variable) if own.name == name else own for own in tables]
    assert hint.startswith("leave out table ")
    gone = hint.removeprefix("leave out ").split("; ")
    assert set(gone) <= {one.name for one in tables}
    return [one for one in tables if one.name not in gone]


def merged(table: ShownCounts, variable: str, pair: tuple[str, str]) -> ShownCounts:
    """A table with two categories of a variable as one: withheld where either was."""
    (at,) = [number for number, axis in enumerate(table.axes) if axis.name == variable]
    axis = table.axes[at]
    first, second = (axis.labels.index(label) for label in pair)
    assert second == first + 1
    codes = axis.codes - (axis.codes >= second)
    labels = (*axis.labels[:first], "+".join(pair), *axis.labels[second + 1 :])
    both = np.take(table.hidden, first, at) | np.take(table.hidden, second, at)
    hidden = np.delete(table.hidden, second, at)
    hidden[(slice(None),) * at + (first,)] = both
    axes = list(table.axes)
    axes[at] = replace(axis, labels=labels, codes=codes)
    return replace(table, axes=tuple(axes), hidden=hidden)


def without(table: ShownCounts, variable: str) -> ShownCounts:
    """A table with all categories of a variable together."""
    (at,) = [number for number, axis in enumerate(table.axes) if axis.name == variable]
    axes = table.axes[:at] + table.axes[at + 1 :]
    return replace(table, axes=axes, hidden=np.take(table.hidden, -1, at))


@pytest.mark.parametrize("seed", range(4))
def test_sums_tell_differences_of_few_units_too(seed: int) -> None:
    people = People(seed)
    places = people.tables(4)
    tables: list[ShownTable] = [people.sums(one) for one in places]
    findings, complete = difference_findings(tables, limits=LIMITS)
    sets = people.shown(places)
    rank = np.linalg.matrix_rank(sets)
    single = [
        np.linalg.matrix_rank(np.vstack([sets, np.eye(12)[one]])) - rank < one.sum()
        for one in small_sets(people)
    ]
    assert complete
    assert bool(findings) == any(single)
    weights = [replace(people.sums(one), variable=WEIGHTS) for one in places]
    assert difference_findings(weights, limits=LIMITS) == ([], True)
    assert all(one.what.startswith("pay of ") or " more groups " in one.what for one in findings)


def cells_of(system: LinkedSystem) -> dict[str, tuple[int, bool, bool, frozenset[int]]]:
    """Each cell by its name: its count, whether it is hidden and withheld, and its records."""
    assert system.first.tolist() == [0, *np.cumsum([one.hidden.size for one in system.tables])]
    cells = {}
    for cell in range(system.cells):
        records = system.records[np.isin(system.atom_of, system.members[cell])]
        hidden, asked = bool(system.hidden[cell]), bool(system.asked[cell])
        cells[system.name(cell)] = (
            int(system.counts[cell]), hidden, asked, frozenset(records.tolist()),
        )  # fmt: skip
    assert len(cells) == system.cells
    assert system.entries == sum(len(own) for own in system.members)
    return cells


@pytest.mark.parametrize("seed", range(6))
def test_the_cells_of_a_system_have_the_records_of_their_tables(seed: int) -> None:
    people = People(seed)
    tables = people.tables(5)
    systems = list(systems_of(tables, LIMITS, every=True))
    assert systems
    for system in systems:
        assert repr(system) == f"<LinkedSystem of {len(system.tables)} tables>"
        cells = cells_of(system)
        for table in system.tables:
            for place in range(table.hidden.size):
                name = table.place(place)
                records = set(people.number[people.inside(table, place)].tolist())
                hidden = bool(table.hidden.ravel()[place])
                assert cells[f"{table.name}: {name}"] == (
                    len(records), hidden, hidden and bool(records), frozenset(records),
                )  # fmt: skip
                total = name == "all" or name.count("=") < len(table.axes)
                cell = list(cells).index(f"{table.name}: {name}")
                assert bool(system.margins()[cell]) == (total and bool(table.axes)), name
        assert np.array_equal(np.bincount(system.atom_of), system.atoms[: system.atom_of.max() + 1])
    backwards = [turned(one, people) for one in [*tables[::-1], *tables[:2]]]
    again = list(systems_of(backwards, LIMITS, every=True))
    assert len(again) == len(systems)
    assert {frozenset(cells_of(one).items()) for one in again} == {
        frozenset(cells_of(one).items()) for one in systems
    }


def turned(table: ShownCounts, people: People) -> ShownCounts:
    """The same table with its records in another order."""
    order = people.draw.permutation(len(table.records))
    axes = tuple(replace(axis, codes=axis.codes[order]) for axis in table.axes)
    assert table.owners is not None
    return replace(table, axes=axes, records=table.records[order], owners=table.owners[order])


@pytest.mark.parametrize("seed", range(4))
def test_small_counts_must_seem_possible_up_to_a_safe_one(seed: int) -> None:
    people = People(seed)
    for system in systems_of(people.tables(4), LIMITS, every=True):
        assert system.whole
        assert not system.signed
        assert system.rounding == 0
        assert np.array_equal(system.figures, system.counts)
        assert np.array_equal(system.of_atoms, system.atoms)
        for cell in range(system.cells):
            table, place = system.tables[system.table(cell)], system.place(cell)
            cases = len(set(people.owner[people.inside(table, place)].tolist()))
            small = bool(system.asked[cell]) and cases < LIMITS.minimum
            assert bool(system.small[cell]) == small
            # Empty inner cells are seen: in all others is one record at least.
            atoms = people.atoms_of(table, place)
            spans = [axis.name for axis in table.axes]
            codes = dict(
                zip(SIZES, np.unravel_index(np.flatnonzero(atoms), (3, 2, 2)), strict=True)
            )
            inner = len(set(zip(*(codes[one] for one in spans), strict=True))) if spans else 1
            assert system.floor[cell] == inner
            if small:
                count = system.counts[cell]
                assert system.upper[cell] >= max(LIMITS.minimum - count, 1)
                assert system.lower[cell] == min(count - inner, LIMITS.minimum)
            else:
                assert system.lower[cell] == system.upper[cell] == 0


@pytest.mark.parametrize("seed", range(3))
def test_systems_of_sums_are_the_same_in_any_unit(seed: int) -> None:
    """Whatever a variable is called: what has the same values is one."""
    people = People(seed)
    places = people.tables(4)
    sums = [people.sums(one, "pay" if at % 2 else "wage") for at, one in enumerate(places)]
    other = [people.sums(one, "pay", 1000.0) for one in places]
    half, whole, rest = (people.sums(people.table("t", ("area",)), str(at)) for at in range(3))
    middle = np.median(people.number)
    half = part_of(half, np.flatnonzero(half.place.records < middle))
    rest = part_of(rest, np.flatnonzero(rest.place.records >= middle))
    assert len(same_values([half, whole, rest])) == 1
    assert len(same_values([half, rest])) == 2
    systems, large = [list(sum_systems_of(own, LIMITS, every=True)) for own in (sums, other)]
    assert len(systems) == len(large) == len(list(systems_of(places, LIMITS, every=True)))
    assert len(list(sum_systems_of([*sums, *other], LIMITS, every=True))) == 2 * len(systems)
    for one, two in zip(systems, large, strict=True):
        assert not one.whole
        assert not one.signed
        shares = np.array([one.of_atoms[own].sum() for own in one.members])
        assert np.allclose(one.figures, shares)
        assert one.figures.max() > 0
        for name in ("figures", "of_atoms", "floor", "slack", "small", "lower", "upper"):
            assert np.allclose(getattr(one, name), getattr(two, name)), name
        assert not (one.small & ~one.asked).any()
        assert np.allclose(one.lower, np.minimum(one.upper, one.figures))
        assert not one.upper[~one.small].any()
        for cell in np.flatnonzero(one.small).tolist():
            inside = people.inside(one.tables[one.table(cell)], one.place(cell))
            shares = np.bincount(people.owner[inside], weights=people.pay[inside])
            *_, second, first = np.sort(np.append(shares, 0.0))
            size, top = shares.sum(), first + second
            level = LIMITS.closeness / 100 * first - (size - top)
            level = max(level, 100 / LIMITS.dominance * top - size, 1e-6 * size)
            assert one.upper[cell] == pytest.approx(level / size * one.figures[cell])
        assert one.rounding == pytest.approx(4e-6 * one.figures.max())


def part_of(sums: ShownSums, records: np.ndarray) -> ShownSums:
    """The same of some of the records."""
    table = sums.place
    axes = tuple(replace(axis, codes=axis.codes[records]) for axis in table.axes)
    part = replace(table, axes=axes, records=table.records[records], owners=None)
    return replace(sums, place=part, values=sums.values[records])


def test_variables_that_have_nothing_to_do_with_each_other_are_no_system() -> None:
    """What ties tables: a variable, one nested in it, and a filter by a variable."""
    number = np.arange(400)
    codes = {
        "a": number // 100,
        "b": number // 25 % 4,
        "part": number // 200,
        "late": number // 399,
    }

    def table(name: str, kept: np.ndarray, hides: bool = False) -> ShownCounts:
        own, codes_of = np.unique(codes[name][kept], return_inverse=True)
        hidden = np.zeros(len(own) + 1, dtype=np.bool_)
        hidden[0] = hides
        axis = TableAxis(name=name, labels=tuple(map(str, own.tolist())), codes=codes_of)
        return ShownCounts(
            name=name, axes=(axis,), records=number[kept], owners=None, hidden=hidden, silent=False
        )  # fmt: skip

    def systems(*tables: ShownCounts, every: bool = True) -> list[set[str]]:
        found = systems_of(tables, LIMITS, every=every)
        return [{one.name for one in system.tables} for system in found]

    every = number >= 0
    assert systems() == systems(table("a", every)) == systems(table("a", every), table("b", every))
    assert systems() == []
    assert systems(table("a", every), table("part", every)) == [{"a", "part"}]
    assert systems(table("a", every), table("b", every), table("part", every)) == [{"a", "part"}]
    assert systems(table("b", every), table("a", number < 100)) == []
    chosen = codes["b"] < 2
    assert systems(table("b", every), table("a", chosen)) == [{"a", "b"}]
    assert systems(table("a", chosen), table("b", every)) == [{"a", "b"}]
    assert systems(table("b", every), table("a", number == 30)) == [{"a", "b"}]
    assert systems(table("b", every), table("a", np.isin(number, (30, 60)))) == []
    assert systems(table("b", number % 100 < 25), table("a", number == 30)) == []
    assert systems(table("a", number < 200), table("b", number >= 200)) == []
    other = table("b", every)  # called like another variable
    other = replace(other, axes=(replace(other.axes[0], name="a"),))
    assert systems(table("a", every), other) == systems(other, table("a", every)) == []
    fourth = number % 4 == 0  # chosen by chance
    assert systems(table("b", every), table("a", fourth)) == []
    total = replace(table("a", every), axes=(), hidden=np.zeros((), dtype=np.bool_))
    assert systems(table("b", every), total) == [{"a", "b"}]
    assert systems(table("a", every), table("part", every), every=False) == []
    assert systems(table("a", every), table("part", every, hides=True), every=False) == [
        {"a", "part"}
    ]


def test_large_systems_are_taken_apart_into_all_their_twos(monkeypatch: pytest.MonkeyPatch) -> None:
    people = People(2)
    spans = (("area",), ("area", "sex"), ("sex", "job"), ("job",))
    tables = [people.table(f"table {at}", own) for at, own in enumerate(spans)]
    (whole,) = systems_of(tables, LIMITS, every=True)
    assert not whole.apart
    monkeypatch.setattr("discreet_fire.linked_tables.system._MOST_ENTRIES", whole.entries)
    assert [one.apart for one in systems_of(tables, LIMITS, every=True)] == [False]
    monkeypatch.setattr("discreet_fire.linked_tables.system._MOST_ENTRIES", whole.entries - 1)
    twos = list(systems_of(tables, LIMITS, every=True))
    assert all(one.apart for one in twos)
    assert [[one.name[-1] for one in two.tables] for two in twos] == [
        [*"01"], [*"12"], [*"23"],
    ]  # fmt: skip
    assert not difference_findings(tables, limits=LIMITS)[1]
    monkeypatch.setattr("discreet_fire.linked_tables.system._MOST_ENTRIES", 0)
    assert [one.apart for one in systems_of(tables[:2], LIMITS, every=True)] == [False]


def ranges(people: People, system: LinkedSystem, hidden: np.ndarray) -> dict[int, list[float]]:
    """The least and the most that a linear program thinks possible of each withheld cell."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    every = np.arange(12, dtype=np.int32)
    for _ in every:
        solver.addVar(0.0, highspy.kHighsInf)
    atoms = [
        people.atoms_of(system.tables[system.table(cell)], system.place(cell))
        for cell in range(system.cells)
    ]
    for cell, own in enumerate(atoms):
        near = 0.0 if system.whole else 1e-5 * system.figures[cell]
        least, most = system.figures[cell] - near, system.figures[cell] + near
        if hidden[cell]:
            least, most = system.floor[cell], highspy.kHighsInf
        solver.addRow(least, most, int(own.sum()), every[own], np.ones(own.sum()))
    found: dict[int, list[float]] = {}
    for cell in np.flatnonzero(system.asked).tolist():
        solver.changeColsCost(12, every, atoms[cell].astype(float))
        for sense in (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize):
            solver.changeObjectiveSense(sense)
            solver.run()
            bounded = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
            end = solver.getInfo().objective_function_value if bounded else np.inf
            found.setdefault(cell, []).append(end)
    return found


def open_cells(people: People, system: LinkedSystem, hidden: np.ndarray) -> dict[int, bool]:
    """The cells of counts that are less uncertain than they must be; whether one number is left."""
    opened = {}
    for cell, (low, high) in ranges(people, system, hidden).items():
        below = system.figures[cell] - low >= system.lower[cell] - 1e-6
        above = high - system.figures[cell] >= system.upper[cell] - 1e-6
        if not (below and above and (system.small[cell] or high - low >= 1 - 1e-6)):
            opened[cell] = high - low < 0.5
    return opened


@pytest.mark.parametrize("seed", range(24))
def test_open_cells_are_those_that_a_linear_program_finds(seed: int) -> None:
    people = People(seed, gap=seed % 2 == 0)
    tables = people.tables(4, hides=0.6, filters=seed % 2 == 1)
    names: dict[str, bool] = {}
    cells: list[tuple[str, np.ndarray]] = []
    for system in systems_of(tables, LIMITS):
        cells += [
            (
                system.name(cell),
                people.atoms_of(system.tables[system.table(cell)], system.place(cell)),
            )
            for cell in np.flatnonzero(system.asked).tolist()
        ]
        opened = open_cells(people, system, system.hidden)
        assert opened_cells(system) == opened
        names |= {system.name(cell): determined for cell, determined in opened.items()}
        if opened:
            more = more_withheld(system)
            assert more is not None
            hidden = more.hidden(system)
            assert system.counts[hidden & ~system.hidden].all()
            left = open_cells(people, system, hidden)
            assert opened_cells(system, more) == left
            assert not any(left.values())
            assert more.nearly or not left
    findings = linked_findings(tables, limits=LIMITS)
    sentences = [one.what for one in findings if " follows from " in one.what]
    more_cells = [int(one.what.split()[0]) for one in findings if " more withheld " in one.what]
    assert len(sentences) + sum(more_cells) == len(names)
    assert len(sentences) == min(len(names), 5)
    for text in sentences:
        name, reason = re.split(" (?:nearly )?follows from ", text)
        assert names[name] == (" nearly " not in text)
        if names[name] and " more" not in text and " other cells " not in text:
            (cell,) = [one for one in cells if one[0] == name]
            # Neighbours along one variable are named by its categories alone.
            if lined := re.search(r", less (\w+) = ([\w, ]+) of the same table", reason):
                axis, labels = lined[1], lined[2].split(", ")
                assert len(labels) > 2
                own = [re.sub(rf"{axis} = \w+", f"{axis} = {label}", name) for label in labels]
                assert name not in own
                reason = "; ".join([reason[: lined.start()], *own])
            some = people.units > 0  # in others nobody is where cells are shown as empty
            assert adds_up(named_cells(reason, people, tables)[:, some], cell[1][some]), text
    assert bool(findings) == bool(names)
    titles = [one.what for one in findings if one.what.startswith("taken together, ")]
    assert all(re.search(r": table \d(; table \d)+$", text) for text in titles)
    assert linked_findings([], limits=LIMITS, earlier=tables) == ()


@pytest.mark.parametrize("seed", range(6))
def test_no_withheld_sum_is_determined_once_the_advice_is_taken(seed: int) -> None:
    people = People(seed, gap=True)
    sums = [people.sums(one) for one in people.tables(3, hides=0.5, filters=False)]
    for system in sum_systems_of(sums, LIMITS):
        least = max(system.rounding, 1e-3 * system.figures.max())
        known = {at for at, (low, high) in ranges(people, system, system.hidden).items()
                 if high - low < least}  # fmt: skip
        opened = opened_cells(system)
        assert known <= opened.keys()
        assert more_withheld(system, until=time.monotonic() - 1) is None
        more = more_withheld(system)
        assert more is not None
        left = ranges(people, system, more.hidden(system))
        assert all(high - low >= system.rounding for low, high in left.values())


@pytest.mark.parametrize("seed", range(6))
def test_of_sums_that_add_up_one_that_is_withheld_alone_is_open(seed: int) -> None:
    people = People(seed)
    place = people.table("table", ("area", "sex"), hides=0.0)
    home = np.round(people.pay)[np.searchsorted(np.sort(people.number), place.records)]
    away = people.draw.integers(500, 900, len(home)).astype(float)
    sums = []
    hides = people.draw.choice([0.0, 0.3, 0.6])
    for name, values in (("home", home), ("away", away), ("total", home + away)):
        hidden = people.draw.random(place.hidden.shape) < hides
        own = replace(place, name=f"table of {name}", hidden=hidden)
        sums.append(ShownSums(place=own, variable=name, values=values, digits=7))
    masks = np.array([one.place.hidden.ravel() for one in sums])
    expected = {(at, cell) for at, cell in np.argwhere(masks) if masks[:, cell].sum() == 1}
    related = related_sums(sums)
    assert bool(related) == bool(masks.any())
    if related:
        (one,) = related
        assert set(map(tuple, one.opened())) == expected
        assert one.alike == bool((masks == masks[0]).all())
        assert repr(one) == "<RelatedSums (confidential): 3>"
    for hides in (False, True):  # of other cells: said only if anything of them is withheld
        hidden = np.array([hides, False, False, False])
        other = replace(sums[0], place=replace(place, axes=place.axes[:1], hidden=hidden))
        loose = [one for one in related_sums([*sums, other]) if not one.sums]
        assert bool(loose) == hides
    texts = [one.what for one in linked_findings(sums, limits=LIMITS)]
    told = [text for text in texts if text.endswith(": total = home + away")]
    assert len(told) == min(len(expected), 5) + (bool(masks.any()) and not expected
                                                 and not (masks == masks[0]).all())  # fmt: skip
    more = [int(text.split()[0]) for text in texts if " more withheld sums " in text]
    assert sum(more) == max(len(expected) - 5, 0)
    assert not more or more[0]
