"""Rows across tables against the truth: the rank of cells as sets of records, worked out apart."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.disclosure import Coverage, Partitions
from discreet.disclosure.cells import CellSystem
from discreet.disclosure.code_pairs import codes_passing
from discreet.microdata import parse_filter, read_microdata
from discreet.protection.suppression import build_problem, table_relations

TOTAL = "Total"
Spec = tuple[list[Any], str | None]


def population(seed: int, size: int) -> pl.DataFrame:
    """Persons with nested areas, one of them under two names, and other variables."""
    draw = np.random.default_rng(seed)
    district = draw.integers(0, 8, size)
    state = np.sort(draw.integers(0, 3, 8))
    region = np.sort(draw.integers(0, 3, 8))
    return pl.DataFrame(
        {
            "district": [f"d{at}" for at in district],
            "state": [f"s{state[at]}" for at in district],
            "land": [f"L{state[at]}" for at in district],
            "region": [f"r{region[at]}" for at in district],
            "age": draw.integers(0, 60, size),
            "sex": draw.choice(["m", "w"], size, p=[0.6, 0.4]),
            "work": draw.choice([*"xyz"], size),
        }
    )


def bands(name: str, width: int) -> dc.Classification:
    """Classes of age of one width."""
    bounds = [*range(0, 60, width), 60]
    return dc.Classification.from_intervals(name, bounds).replace(column="age")


FILTERS = (None, None, None, "age < 18", "age >= 18", "sex == 'm'", "age >= 40")
VARIABLES = ("district", "state", "land", "region", "sex", "work", "narrow", "wide")


def specs(seed: int) -> list[Spec]:
    """Two to five tables of two variables or three, some of them with filters."""
    draw = np.random.default_rng(500 + seed)
    known = {"narrow": bands("narrow", 10), "wide": bands("wide", 15)}
    found: list[Spec] = []
    for _ in range(int(draw.integers(2, 6))):
        names = draw.choice(VARIABLES, int(draw.integers(1, 4)), replace=False).tolist()
        where = FILTERS[int(draw.integers(len(FILTERS)))]
        found.append(([known.get(name, name) for name in names], where))
    return found


def tabulated(people: pl.DataFrame, wanted: list[Spec]) -> list[dc.Table]:
    """The tables."""
    return [
        dc.tabulate(people, by=by, where=where, name=f"t{at}")
        for at, (by, where) in enumerate(wanted)
    ]


def incidence(people: pl.DataFrame, tables: list[dc.Table]) -> np.ndarray:
    """One row per cell of the tables, one column per combination of the records' values."""
    atoms = people.unique(maintain_order=True)
    rows = []
    for table in tables:
        kept = np.ones(atoms.height, dtype=bool)
        if table.where:
            kept = (
                pl.SQLContext(frame=atoms.with_row_index("at"))
                .execute(
                    f"select at from frame where {table.where.replace('==', '=')}", eager=True
                )["at"]
                .to_numpy()
            )
            kept = np.isin(np.arange(atoms.height), kept)
        names = [dimension.name for dimension in table.dimensions]
        for codes in table.to_polars().select(names).rows():
            inside = kept.copy()
            for name, code in zip(names, codes, strict=True):
                if code == TOTAL:
                    continue
                if name in ("narrow", "wide"):
                    width = 10 if name == "narrow" else 15
                    classes = [*range(0, 60, width)]
                    leaves = bands(name, width).leaves
                    low = classes[leaves.index(code)]
                    inside &= atoms["age"].is_between(low, low + width - 1).to_numpy()
                else:
                    column = {"d": "district", "s": "state"}[code[0]] if name == "tree" else name
                    inside &= (atoms[column] == code).to_numpy()
            rows.append(inside)
    return np.array(rows, dtype=float)


def names_of(table: dc.Table) -> list[Any]:
    """What the cells of a table are called: filter and codes, without totals."""
    names = [dimension.name for dimension in table.dimensions]
    return [
        (
            table.where,
            frozenset(pair for pair in zip(names, codes, strict=True) if pair[1] != TOTAL),
        )
        for codes in table.to_polars().select(names).rows()
    ]


def rows_of(system: CellSystem) -> list[tuple[int, Any]]:
    """Each relation as its total and its parts."""
    rows = np.split(system.relations.cell, system.relations.start[1:-1])
    return [(int(row[0]), row[1:]) for row in rows if len(row)]


