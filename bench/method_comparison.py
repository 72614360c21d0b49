"""Compare methods of protection on three tables of the synthetic census: what they hide and cost.

In: nothing; the census is invented. Out: a table of measures in Markdown, CSV, and a picture; the
same each time. Each method protects the same three tables, which share their margins. Then
an attacker, who knows the method and its parameters but no key, bounds the true counts: from each
printed figure, and from all sums of all three tables.

    python bench/method_comparison.py [FOLDER] [--persons 50000]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment.pictures import Picture
from discreet.assessment.pictures.picture import INK, SERIES, SHARE_CLASSES, picture_of
from discreet.demo import Census, example_perturbation_table, generate
from discreet.microdata import Secret

SECRET = "an example, no secret"
TOTAL = "Total"
#: Where age groups begin.
AGES = [0, 18, 30, 45, 60, 75]
#: No count is larger.
_MOST = 10**9
_SMALL = 2
_ROUNDS = 100
#: Transition matrix of the invariant method: a count is drawn among four that lie together.
MATRIX = [[0.6, 0.2, 0.1, 0.1], [0.2, 0.6, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]]

Frame = pl.DataFrame
Bounds = Callable[[Any, Any], tuple[Any, Any]]


# -- three tables ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The census and the classifications of each table; those of one name are one variable.

    Args:
        persons: Its records, with their keys.
        spans: Per table the classifications that span it.
    """

    persons: Frame
    spans: Sequence[Sequence[dc.Classification]]

    @classmethod
    def of(cls, census: Census) -> Tables:
        """Region by sex and age; districts by nationality; districts by education and sex."""
        known = census.classifications
        ages = dc.Classification.from_intervals("age", AGES)
        people = dc.with_record_keys(census.persons, id="person_id", secret=SECRET)
        sex, region = known["sex"], known["region"]
        districts = [code for code in region.codes if len(code) == 5 and code.isdigit()]
        district = dc.Classification.flat("district", districts)
        return cls(
            persons=people,
            spans=[
                [region, sex, ages],
                [district, known["nationality"]],
                [district, known["education"], sex],
            ],
        )

    def counted(self, persons: Frame | None = None) -> list[dc.Table]:
        """The true tables, or those of other persons."""
        people = self.persons if persons is None else persons
        return [dc.tabulate(people, span, record_key="record_key") for span in self.spans]

    def cells(self) -> Frame:
        """Every cell of every table, zeros too, with its place in a variable list of all."""
        frames = []
        for at, (span, table) in enumerate(zip(self.spans, self.counted(), strict=True)):
            codes = [pl.DataFrame({each.name: each.codes}) for each in span]
            grid = reduce(lambda one, other: one.join(other, how="cross"), codes)
            found = table.to_polars().select(*grid.columns, pl.col("count").cast(pl.Int64))
            whole = grid.join(found, on=grid.columns, how="left", maintain_order="left")
            leaves = [
                pl.col(each.name).is_in([code for code in each.codes if not each.children(code)])
                for each in span
            ]
            told = [pl.lit(at).alias("table"), pl.all_horizontal(leaves).alias("inner")]
            frames.append(whole.with_columns(pl.col("count").fill_null(0), *told))
        cells = pl.concat(frames, how="diagonal")
        names = [name for name in cells.columns if name not in ("count", "table", "inner")]
        cells = cells.with_columns(pl.col(name).fill_null(TOTAL) for name in names)
        # A district is a region: cells of two tables are one where they mean the same persons.
        place = pl.when(pl.col("district") == TOTAL).then("region").otherwise("district")
        same = [
            place.alias("region"),
            *(pl.col(n) for n in names if n not in ("region", "district")),
        ]
        return cells.with_columns(pl.struct(same).rank("dense").cast(pl.Int64).alias("cell") - 1)


