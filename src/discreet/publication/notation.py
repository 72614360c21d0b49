"""How a published cell is printed: numbers, signs, and the legend that explains them.

In: published values with their status. Out: texts. Public. The signs are those
of the German census: – zero or changed to zero, . unknown or secret,
( ) limited value; * marks official figures, x cells that cannot have one, / estimates that
are not precise enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from itertools import product
from weakref import WeakKeyDictionary

import numpy as np

from discreet.arrays import FloatArray, IntArray, PositionArray, SmallIntArray, TextArray
from discreet.errors import PublicationError
from discreet.publication.cells import ValueArray
from discreet.publication.vocabulary import words
from discreet.tables import CellStatus, ProtectedTable

ZERO = "–"
SUPPRESSED = "."
OFFICIAL = "*"
LIMITED = "( )"
INAPPLICABLE = "x"
IMPRECISE = "/"
INTERVAL = "a–b"
OPEN = "≥ a"

#: What stands in the place of a number.
WITHOUT: Mapping[CellStatus, str] = {
    CellStatus.suppressed: SUPPRESSED,
    CellStatus.not_applicable: INAPPLICABLE,
    CellStatus.imprecise: IMPRECISE,
}

#: The method of protection that changes no figure, and that of estimates from a sample.
HIDING, ESTIMATE = "cell-suppression", "sample-estimate"

_MOST_DECIMALS = 15
#: Below, a number and its decimals have so few digits that floats hold them exactly.
_FEW_DIGITS = 1e15

#: Every file of a table has the same legend; it is forgotten with the table.
_KNOWN: MutableMapping[ProtectedTable, frozenset[CellStatus]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of the legend and what it means."""

    symbol: str
    meaning: str


def legend(table: ProtectedTable | None = None, language: str = "en") -> tuple[Sign, ...]:
    """The signs that stand in a table; without a table, all that any table has.

    >>> [sign.symbol for sign in legend()]
    ['–', '.', '( )', 'x', '*', '/', '0']
    """
    states = set(CellStatus) if table is None else _states(table)
    rounding = [0] if table is None else _rounding_to_zero(table)
    between = table is not None and table.withheld is not None and table.withheld.instead
    text = words(language)
    return (
        *(sign for status, sign in signs_of(table, language).items() if status in states),
        *([interval_sign(table, language)] if between else []),
        *(Sign(number_text(0.0, places, language), text.rounded) for places in rounding),
    )


def interval_sign(table: ProtectedTable | None, language: str) -> Sign:
    """Sign of an interval in the place of a cell."""
    if table is not None and any(figure.kind == "quantile" for figure in table.figures):
        return Sign(OPEN, words(language).open_class)
    return Sign(INTERVAL, words(language).interval)


def signs_of(table: ProtectedTable | None, language: str) -> dict[CellStatus, Sign]:
    """The sign of each state of cells, and what it means in a table."""
    text = words(language)
    zero, limited = text.zero, text.limited
    if table is not None and table.provenance.method == HIDING:  # figures that are shown are true
        zero = text.rounded_zero if table.figures else text.true_zero
    if table is not None and table.provenance.method == ESTIMATE:  # limited by their precision
        limited = text.uncertain
    return {
        CellStatus.zero_or_changed_to_zero: Sign(ZERO, zero),
        CellStatus.suppressed: Sign(SUPPRESSED, text.unknown),
        CellStatus.bracketed: Sign(LIMITED, limited),
        CellStatus.not_applicable: Sign(INAPPLICABLE, text.inapplicable),
        CellStatus.official: Sign(OFFICIAL, text.official),
        CellStatus.imprecise: Sign(IMPRECISE, text.imprecise),
    }


def _states(table: ProtectedTable) -> frozenset[CellStatus]:
    """The states that cells of the whole grid have."""
    if table not in _KNOWN:
        states = {CellStatus(status) for status in np.unique(table.status).tolist()}
        if table.parts is not None:
            states.add(CellStatus.suppressed)  # cells on parts it lacks are shown as unknown
        if table.stored < table.grid_size:  # what the cells are that are not stored
            states.update(_absent_states(table))
        _KNOWN[table] = frozenset(states)
    return _KNOWN[table]


def _absent_states(table: ProtectedTable) -> Iterator[CellStatus]:
    """The states of cells that are not stored, of parts that the table has."""
    sizes = [np.unique(each.level_numbers, return_counts=True) for each in table.spanning]
    levels = [list(zip(*map(np.ndarray.tolist, each), strict=True)) for each in sizes]
    stored: list[int] = [table.stored]
    own: list[tuple[int, ...]] = [()]
    if table.several_figures:
        stored = np.bincount(table.index[-1], minlength=len(table.figures)).tolist()
        own = [(number,) for number in table.dimensions[-1].level_numbers.tolist()]
    for figure, cells, last in zip(table.figures or (None,), stored, own, strict=True):
        shown = 0
        for part in product(*levels):
            numbers = (*(number for number, _ in part), *last)
            if numbers in table.suppressed_parts:
                yield CellStatus.suppressed
            elif table.parts is None or numbers in table.parts:
                shown += math.prod(size for _, size in part)
        if cells < shown:
            empty = figure is None or figure.summed
            yield CellStatus.zero_or_changed_to_zero if empty else CellStatus.not_applicable


def _rounding_to_zero(table: ProtectedTable) -> list[int]:
    """The numbers of decimals with which a value that is not zero is printed as zero."""
    if table.value.dtype.kind == "i":
        return []
    places = np.broadcast_to(decimals_of(table, table.index), table.stored)
    rounding = []
    for decimals in np.unique(places).tolist():
        value = table.value[places == decimals]
        small = value[(value != 0) & (np.abs(value) < 10.0**-decimals)]
        if any(not rounded(float(item), decimals) for item in small):
            rounding.append(decimals)
    return rounding


