"""Cases for the runner: lines of a do-file, data, and what must come out, worked out elsewhere.

Expectations are values from Stata's published semantics, or functions of the data in polars,
numpy, scipy or statsmodels. What a case looks at is named by its keys:

- `x`: values of the variable, `type x`, `format x`, `label x`, `values x`: its properties;
- `names`, `sorted`, `rows`, `panel`, `labels l`: properties of the data;
- `r(mean)`, `e(N)`: stored results; `r(a) text` a text; `no r(a)`: not stored;
- `lacks`: parts that are not in the log;
- `column mean`: a column of the last table, `log`: the last line, `text`: parts of the log;
- `error`: the return code that stops it, `unsupported`: what stops it as not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.values import MISSING, letter_of
from tests.helpers.run_data import Run

Wanted = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """Lines, what comes out of them, and the data they run on."""

    lines: str
    wanted: Wanted | Callable[[Any], Wanted]
    data: str = "small"

    @property
    def title(self) -> str:
        """Its name among the tests."""
        return self.lines.splitlines()[-1][:60]


def cases(data: str, *pairs: tuple[str, Wanted | Callable[[Any], Wanted]]) -> list[Case]:
    """Cases on the same data."""
    return [Case(lines, wanted, data) for lines, wanted in pairs]


def _people() -> pl.DataFrame:
    draw = np.random.default_rng(5)
    size = 300
    x = np.round(draw.normal(50, 10, size), 2)
    holes = draw.random(size) < 0.05
    return pl.DataFrame(
        {
            "id": range(1, size + 1),
            "g": draw.integers(1, 4, size),
            "h": draw.integers(0, 2, size),
            "x": [None if hole else value for value, hole in zip(x.tolist(), holes, strict=True)],
            "y": np.round(draw.normal(20, 5, size), 2),
            "z": np.round(draw.normal(0, 1, size), 3),
            "w": draw.integers(1, 5, size),
            "s": draw.choice(["a", "b", "c"], size),
        }
    )


def _waves() -> pl.DataFrame:
    draw = np.random.default_rng(11)
    rows = [
        {"pid": who, "year": year, "u": round(float(draw.normal(10, 2)), 2)}
        for who in range(1, 61)
        for year in range(2010, 2014)
        if (who + year) % 7
    ]
    return pl.DataFrame(rows)


FRAMES: dict[str, Any] = {
    "none": None,
    "small": {
        "id": [2, 1, 3, 1],
        "g": [1, 2, 1, None],
        "x": [1.5, None, 7.0, 3.0],
        "s": ["b", "a", "", "Ünï"],
    },
    "two": {"k": [1, 2]},
    "numbers": {"a": [3, 1, 2, 2, 5], "b": [10.0, 0.5, None, 20.0, 0.5], "k": [1, 2, 3, 4, 5]},
    "texts": {
        "n": ["1", " 2.5", "", "3e2"],
        "m": ["1", "a", "-7", "."],
        "p": ["5%", "10%", "", "2.5%"],
        "c": ["1,234", "5", "", "2,000,000"],
        "d": ["1,5", "2.000,25", "", "7"],
        "t": ["a b c", "d", "", "e  f"],
        "v": ["1-2", "3", "", "4-x"],
    },
    "people": _people(),
    "waves": _waves(),
}


def ran(case: Case) -> Run:
    """The case after its run."""
    return Run(case.lines, FRAMES[case.data])


def check(case: Case) -> None:
    """Fail unless what comes out is what is wanted."""
    frame = FRAMES[case.data]
    wanted = case.wanted(frame) if callable(case.wanted) else case.wanted
    failures = {"error": DoError, "unsupported": UnsupportedError}
    if wanted.keys() & failures.keys():
        ((kind, told),) = wanted.items()
        with pytest.raises(failures[kind]) as caught:
            ran(case)
        assert (f"r({told})" if kind == "error" else told) in str(caught.value)
        return
    run = ran(case)
    for key, value in wanted.items():
        if key == "lacks":
            assert not [part for part in value if part in run.text], run.text
            continue
        # Results that are shown have seven digits.
        rounded = key.startswith(("r(", "e(", "column "))
        same(found(run, key), value, f"{case.lines} -> {key}", 5e-7 if rounded else 1e-12)


def found(run: Run, key: str) -> Any:
    """What a key of a case stands for."""
    stored = re.fullmatch(r"(no )?([re])\((\w+)\)( text)?", key)
    if stored:
        results = run.session.results.stored[stored[2]]
        if stored[1]:
            return stored[3] not in results
        return results[stored[3]].value
    kind, _, name = key.partition(" ")
    data = run.session.data
    if not name:
        whole = {"names": run.names, "rows": data.rows, "sorted": list(data.sorted_by)}
        whole |= {"panel": list(data.panel), "log": run.log[-1:], "text": run.text}
        return whole[key] if key in whole else run[key]
    if kind == "column":
        return run.session.log.outputs[-1].result.frame[name].to_list()
    if kind == "scalar":
        value = run.session.results.scalars[name]
        return letter_of(value) if not isinstance(value, str) and value >= MISSING else value
    if kind == "close":
        # A mean of draws, to four standard errors: chance of a false alarm 1 in 15,000.
        results = {one: result.value for one, result in run.session.results.stored["r"].items()}
        return Near(results["mean"], 4 * results["sd"] / results["N"] ** 0.5)
    if kind == "labels":
        return data.value_labels.get(name)
    one = data.variables[name]
    return {"type": one.kind, "format": one.format, "label": one.label, "values": one.value_label}[
        kind
    ]


def same(value: Any, wanted: Any, where: str, near: float) -> None:
    """Equal, numbers nearly so; of a tuple each part is in a longer text."""
    if isinstance(wanted, str) and isinstance(value, list):
        value = value[0]
    if isinstance(wanted, Near):
        assert wanted == value, (where, value, wanted)
    elif isinstance(wanted, list | np.ndarray | pl.Series):
        wanted = list(wanted)
        assert len(value) == len(wanted), (where, value, wanted)
        for one, other in zip(value, wanted, strict=True):
            same(one, other, where, near)
    elif isinstance(wanted, bool):
        assert bool(value) is wanted, (where, value)
    elif isinstance(wanted, float | int | np.number) and not isinstance(value, str | Near):
        assert value is not None, where
        assert abs(value - wanted) <= near * max(1.0, abs(wanted)), (where, value, wanted)
    elif isinstance(wanted, tuple):
        for part in wanted:
            assert part in value, (where, part, value)
    else:
        assert value == wanted, (where, value, wanted)


@dataclass(frozen=True)
class Near:
    """A number known up to an error."""

    value: float
    error: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float | int) and abs(self.value - other) <= self.error

    def __hash__(self) -> int:
        return 0


def gaps(values: Any) -> list[Any]:
    """A column with `.` for nulls and for numbers that are none."""
    return ["." if one is None or one != one else one for one in values]


def single(values: Any) -> list[Any]:
    """The same as a variable of type float keeps them."""
    return ["." if one == "." else float(np.float32(one)) for one in gaps(values)]
