"""SAFE at size: persons of the synthetic census, combinations of up to seven variables.

Small files have all pairs of five variables as control tables, once to the optimum, once by search;
large ones 20 pairs, 20 triples, or 50 of both, of seven.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.demo import generate

VARIABLES = ("district", "sex", "marital_status", "education", "nationality", "age", "occupation")


@dataclass(frozen=True)
class Measured:
    """What a run has to tell."""

    numbers: dict[str, Any]

    def told(self) -> dict[str, Any]:
        """The same, for the list."""
        return self.numbers


def changes(
    variables: int, widths: tuple[int, ...], tables: int, exact_up_to: int
) -> Callable[[Path, int], Callable[[], Any]]:
    """Change a file; tells how large it is, the errors and the change."""

    def prepared(folder: Path, size: int) -> Callable[[], Any]:
        del folder
        persons, names = generate(persons=size).persons, VARIABLES[:variables]
        every = [list(one) for width in widths for one in itertools.combinations(names, width)]

        def run() -> Measured:
            made = dc.pretabular.safe(
                persons, id="person_id", variables=names, controls=every[:tables],
                exact_up_to=exact_up_to, secret="an example, no secret",
            )  # fmt: skip
            told = made.measures
            cells = sum(one["cells"] for one in told["controls"])
            mean = sum(one["cells"] * one["mean_error"] for one in told["controls"]) / cells
            return Measured({
                "distinct": told["combinations"], "rare": told["below"],
                "largest": told["largest_error"], "no less": told["least_possible_error"],
                "mean": f"{mean:.2f}", "change": told["change"],
                "at least": told["least_possible_change"],
            })  # fmt: skip

        return run

    return prepared


TASKS: dict[str, Callable[[Path, int], Callable[[], Any]]] = {
    "exact": changes(5, (2,), 20, 5_000),
    "searched": changes(5, (2,), 20, 0),
    "20 pairs": changes(7, (2,), 20, 0),
    "20 triples": changes(7, (3,), 20, 0),
    "50 tables": changes(7, (2, 3), 50, 0),
}
