"""Synthetic households: households by trees, then their members one after the other.

In: persons with the household of each (CONFIDENTIAL), settings and a secret. Out: made-up persons
in made-up households, and what is measured of both. A reference person is drawn with the variables
of the household and its size; each further member given these, the member before, and its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import MicrodataError
from discreet.microdata import Secret
from discreet.pretabular import draws
from discreet.synthesis.columns import MISSING, NumberedColumn, columns_of, frame_of
from discreet.synthesis.measures import SynthesisMeasure, risk, utility
from discreet.synthesis.settings import SynthesisSettings
from discreet.synthesis.trees import ColumnTree, draw_columns, drawn_records

#: Names of made-up columns that no variable has; numbers of members within a household.
_SIZE, _PLACE, _MEMBERS = "size of household", "place in household", 1_000
#: Places that trees tell apart; households that are learned from, in thresholds.
_PLACES, _TIMES = 6, 5
_FIRST, _SECOND = "reference person", "second member"


def synthetic_households(
    frame: pl.DataFrame, names: Sequence[str], ids: Sequence[str], settings: SynthesisSettings,
    secret: Secret,
) -> tuple[pl.DataFrame, list[SynthesisMeasure]]:  # fmt: skip
    """Made-up persons with the number of their household, and the measures of both."""
    household = settings.household or ""
    if frame[household].null_count():
        message = f"{frame[household].null_count():,} persons have no household"
        hint = "leave them out, or give each a household of its own"
        raise MicrodataError(message, code="synthesise", where=household, hint=hint)
    order = [settings.order] if settings.order else []
    known = frame.select(pl.col(household, *ids).name.suffix("\0")).with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String)
    )
    first_id, *other_ids = known.columns
    frame = pl.concat([frame, known], how="horizontal").sort(
        first_id, *order, *other_ids, nulls_last=True
    )
    number = frame[household].rle_id().cast(pl.Int64).to_numpy()
    first = np.flatnonzero(np.diff(number, prepend=-1))
    size = np.bincount(number)
    place = np.arange(len(number)) - first[number]
    held_out = np.argsort(
        draws(frame[first].select(household), secret, "synthesise; holdout"), kind="stable"
    )
    out = round(len(first) * settings.holdout)
    others, learned = held_out[:out], held_out[out:]
    if len(learned) < (fewest := _TIMES * settings.threshold):
        message, hint = f"fewer than {fewest:,} households to learn from", "lower threshold"
        raise MicrodataError(message, code="synthesise", where=household, hint=hint)
    if size.max() >= _MEMBERS:
        message, hint = f"a household has {_MEMBERS:,} persons or more", "leave it out"
        raise MicrodataError(message, code="synthesise", where=household, hint=hint)

    # Variables that all members share, by households; those of persons.
    alike = frame.select(
        (pl.col(name).eq_missing(pl.col(name).gather(pl.Series(first[number])))).all()
        for name in names
    ).row(0)  # fmt: skip
    shared = [name for name, same in zip(names, alike, strict=True) if same]
    own = [name for name in names if name not in shared]
    if not own:
        message, hint = "no variable differs within households", "leave household out"
        raise MicrodataError(message, code="synthesise", where="variables", hint=hint)
    heads = frame[first].with_columns(pl.Series(_SIZE, size))
    common = [
        replace(one, places=one.places[number])
        for one in columns_of(heads, [*shared, _SIZE], [*settings.codes, _SIZE], settings.threshold)
    ]
    persons = columns_of(frame, own, settings.codes, settings.threshold)
    seat = replace(
        common[-1], name=_PLACE, codes=None, places=np.minimum(place, _PLACES),
        rare=np.zeros(0, np.int64), single=np.zeros(0, np.int64), ends=(0, _PLACES),
    )  # fmt: skip
    given = [
        *common, seat, *_of(persons, first[number]),
        *_of(persons, np.maximum(np.arange(len(number)) - 1, 0)),
    ]  # fmt: skip

    made = draw_columns(
        [*common, *persons], first[learned], settings.records or len(first), secret,
        leaf=settings.leaf, keep_first=settings.keep_first, rules=settings.structural_zeros,
    )  # fmt: skip
    top, head = made[: len(common)], made[len(common) :]
    sizes = common[-1].decoded(top[-1]).to_numpy()
    members, rows = [(np.arange(len(sizes)), head)], np.flatnonzero(np.isin(number, learned))
    later = rows[place[rows] > 0]
    trees = [
        ColumnTree.grown([*given, *persons[:at]], one, later, settings.leaf)
        for at, one in enumerate(persons)
    ] if len(later) else []  # fmt: skip
    last = head
    for at in range(1, int(sizes.max())):
        there = np.flatnonzero(sizes > at)
        before = np.searchsorted(members[-1][0], there)
        last = [one[before] for one in last]
        before_all = [*(one[there] for one in top), np.full(len(there), min(at, _PLACES)),
                      *(one[there] for one in head), *last]  # fmt: skip
        last = drawn_records(
            trees, persons, before_all, there * _MEMBERS + at, secret, settings.structural_zeros,
            step=len(sizes) * _MEMBERS, purpose="synthesise; member",
        )  # fmt: skip
        members.append((there, last))

    of_household = np.concatenate([one for one, _ in members])
    drawn = [one[of_household] for one in top[:-1]]
    drawn += [np.concatenate([part[k] for _, part in members]) for k in range(len(persons))]
    columns = [*common[:-1], *persons]
    # In an order that has nothing to do with households: halves are compared.
    mixed = rows[np.argsort(draws(frame[rows].select(ids), secret, "synthesise; order"))]
    measures = utility(columns, mixed, drawn, settings.models)
    measures += risk(columns, rows, np.flatnonzero(np.isin(number, others)), drawn, settings)
    measures += _of_households(
        common, persons, first, size, learned, others, top, members, settings
    )
    return _numbered(frame_of(columns, drawn).select(names), of_household, household), measures


def _of(persons: Sequence[NumberedColumn], rows: IntArray) -> list[NumberedColumn]:
    """The columns of other persons in place of one's own."""
    return [replace(one, places=one.places[rows]) for one in persons]


