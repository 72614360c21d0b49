"""The words of published tables: fixed ones, and labels of variables and figures.

In: a language; a table or a spanning variable. Out: the fixed words in English or German; a
label and a level for each code; the heading of a figure with its unit. Public: these texts
are printed with every table.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from discreet.errors import PublicationError
from discreet.tables import Dimension, ProtectedTable
from discreet.tables.figures import Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The words a writer needs in one language."""

    decimal: str
    group: str
    table: str
    legend: str
    notes: str
    provenance: str
    contents: str
    files: str
    method: str
    shape: str
    cells: str
    part: str
    summary: str
    value: str
    code: str
    level: str
    together: str
    no_break: str
    published: str
    zero: str
    unknown: str
    limited: str
    official: str
    inapplicable: str
    rounded: str
    add_up: str
    add_by: str
    add_level: str
    add_inner: str
    version: str
    procedure: str
    key_grid: str
    digest: str
    digests: str
    time: str
    each_table: str
    note: str
    footnotes: str
    number: str
    sheet: str
    title: str
    universe: str
    index: str
    figures: str
    suppressed_parts: str
    unlisted: str
    unlisted_zero: str
    unlisted_none: str
    unlisted_suppressed: str
    statement: tuple[str, ...]
    figured: str


_ENGLISH = Words(
    decimal=".",
    group=",",
    table="Table",
    legend="Legend",
    notes="Notes",
    provenance="Provenance",
    contents="Contents",
    files="Files",
    method="How these figures were protected",
    shape="{sizes} = {cells} cells",
    cells="cells",
    part="Shown here: totals and the first levels. The files hold the whole table.",
    summary="At a glance",
    value="Value",
    code="code",
    level="level {level}",
    together="Total",
    no_break="grand total",
    published="value as published",
    zero="exactly zero or changed to zero",
    unknown="value unknown or secret",
    limited="limited value: the procedure may have changed it relatively strongly",
    official="official figure, published as it is",
    inapplicable="no figure can be stated here",
    rounded="not zero, but less than half of the unit shown",
    add_up="Total {total}; its parts add up to {sums}.",
    add_by="{sum} ({name})",
    add_level="{name}, {level}",
    add_inner="inner cells",
    version="Software",
    procedure="Method",
    key_grid="Key grid",
    digest="Digest",
    digests="Digests",
    time="Date",
    each_table="Of each table",
    note="Note",
    footnotes="Footnotes",
    number="number",
    sheet="Sheet",
    title="Title",
    universe="Universe",
    index="Contents",
    figures="Figures",
    suppressed_parts="Suppressed table parts: {parts}.",
    unlisted="Cells that are not listed: {kinds}.",
    unlisted_zero="zero",
    unlisted_none="without a figure",
    unlisted_suppressed="suppressed on suppressed table parts",
    statement=(
        "The figures were protected with the cell-key method. Every count, whether a total or "
        "an inner cell, was changed on its own by a small random amount, often by nothing at "
        "all; only figures marked as official are exempt. This keeps anybody from learning "
        "something about one person, household or dwelling, and leaves the statistical message "
        "of the tables intact.",
        "The same group of units always receives the same change. A figure therefore has one "
        "value in every table in which it appears, however often it is asked for.",
        "Because totals are changed independently of their parts, parts need not add up to "
        "the total printed. For a total, take the printed total; do not add up its parts. "
        "Very small figures should not be interpreted on their own, nor should small "
        "differences between figures.",
        "A dash stands for a figure that was zero from the start as well as for one that "
        "became zero. Which of the two it was cannot be seen.",
    ),
    figured="The figures were protected with the cell-key method. Counts, sums and means, "
    "whether of totals or of inner cells, were each changed on their own by a random amount "
    "that is small for the figure; shares and other key figures are computed from changed "
    "figures. Only figures marked as official are exempt. This keeps anybody from learning "
    "something about one person, household or dwelling, and leaves the statistical message of "
    "the tables intact.",
)

