"""What readers work out of several tables, with an attacker written apart from the product.

The attacker knows the records' columns: a linear program over all combinations of their values,
held to everything that is printed. A sensitive cell is open if it can have one value only.
"""

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.disclosure import Partitions
from discreet.disclosure.cores import cyclic_cores, layers_of
from discreet.errors import SuppressionError
from discreet.protection.rounding import Rounding, audit_rounding, round_linked
from discreet.protection.suppression import Suppression, build_problem, find_pattern
from discreet.protection.suppression.proof import certificate
from tests.disclosure.test_relations import PLANTED, Spec, incidence, tabulated
from tests.helpers.protected_tables import with_hidden
from tests.helpers.reader_of_records import (
    AtomReader,
    codes_of,
    figures,
    known,
    known_cells,
)

#: The state of each district.
STATES = (0, 0, 0, 1, 1, 1, 2, 2)
TREE = dc.Classification.from_parents(
    "tree",
    dict.fromkeys(("s0", "s1", "s2")) | {f"d{at}": f"s{own}" for at, own in enumerate(STATES)},
).replace(column="district")

LEAKS: dict[str, list[Spec]] = {
    name: PLANTED[name]
    for name in ("nested", "two names", "bands", "filters", "a filter as a code")
} | {
    "a level as a column": [([TREE, "work"], None), (["state", "sex"], None), (["state"], None)],
    "bands that overlap": [(["b15", "work"], None), (["b18", "work"], None)],
    "bands that overlap, and a filter": [
        (["b15", "work"], None), (["b18", "work"], None), (["work", "sex"], "age < 36"),
        (["work", "sex"], None),
    ],
}  # fmt: skip


