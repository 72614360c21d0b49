"""How a published cell is printed: numbers, signs, and the legend that explains them.

In: published values with their status. Out: texts. Public. The signs are those
of the German census: – zero or changed to zero, . unknown or secret,
( ) limited value; * marks official figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import numpy.typing as npt

from discreet.errors import PublicationError
from discreet.publication.cells import StatusArray, ValueArray, distinct_figures
from discreet.publication.words import words
from discreet.tables import CellStatus, ProtectedTable

__all__ = [
    "OFFICIAL",
    "SUPPRESSED",
    "ZERO",
    "Sign",
    "check_values",
    "exact_text",
    "figure_texts",
    "legend",
    "number_text",
    "symbol",
    "symbols",
]

ZERO = "–"
SUPPRESSED = "."
OFFICIAL = "*"
LIMITED = "( )"

TextArray = npt.NDArray[np.object_]

_MOST_DECIMALS = 15


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of the legend and what it means."""

    symbol: str
    meaning: str


def legend(table: ProtectedTable | None = None, language: str = "en") -> tuple[Sign, ...]:
    """The signs that may stand in a table; without a table, all that any table has.

    >>> [sign.symbol for sign in legend()]
    ['–', '.', '( )', '*', '0']
    """
    text = words(language)
    signs = [
        Sign(ZERO, text.zero),
        Sign(SUPPRESSED, text.unknown),
        Sign(LIMITED, text.limited),
    ]
    if table is None or bool((table.status == CellStatus.official).any()):
        signs.append(Sign(OFFICIAL, text.official))
    if table is None or _rounds_to_zero(table):
        decimals = table.decimals if table else 0
        signs.append(Sign(number_text(0.0, decimals, language), text.rounded))
    return tuple(signs)


def _rounds_to_zero(table: ProtectedTable) -> bool:
    if table.value.dtype.kind == "i":
        return False
    small = (table.value != 0) & (np.abs(table.value) < 10.0**-table.decimals)
    return any(not rounded(float(value), table.decimals) for value in table.value[small])


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
    whole = isinstance(value, int)
    number = value if whole else rounded(value, decimals)
    places = 0 if whole else decimals
    if language is None:
        return f"{number:.{places}f}" if places else f"{number:d}" if whole else f"{number:f}"
    text = words(language)
    marked = f"{number:,d}" if whole else f"{number:,.{places}f}"
    swapped = marked.translate({44: text.group, 46: text.decimal})
    return swapped.replace("-", "\u2212")


def exact_text(value: int | float) -> str:
    """A number with all its digits and without exponent.

    >>> exact_text(3.0), exact_text(1e-07), exact_text(3)
    ('3.0', '0.0000001', '3')
    """
    return str(value) if isinstance(value, int) else format(Decimal(repr(value)), "f")


def figure_texts(
    value: ValueArray, status: StatusArray, text: Callable[[int | float, int], str]
) -> TextArray:
    """A text for each cell, from its value and status; equal cells are put into text once."""
    values, states, where = distinct_figures(value, status)
    texts = np.empty(len(values), dtype=object)
    texts[:] = [text(*pair) for pair in zip(values.tolist(), states.tolist(), strict=True)]
    return texts[where]


def symbol(value: int | float, status: int, decimals: int, language: str | None = None) -> str:
    """A cell as printed.

    >>> symbol(1234, CellStatus.bracketed, 0, "en"), symbol(0, CellStatus.suppressed, 0)
    ('(1,234)', '.')
    """
    if status == CellStatus.suppressed:
        return SUPPRESSED
    if value == 0:
        return ZERO
    text = number_text(value, decimals, language)
    if status == CellStatus.bracketed:
        return f"({text})"
    return text + OFFICIAL if status == CellStatus.official else text


def symbols(
    value: ValueArray, status: StatusArray, decimals: int, language: str | None = None
) -> TextArray:
    """Each cell as printed.

    >>> symbols(np.array([0, 0, 1234, 12]), np.array([1, 2, 3, 4], np.int8), 0).tolist()
    ['–', '.', '(1234)', '12*']
    """

    def text(number: int | float, state: int) -> str:
        return symbol(number, state, decimals, language)

    return figure_texts(value, status, text)


def check_values(table: ProtectedTable) -> None:
    """Raise an error if a table holds values that cannot be printed."""
    if not 0 <= table.decimals <= _MOST_DECIMALS:
        raise PublicationError(
            f"a table is printed with 0 to {_MOST_DECIMALS} decimals",
            code="decimals",
            where=table.name,
        )
    if table.value.dtype.kind == "f":
        bad = int((~np.isfinite(table.value)).sum())
        if bad:
            raise PublicationError(
                f"{bad:,} cells have a value that is not a finite number",
                code="values",
                where=table.name,
                hint="suppress them, or repair the weights",
            )