_GERMAN = Words(
    decimal=",",
    group="\u202f",
    table="Tabelle",
    legend="Zeichenerklärung",
    notes="Hinweise",
    provenance="Herkunft",
    contents="Inhalt",
    files="Dateien",
    method="Wie diese Zahlen geschützt wurden",
    shape="{sizes} = {cells} Felder",
    cells="Felder",
    part="Hier gezeigt: Summen und oberste Ebenen. Die Dateien enthalten die ganze Tabelle.",
    summary="Auf einen Blick",
    value="Wert",
    code="Code",
    level="Ebene {level}",
    together="Zusammen",
    no_break="Gesamtsumme",
    published="veröffentlichter Wert",
    zero="genau null oder auf null geändert",
    unknown="Zahlenwert unbekannt oder geheim zu halten",
    limited="eingeschränkter Aussagewert: durch das Verfahren womöglich relativ stark verändert",
    official="amtlich festgestellter Wert, unverändert veröffentlicht",
    inapplicable="Aussage nicht sinnvoll",
    rounded="nicht null, aber weniger als die Hälfte der dargestellten Einheit",
    add_up="Insgesamt {total}; die Teile ergeben zusammen {sums}.",
    add_by="{sum} ({name})",
    add_level="{name}, {level}",
    add_inner="Innenfelder",
    version="Software",
    procedure="Verfahren",
    key_grid="Schlüsselraster",
    digest="Prüfsumme",
    digests="Prüfsummen",
    time="Datum",
    each_table="Je Tabelle",
    note="Fußnote",
    footnotes="Fußnoten",
    number="Anzahl",
    sheet="Blatt",
    title="Titel",
    universe="Grundgesamtheit",
    index="Inhalt",
    figures="Kennzahlen",
    suppressed_parts="Gesperrte Tabellenteile: {parts}.",
    unlisted="Nicht aufgeführte Felder: {kinds}.",
    unlisted_zero="null",
    unlisted_none="ohne Angabe",
    unlisted_suppressed="auf gesperrten Tabellenteilen gesperrt",
    statement=(
        "Die Zahlen wurden mit der Cell-Key-Methode geschützt. Jede Anzahl, ob Summe oder "
        "Innenfeld, wurde für sich um einen kleinen zufälligen Betrag verändert, oft um gar "
        "nichts; ausgenommen sind nur als amtlich gekennzeichnete Werte. So kann niemand etwas "
        "über eine einzelne Person, einen Haushalt oder eine Wohnung erfahren, und die "
        "statistische Aussage der Tabellen bleibt erhalten.",
        "Dieselbe Gruppe von Einheiten erhält immer dieselbe Änderung. Eine Zahl hat deshalb "
        "in jeder Tabelle, in der sie vorkommt, denselben Wert, gleich wie oft sie abgerufen "
        "wird.",
        "Weil Summen unabhängig von ihren Teilen verändert werden, müssen die Teile nicht "
        "genau die ausgewiesene Summe ergeben. Verwenden Sie die ausgewiesene Summe und "
        "addieren Sie nicht deren Teile. Sehr kleine Zahlen und kleine Unterschiede zwischen "
        "Zahlen sollten nicht für sich gedeutet werden.",
        "Ein Strich steht für eine Zahl, die von Anfang an null war, ebenso wie für eine, die "
        "null wurde. Welches von beiden zutrifft, ist nicht zu erkennen.",
    ),
    figured="Die Zahlen wurden mit der Cell-Key-Methode geschützt. Anzahlen, Summen und "
    "Mittelwerte, ob insgesamt oder in Innenfeldern, wurden jeweils für sich um einen zufälligen "
    "Betrag verändert, der im Verhältnis zum Wert klein ist; Anteile und andere Kennzahlen sind "
    "aus veränderten Werten berechnet. Ausgenommen sind nur als amtlich gekennzeichnete Werte. "
    "So kann niemand etwas über eine einzelne Person, einen Haushalt oder eine Wohnung erfahren, "
    "und die statistische Aussage der Tabellen bleibt erhalten.",
)

_WORDS = {"en": _ENGLISH, "de": _GERMAN}

#: Languages in which tables can be printed.
LANGUAGES = tuple(_WORDS)


def words(language: str) -> Words:
    """The words of a language.

    >>> words("de").legend
    'Zeichenerklärung'
    """
    if language not in _WORDS:
        raise PublicationError(
            f"there are no printed words in language {language!r}",
            code="language",
            hint=f"languages: {', '.join(LANGUAGES)}",
        )
    return _WORDS[language]


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


def figure_text(figure: Figure, language: str) -> str:
    """What stands over a figure: its title and its unit.

    >>> figure_text(Figure(name="rent", titles={"en": "Rent"}, unit={"en": "EUR"}), "en")
    'Rent (EUR)'
    """
    unit = figure.unit_text(language)
    return f"{figure.title(language)} ({unit})" if unit else figure.title(language)


def figure_line(table: ProtectedTable, language: str) -> str:
    """What the only figure of a table is; empty for counts and for several figures."""
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
