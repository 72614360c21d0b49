"""Whether verdicts hold against readers written apart, on systems of tables drawn at random.

`bench/disclosure.py` repeats this with other seeds and many more systems.
"""

import itertools
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest

import discreet as dc
from discreet.disclosure import (
    Partitions,
    PublishedCells,
    ShownSets,
    TooManySetsError,
    published_axes,
    unexamined_names,
)
from discreet.errors import SuppressionError
from discreet.protection.suppression import Audit, Suppression, build_problem
from discreet.protection.suppression.publish import ways_out
from discreet.tables import ProtectedTable
from tests.disclosure.test_leaks import open_cells, people_of
from tests.disclosure.test_relations import VARIABLES, Spec, bands, incidence, population, tabulated
from tests.helpers.atoms_apart import Drawn, alike_system, cells_of, drawn_system
from tests.helpers.protected_tables import protected_table, with_hidden
from tests.helpers.reader_of_records import AtomReader, codes_of

#: The number of the minimum frequency.
FEW = 3
#: The number of a table, and codes.
Cell = tuple[Any, ...]
NONE: frozenset[Cell] = frozenset()


@pytest.fixture(autouse=True)
def no_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would help a refused system takes long, and is not looked at here."""
    monkeypatch.setattr(ways_out, "_MOST", 0)


def system_of(seed: int, **options: Any) -> tuple[Drawn, list[Any]]:
    """Tables with their sensitive cells: two thirds of the systems are counts, others values."""
    valued = seed % 3 == 2
    drawn = drawn_system(seed, value="pay" if valued else None, **options)
    rule = dc.rules.PPercent(20) if valued else dc.rules.MinimumFrequency(FEW)
    return drawn, [dc.primary(table, [rule], value=drawn.value) for table in drawn.tables]


def marked(tables: Sequence[dc.Table], masks: Sequence[np.ndarray]) -> set[Cell]:
    """The names of some cells of tables."""
    return {
        (at, *codes)
        for at, (table, mask) in enumerate(zip(tables, masks, strict=True))
        for codes, chosen in zip(codes_of(table), mask, strict=True)
        if chosen
    }


def computed(
    drawn: Drawn, judged: Sequence[Any], safe: Sequence[ProtectedTable], own: frozenset[Cell] = NONE
) -> set[Cell]:
    """The sensitive cells that can have one value only, for who knows what is printed.

    He knows the number of the minimum frequency, and that hidden cells are no zeros where zeros
    are shown; and the values of his `own` cells.
    """
    names, sums, values = cells_of(drawn, safe)
    marks = marked(drawn.tables, [one.sensitive for one in judged])
    sensitive = np.array([name in marks for name in names], dtype=bool)
    zeros = any(note.kind == "hidden-zeros" for table in safe for note in table.notes)
    if own:
        true = {name: value for name, _, value in zip(*cells_of(drawn), strict=True)}
        values = np.array([true[n] if n in own else v for n, v in zip(names, values, strict=True)])
    hidden = np.isnan(values)
    most = np.full(len(names), FEW - 1 if drawn.value is None else np.inf)
    low = np.where(hidden, 0.0 if zeros else 1.0, values)
    high = np.where(hidden, np.where(sensitive, most, np.inf), values)
    reader = AtomReader(sums, low, high, whole=drawn.value is None)
    cells = np.flatnonzero(sensitive & hidden)
    known = {names[at] for at in cells[reader.known(cells)]}
    return known | {names[at] for at in np.flatnonzero(sensitive & ~hidden)} - own


def careless(
    drawn: Drawn, judged: Sequence[Any], seed: int, shares: Sequence[float] = (0.2, 0.5)
) -> list[ProtectedTable]:
    """Each table with its sensitive cells hidden, and a share of others, whatever that opens."""
    draw = np.random.default_rng([390, seed])
    listed = []
    for table, sensitive in zip(drawn.tables, judged, strict=True):
        problem, members = build_problem((table, sensitive), value=drawn.value)
        hidden = draw.random(len(problem)) < draw.choice(shares)
        hidden &= problem.value > 0
        hidden[problem.primary] = True
        listed += with_hidden([table], members, hidden, drawn.value)
    return listed


class Careless(NamedTuple):
    """What an audit says of tables that were protected carelessly, and what is true."""

    verdict: str
    exact: set[Cell]  # sensitive cells that the audit calls exactly known
    true: set[Cell]
    doubts: bool  # whether chance could have made dependencies, which readers are taken to know


def audited(seed: int, **options: Any) -> Careless:
    """Tables that were protected carelessly."""
    drawn, judged = system_of(seed, **options)
    safe = careless(drawn, judged, seed)
    audit = dc.audit(safe, drawn.tables, judged, records=drawn.people)
    return Careless(
        verdict=audit.verdict,
        exact=sensitive_among(drawn, judged, audit, audit.certificate.exact),
        true=computed(drawn, judged, safe),
        doubts=bool(Partitions(drawn.people, drawn.tables).doubts),
    )


def sensitive_among(
    drawn: Drawn, judged: Sequence[Any], audit: Audit, cells: np.ndarray
) -> set[Cell]:
    """The names of the sensitive cells that some cells of an audit stand for."""
    sources = list(zip(drawn.tables, judged, strict=True))
    problem, members = build_problem(sources, value=drawn.value, records=drawn.people)
    assert audit.problem.digest() == problem.digest()
    chosen = np.zeros(len(problem), dtype=bool)
    chosen[cells] = True
    masks = [members.hidden(chosen, at) & one.sensitive for at, one in enumerate(judged)]
    return marked(drawn.tables, masks)


class Suppressed(NamedTuple):
    """What suppression makes of a system."""

    word: str  # the verdict, or the code of the error
    hidden: int
    sensitive: int
    open: int  # sensitive cells that a reader computes


def suppressed(seed: int, *, records: bool = True, **options: Any) -> Suppressed:
    """A system with hidden cells, or the refusal."""
    drawn, judged = system_of(seed, **options)
    sources = list(zip(drawn.tables, judged, strict=True))
    number = sum(int(one.sensitive.sum()) for one in judged)
    known: Any = {"records": drawn.people} if records else {}
    try:
        done = Suppression.of(sources, method="fast", **known)
    except SuppressionError as error:
        return Suppressed(error.code, 0, number, 0)
    audit = dc.audit(list(done.tables), drawn.tables, judged, **known)
    assert audit.verdict in (done.judgement.word, "not examined") or not records
    opened = computed(drawn, judged, done.tables)
    blanks = sum(int(table.to_polars(complete=True)["value"].null_count()) for table in done.tables)
    word = audit.verdict.replace(" ", "-")
    return Suppressed(word, blanks, number, len(opened))


def caused(seed: int) -> bool | None:
    """Whether readers compute a sensitive cell of a refused system, were every count hidden.

    None if the system is not refused, or for what was not examined. Zeros are shown.
    """
    drawn, judged = system_of(seed)
    sources = list(zip(drawn.tables, judged, strict=True))
    try:
        Suppression.of(sources, method="fast", zero_cells="fixed", records=drawn.people)
    except SuppressionError as error:
        if error.code != "not-examined":
            return bool(computed(drawn, judged, careless(drawn, judged, seed, [2.0])))
    return None


@pytest.mark.parametrize("seeds", [[6, 7], pytest.param(range(24), marks=pytest.mark.exhaustive)])
def test_no_counts_are_refused_without_cause(seeds: Sequence[int]) -> None:
    answers = [caused(seed) for seed in seeds if seed % 3 < 2]
    assert True in answers
    assert False not in answers


@pytest.mark.parametrize(
    "seeds", [[33], pytest.param(range(40, 60, 3), marks=pytest.mark.exhaustive)]
)
def test_no_safe_system_is_open(seeds: Sequence[int]) -> None:
    unexamined = 0
    for seed in seeds:
        word, _, _, opened = suppressed(seed)
        assert word in ("safe", "not-examined"), seed
        assert not opened, seed
        unexamined += word != "safe"
    assert unexamined <= len(seeds) // 5


@pytest.mark.parametrize("seed", [70068, 70093, 70335, 70389, 70420])
def test_what_codes_and_tables_rule_out_is_known(seed: int) -> None:
    """No pattern is safe that three tables open of which no two do; nor one that codes open.

    In the first system, zeros by bands of ten years and a filter rule out bands of eighteen years;
    in the second, of 43 persons, bands of 30 years lie in two bands of eighteen. In the last two
    nobody is 60 or older: who passes ``age < 18`` is not, either, so these cells hide nothing.
    """
    word, _, _, opened = suppressed(seed)
    assert word in ("safe", "not-examined")
    assert not opened


@pytest.mark.parametrize("seeds", [[5], pytest.param(range(20, 24), marks=pytest.mark.exhaustive)])
def test_audits_find_all_that_readers_compute(seeds: Sequence[int]) -> None:
    """And nothing else, unless chance could have made a dependency that no reader knows of."""
    for seed in seeds:
        verdict, exact, true, doubts = audited(seed)
        assert exact >= true, seed
        assert verdict == "open" or not true, seed
        assert exact == true or doubts, seed


@pytest.mark.parametrize(
    "seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.exhaustive)]
)
def test_records_cost_nothing_where_names_say_all(seeds: Sequence[int]) -> None:
    """Columns that have nothing to do with each other, always under the same name."""
    sensitive = 0
    for seed in seeds:
        options: dict[str, Any] = {"variables": ("district", "sex", "work"), "filters": False}
        options |= {"size": 200, "number": 2 + seed % 3}
        with_records = suppressed(seed, **options)
        by_name = suppressed(seed, records=False, **options)
        assert with_records[1:] == by_name[1:], seed
        assert with_records.word in (by_name.word, "safe"), seed
        sensitive += with_records.sensitive
    assert sensitive


def test_zeros_that_everyone_knows_are_no_partners() -> None:
    """No district lies in two states, and nobody who is 30 passes `age < 18`."""
    drawn, _ = system_of(30)
    (table,) = [own for own in drawn.tables if own.where == "age < 18"]
    nested = dc.tabulate(drawn.people, ["district", "state"], name="nested")
    pairs = {*drawn.people.select("district", "state").rows()}
    pairs |= {("Total", state) for _, state in pairs} | {(d, "Total") for d, _ in pairs}
    pairs.add(("Total", "Total"))
    for own in (table, nested):
        judged = dc.primary(own, [dc.rules.MinimumFrequency(FEW)])
        how: dict[str, Any] = {"method": "fast", "zero_cells": "partners"}
        safe = dc.suppress(own, judged, records=drawn.people, **how)
        ruled_out = [
            row["value"]
            for row in safe.to_polars(complete=True).iter_rows(named=True)
            if row.get("fifteens") in ("30-44", "45-59")
            or (own is nested and (row["district"], row["state"]) not in pairs)
        ]
        assert ruled_out
        assert not any(ruled_out)
        assert None not in ruled_out


def lone_cells(drawn: Drawn, safe: Sequence[ProtectedTable]) -> list[frozenset[Cell]]:
    """For each contributor the cells in which he is alone; those of whom one is hidden.

    No two have the same pay.
    """
    alone: dict[int, set[Cell]] = {}
    for at, table in enumerate(drawn.tables):
        rows = zip(codes_of(table), table.count, table.sums["pay"], strict=True)
        for codes, count, value in rows:
            if count == 1:
                alone.setdefault(int(value), set()).add((at, *codes))
    blank = {name for name, _, v in zip(*cells_of(drawn, safe), strict=True) if np.isnan(v)}
    return [frozenset(own) for own in alone.values() if own & blank]


def learned(drawn: Drawn, judged: Sequence[Any], safe: Sequence[ProtectedTable]) -> set[Cell]:
    """Sensitive cells of others that lone contributors compute."""
    own = lone_cells(drawn, safe)
    return set().union(*(computed(drawn, judged, safe, cells) for cells in own))


@pytest.mark.exhaustive
def test_contributors_learn_nothing_from_joint_cubes() -> None:
    """Three tables bound combinations that nobody publishes, also for who knows his own cells."""
    for seed in range(2):
        drawn = alike_system(seed)
        judged = [dc.primary(own, [dc.rules.PPercent(10)], value="pay") for own in drawn.tables]
        safe = careless(drawn, judged, seed)
        audit = dc.audit(safe, drawn.tables, judged, records=drawn.people)
        assert audit.respondents is not None
        open_cells = np.union1d(audit.certificate.unprotected, audit.respondents.weakened)
        assert sensitive_among(drawn, judged, audit, open_cells) >= learned(drawn, judged, safe)
        sources = list(zip(drawn.tables, judged, strict=True))
        # What columns determine together is another matter.
        accept = [gap.name for gap in audit.judgement.gaps if gap.kind == "joint"]
        done = Suppression.of(sources, method="fast", records=drawn.people, accept=accept)
        assert done.judgement.safe
        assert not learned(drawn, judged, done.tables)


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shown sets over twelve atoms, and how many units each atom has."""
    rng = np.random.default_rng(seed)
    cases = rng.choice([1, 1, 1, 2, 5, 9], 12)
    return rng.random((int(rng.integers(6, 12)), 12)) < 0.45, cases