def decimals_of(table: ProtectedTable, index: Sequence[PositionArray]) -> int | IntArray:
    """Digits after the decimal point of all cells, or of each if there are several figures."""
    if not table.several_figures:
        return table.figure_decimals()
    return np.array([figure.decimals for figure in table.figures])[index[-1]]


def rounded(value: int | float, decimals: int) -> Decimal:
    """The value with so many decimals; halves go away from zero."""
    exact = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    if isinstance(value, int) and decimals == 0:
        return exact
    result = exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    return result if result else abs(result)


def number_text(value: int | float, decimals: int = 0, language: str | None = None) -> str:
    """A number as printed in a language; plain, for programs, if the language is None.

    >>> number_text(1234.5, 1, "en"), number_text(1234.5, 1, "de"), number_text(1234.5, 1)
    ('1,234.5', '1\u202f234,5', '1234.5')
    """
    number: int | float | Decimal = value
    form = "d"
    if not isinstance(value, int):
        form = f".{decimals}f"
        near = round(value, decimals)  # quicker for values that have no more decimals
        exact = near == value and value and abs(value) < _FEW_DIGITS / 10.0**decimals
        number = near if exact else rounded(value, decimals)
    if language is None:
        return format(number, form)
    text = words(language)
    swapped = format(number, "," + form).translate({44: text.group, 46: text.decimal})
    return swapped.replace("-", "\u2212")


def exact_text(value: int | float) -> str:
    """A number with all its digits and without exponent.

    >>> exact_text(3.0), exact_text(1e-07), exact_text(3)
    ('3.0', '0.0000001', '3')
    """
    return str(value) if isinstance(value, int) else format(Decimal(repr(value)), "f")


def figure_texts(
    value: ValueArray,
    status: SmallIntArray,
    text: Callable[[int | float, int, int], str],
    decimals: int | IntArray = 0,
) -> TextArray:
    """A text for each cell; few pairs of value and status make up most tables: each is put once."""
    texts = np.empty(len(value), dtype=object)
    if not isinstance(decimals, int):
        for places in np.unique(decimals).tolist():
            part = decimals == places
            texts[part] = figure_texts(value[part], status[part], text, places)
        return texts
    order = np.lexsort((status, value))
    values, states = value[order], status[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (values[1:] != values[:-1]) | (states[1:] != states[:-1])
    pairs = zip(values[new].tolist(), states[new].tolist(), strict=True)
    distinct = np.empty(int(new.sum()), dtype=object)
    distinct[:] = [text(number, state, decimals) for number, state in pairs]
    texts[order] = distinct[np.cumsum(new) - 1]
    return texts


def symbol(value: int | float, status: int, decimals: int, language: str | None = None) -> str:
    """A cell as printed.

    >>> symbol(1234, CellStatus.bracketed, 0, "en"), symbol(0, CellStatus.suppressed, 0)
    ('(1,234)', '.')
    """
    if status in WITHOUT or value == 0:
        return WITHOUT.get(CellStatus(status), ZERO)
    text = number_text(value, decimals, language)
    if status == CellStatus.bracketed:
        return f"({text})"
    return text + OFFICIAL if status == CellStatus.official else text


def interval_text(low: float, high: float, decimals: int, language: str | None = None) -> str:
    """Between which values a hidden cell lies, as printed in its place.

    >>> interval_text(1200, 3400, 0, "en"), interval_text(2.5, np.inf, 1), interval_text(-3, 4, 0)
    ('1,200–3,400', '≥ 2.5', '-3 … 4')
    """
    texts = [
        number_text(round(float(bound), decimals) if decimals else int(bound), decimals, language)
        if np.isfinite(bound)
        else ""
        for bound in (low, high)
    ]
    if not all(texts):
        signs = zip(("≥", "≤"), texts, strict=True)
        return next((f"{sign} {text}" for sign, text in signs if text), SUPPRESSED)
    if texts[0] == texts[1]:
        return texts[0]
    return " … ".join(texts) if low < 0 else ZERO.join(texts)


def interval_texts(
    bounds: tuple[FloatArray, FloatArray], decimals: int | IntArray, language: str | None = None
) -> tuple[IntArray, list[str]]:
    """The places of cells with an interval, and what is printed there."""
    at = np.flatnonzero(~np.isnan(bounds[0]) & ~np.isnan(bounds[1]))
    places = np.broadcast_to(decimals, len(bounds[0]))[at].tolist()
    rows = zip(bounds[0][at].tolist(), bounds[1][at].tolist(), places, strict=True)
    return at, [interval_text(low, high, digits, language) for low, high, digits in rows]


def symbols(
    value: ValueArray, status: SmallIntArray, decimals: int | IntArray, language: str | None = None
) -> TextArray:
    """Each cell as printed.

    >>> symbols(np.array([0, 0, 1234, 12]), np.array([1, 2, 3, 4], np.int8), 0).tolist()
    ['–', '.', '(1234)', '12*']
    """
    return figure_texts(value, status, partial(symbol, language=language), decimals)


def check_values(table: ProtectedTable) -> None:
    """Raise an error if a table holds values that cannot be printed."""
    if not 0 <= table.decimals <= _MOST_DECIMALS:
        message = f"a table is printed with 0 to {_MOST_DECIMALS} decimals"
        raise PublicationError(message, code="decimals", where=table.name)
    bad = int((~np.isfinite(table.value)).sum())
    if bad:
        message = f"{bad:,} cells have a value that is not a finite number"
        hint = "suppress them, or repair the weights"
        raise PublicationError(message, code="values", where=table.name, hint=hint)