def _of_households(
    common: Sequence[NumberedColumn], persons: Sequence[NumberedColumn], first: IntArray,
    size: IntArray, learned: IntArray, others: IntArray, top: Sequence[IntArray],
    members: Sequence[tuple[IntArray, Sequence[IntArray]]], settings: SynthesisSettings,
) -> list[SynthesisMeasure]:  # fmt: skip
    """Utility and risk of households: size and first two members as one record each."""
    second = np.where(size > 1, np.minimum(first + 1, len(common[0].places) - 1), -1)
    columns = [replace(one, places=one.places[first]) for one in common]
    columns += [replace(one, name=f"{one.name} ({_FIRST})", places=one.places[first])
                for one in persons]  # fmt: skip
    columns += [replace(one, name=f"{one.name} ({_SECOND})",
                        places=np.where(second < 0, MISSING, one.places[second]))
                for one in persons]  # fmt: skip
    made = [*top, *members[0][1]]
    for k in range(len(persons)):
        places = np.full(len(top[0]), MISSING)
        if len(members) > 1:
            places[members[1][0]] = members[1][1][k]
        made.append(places)
    names = {one.name for one in persons}
    asked = settings.model_copy(update={
        "keys": [f"{name} ({who})" if name in names else name
                 for name in settings.keys for who in (_FIRST, _SECOND)
                 if name in names or who == _FIRST],
        "sensitive": [f"{name} ({_FIRST})" if name in names else name
                      for name in settings.sensitive],
    })  # fmt: skip
    measures = [*utility(columns, learned, made, [], most=2),
                *risk(columns, learned, others, made, asked)]  # fmt: skip
    return [replace(one, about=f"households: {one.about}".rstrip(": "))
            for one in measures if one.name != "models"]  # fmt: skip


def _numbered(frame: pl.DataFrame, at: IntArray, household: str) -> pl.DataFrame:
    """Persons by household, which are numbered in the order of their first members' values."""
    kept = frame.with_columns(pl.Series("\0at", at), pl.int_range(pl.len()).alias("\0row"))
    heads = kept.unique("\0at", keep="first", maintain_order=True)
    heads = heads.sort(*frame.columns, "\0at", nulls_last=True)
    heads = heads.select("\0at", pl.int_range(1, pl.len() + 1).alias(household))
    joined = kept.join(heads, on="\0at").sort(household, "\0row")
    return joined.select(household, *frame.columns)
