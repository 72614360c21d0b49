"""`Figure`: what the numbers of a protected table are, besides counts; texts by language.

In: kind, title and unit of a figure, as whoever wrote them. Out: checked figures, the
dimension of a table with several of them, and language → text. Public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from discreet.classifications import Classification
from discreet.errors import Problem, TableError, raise_all
from discreet.tables.dimension import Dimension


def by_language(texts: Any, where: str) -> dict[str, str]:
    """Language → text; nothing for None.

    >>> by_language({"en": "Rent", "de": "Miete"}, "titles")
    {'en': 'Rent', 'de': 'Miete'}
    >>> by_language(None, "titles")
    {}
    """
    return texts_by(texts, where, "expected texts by language", 'such as {"en": …, "de": …}')


def texts_by(texts: Any, where: str, what: str, hint: str) -> dict[str, str]:
    """Name → text, as a dictionary; nothing for None."""
    stated = {} if texts is None else texts
    named = isinstance(stated, Mapping)
    if not named or not all(isinstance(text, str) for text in (*stated, *stated.values())):
        raise TableError(what, code="argument", where=where, hint=hint)
    return dict(stated)


#: Name of the dimension of a table with several figures.
FIGURE = "figure"

FigureKind = Literal[
    "count", "sum", "mean", "share", "ratio", "per_thousand", "change", "balance", "index"
]
#: The kinds of figures that tables show: those, and quantiles, which are made of whole tables.
ShownKind = Literal[FigureKind, "quantile"]
_SUMMED: frozenset[str] = frozenset({"count", "sum", "balance"})


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure (Kennzahl) of a table: what it is called and how it is printed.

    >>> Figure(name="rent", kind="mean", titles={"en": "Average rent"}).title("en")
    'Average rent'
    """

    name: str  # short stable name; the code in the figure dimension
    kind: ShownKind = "count"  # what kind of figure it is
    titles: Mapping[str, str] = field(default_factory=dict)  # language → heading
    unit: Mapping[str, str] = field(default_factory=dict)  # language → unit, such as "EUR" or "%"
    decimals: int = 0  # digits after the decimal point when printed

    def __post_init__(self) -> None:
        problems = []
        if not isinstance(self.name, str) or not self.name:
            problems.append(Problem("a figure needs a name", "name"))
        if self.kind not in get_args(ShownKind):
            known = ", ".join(get_args(ShownKind))
            problems.append(Problem("unknown kind of figure", "kind", f"known: {known}"))
        whole = isinstance(self.decimals, int) and not isinstance(self.decimals, bool)
        if not whole or not 0 <= self.decimals <= 15:
            problems.append(Problem("decimals must be a whole number from 0 to 15", "decimals"))
        raise_all(TableError, problems, code="figure", where=str(self.name))

    @property
    def summed(self) -> bool:
        """Whether a cell without records has the figure 0; else it has none."""
        return self.kind in _SUMMED

    def title(self, language: str = "en") -> str:
        """The heading in `language`, else in another, else the name."""
        if not self.titles:
            return self.name
        return self.titles.get(language) or next(iter(self.titles.values()))

    def unit_text(self, language: str = "en") -> str:
        """The unit in `language`, else in another, else nothing."""
        if not self.unit:
            return ""
        return self.unit.get(language) or next(iter(self.unit.values()))


def figure_dimension(figures: Sequence[Figure]) -> Dimension:
    """The dimension of a table with several figures, one code each.

    The first stands in the place of the total, for a figure has none.

    >>> figure_dimension([Figure(name="n"), Figure(name="rent", kind="mean")]).codes
    ('n', 'rent')
    """
    names = tuple(figure.name for figure in figures)
    tree = Classification(
        name=FIGURE,
        codes=names,
        parents=(-1,) + (0,) * (len(names) - 1),
        titles={"en": "Figure", "de": "Kennzahl"},
        labels={figure.name: dict(figure.titles) for figure in figures if figure.titles},
    )
    return Dimension(classifications=(tree,))
