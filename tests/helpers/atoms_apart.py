"""Tables of records drawn at random, and the finest combinations of all columns behind each cell.

In: columns that nest, bands, groupings and filters, and what was published of the tables. Out: each
cell as a sum of combinations; a cell without records is a sum of none. Areas lie where they lie.
Nothing here is shared with `discreet.disclosure` or `discreet.protection`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import polars as pl

import discreet as dc

#: Spanning variables, and a filter.
Spec = tuple[list[str], str]
TOTAL = "Total"
#: Nobody is older, which no reader knows.
AGES, OLDEST = 60, 80
AREAS = ("district", "state", "land", "region")
COLUMNS = {"d": "district", "s": "state", "L": "land", "r": "region", "m": "sex", "w": "sex"}
COLUMNS |= dict.fromkeys("xyzk", "work")
BANDS = {"tens": 10, "fifteens": 15, "eighteens": 18, "thirties": 30}
FILTERS = {
    "age < 18": ("age", lambda age: age < 18),
    "age >= 18": ("age", lambda age: age >= 18),
    "age >= 40": ("age", lambda age: age >= 40),
    "sex == 'm'": ("sex", lambda sex: sex == "m"),
    "work != 'z'": ("work", lambda work: work != "z"),
}
#: Names that tables of one kind are drawn from: those of nested columns and of bands, or others.
VARIABLES = (
    *AREAS,
    "sex",
    "work",
    "tens",
    "fifteens",
    "eighteens",
    "thirties",
    "tree",
    "groupings",
)


@dataclass(frozen=True)
class Drawn:
    """Records and tables of them."""

    people: pl.DataFrame
    specs: list[Spec]
    tables: list[dc.Table]
    value: str | None = None

    @cached_property
    def atoms(self) -> pl.DataFrame:
        """One of each kind of person that there could be.

        Where districts are in no table, nobody knows which of them a state and a region share.
        """
        areas = self.people.select(AREAS).unique().sort("district")
        if not {"district", "tree", "groupings"} & {
            name for names, _ in self.specs for name in names
        }:
            areas = (
                areas.select("state", "land")
                .unique()
                .join(areas.select("region").unique(), how="cross")
            )
            areas = areas.sort(pl.all()).with_columns(district=pl.lit("d"))
        others = [range(OLDEST), *(sorted(set(self.people[name])) for name in ("sex", "work"))]
        schema = ["age", "sex", "work"]
        return areas.join(
            pl.DataFrame(list(product(*others)), schema=schema, orient="row"), how="cross"
        )


def drawn_people(draw: np.random.Generator, size: int) -> pl.DataFrame:
    """Persons in districts of states and of regions; the land is the state by another name."""
    number = int(draw.integers(5, 9))
    state, region = (np.sort(draw.integers(0, 3, number)) for _ in range(2))
    region = draw.permutation(region) if draw.random() < 0.5 else region
    district = np.minimum(draw.integers(0, number, size), draw.integers(0, number + 3, size))
    age = np.minimum(draw.integers(0, AGES, size), draw.integers(0, 3 * AGES // 2, size))
    return pl.DataFrame(
        {
            "district": [f"d{at}" for at in district],
            "state": [f"s{at}" for at in state[district]],
            "land": [f"L{at}" for at in state[district]],
            "region": [f"r{at}" for at in region[district]],
            "age": age,
            "sex": draw.choice(["m", "w"], size, p=[0.6, 0.4]),
            "work": draw.choice([*"xyz"], size, p=[0.6, 0.3, 0.1]),
            "pay": np.ceil(draw.lognormal(4, 1, size)).astype(np.int64) * 1000
            + np.random.default_rng(size).permutation(size),
        }
    )


def drawn_specs(
    draw: np.random.Generator, number: int, variables: Sequence[str], filters: bool
) -> list[Spec]:
    """Tables of one variable to three; at most one of each column and of each tree."""
    specs: list[Spec] = []
    texts = ["", "", *FILTERS] if filters else [""]
    while len(specs) < number:
        names = draw.choice(variables, int(draw.integers(1, 4)), replace=False).tolist()
        if {"tree", "groupings"} <= set(names) or len(set(names) & set(BANDS)) > 1:
            continue
        spec = (sorted(names), str(draw.choice(texts)))
        if spec not in specs:
            specs.append(spec)
    return specs


def spanning(people: pl.DataFrame, name: str) -> Any:
    """What spans a table by a variable of these names."""
    if name in BANDS:
        bounds = [*range(0, AGES, BANDS[name]), AGES if AGES % BANDS[name] == 0 else 72]
        return dc.Classification.from_intervals(name, bounds).replace(column="age")
    if name in ("tree", "groupings"):
        above = people.select("district", "state").unique().sort("district")
        parents = dict.fromkeys(sorted(set(people["state"]))) | dict(above.iter_rows())
        tree = dc.Classification.from_parents(name, parents).replace(column="district")
        region = dc.Classification.flat("region", sorted(set(people["region"])))
        return tree if name == "tree" else [tree, region]
    return name


def tabulated(people: pl.DataFrame, specs: Sequence[Spec], **options: Any) -> list[dc.Table]:
    """The tables of some records."""
    return [
        dc.tabulate(
            people,
            [spanning(people, name) for name in names],
            where=where or None,
            name=f"t{at}",
            **options,
        )
        for at, (names, where) in enumerate(specs)
    ]


def drawn_system(
    seed: int,
    *,
    size: int | None = None,
    number: int | None = None,
    value: str | None = None,
    variables: Sequence[str] = VARIABLES,
    filters: bool = True,
) -> Drawn:
    """Two to six tables of few persons; the same seed gives the same."""
    draw = np.random.default_rng([39, seed])
    people = drawn_people(draw, size or int(draw.integers(40, 140)))
    specs = drawn_specs(draw, number or int(draw.integers(2, 7)), variables, filters)
    options: dict[str, Any] = {} if value is None else {"values": [value], "contributions": 2}
    return Drawn(people, specs, tabulated(people, specs, **options), value)


def alike_system(seed: int, size: int = 30) -> Drawn:
    """State x sex, state x work and sex x work of firms whose columns mostly are alike."""
    draw = np.random.default_rng([3900, seed])
    state = draw.integers(0, 4, size)
    others = [
        np.where(draw.random(size) < 0.25, (state + draw.integers(1, 4, size)) % 4, state)
        for _ in range(2)
    ]
    letters = {"district": "d", "state": "s", "land": "L", "region": "r"}
    columns = {name: [f"{code}{at}" for at in state] for name, code in letters.items()}
    columns |= {"sex": [f"w{at}" for at in others[0]], "work": [f"k{at}" for at in others[1]]}
    pay = 50 + draw.permutation(40 * size)[:size]
    people = pl.DataFrame(columns | {"age": np.zeros(size, dtype=np.int64), "pay": pay})
    specs: list[Spec] = [(["sex", "state"], ""), (["sex", "work"], ""), (["state", "work"], "")]
    return Drawn(people, specs, tabulated(people, specs, values=["pay"], contributions=2), "pay")


def holding(drawn: Drawn, spec: Spec, dimension: Any, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """For each code of a variable, which combinations it has."""
    kinds, found = drawn.atoms, {}
    names = list(dict.fromkeys(frame[dimension.name]))
    for code in names:
        if code == TOTAL:
            found[code] = np.ones(kinds.height, dtype=bool)
        elif dimension.name in BANDS:
            width, leaves = BANDS[dimension.name], dimension.classifications[0].leaves
            band = np.minimum(kinds["age"].to_numpy() // width, len(leaves) - 1)
            found[code] = band == leaves.index(code)
        else:
            found[code] = (kinds[COLUMNS[code[0]]] == code).to_numpy()
    return found


def cells_of(
    drawn: Drawn, published: Sequence[Any] | None = None
) -> tuple[list[tuple[Any, ...]], np.ndarray, np.ndarray]:
    """Every cell of every table: its name, the combinations it has, and its value (NaN: hidden).

    A name is the number of the table and codes. Without published tables, the true values.
    """
    names: list[tuple[Any, ...]] = []
    rows: list[np.ndarray] = []
    values: list[float] = []
    for at, (spec, table) in enumerate(zip(drawn.specs, drawn.tables, strict=True)):
        by = [dimension.name for dimension in table.dimensions]
        if published is None:
            frame, column = table.to_polars(), "count" if drawn.value is None else drawn.value
        else:
            frame, column = published[at].to_polars(complete=True), "value"
        passed = np.ones(drawn.atoms.height, dtype=bool)
        if spec[1]:
            name, test = FILTERS[spec[1]]
            passed = test(drawn.atoms[name].to_numpy())
        of = [holding(drawn, spec, dimension, frame) for dimension in table.dimensions]
        for name, known in zip(by, of if published is not None else [], strict=False):
            listed = [inside for code, inside in known.items() if code != TOTAL]
            names.append((at, name, "codes that are not listed have no records"))
            rows.append(passed & ~np.any(listed, axis=0))
            values.append(0.0)
        for row in frame.select(*by, column).iter_rows():
            *codes, value = row
            inside = passed
            for known, code in zip(of, codes, strict=True):
                inside = inside & known[code]
            names.append((at, *codes))
            rows.append(inside)
            values.append(np.nan if value is None else float(value))
    return names, np.array(rows), np.array(values)
