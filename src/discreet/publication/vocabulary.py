"""The words of published tables: fixed ones, and labels of variables and figures.

In: a language; a table or a spanning variable. Out: the fixed words in English or German; a
label and a level for each code; the heading of a figure with its unit. Public: these texts
are printed with every table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, MutableMapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray
from discreet.errors import PublicationError
from discreet.tables import Dimension, Figure, ProtectedTable


class Words:
    """The words a writer needs in one language: each text of `words.toml` is an attribute."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.__dict__.update(texts)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> str: ...


_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\d", re.ASCII)

#: Languages in which tables can be printed.
LANGUAGES = ("en", "de")


def read_words(package: str) -> dict[str, dict[str, str]]:
    """The texts in `words.toml` of a package: language → name → text.

    Each is there in all languages, or the file cannot be used.
    """
    document = tomllib.loads(resources.files(package).joinpath("words.toml").read_text("utf-8"))
    for name, texts in document.items():
        if tuple(texts) != LANGUAGES or not all(texts.values()):
            message = f"text {name!r} is missing in some languages"
            raise PublicationError(message, code="language", where=f"{package}, words.toml")
    return {one: {name: texts[one] for name, texts in document.items()} for one in LANGUAGES}


_WORDS = {one: Words(texts) for one, texts in read_words("discreet.publication").items()}


def words(language: str) -> Words:
    """The words of a language.

    >>> words("de").legend
    'Zeichenerklärung'
    """
    if language not in _WORDS:
        message = f"unknown language {language!r}"
        raise PublicationError(message, code="language", hint=f"languages: {', '.join(LANGUAGES)}")
    return _WORDS[language]


def date_text(text: str, language: str) -> str:
    """A date of a language; any other text as it is.

    >>> date_text("2022-05-15", "de"), date_text("2022", "en")
    ('15. Mai 2022', '2022')
    """
    if not _DATE.fullmatch(text):
        return text
    year, month, day = map(int, text.split("-"))
    own = words(language)
    return own.date.format(day=day, month=own.months.split()[month - 1], year=year)


@cache
def page_part(name: str) -> str:
    """A style or a script of pages, as the package holds it."""
    return resources.files("discreet.publication").joinpath(name).read_text("utf-8")


def title_in(title: str | Mapping[str, str], language: str) -> str:
    """A title in a language, or in the first one that there is.

    >>> title_in({"en": "Census"}, "de"), title_in("Census", "de")
    ('Census', 'Census')
    """
    if isinstance(title, str):
        return title
    return title.get(language) or next(iter(title.values()), "")


_KNOWN: MutableMapping[Dimension, dict[str, tuple[str, ...]]] = WeakKeyDictionary()


def labels_of(dimension: Dimension, language: str) -> tuple[str, ...]:
    """The label of each code in a language.

    >>> from discreet.publication.examples import census_example
    >>> labels_of(census_example().dimensions[0], "de")
    ('Insgesamt', 'männlich', 'weiblich')
    """
    known = _KNOWN.setdefault(dimension, {})
    if language not in known:
        known[language] = dimension.labels(language)
    return known[language]


def is_figure(table: ProtectedTable, at: int) -> bool:
    """Whether the dimension at a position is that of the figures."""
    return table.several_figures and at == len(table.dimensions) - 1


def has_total(table: ProtectedTable, at: int) -> bool:
    """Whether the first code of the dimension at a position is the total of the others."""
    return not is_figure(table, at) and not table.dimensions[at].chosen


def figure_text(figure: Figure, language: str) -> str:
    """Heading of a figure: its title and unit.

    >>> figure_text(Figure(name="rent", titles={"en": "Rent"}, unit={"en": "EUR"}), "en")
    'Rent (EUR)'
    """
    unit = figure.unit_text(language)
    return f"{figure.title(language)} ({unit})" if unit else figure.title(language)


def figure_line(table: ProtectedTable, language: str) -> str:
    """Description of the only figure of a table; empty for counts and several figures."""
    return figure_text(table.figures[0], language) if len(table.figures) == 1 else ""


def labels_at(table: ProtectedTable, at: int, language: str) -> tuple[str, ...]:
    """The label of each code of the dimension at a position; figures with their units."""
    if is_figure(table, at):
        return tuple(figure_text(figure, language) for figure in table.figures)
    return labels_of(table.dimensions[at], language)


def levels_at(table: ProtectedTable, at: int) -> npt.NDArray[np.int32]:
    """The level of each code as printed: all figures stand on one, the first."""
    levels = table.dimensions[at].levels
    return np.zeros_like(levels) if is_figure(table, at) else levels


def only_total(dimension: Dimension) -> BoolArray:
    """Which code of a variable is its total."""
    total: BoolArray = dimension.levels == 0
    return total