def of(sets: np.ndarray, cases: np.ndarray) -> ShownSets:
    atom_of = np.repeat(np.arange(len(cases)), cases)
    return ShownSets([np.flatnonzero(one) for one in sets], atom_of, np.arange(cases.sum()), 12)


def follows(sets: np.ndarray, one: np.ndarray) -> bool:
    rank = np.linalg.matrix_rank(sets.astype(float))
    return bool(np.linalg.matrix_rank(np.vstack([sets, one]).astype(float)) == rank)


@pytest.mark.parametrize("seed", range(30))
def test_small_groups_are_found_if_and_only_if_they_follow(seed: int) -> None:
    sets, cases = drawn(seed)
    shown = of(sets, cases)
    few = {tuple(np.flatnonzero(one).tolist()) for one in shown.few(3)}
    expected = set()
    for size in (1, 2):
        for atoms in itertools.combinations(range(12), size):
            one = np.isin(np.arange(12), atoms)
            if cases[one].sum() < 3 and follows(sets, one):
                expected.add(atoms)
    assert few == expected
    for atoms in few:
        figure = np.isin(np.arange(12), atoms)
        reason = shown.reason(figure)
        assert np.allclose(sum(by * sets[at] for at, by in reason), figure)


def test_the_seeds_have_groups_that_follow() -> None:
    assert sum(len(of(*drawn(seed)).few(3)) for seed in range(30)) > 30