def found_rank(tables: list[dc.Table], system: CellSystem) -> int:
    """How many independent relations among published cells all rows together have."""
    size = sum(len(table) for table in tables)
    fresh = sum(map(len, system.nobody))
    rows = []
    offset = 0
    for table in tables:
        own, _ = table_relations(table, table.count > 0)
        for row in own.dense():
            full = np.zeros(size + fresh)
            full[offset : offset + len(table)] = row
            rows.append(full)
        offset += len(table)
    by_name: dict[Any, int] = {}
    for at, key in enumerate(key for table in tables for key in names_of(table)):
        first = by_name.setdefault(key, at)
        if first != at:
            full = np.zeros(size + fresh)
            full[[first, at]] = 1, -1
            rows.append(full)
    for total, parts in rows_of(system):
        full = np.zeros(size + fresh)
        full[parts] = 1
        full[total] -= 1
        rows.append(full)
    matrix = np.array(rows).reshape(len(rows), size + fresh)
    values = np.concatenate([t.count for t in (*tables, *system.nobody)])
    assert not (matrix @ values).any()
    whole = int(np.linalg.matrix_rank(matrix)) if rows else 0
    between = int(np.linalg.matrix_rank(matrix[:, size:])) if rows and fresh else 0
    return whole - between


def ranks(seed: int, size: int) -> tuple[int, int]:
    """Found and true."""
    people = population(seed, size)
    tables = tabulated(people, specs(seed))
    system = CellSystem(Partitions(people, tables), tables)
    cells = incidence(people, tables)
    return found_rank(tables, system), len(cells) - int(np.linalg.matrix_rank(cells))


PLANTED: dict[str, list[Spec]] = {
    "nested": [(["district", "work"], None), (["state", "work"], None)],
    "two names": [(["state", "sex"], None), (["land", "work"], None), (["land"], None)],
    "bands": [([bands("narrow", 10), "sex"], None), ([bands("wide", 15), "sex"], None)],
    "filters": [(["work"], None), (["work"], "age < 18"), (["work"], "age >= 18")],
    "nested filters": [(["district"], None), (["state", "sex"], "age < 18"), (["land"], None),
                       (["region", "sex"], "age >= 18")],
    "a filter as a code": [(["sex", "work"], None), (["work"], "sex == 'm'")],
    "a filter of whole bands": [([bands("wide", 15)], None), ([bands("wide", 15)], "age >= 40")],
    "groupings": [(["district", "sex"], None), (["state", "sex"], None), (["region", "sex"], None)],
}  # fmt: skip


@pytest.mark.parametrize("name", list(PLANTED))
def test_planted(name: str) -> None:
    """Relations that stand behind other names, other classifications and filters."""
    people = population(3, 3_000)
    tables = tabulated(people, PLANTED[name])
    partitions = Partitions(people, tables)
    system = CellSystem(partitions, tables)
    cells = incidence(people, tables)
    assert rows_of(system)
    assert found_rank(tables, system) == len(cells) - int(np.linalg.matrix_rank(cells))
    assert system.unexamined == ()


def test_names_only() -> None:
    """Where tables are linked by names and nothing else, nothing is added."""
    people = population(4, 3_000)
    tables = tabulated(people, [(["state", "sex"], None), (["sex", "work"], None), (["sex"], None)])
    system = CellSystem(Partitions(people, tables), tables)
    assert (rows_of(system), system.nobody, system.unexamined) == ([], [], ())


@pytest.mark.parametrize(("number", "size"), [(2, 900), (3, 6_000)])
def test_columns_that_determine_another_together_are_a_gap(number: int, size: int) -> None:
    """Two or three columns have the parity of their sum; in few records that is chance."""
    draw = np.random.default_rng(8)
    halves = draw.integers(0, 2, (number, size))
    names = ["half", "part", "side"][:number]
    columns = dict(zip(names, halves, strict=True)) | {"odd": halves.sum(axis=0) % 2}
    people = pl.DataFrame(
        {name: own.astype(str) for name, own in columns.items()}
        | {"sex": draw.choice(["m", "w"], size)}
    )
    by: list[Spec] = [([*names, "sex"], None), (["odd", "sex"], None)]
    system = CellSystem(Partitions(people, tabulated(people, by)), tabulated(people, by))
    gaps = [(gap.name, gap.size()) for gap in system.unexamined]
    listed = f"what columns determine together ({', '.join(names)}: odd)"
    assert gaps == [(listed, f"{number} columns together")]
    few = people.head(6)
    assert not Partitions(few, tabulated(few, by)).unexamined
    together: list[Spec] = [*by, ([*names, "odd"], None)]
    assert not Partitions(people, tabulated(people, together)).unexamined
    nearly = people.with_columns(odd=pl.when(pl.int_range(size) == size - 1).then(pl.lit("x"))
                                 .otherwise("odd"))  # fmt: skip
    nearly = pl.concat([nearly, nearly.tail(1).with_columns(odd=pl.lit("1"))])
    assert not Partitions(nearly, tabulated(nearly, by)).unexamined


