"""The published magnitude cases: parameters, traces, cells."""

import gzip
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet import (
    FlexStrength,
    KeyGrid,
    MagnitudeNoise,
    MagnitudePerturbationTable,
    SimpleStrength,
    Table,
)
from discreet.protection.noise.magnitude_cells import MagnitudeCells, cells_of

GRID = KeyGrid()
NEAR = {"rtol": 1e-9, "atol": 1e-9}


@dataclass(frozen=True, eq=False)
class Case:
    """One value column of one case: its parameters and its trace."""

    name: str
    column: str
    parameters: dict[str, Any]
    table: str
    trace: list[dict[str, Any]]
    cells: pl.DataFrame

    @property
    def order(self) -> pl.DataFrame:
        """The cells of the trace, in its order, with their codes and sums."""
        shown = self.cells.filter(pl.col("is_bogus") == "FALSE")
        traced = pl.DataFrame({"strID": [cell["strID_values"] for cell in self.trace]})
        return traced.join(shown, on="strID", how="left", maintain_order="left")

    @property
    def keys(self) -> list[np.ndarray]:
        """The keys it used, taken to the grid."""
        used = np.nan_to_num(self.rows("ck"))
        return [np.rint(key * 1e15).astype(np.int64) for key in used.T]

    @property
    def k(self) -> int:
        return int(self.parameters["top_k"])

    def rows(self, name: str) -> np.ndarray:
        """One entry per contribution, cells × k; NaN where there is none."""
        rows = np.full((len(self.trace), self.k), np.nan)
        for at, cell in enumerate(self.trace):
            found = cell[name] if isinstance(cell[name], list) else [cell[name]]
            rows[at, : len(found)] = found
        return rows

    def one(self, name: str) -> np.ndarray:
        return np.array([cell[name] for cell in self.trace])


def load(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)


def listed_cases(folder: Path) -> list[dict[str, Any]]:
    listed = json.loads((folder / "cases.json").read_text())
    return [case for case in listed if "var" in case]


@cache
def cases_of(folder: Path) -> tuple[Case, ...]:
    found = []
    for case in listed_cases(folder):
        if not case.get("ok"):
            continue
        name = f"{case['id']}_{case['var']}"
        traced = load(folder / f"{name}_trace.json.gz")
        named = re.search(r"[ABCD]_(all_small|all|even_odd_small|even_odd)\b", traced["call"])
        assert named is not None
        cells = pl.read_csv(folder / f"{name}_cells.csv.gz", infer_schema=False)
        found.append(Case(name, case["var"], traced["params"], named[0], traced["cells"], cells))
    return tuple(found)


@cache
def table_of(folder: Path, name: str) -> MagnitudePerturbationTable:
    return MagnitudePerturbationTable.read(folder / f"B_ptab_{name}.csv.gz")


def noise_of(folder: Path, case: Case) -> MagnitudeNoise:
    stated, multiplier = case.parameters, case.parameters["mult"]
    strength: FlexStrength | SimpleStrength
    if stated["mult_class"] == "params_m_flex":
        strength = FlexStrength(
            point=multiplier["fp"],
            small=multiplier["p_small"],
            large=multiplier["p_large"],
            exponent=multiplier["q"],
        )
    else:
        strength = SimpleStrength(share=multiplier["p"])
    epsilon = multiplier["epsilon"]
    return MagnitudeNoise(
        table=table_of(folder, case.table),
        strength=strength,
        of=stated["type"].replace("top_contr", "top"),
        top=case.k,
        epsilon=epsilon if isinstance(epsilon, list) else [epsilon],
        keys="shared",
        same_key=stated["same_key"],
        zeros_in_key=stated["use_zero_rkeys"],
        mu_c=stated["mu_c"],
        mu_c_for="all",
    )


def traced_cells(case: Case) -> MagnitudeCells:
    """The cells as the reference had them: its contributions, its keys."""
    kinds = [np.atleast_1d(cell["lookup_in"])[0] for cell in case.trace]
    return MagnitudeCells(
        value=case.one("cv_in").astype(np.float64),
        contributions=case.rows("x"),
        keys=case.keys,
        odd=np.array(kinds) == "odd",
        sensitive=case.one("prot_req"),
    )


def flex_point(noise: MagnitudeNoise) -> float:
    return noise.strength.point if isinstance(noise.strength, FlexStrength) else 0.0


def reference_epsilon(noise: MagnitudeNoise, contributions: np.ndarray) -> np.ndarray:
    """Its weights of the contributions: it forgets them below the flex point."""
    below = np.abs(contributions) < flex_point(noise)
    return np.where(below, 1.0, np.asarray(noise.epsilon))


# -- from the records -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Comparison:
    """The cells that occur: as the reference traced them, and as they are in our table.

    Args:
        case: The case.
        trace: Which cells of its trace occur.
        place: Where they are in our table.
        cells: Ours.
        float_keys: The same with the floating-point keys of the reference. Their rounding
            errors are digits like any others: later keys move them to the front.
        comparable: Which the reference made with all contributions and all weights.
    """

    case: Case
    trace: np.ndarray
    place: np.ndarray
    cells: MagnitudeCells
    float_keys: MagnitudeCells
    comparable: np.ndarray


def compare(folder: Path, table: Table, case: Case) -> Comparison:
    noise = noise_of(folder, case)
    names = [dimension.name for dimension in table.dimensions]
    places = table.to_polars().select(names).with_row_index("place")
    found = case.order.join(places, on=names, how="left", maintain_order="left")
    trace = np.flatnonzero(found["place"].is_not_null().to_numpy())
    place = found["place"].drop_nulls().to_numpy()

    made = cells_of(table.contributions[case.column], noise, GRID, np.zeros(len(table), bool))
    own = MagnitudeCells(
        value=made.value[place],
        contributions=made.contributions[place],
        keys=[key[place] for key in made.keys],
        odd=made.odd[place],
        sensitive=case.one("prot_req")[trace],
    )
    theirs = replace(own, keys=[key[trace] for key in case.keys])
    number = (~np.isnan(own.contributions)).sum(axis=1)
    used = (~np.isnan(case.rows("x")[trace])).sum(axis=1)
    below = np.abs(own.contributions[:, 1:]) < flex_point(noise)
    return Comparison(case, trace, place, own, theirs, (number == used) & ~below.any(axis=1))