def test_differences_between_units_are_figures_of_sums_only() -> None:
    sets = np.zeros((2, 12), dtype=bool)
    sets[0, [0, 3]] = sets[1, [0, 4]] = True
    cases = np.array([9] * 3 + [1] * 2 + [9] * 7)
    assert not len(of(sets, cases).few(3))
    (figure,) = of(sets, cases).few(3, signed=True)
    assert np.flatnonzero(figure).tolist() == [3, 4]


def test_one_unit_in_many_atoms_is_one_unit() -> None:
    owners = np.concatenate([np.arange(20), np.zeros(6, dtype=np.int64)])
    atom_of = np.concatenate([np.zeros(20, dtype=np.int64), np.arange(1, 7)])
    shown = ShownSets([range(7), [0]], atom_of, owners, 7)
    (figure,) = shown.few(3)
    assert np.flatnonzero(figure).tolist() == [1, 2, 3, 4, 5, 6]


def test_too_many_sets_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(*drawn(1)).eliminated
    with monkeypatch.context() as patch:
        patch.setattr("discreet.disclosure.shown_sets._STEPS", 1)
        assert not of(*drawn(1)).eliminated
    monkeypatch.setattr("discreet.disclosure.shown_sets._MOST", 1)
    with pytest.raises(TooManySetsError):
        of(*drawn(1)).few(3)


