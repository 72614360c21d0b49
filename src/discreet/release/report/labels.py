"""What pages call tables, variables and their levels: labels instead of internal names.

In: protected tables, with or without their cells; a language. Out: texts. Public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from discreet.assessment import finest_level
from discreet.publication import words
from discreet.tables import Dimension, ProtectedTable


class LevelLabels:
    """The labels that tables have for what a `QualityLog` knows by its name.

    >>> from discreet.publication.examples import census_example
    >>> labels = LevelLabels([census_example()], "de")
    >>> labels.level("age", "age"), labels.table("T1"), labels.level("size", "size 2")
    ('Altersklasse', 'Bevölkerung nach Geschlecht und Alter (T1)', 'size: size 2')
    """

    def __init__(self, tables: Sequence[ProtectedTable], language: str) -> None:
        self._tables = {
            table.name: table.titles.get(language, "") for table in tables if table.titles
        }
        found = {
            (dimension.name, finest_level(dimension)): _level(dimension, language)
            for table in tables
            for dimension in table.spanning
        }
        self._areas = {
            (table.name, code): label
            for table in tables
            for dimension in table.spanning
            for code, label in zip(dimension.codes, dimension.labels(language), strict=True)
        }
        often = Counter(found.values())
        self._levels: Mapping[tuple[str, str], str] = {
            pair: label if often[label] == 1 else f"{label} ({pair[0]})"
            for pair, label in found.items()
        }

    def table(self, name: str) -> str:
        """The title of a table, with the name of its files."""
        title = self._tables.get(name, "")
        return f"{title} ({name})" if title else name

    def area(self, table: str, code: str) -> str:
        """An area of a table, with its code."""
        label = self._areas.get((table, code), code)
        return f"{label} ({code})" if label != code else code

    def level(self, variable: str, level: str) -> str:
        """A variable and its finest level."""
        plain = variable if level == variable else f"{variable}: {level}"
        return self._levels.get((variable, level), plain)


def _level(dimension: Dimension, language: str) -> str:
    """The title of a variable, with the name or number of its finest level if it has several."""
    title, trees = dimension.title(language), dimension.classifications
    if len(trees) > 1:
        titles = dict.fromkeys(tree.title(language) for tree in trees)
        return title if list(titles) == [title] else f"{title}: {' / '.join(titles)}"
    depth, named = trees[0].depth, trees[0].level_names
    if depth <= 1:
        return title
    text = words(language)
    where = named[depth - 1] if depth <= len(named) else text.level.format(level=depth)
    return text.add_level.format(name=title, level=where)