def with_bands(people: pl.DataFrame) -> pl.DataFrame:
    """With columns of bands of age that have no limits in common."""
    return people.with_columns(
        (pl.col("age") // width).cast(pl.String).alias(f"b{width}") for width in (15, 18)
    )


def people_of(seed: int) -> pl.DataFrame:
    """Few persons, so that many cells are sensitive."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(60, 140))
    district = draw.integers(0, 8, size)
    state = np.array(STATES)
    people = pl.DataFrame(
        {
            "district": [f"d{at}" for at in district],
            "state": [f"s{state[at]}" for at in district],
            "land": [f"L{state[at]}" for at in district],
            "region": [f"r{min(at // 2, 2)}" for at in district],
            "age": np.minimum(draw.integers(0, 60, size), draw.integers(0, 90, size)),
            "sex": draw.choice(["m", "w"], size, p=[0.6, 0.4]),
            "work": draw.choice([*"xyz"], size, p=[0.6, 0.3, 0.1]),
        }
    )
    return with_bands(people)


def every_person(people: pl.DataFrame) -> pl.DataFrame:
    """One of each kind of person that there could be; areas lie where they lie."""
    areas = people.select("district", "state", "land", "region").unique().sort("district")
    others = pl.DataFrame(
        list(product(range(60), "mw", "xyz")), schema=["age", "sex", "work"], orient="row"
    )
    return with_bands(areas.join(others, how="cross")).select(people.columns)


def open_cells(
    people: pl.DataFrame, tables: list[dc.Table], safe: list[dc.ProtectedTable], judged: list[Any]
) -> int:
    """How many sensitive cells readers know exactly, though counts may be fractions."""
    cells = incidence(every_person(people), tables)
    shown = np.concatenate([values_of(*pair) for pair in zip(tables, safe, strict=True)])
    secret = np.concatenate([one.sensitive for one in judged])
    return int(known(cells, shown, secret, least=0.0, whole=False).sum())


def protected(
    people: pl.DataFrame, tables: list[dc.Table], judged: list[Any], zeros: Any = "auto"
) -> list[dc.ProtectedTable]:
    """The tables with hidden cells."""
    sources = list(zip(tables, judged, strict=True))
    done = Suppression.of(sources, method="fast", zero_cells=zeros, records=people)
    return list(done.tables)


@pytest.mark.parametrize("name", list(LEAKS))
def test_nothing_safe_is_open(name: str) -> None:
    """No table that is called safe opens a sensitive cell; most programmes are protected."""
    refused = 0
    for seed in (1, 36):
        people = people_of(seed)
        tables = tabulated(people, LEAKS[name])
        judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
        try:
            safe = protected(people, tables, judged)
        except SuppressionError:
            refused += 1
            continue
        assert dc.audit(safe, tables, judged, records=people).safe
        assert open_cells(people, tables, safe, judged) == 0
    assert refused <= 1


def test_names_alone_miss_it_and_audits_with_records_do_not() -> None:
    """Nested columns under other names: what names let through is open once records are known."""
    people = people_of(4)
    tables = tabulated(people, LEAKS["nested"])
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    safe = list(Suppression.of(list(zip(tables, judged, strict=True)), method="fast").tables)
    assert open_cells(people, tables, safe, judged) > 0
    assert dc.audit(safe, tables, judged, records=people).verdict == "open"
    assert dc.audit(safe, tables, judged).verdict == "not examined"


#: Tables whose joint cube has a core only because columns determine others.
CORES: dict[str, list[Spec]] = {
    "a coarser column": [(["district", "work"], None), (["state", "sex"], None),
                         (["work", "sex"], None)],
    "another name": [(["state", "work"], None), (["land", "sex"], None), (["work", "sex"], None)],
    "limits in common": [(["district", "work"], None), (["area", "sex"], None),
                         (["work", "sex"], None)],
}  # fmt: skip


def alike(seed: int) -> pl.DataFrame:
    """Persons whose work and sex mostly are what their state is."""
    draw = np.random.default_rng(seed)
    district = draw.integers(0, 6, 150)
    state = np.minimum(district, 4)
    work, sex = (
        np.where(draw.random(150) < 0.2, (state + draw.integers(1, 5, 150)) % 5, state)
        for _ in range(2)
    )
    # In the last state, areas are others than districts.
    area = np.where(state < 4, state, 4 + draw.integers(0, 2, 150))
    columns = {"dx": district, "sx": state, "Lx": state, "ax": area, "kx": work, "wx": sex}
    names = ("district", "state", "land", "area", "work", "sex")
    return pl.DataFrame(
        {
            name: [f"{code[0]}{at}" for at in own]
            for name, (code, own) in zip(names, columns.items(), strict=True)
        }
    )


def everybody(people: pl.DataFrame) -> pl.DataFrame:
    """One of each kind of person that there could be, where areas lie where they lie."""
    places = people.select("district", "state", "land", "area").unique().sort(pl.all())
    works, sexes = (people.select(name).unique().sort(name) for name in ("work", "sex"))
    return places.join(works, how="cross").join(sexes, how="cross").select(people.columns)


def computed(
    people: pl.DataFrame, tables: list[dc.Table], safe: list[dc.ProtectedTable], judged: list[Any]
) -> set[tuple[str, ...]]:
    """Sensitive cells that a reader of all kinds of persons computes."""
    return known_cells(everybody(people), tables, safe, [one.sensitive for one in judged])


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("another name", [0]),
        *(pytest.param(name, [0, 1], marks=pytest.mark.exhaustive) for name in CORES),
    ],
)
def test_cores_that_only_dependencies_make_are_not_called_safe(
    name: str, seeds: Sequence[int]
) -> None:
    """The audit says open where whole numbers of persons open a cell, and suppression heals it."""
    opened = 0
    for seed in seeds:
        people = alike(seed)
        tables = tabulated(people, CORES[name])
        judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
        problem, members = build_problem(list(zip(tables, judged, strict=True)), records=people)
        hidden = find_pattern(problem, "fast").hidden
        before = with_hidden(tables, members, hidden)
        true = computed(people, tables, before, judged)
        audit = dc.audit(before, tables, judged, records=people)
        assert audit.verdict == "open" or not true
        after = protected(people, tables, judged)
        assert dc.audit(after, tables, judged, records=people).safe
        assert not computed(people, tables, after, judged)
        opened += len(true)
    assert opened > 0


def test_a_filter_that_a_column_determines_makes_a_core() -> None:
    """Work says who passes: state x sex, work x sex and state of those bound all three."""
    people = alike(0)
    specs: list[Spec] = [(["state", "sex"], None), (["work", "sex"], None)]
    tables = tabulated(people, [*specs, (["state"], "work == 'k0'")])
    cells = [np.arange(len(table)) for table in tables]
    assert not cyclic_cores(layers_of(tables, cells))
    (core,) = cyclic_cores(layers_of(tables, cells, Partitions(people, tables)))
    assert core.about == "sex, state"
    joint = core.combinations(10**6)
    assert not isinstance(joint, int)
    passed = people.with_columns(passed=pl.col("work") == "k0")
    of_pass = passed.filter("passed")
    expected = (
        passed.select("state", "sex")
        .unique()
        .join(passed.select("sex", "passed").unique(), on="sex")
        .filter(~pl.col("passed") | pl.col("state").is_in(of_pass["state"].unique().to_list()))
    )
    assert joint.number == len(expected)


def test_large_cores_of_dependencies_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "MOST_ATOMS", 3)
    people = alike(0)
    tables = tabulated(people, CORES["a coarser column"])
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    with pytest.raises(SuppressionError) as refused:
        protected(people, tables, judged)
    assert 'accept = ["joint cube of sex, state, work"]' in str(refused.value)


def test_refusals_say_what_helps() -> None:
    """A total of two that is made of two ones cannot be protected while zeros are shown."""
    people = pl.DataFrame(
        {"work": [*"xx", *"y" * 9, *"z" * 8], "age": [5, 40, *[5, 6, 7, 50] * 4, 51]}
    )
    tables = tabulated(people, PLANTED["filters"])
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    with pytest.raises(SuppressionError) as refused:
        protected(people, tables, judged, "fixed")
    hints = f"{refused.value.hint} {[problem.hint for problem in refused.value.problems]}"
    assert "one of these changes is enough" in hints
    offers = [name for name in ("t0", "t1", "t2") if f"remove the table {name}" in hints]
    assert offers
    for name in offers:
        kept = [at for at, table in enumerate(tables) if table.name != name]
        protected(people, [tables[at] for at in kept], [judged[at] for at in kept], "fixed")


def lonely(seed: int) -> pl.DataFrame:
    """Two persons of one kind of work, one on either side of a filter."""
    draw = np.random.default_rng(seed)
    work = ["v"] * 2 + ["w"] * 6 + ["x"] * 9 + ["y"] * 8
    age = [5, 40, *draw.integers(0, 60, len(work) - 2).tolist()]
    return pl.DataFrame({"work": work, "age": age})


def test_merges_that_are_offered_protect_every_cell() -> None:
    """A total of 2 = 1 + 1 is merged with its neighbour; an attacker finds nothing after that."""
    offered = 0
    for seed in range(1):
        people = lonely(seed)
        tables = tabulated(people, PLANTED["filters"])
        judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
        errors = []
        for _ in range(2):
            with pytest.raises(SuppressionError) as refused:
                protected(people, tables, judged, "fixed")
            errors.append(str(refused.value))
        assert errors[0] == errors[1], "the offers are the same in every run"
        for codes in re.findall(r"merge (\w) and (\w) of work in all tables", errors[0]):
            offered += 1
            assert ord(codes[1]) - ord(codes[0]) == 1, "neighbours"
            mixed = people.with_columns(
                work=pl.when(pl.col("work").is_in(codes)).then(pl.lit("z")).otherwise("work")
            )
            coarser = tabulated(mixed, PLANTED["filters"])
            found = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in coarser]
            safe = protected(mixed, coarser, found, "fixed")
            kinds = mixed.select("work").unique().join(pl.DataFrame({"age": [5, 40]}), how="cross")
            assert not known_cells(kinds, coarser, safe, [one.sensitive for one in found])
    assert offered


@pytest.mark.parametrize("name", ["nested", "two names", "bands", "filters", "groupings"])
def test_rounded_tables_of_one_source_are_audited_by_their_records(name: str) -> None:
    """A whole-number program over kinds of persons finds the cells that the audit finds."""
    how, half = Rounding(base=5, method="conventional"), 2
    for seed in (0,):
        people = people_of(seed)
        tables = tabulated(people, PLANTED[name])
        published = [round_linked([table], how)[0] for table in tables]
        kinds = np.unique(incidence(every_person(people), tables), axis=1).astype(float)
        counts = np.concatenate([table.count for table in tables])
        near = np.concatenate([values_of(*pair) for pair in zip(tables, published, strict=True)])
        low = np.where(counts > 0, np.maximum(near - half, 1), 0)
        high = np.where(counts > 0, near + half, 0)
        _, first = np.unique(kinds, axis=0, return_index=True)
        exact = AtomReader(kinds, low, high, whole=True).known(first[counts[first] > 0]).sum()
        audit = audit_rounding(published, tables, how, people)
        assert len(audit.unprotected) == exact
        assert audit.verdict == ("open" if exact else "safe")
        assert audit_rounding(published, tables, how).verdict != "safe"


def values_of(table: dc.Table, published: dc.ProtectedTable) -> np.ndarray:
    """The published value of each cell of a true table; None where it is hidden."""
    shown = figures(published)
    return np.array([shown[codes] for codes in codes_of(table)])