def test_limits_of_one_column_are_known_however_few_the_records() -> None:
    """Bands that overlap can go together; that one lies in another is no doubt, nor chance."""
    people = population(6, 14)
    by: list[Spec] = [(["sex", bands(f"b{width}", width)], None) for width in (10, 15, 18, 30)]
    partitions = Partitions(people, tabulated(people, by))
    assert not [doubt for doubt in partitions.doubts if "b1" in doubt.text or "b30" in doubt.text]
    number = {own.name: at for at, own in enumerate(partitions.partitions)}
    inside = {(one, other) for one in number for other in number if one != other
              and partitions.determines(one, other)}  # fmt: skip
    assert inside == {("b10", "b30"), ("b15", "b30")}
    # Ten and fifteen years have limits in common that are known; within these, codes exclude others
    tied = {tuple(partitions.partitions[at].name for at in pair) for pair in partitions.tied}
    assert tied == {("b10", "b15"), ("b10", "b18"), ("b15", "b18"), ("b18", "b30")}
    ages = {name: np.arange(0, 60) // width + 1 for name, width in (("b10", 10), ("b18", 18))}
    every = np.unique(np.stack([*ages.values()]), axis=1)
    pairs = np.stack([own.ravel() for own in np.meshgrid(range(1, 7), range(1, 5))])
    codes = {number[name]: own for name, own in zip(ages, pairs, strict=True)}
    possible = partitions.possible(codes, pairs.shape[1])
    known = [np.isin(own, partitions.partitions[at].codes) for at, own in codes.items()]
    overlap = (pairs[:, :, None] == every[:, None, :]).all(axis=0).any(axis=1)
    there = np.logical_and(*known)
    assert (possible[there] == overlap[there]).all()
    assert there.sum() > overlap[there].sum() > 5


@pytest.mark.parametrize(
    ("tree", "where", "passing"),
    [
        (bands("narrow", 10), "age < 18", {"0-9": "p", "10-19": "fp", "20-29": "f", "60+": "f"}),
        (bands("narrow", 10), "not 20 <= age < 60", {"10-19": "p", "20-29": "f", "60+": "p"}),
        (dc.Classification.flat("age", ["7", "17", "99"]), "age < 18", {"7": "p", "99": "f"}),
        (dc.Classification.flat("sex", ["m", "w", "d"]), "sex != 'm'", {"m": "f", "d": "p"}),
        (dc.Classification.flat("age", ["7", "old"]), "age < 18", None),
        (dc.Classification.flat("born", ["1999-01-01"]), "born is not null", None),
    ],
)
def test_codes_say_which_of_them_pass_a_filter(
    tree: dc.Classification, where: str, passing: dict[str, str] | None
) -> None:
    """Also codes that no record has: nobody who is 60 or older passes ``age < 18``."""
    people = population(1, 20).with_columns(born=pl.date(2000, 1, 1))
    condition = parse_filter(where)
    schema = read_microdata(people).collect_schema()
    pairs = codes_passing((tree, tree.depth), condition, schema)
    assert (pairs is None) is (passing is None)
    for code, expected in (passing or {}).items():
        fails, passes = pairs[tree.index[code]].tolist()
        assert "f" * fails + "p" * passes == expected, code


def test_coincidences() -> None:
    """Equal sets of few records are no relation, and few records are in doubt."""
    people = population(5, 40)
    tables = tabulated(people, [(["age", "sex"], None), (["age", "work"], None)])
    partitions = Partitions(people, tables)
    age = [at for at, part in enumerate(partitions.partitions) if part.name == "age"]
    codes = [at for at, part in enumerate(partitions.partitions) if part.name in ("sex", "work")]
    assert not any((a, b) in partitions.up for a in age for b in codes)
    one = people.group_by("age").agg(pl.first("sex"))
    few = people.drop("sex").join(one, on="age")
    found = Partitions(few.head(12), tabulated(few.head(12), [(["age"], None), (["sex"], None)]))
    assert [(doubt.text, doubt.assumed) for doubt in found.doubts] == [("age determines sex", True)]
    assert found.determines("age", "sex")
    assert "Readers are assumed to know it" in found.doubt_lines()[0]


def test_sets_that_only_empty_cells_of_nobody_make_equal_are_two_cells() -> None:
    """Of 48 to 59 years and without work is one person, who has no sex and lives in d0.

    No table says that nobody else is: neither with a sex, nor in another district.
    """
    people = pl.DataFrame(
        {
            "district": ["d0", "d4", "d0", "d0", "d0", "d1", "d0", "d1", "d1", "d0"],
            "kind": ["k1", "k0", *["k1"] * 8],
            "age": [19, 12, 52, 50, 49, 40, 0, 10, 19, 28],
            "sex": ["m", None, "w", None, "w", "m", "m", "m", "w", None],
            "work": [None, "x", "x", None, "x", "x", None, "z", "y", "x"],
        }
    )
    tree = dc.Classification.from_parents("tree", {"d0": None, "d1": None, "d4": None})
    areas = [tree.replace(column="district"), dc.Classification.flat("kind", ["k0", "k1"])]
    twelve, eighteen = bands("twelve", 12), bands("eighteen", 18)
    near = "district in ['d0', 'd1']"
    by: list[Spec] = [
        ([twelve], near), ([eighteen, areas, "work"], "sex is null"),
        ([twelve, "work"], "sex is null"), ([twelve, "work"], near),
    ]  # fmt: skip
    tables = tabulated(people, by)
    judged = [dc.primary(table, [dc.rules.MinimumFrequency(3)]) for table in tables]
    _, members = build_problem(list(zip(tables, judged, strict=True)), records=people)
    places = [
        table.to_polars().select("twelve", "work").rows().index(("48-59", "Missing"))
        for table in tables[2:]
    ]
    one, other = (own[at] for own, at in zip(members.cells[2:], places, strict=True))
    assert one != other


def test_doubts_are_struck_out_by_name() -> None:
    """Without a dependency of few records its rows go; what chance cannot make stays."""
    few = pl.DataFrame({"town": [*"aabbcc"], "land": [*"NNNNSS"], "sex": [*"mwmwmw"]})
    many = pl.concat([few] * 30)
    by: list[Spec] = [(["town"], None), (["land"], None)]
    name = "town determines land"
    tables = tabulated(few, by)
    struck = Partitions(few, tables, None, [name])
    assert rows_of(CellSystem(Partitions(few, tables), tables))
    assert not rows_of(CellSystem(struck, tables))
    assert [(doubt.text, doubt.assumed) for doubt in struck.doubts] == [(name, False)]
    assert struck.doubt_lines() == [f"Treated as chance, unknown to readers: {name}."]
    assert struck.doubt_lines("de") == [f"Gilt als Zufall, den Leser nicht kennen: {name}."]
    certain = Partitions(many, tabulated(many, by), None, [name])
    assert certain.determines("town", "land")
    assert certain.doubt_lines() == [f'coincidences: unknown entry "{name}".']


def test_other_records() -> None:
    """Tables of other records, and with filters that cannot be read, are compared by name only."""
    people = population(6, 500)
    tables = tabulated(people, [(["district"], None), (["state"], None)])
    others = tabulated(population(7, 400), [(["state"], None)])
    system = CellSystem(Partitions(people, tables), [tables[0], *others])
    assert system.unexamined
    assert not rows_of(system)


@pytest.mark.parametrize(
    ("size", "seeds"),
    [
        (3_000, [7]),
        pytest.param(20_000, range(2), marks=pytest.mark.exhaustive),
        pytest.param(3_000, range(15, 23), marks=pytest.mark.exhaustive),
    ],
)
def test_random(size: int, seeds: list[int]) -> None:
    """As many independent relations are found as there are."""
    wrong = [seed for seed in seeds for found, true in [ranks(seed, size)] if found != true]
    assert wrong == []


@pytest.mark.exhaustive
def test_all_random_of_few() -> None:
    """Of few records some relations hold because cells happen to be empty."""
    wrong = [seed for seed in range(10) for found, true in [ranks(seed, 300)] if found != true]
    assert len(wrong) <= 2, wrong


def test_filters_of_any_number_are_compared() -> None:
    """Seventy filters on ages, one of them under another name: column and filter say the same."""
    people = population(3, 2_000)
    people = people.with_columns(old=pl.col("age").ge(30).cast(pl.String))
    wanted: list[Spec] = [(["sex"], f"age >= {at}") for at in range(35)]
    wanted += [(["sex"], f"age < {at}") for at in range(1, 35)] + [(["sex"], "old == 'true'")]
    partitions = Partitions(people, tabulated(people, wanted))
    assert not partitions.unexamined
    filters = [where for _, where in wanted if where]
    universes = Coverage(partitions).universes([*filters, ""])
    assert len({*universes.values()}) == 1, "each is the rest of another, or the same"
    one, other = (partitions.of_filter(text) for text in ("age >= 30", "old == 'true'"))
    assert one is not None
    assert other is not None
    assert Coverage(partitions).same(one, other)
    assert partitions.patterns("age >= 30").sum() < partitions.patterns("age >= 29").sum()
