"""Suppressed parts on the published side: `suppress_parts`.

In: a `ProtectedTable` and the `PartDecisions` on its table. Out: the same table without
the figures of suppressed parts, and a note that names these. Both sides may be published.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from discreet.errors import SuppressionError
from discreet.suppression.parts import words
from discreet.suppression.parts.decisions import PartDecision, PartDecisions
from discreet.suppression.parts.names import LANGUAGES, is_within
from discreet.tables import Note, ProtectedTable
from discreet.tables.parts import Parts, level_numbers, parts_with_figures

__all__ = ["SUPPRESSED_PARTS", "suppress_parts"]

#: Kind of the note that names suppressed parts.
SUPPRESSED_PARTS = "suppressed-parts"

_LISTED = 8


def suppress_parts(protected: ProtectedTable, decisions: PartDecisions) -> ProtectedTable:
    """Take the suppressed parts out of a protected table, and say so in a note.

    All figures of a suppressed part go. They are shown as "." and kept nowhere.

    Args:
        protected: The table, as a method of protection made it from the table checked.
        decisions: What `check_parts` decided.

    >>> import polars as pl
    >>> from discreet import PartRules, PerturbationTable, Table, check_parts, perturb
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [9, 8, 1], "key": [0.1, 0.3, 0.8]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> decisions = check_parts(table, PartRules(max_share_small=0.4))
    >>> safe = perturb(table, PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}))
    >>> thinned = suppress_parts(safe, decisions)
    >>> thinned.get("Total"), thinned.get("m")
    (9, None)
    >>> thinned.notes[-1].text()
    'Suppressed parts of the table, shown as “.”: sex.'
    """
    _check(protected, decisions)
    if not decisions.suppressed:
        return protected
    hidden = decisions.suppressed
    if protected.several_figures:
        hidden = parts_with_figures(hidden, protected.dimensions)
    notes = [note for note in protected.notes if note.kind != SUPPRESSED_PARTS]
    return replace(
        protected,
        suppressed_parts=protected.suppressed_parts | hidden,
        notes=(*notes, _note(decisions)),
    )


def _note(decisions: PartDecisions) -> Note:
    """The names of the suppressed parts; if there are many, of the coarsest among them."""
    hidden = [each for each in decisions.parts if each.action == "suppressed"]
    many = len(hidden) > _LISTED
    shown = _coarsest(hidden) if many else hidden
    return Note(
        SUPPRESSED_PARTS,
        {
            language: words.note([each.name(language) for each in shown], language, finer=many)
            for language in LANGUAGES
        },
    )


def _coarsest(decisions: list[PartDecision]) -> list[PartDecision]:
    return [
        each
        for each in decisions
        if not any(
            other is not each and is_within(each.levels, other.levels) for other in decisions
        )
    ]


def _check(protected: object, decisions: object) -> None:
    wanted = (
        ("protected", protected, ProtectedTable),
        ("decisions", decisions, PartDecisions),
    )
    for name, given, kind in wanted:
        if not isinstance(given, kind):
            raise SuppressionError(
                f"a {kind.__name__} is needed, this is a {type(given).__name__}",
                code="argument",
                where=name,
            )
    if isinstance(protected, ProtectedTable) and isinstance(decisions, PartDecisions):
        names = tuple(dimension.name for dimension in protected.spanning)
        known = decisions.released | decisions.suppressed
        if names != decisions.variables or not _parts(protected) <= known:
            raise SuppressionError(
                "the decisions are about a table with other variables or levels",
                code="part-decisions",
                where=protected.name,
                hint="check the table that the protected one was made from",
            )


def _parts(protected: ProtectedTable) -> Parts:
    """The parts of the spanning variables that the table has."""
    if protected.parts is not None:
        length = len(protected.spanning)
        return frozenset(part[:length] for part in protected.parts)
    numbers = [np.unique(level_numbers(each)).tolist() for each in protected.spanning]
    return frozenset(product(*numbers))