@dataclass(frozen=True, kw_only=True)
class Relations:
    """Which cells add up to which: row numbers of totals, and of their parts one after another."""

    totals: Any
    parts: Any
    starts: Any

    @classmethod
    def of(cls, tables: Tables, cells: Frame) -> Relations:
        """All relations of all tables, by row of `cells`."""
        totals, parts, starts = [], [], []
        for at, span in enumerate(tables.spans):
            names = [each.name for each in span]
            rows = cells.with_row_index("row").filter(pl.col("table") == at)
            place = dict(zip(rows.select(names).rows(), rows["row"], strict=True))
            for which, tree in enumerate(span):
                for total in tree.codes:
                    children = tree.children(total)
                    if not children:
                        continue
                    for key, row in place.items():
                        if key[which] == total:
                            totals.append(row)
                            starts.append(len(parts))
                            parts += [
                                place[(*key[:which], child, *key[which + 1 :])]
                                for child in children
                            ]
        return cls(totals=np.array(totals), parts=np.array(parts), starts=np.array(starts))

    def sums(self, values: Any) -> Any:
        """The sum of the parts of each total."""
        return np.add.reduceat(values[self.parts], self.starts)

    def tightened(self, low: Any, high: Any, cell: Any) -> tuple[Any, Any]:
        """Bounds of the counts, given by rows, when all sums of all tables are used."""
        lows, highs = np.zeros(cell.max() + 1, np.int64), np.full(cell.max() + 1, _MOST)
        np.maximum.at(lows, cell, low)
        np.minimum.at(highs, cell, high)
        totals, parts = cell[self.totals], cell[self.parts]
        owner = np.repeat(np.arange(len(totals)), np.diff([*self.starts, len(parts)]))
        for _ in range(_ROUNDS):
            before = int((highs - lows).sum())
            least = np.add.reduceat(lows[parts], self.starts)
            most = np.add.reduceat(highs[parts], self.starts)
            np.maximum.at(lows, totals, least)
            np.minimum.at(highs, totals, most)
            rest_most = most[owner] - highs[parts]
            rest_least = least[owner] - lows[parts]
            upper, lower = highs[totals][owner] - rest_least, lows[totals][owner] - rest_most
            np.minimum.at(highs, parts, upper)
            np.maximum.at(lows, parts, lower)
            if int((highs - lows).sum()) == before:
                break
        return lows[cell], highs[cell]


