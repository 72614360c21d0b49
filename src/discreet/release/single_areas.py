"""Regional tables (Regionaltabellen): one protected table as a table for each area, or several.

In: a `ProtectedTable` spanned by a variable whose codes are areas. Out: the same figures area
by area, nothing drawn or counted again; names for their files, which say the area. Public.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.arrays import BoolArray, CellIndex, IntArray, PositionArray
from discreet.classifications import Classification
from discreet.errors import Problem, PublicationError, raise_all
from discreet.protection.parts import (
    HIDDEN_AREAS,
    SUPPRESSED_PARTS,
    Level,
    level_of,
    place_of,
    top_areas,
)
from discreet.tables import CellStatus, Dimension, ProtectedTable, Withheld, level_numbers

LANGUAGES = ("en", "de")

#: Notes that go where nothing is hidden any more.
_HIDDEN = {HIDDEN_AREAS, SUPPRESSED_PARTS}

_SPELLED = str.maketrans(
    {
        "ä": "ae",
        "ö": "oe",
        "ü": "ue",
        "ß": "ss",
        "Ä": "Ae",
        "Ö": "Oe",
        "Ü": "Ue",
        "ø": "o",
        "Ø": "O",
    }
)
_LONGEST = 80


def area_tables(
    table: ProtectedTable, variable: str, level: str | int, *, within: str | int | None = None
) -> Iterator[tuple[str, ProtectedTable]]:
    """A table for each area of a level, each with the code it belongs to.

    Args:
        table: The protected table of all areas.
        variable: The spanning variable whose codes are areas.
        level: The level of the areas, by name or by number from the coarsest, 1, on.
        within: A coarser level: one table for each of its areas then shows all areas of the
            level that lie in it, side by side. 0 for one table of all areas.

    >>> from discreet.publication.examples import census_example
    >>> [(code, safe.get("Total")) for code, safe in area_tables(census_example(), "sex", 1)]
    [('m', 175), ('w', 197)]
    """
    cut = AreaCut(table, variable)
    for name, positions in cut.groups(level, within):
        yield name, cut.table(positions, named=within is None, top=name)


class AreaCut:
    """Cuts a protected table along the codes of one variable."""

    def __init__(self, table: ProtectedTable, variable: str) -> None:
        self.whole = table
        self.at = place_of(variable, table.spanning, table.name)
        self.areas = table.spanning[self.at]
        codes = table.index[self.at]
        self._order = np.argsort(codes, kind="stable")
        self._starts = np.searchsorted(codes[self._order], np.arange(len(self.areas) + 1))
        self._labels = {item: self.areas.labels(item) for item in LANGUAGES}
        self._numbers = level_numbers(self.areas)

    @staticmethod
    def levels(
        areas: Dimension, level: str | int, within: str | int | None = None
    ) -> tuple[Level, Level | None]:
        """The level of the areas, and the one above that they are listed within, if any."""
        own = level_of(areas, level)
        if within is None or within in (0, "0"):
            return own, None
        above = level_of(areas, within)
        if above.tree != own.tree or above.depth >= own.depth:
            message = f"level {within!r} is not above level {level!r}"
            hint = "areas need a coarser level above them"
            raise PublicationError(message, code="area", where=areas.name, hint=hint)
        return own, above

    def groups(
        self, level: str | int, within: str | int | None = None
    ) -> list[tuple[str, list[int]]]:
        """The areas of a level by position: each alone, or those within one together."""
        own, above = self.levels(self.areas, level, within)
        members = [at for at in np.flatnonzero(own.members).tolist() if at]
        if within is None:
            return [(self.areas.codes[at], [at]) for at in members]
        if above is None:
            return [(self.areas.total, members)]
        tops = top_areas(self.areas, above.depth)
        found: dict[str, list[int]] = {}
        for at in members:
            found.setdefault(self.areas.codes[tops[at]], []).append(at)
        return list(found.items())

    def label(self, code: str, language: str = "en") -> str:
        """Name of an area."""
        return self._labels[language][self.areas.index[code]]

    def table(self, positions: Sequence[int], *, named: bool, top: str) -> ProtectedTable:
        """The figures of some areas."""
        table = self.whole
        cells = np.concatenate(
            [self._order[self._starts[at] : self._starts[at + 1]] for at in positions]
        )
        place = np.full(len(self.areas), -1, dtype=np.int32)
        place[list(positions)] = np.arange(len(positions))
        index = [part[cells] for part in table.index]
        value, status = table.value[cells], table.status[cells]
        unknown = self._unknown(positions)
        if len(unknown[self.at]):
            index = [np.concatenate(pair) for pair in zip(index, unknown, strict=True)]
            more = len(unknown[self.at])
            value = np.concatenate([value, np.zeros(more, value.dtype)])
            status = np.concatenate([status, np.full(more, CellStatus.suppressed, dtype=np.int8)])
        hidden = bool((status == CellStatus.suppressed).any())
        kept = [note for note in table.notes if hidden or note.kind not in _HIDDEN]
        dimensions = list(table.dimensions)
        codes = tuple(self.areas.codes[at] for at in positions)
        if named:
            del dimensions[self.at]
        else:
            tree = Classification(
                name=self.areas.name,
                codes=codes,
                parents=(-1,) + (0,) * (len(codes) - 1),
                labels={code: {one: self.label(code, one) for one in LANGUAGES} for code in codes},
                titles={one: self.areas.title(one) for one in LANGUAGES},
            )
            dimensions[self.at] = Dimension(classifications=(tree,), chosen=True)
        made = replace(
            table,
            dimensions=tuple(dimensions),
            index=self._places(index, place, named=named),
            value=value,
            status=status,
            parts=None,
            suppressed_parts=frozenset(),
            notes=tuple(kept),
            cell_notes=tuple(
                replace(
                    note,
                    codes=tuple(
                        code for at, code in enumerate(note.codes) if not named or at != self.at
                    ),
                )
                for note in table.cell_notes
                if note.codes[self.at] in (None, *codes)
            ),
            withheld=self._withheld(place, named=named),
        )
        if top == self.areas.total:
            return made
        titles = {}
        for one in LANGUAGES:  # the heading, with the area that it is about
            label = self.label(top, one)
            area = label if label == top else f"{label} ({top})"
            titles[one] = ": ".join(filter(None, (made.title(one), area)))
        return replace(made, titles=titles)

    def _places(
        self, index: Sequence[PositionArray], place: PositionArray, *, named: bool
    ) -> tuple[PositionArray, ...]:
        """Positions in the new table of cells of the whole."""
        found = [place[part] if at == self.at else part for at, part in enumerate(index)]
        return tuple(part for at, part in enumerate(found) if not (named and at == self.at))

    def _unknown(self, positions: Sequence[int]) -> list[PositionArray]:
        """Cells on parts that are suppressed, or that the table lacks; these are not stored."""
        table = self.whole
        if table.parts is None and not table.suppressed_parts:
            return [np.zeros(0, dtype=np.int32)] * len(table.dimensions)
        sizes = [len(dimension) for dimension in table.dimensions]
        sizes[self.at] = len(positions)
        index = CellIndex(tuple(sizes)).every()
        index[self.at] = np.array(positions, dtype=np.int32)[index[self.at]]
        length = len(index[self.at])
        unknown: BoolArray = table.absent(index, length) == CellStatus.suppressed
        unknown |= ~table.known(index, length)
        return [part[unknown] for part in index]

    def _withheld(self, place: PositionArray, *, named: bool) -> Withheld | None:
        said = self.whole.withheld
        if said is None:
            return None
        own: IntArray = np.flatnonzero(place[said.index[self.at]] >= 0)
        return replace(
            said,
            index=self._places([part[own] for part in said.index], place, named=named),
            reason=said.reason[own],
            low=None if said.low is None else said.low[own],
            high=None if said.high is None else said.high[own],
        )


# -- names of files -----------------------------------------------------------------------


def file_word(text: str) -> str:
    """A text as part of a file name: letters, digits, `_` and `-` of ASCII.

    >>> file_word("09/1 Würzburg"), file_word("Besançon"), file_word("Łódź")
    ('09_1_Wuerzburg', 'Besancon', 'u141odz')
    """
    if not text.isascii():
        signs = unicodedata.normalize("NFC", text).translate(_SPELLED)
        text = "".join(map(_plain_sign, signs))
    return re.sub("[^A-Za-z0-9_-]", "_", text)[:_LONGEST]


def _plain_sign(sign: str) -> str:
    """A sign without accents; its number where it has no form in ASCII."""
    parts = unicodedata.normalize("NFKD", sign)
    plain = "".join(item for item in parts if not unicodedata.combining(item))
    return plain if plain.isascii() else f"u{ord(sign):x}"


def area_words(cut: AreaCut, codes: Sequence[str], *, labels: bool) -> dict[str, str]:
    """Code of an area → what the names of its files say.

    Raises:
        PublicationError: If two areas would have the same files.
    """
    words, seen, problems = dict[str, str](), dict[str, str](), []
    for code in codes:
        word = file_word(code)
        if labels and (label := file_word(cut.label(code))) != word:
            word = f"{word}-{label}"
        if (other := seen.setdefault(word.lower(), code)) != code:
            message = f"areas {other!r} and {code!r} would have the same file, {word!r}"
            hint = "use codes that differ more"
            problems.append(Problem(message, cut.areas.name, hint))
        words[code] = word
    raise_all(
        PublicationError,
        problems,
        code="area-file",
        many="{} areas would have the file of another area",
        where=cut.areas.name,
        most=10,
    )
    return words