BANDS = {"narrow": bands("narrow", 10), "wide": bands("wide", 15)}


def published(table: dc.Table) -> ProtectedTable:
    """A table as it is."""
    trees = [tree for own in table.dimensions for tree in own.classifications]
    more = {"name": table.name, "parts": table.parts}
    return protected_table(trees, table.count, at=table.index, **more)


def crossings(draw: np.random.Generator) -> list[Spec]:
    """Nearly all pairs of some variables, sometimes with three of them together."""
    names = draw.choice(VARIABLES, int(draw.integers(2, 5)), replace=False).tolist()
    sets = [list(pair) for pair in combinations(names, 2)]
    sets += [names[:3]] if draw.random() < 0.5 and len(names) > 2 else []
    sets = [own for own in sets if draw.random() < 0.9] or sets
    return [([BANDS.get(name, name) for name in own], None) for own in sets]


def free_cells(tables: list[ProtectedTable]) -> int:
    """How many cells are free, as far as names tell."""
    cells = PublishedCells("", published_axes(tables))
    for table in tables:
        cells.take(table)
    cells.complete()
    sizes = [len(layer) for layer in cells.layers.values()]
    first = dict(zip(cells.layers, np.cumsum([0, *sizes]).tolist(), strict=False))
    values = np.concatenate([layer.value for layer in cells.layers.values()])
    rows = [np.zeros((0, len(values)))]
    for step in cells.steps():
        row = np.zeros((len(step.coarse), len(values)))
        row[np.arange(len(row)), first[step.coarse.key] + np.arange(len(row))] = -1
        row[step.place, first[step.fine.key] + step.inside] = 1
        rows.append(row[step.number > 0])
    matrix = np.concatenate(rows)
    assert not (matrix @ values).any()
    return len(values) - int(np.linalg.matrix_rank(matrix))