# -- methods ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method as it is compared.

    Args:
        name: What it is called.
        german: And in German.
        publish: The printed figures of each table.
        bounds: Between which counts a reader knows the true one to lie, by printed figures
            (hidden ones are NaN) and whether they are inner cells. None where the method gives
            no bounds.
    """

    name: str
    german: str
    publish: Callable[[Tables], Sequence[Frame]]
    bounds: Bounds | None


def _printed(safe: Sequence[dc.ProtectedTable]) -> list[Frame]:
    return [each.to_polars() for each in safe]


def _true(tables: Tables, persons: Frame | None = None) -> list[Frame]:
    return [each.to_polars().rename({"count": "value"}) for each in tables.counted(persons)]


def _recoded(tables: Tables) -> list[Frame]:
    """Nothing by municipality."""
    fine = pl.col("region").str.len_chars() == 8
    first, *others = _true(tables)
    return [first.with_columns(pl.when(~fine).then("value").alias("value")), *others]


def _suppressed(tables: Tables) -> list[Frame]:
    counted = tables.counted()
    rule = [dc.rules.MinimumFrequency(3)]
    pairs = [(each, dc.primary(each, rule)) for each in counted]
    return _printed(dc.suppress(pairs, method="fast", zero_cells="partners"))


def _cell_key(tables: Tables) -> list[Frame]:
    ptable = example_perturbation_table()
    return _printed([dc.perturb(each, ptable) for each in tables.counted()])


def _exchanged(tables: Tables) -> list[Frame]:
    """Nationality, education and sex of some persons, and ages of neighbours in age."""
    from discreet_fire.extras.remote_analysis import protect

    changed = ["nationality", "education", "sex"]
    kept = [n for n in tables.persons.columns if n not in (*changed, "person_id", "age")]
    copy = protect(
        tables.persons,
        id="person_id",
        secret=Secret.of(SECRET),
        numeric=["age"],
        categorical=changed,
        keep=kept,
    )
    return _true(tables, copy)


def _parts(*levels: Sequence[str]) -> list[list[str]]:
    """All parts of a table that is spanned by these levels, one or none of each variable."""
    every = itertools.product(*([*names, ""] for names in levels))
    return [[name for name in names if name] for names in every]


class _Safe:
    """Every combination of all variables 0 or 3 times; every part of the tables is a control."""

    error = 0

    def publish(self, tables: Tables) -> list[Frame]:
        begins = np.array(AGES)
        group = begins[np.searchsorted(begins, tables.persons["age"], side="right") - 1]
        above = []
        for tree in (tables.spans[1][1], tables.spans[2][1]):
            codes = {code: tree.codes[at] for code, at in zip(tree.codes, tree.parents, strict=True)
                     if at > 0}  # fmt: skip
            above.append(pl.col(tree.name).cast(pl.String).replace(codes).alias(f"{tree.name} of"))
        nations, schools = ["nationality", "nationality of"], ["education", "education of"]
        places = ["state", "district", "municipality"]
        parts = [
            *_parts(places, ["sex"], ["age"]),
            *_parts(["district"], nations),
            *_parts(["district"], schools, ["sex"]),
        ]
        made = dc.pretabular.safe(
            tables.persons.with_columns(pl.Series("age", group), *above),
            id="person_id",
            variables=[*places, "sex", "age", *nations, *schools],
            controls=[list(one) for one in dict.fromkeys(map(tuple, parts))],
            exact_up_to=0,
            secret=SECRET,
        )
        self.error = made.measures["largest_error"]
        return _true(tables, made.records)

    def bounds(self, values: Any, _: Any) -> tuple[Any, Any]:
        """The largest error, if it is told."""
        low = np.maximum(values - self.error, 0)
        return low.astype(np.int64), (values + self.error).astype(np.int64)


def _invariant(tables: Tables) -> list[Frame]:
    counted = tables.counted()
    safe = [dc.perturb_invariant(each, MATRIX, programme=counted) for each in counted]
    return _printed(safe)


def _rounded(tables: Tables, method: str, base: int = 5) -> list[Frame]:
    seeds = [{"seed": at} if method == "random" else {} for at in range(len(tables.spans))]
    return _printed(
        [
            dc.round_counts(each, base=base, method=method, **seed)
            for each, seed in zip(tables.counted(), seeds, strict=True)
        ]
    )


def _nearest(base: int) -> Bounds:
    """Rounded to the nearest multiple."""

    def bounds(values: Any, _: Any) -> tuple[Any, Any]:
        low = np.maximum(values - base // 2, 0)
        return low.astype(np.int64), (values + (base + 1) // 2 - 1).astype(np.int64)

    return bounds


def _apart(base: int) -> Bounds:
    """Rounded up or down: less than the base away."""

    def bounds(values: Any, _: Any) -> tuple[Any, Any]:
        low = np.maximum(values - base + 1, 0)
        return low.astype(np.int64), (values + base - 1).astype(np.int64)

    return bounds


def _exactly(values: Any, _: Any) -> tuple[Any, Any]:
    hidden = np.isnan(values)
    low = np.where(hidden, 0, values)
    return low.astype(np.int64), np.where(hidden, _MOST, values).astype(np.int64)


def _small_only(values: Any, inner: Any) -> tuple[Any, Any]:
    """Inner cells below 3 are 0 or 3, others are true; totals add them up."""
    low = np.where(values == 3, 1, values)
    high = np.where(values == 0, 2, values)
    return np.where(inner, low, 0).astype(np.int64), np.where(inner, high, _MOST).astype(np.int64)


def _within(most: int) -> Bounds:
    """The count lies at most so far from the printed one; zeros stay zero, hence 1 or more."""

    def bounds(values: Any, _: Any) -> tuple[Any, Any]:
        low = np.where(values > 0, np.maximum(values - most, 1), 0)
        return low.astype(np.int64), (values + most).astype(np.int64)

    return bounds


def methods() -> Iterator[Method]:
    """All methods, in the order of the picture."""
    yield Method(name="as they are", german="ungeschützt", publish=_true, bounds=_exactly)
    yield Method(
        name="recoding: districts only",
        german="Vergröberung",
        publish=_recoded,
        bounds=_exactly,
    )
    yield Method(
        name="cell suppression, minimum 3",
        german="Zellsperrung",
        publish=_suppressed,
        bounds=_exactly,
    )
    yield Method(
        name="exchange of values, 15 %", german="Datentausch", publish=_exchanged, bounds=None
    )
    safe = _Safe()
    yield Method(
        name="SAFE, 0 or at least 3", german="SAFE", publish=safe.publish, bounds=safe.bounds
    )
    for method, german, bounds in (
        ("conventional", "deterministische Rundung", _nearest(5)),
        ("random", "zufällige Rundung", _apart(5)),
        ("keyed", "zufällige Rundung mit Cell-Key", _apart(5)),
        ("controlled", "kontrollierte Rundung", _apart(5)),
    ):
        yield Method(
            name=f"{method} rounding to 5",
            german=german,
            publish=partial(_rounded, method=method),
            bounds=bounds,
        )
    yield Method(
        name="small-count rounding to 3",
        german="Rundung kleiner Fallzahlen",
        publish=partial(_rounded, method="small-counts", base=3),
        bounds=_small_only,
    )
    yield Method(
        name="cell key, at most 4", german="Cell-Key", publish=_cell_key, bounds=_within(4)
    )
    yield Method(
        name="invariant, four values",
        german="invariante Überlagerung",
        publish=_invariant,
        bounds=_within(len(MATRIX) - 1),
    )


# -- measures --------------------------------------------------------------------------------

#: Measure → what the picture calls it, and what is good.
MEASURES = {
    "shown": "small counts printed as they are, %",
    "narrow": "small counts known to three values, %",
    "believed": "printed small counts that are true, %",
    "deviation": "mean deviation, persons",
    "hidden": "cells without a figure, %",
    "additive": "sums that are those of their parts, %",
    "alike": "shared cells alike in all tables, %",
}

#: Classes of true counts.
CLASSES = {"1–2": (1, 2), "3–9": (3, 9), "10–99": (10, 99), "100–": (100, _MOST)}


def measured(method: Method, tables: Tables, cells: Frame, relations: Relations) -> dict[str, Any]:
    """What a method hides, and what it costs."""
    begun = time.process_time()
    printed = method.publish(tables)
    seconds = time.process_time() - begun
    values = _values(printed, tables, cells)
    true, given = cells["count"].to_numpy(), ~np.isnan(values)
    small = (true > 0) & (true <= _SMALL)
    looked, seen = (true > 0) & given, (values > 0) & (values <= _SMALL)
    error = np.abs(values - true)[looked]
    sums = relations.sums(values)
    whole = ~np.isnan(sums + values[relations.totals])
    found: dict[str, Any] = {
        "method": method.name,
        "german": method.german,
        "shown": _share(values[small] == true[small]),
        "certain": None,
        "narrow": None,
        "believed": _share(true[seen] == values[seen]),
        "deviation": float(error.mean()),
        "largest": int(error.max()),
        **{
            f"deviation {name}": float(part.mean()) if len(part) else None
            for name, (low, high) in CLASSES.items()
            for part in [np.abs(values - true)[looked & (true >= low) & (true <= high)]]
        },
        "hidden": _share(~given[true > 0]),
        "additive": _share((sums == values[relations.totals])[whole]),
        "alike": _alike(cells, values),
        "seconds": seconds,
    }
    if method.bounds is not None:
        low, high = method.bounds(values, cells["inner"].to_numpy())
        low, high = relations.tightened(low, high, cells["cell"].to_numpy())
        if ((true < low) | (true > high)).any():
            raise AssertionError(f"{method.name}: the bounds are wrong")
        found["certain"] = _share((low == high)[small])
        found["narrow"] = _share((high - low <= _SMALL)[small])
    return found


def _values(printed: Sequence[Frame], tables: Tables, cells: Frame) -> Any:
    """The printed figures in the order of the cells; NaN for what is not printed."""
    columns = []
    for at, (frame, span) in enumerate(zip(printed, tables.spans, strict=True)):
        names = [each.name for each in span]
        here = cells.filter(pl.col("table") == at).select(names)
        found = frame.select(
            *names, pl.col("value").cast(pl.Float64), pl.lit(value=True).alias("there")
        )
        joined = here.join(found, on=names, how="left", maintain_order="left")
        # A cell that a table does not list is a zero.
        columns.append(
            joined.select(pl.when(pl.col("there")).then("value").otherwise(0.0).alias("value"))[
                "value"
            ]
        )
    return pl.concat(columns).to_numpy()


def _share(which: Any) -> float | None:
    return 100 * float(which.mean()) if len(which) else None


def _alike(cells: Frame, values: Any) -> float | None:
    """Cells with records that several tables print, alike in all of them."""
    shown = cells.select("cell", "count", pl.Series("value", values).fill_nan(None))
    several = (
        shown.filter((pl.col("count") > 0) & pl.col("value").is_not_null())
        .group_by("cell")
        .agg(pl.len().alias("n"), pl.col("value").n_unique().alias("different"))
        .filter(pl.col("n") > 1)
    )
    return _share((several["different"] == 1).to_numpy())


# -- what comes out --------------------------------------------------------------------------


#: Columns of the table of the documentation.
COLUMNS = {
    "shown": "printed",
    "certain": "certain",
    "narrow": "narrow",
    "believed": "true",
    "deviation": "mean",
    "largest": "max",
    "hidden": "none",
    "additive": "add up",
    "alike": "alike",
    "seconds": "CPU s",
}


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table of the documentation."""
    lines = [f"| method | German | {' | '.join(COLUMNS.values())} |"]
    lines += ["|---|---|" + "---:|" * len(COLUMNS)]
    for row in rows:
        figures = [
            _written(row[key], 1 if key in ("deviation", "seconds") else 0) for key in COLUMNS
        ]
        lines.append(f"| {row['method']} | {row['german']} | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def _written(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:,.{decimals}f}"


def picture(rows: Sequence[Mapping[str, Any]], persons: int) -> Picture:
    """Bars for each method beside each other, one column for each measure."""
    order = [row["method"] for row in rows]
    columns = []
    for at, (key, title) in enumerate(MEASURES.items()):
        data = [
            {"method": row["method"], "value": row[key] if row[key] is not None else 0,
             "text": _written(row[key], 1 if key == "deviation" else 0)}
            for row in rows
        ]  # fmt: skip
        bad = key not in ("additive", "alike")
        most = max([each["value"] for each in data if key == "deviation"] or [100])
        y = {"field": "method", "type": "nominal", "sort": order, "title": None}
        x = {"field": "value", "type": "quantitative", "title": None, "axis": None,
             "scale": {"domain": [0, most * 1.3]}}  # fmt: skip
        columns.append(
            {
                "title": {
                    "text": _wrapped(title),
                    "fontSize": 11,
                    "anchor": "start",
                    "frame": "group",
                    "lineHeight": 13,
                },
                "width": 105,
                "height": {"step": 22},
                "data": {"values": data},
                "encoding": {"y": y if at == 0 else {**y, "axis": None}, "x": x},
                "layer": [
                    {"mark": {"type": "bar", "color": SERIES[1 if bad else 0][0]}},
                    {
                        "mark": {"type": "text", "align": "left", "dx": 3, "color": INK},
                        "encoding": {"text": {"field": "text", "type": "nominal"}},
                    },
                ],
            }
        )
    notes = [
        f"Three tables of {persons:,} invented persons, the same for each method.",
        "Small counts: 1 and 2. Orange: less is better; blue: more is better. –: not defined.",
    ]
    body = {"hconcat": columns, "spacing": 10}
    title = "What methods hide, and what they cost"
    return picture_of("methods", title, body, notes, "en", warning="")


def deviations(rows: Sequence[Mapping[str, Any]], persons: int) -> Picture:
    """Mean deviation of each method by the size of the true count."""
    data = [
        {"method": row["method"], "class": name, "value": row[f"deviation {name}"],
         "text": _written(row[f"deviation {name}"], 1)}
        for row in rows
        for name in CLASSES
    ]  # fmt: skip
    sizes = {"field": "class", "type": "ordinal", "sort": list(CLASSES), "title": "true count",
             "axis": {"labelAngle": 0, "orient": "top"}}  # fmt: skip
    order = [row["method"] for row in rows]
    colours = {"field": "value", "type": "quantitative", "legend": None,
               "scale": {"type": "sqrt", "domain": [0, 8], "clamp": True,
                         "range": [SHARE_CLASSES[0][1], SHARE_CLASSES[4][1]]}}  # fmt: skip
    body = {
        "width": {"step": 90},
        "height": {"step": 24},
        "data": {"values": data},
        "encoding": {
            "x": sizes,
            "y": {"field": "method", "type": "nominal", "sort": order, "title": None},
        },
        "layer": [
            {"mark": "rect", "encoding": {"color": colours}},
            {
                "mark": {"type": "text", "color": INK},
                "encoding": {"text": {"field": "text", "type": "nominal"}},
            },
        ],
    }
    title = "How far figures lie off, by the size of the count"
    notes = [f"Mean deviation in persons; three tables of {persons:,} invented persons."]
    return picture_of("deviations", title, body, notes, "en", warning="")


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > 20:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def main() -> None:
    """Compare, and write all results into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("method-comparison"))
    parser.add_argument("--persons", type=int, default=50_000)
    given = parser.parse_args()
    tables = Tables.of(generate(persons=given.persons))
    cells = tables.cells()
    relations = Relations.of(tables, cells)
    rows = [measured(each, tables, cells, relations) for each in methods()]
    given.folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_csv(given.folder / "methods.csv")
    picture(rows, given.persons).save(given.folder / "methods-measures.png")
    deviations(rows, given.persons).save(given.folder / "methods-deviations.png")
    print(markdown(rows))


if __name__ == "__main__":
    main()