def test_names_tell_all_that_adds_up_or_a_gap_says_so() -> None:
    seen = {"told": 0, "said": 0}
    for seed in range(40):
        people = population(seed, 3_000)
        tables = tabulated(people, crossings(np.random.default_rng(seed)))
        shown = [published(table) for table in tables]
        missed = free_cells(shown) > np.linalg.matrix_rank(incidence(people, tables))
        gaps = unexamined_names({"": shown})
        assert gaps or not missed, (seed, [table.name for table in tables])
        seen["told"] += not gaps
        seen["said"] += missed
    assert min(seen.values()) > 5, seen


@pytest.mark.parametrize(("seed", "sex"), [(4, []), (4, ["sex"])])
def test_audits_by_name_say_that_crossed_variables_go_together(seed: int, sex: list[str]) -> None:
    """State and district are crossed, but never together with work and sex."""
    people = people_of(seed)
    pairs = (["district", "state", *sex], ["district", "work", "sex"], ["state", "work", "sex"])
    tables = tabulated(people, [(by, None) for by in pairs])
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    safe = list(Suppression.of(list(zip(tables, judged, strict=True)), method="fast").tables)
    assert open_cells(people, tables, safe, judged) > 0
    assert dc.audit(safe, tables, judged, records=people).verdict == "open"
    audit = dc.audit(safe, tables, judged)
    assert audit.verdict == "not examined"
    assert [gap.name for gap in audit.judgement.gaps] == ["dependencies between district, state"]
    apart = [(["district", "work", "sex"], None), (["work", "sex"], None)]
    tables = tabulated(people, apart)
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    safe = list(Suppression.of(list(zip(tables, judged, strict=True)), method="fast").tables)
    assert dc.audit(safe, tables, judged).verdict == "safe"
