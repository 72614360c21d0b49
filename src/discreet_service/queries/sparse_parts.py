"""`SparseParts`: the parts of answers that a policy hides because they are too sparse (P7).

In: an answer with noise, and the policy in force. Out: the same with its sparse parts hidden, and a
note that names them. A part is judged by the perturbed cells of everybody and by its own levels
alone, a filter being a level like any other: it is hidden in all tables and slices of tables that
show it, or in none.
"""

from __future__ import annotations

import dataclasses
import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from discreet.arrays import BoolArray, PositionArray
from discreet.protection.parts import SUPPRESSED_PARTS
from discreet.protection.parts.words import note
from discreet.tables import CellStatus, Note, ProtectedTable
from discreet_service.datasets import CatalogueVariable, DataVersion
from discreet_service.policies import Policies
from discreet_service.policies.document import SparsityPolicy
from discreet_service.policies.sparsity import hidden_parts
from discreet_service.problems import ServiceError
from discreet_service.queries.canonical import CanonicalQuery, SpanningCodes
from discreet_service.queries.measures import COUNT_MEASURE
from discreet_service.queries.presentation import every_cell

#: Gives the table of a query with its noise, made now or before.
NoisyTable = Callable[[DataVersion, CanonicalQuery], ProtectedTable]
#: Decisions that are remembered; each is a few bytes for each part of a table.
_REMEMBERED = 10_000
#: Parts that a note names; of more it names the coarsest.
_NAMED = 8
_LANGUAGES = ("en", "de")
_LEVEL = {"en": "level {}", "de": "Ebene {}"}
_GRAND_TOTAL = {"en": "grand total", "de": "Gesamtsumme"}


class SparseParts:
    """Hides sparse parts.

    Args:
        policies: What may be asked.
        table_of: Gives tables with noise.
        most_cells: Cells that are counted to judge a table, at most.
    """

    def __init__(self, policies: Policies, table_of: NoisyTable, *, most_cells: int) -> None:
        self._policies, self._table_of, self._most = policies, table_of, most_cells
        self._known: OrderedDict[tuple[str, str], BoolArray] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "<SparseParts>"

    def require(self, query: CanonicalQuery, version: DataVersion) -> None:
        """Raise an error if too much would have to be counted to judge a table.

        Args:
            query: The query.
            version: Its version.
        """
        if self._limits(query) is None:
            return
        size = math.prod(1 + _codes(version, query, one) for one in judged_query(query).by)
        if size > self._most:
            raise ServiceError(
                f"to judge this table {size:,} cells are counted; at most {self._most:,} are",
                code="too-many-cells",
                where="where",
                hint="ask for coarser levels, fewer variables or fewer filters",
                limit=self._most,
                actual=size,
            )

    def mark(self, query: CanonicalQuery) -> str:
        """What determines which parts are hidden, for tags of answers; empty if none are.

        Args:
            query: The query.
        """
        limits = self._limits(query)
        return "" if limits is None else _said(limits)

    def thinned(
        self, table: ProtectedTable, query: CanonicalQuery, version: DataVersion
    ) -> ProtectedTable:
        """The answer without its sparse parts.

        Args:
            table: The answer, in canonical order.
            query: The query.
            version: Its version.
        """
        limits = self._limits(query)
        if limits is None:
            return table
        hidden = self._of_answer(query, version, limits)
        variables = [version.units[query.unit].variables[one.variable] for one in query.by]
        if not hidden.any():
            return table
        # Cells that a table omits are zero, or have no value: hidden ones must not be told by that.
        index, value, status = every_cell(table)
        shown = [
            _depths(variable, dimension.codes)[at]
            for variable, dimension, at in zip(variables, table.spanning, index, strict=False)
        ]
        cells = hidden[tuple(shown)] if shown else np.full(len(value), bool(hidden))
        if not cells.any():
            return table
        return dataclasses.replace(
            table,
            index=index,
            value=np.where(cells, 0, value).astype(value.dtype),
            status=np.where(cells, CellStatus.suppressed, status).astype(status.dtype),
            notes=(*table.notes, _note(variables, _present(shown, cells))),
        )

    def _limits(self, query: CanonicalQuery) -> SparsityPolicy | None:
        limits = self._policies.policy(query.dataset, query.version).sparsity
        return limits if limits.then == "hide" else None

    def _of_answer(
        self, query: CanonicalQuery, version: DataVersion, limits: SparsityPolicy
    ) -> BoolArray:
        """Which parts of an answer are hidden, an axis for each variable that spans it."""
        judged = judged_query(query)
        name = json.dumps([query.unit, [[one.variable, one.levels] for one in judged.by]])
        key = (f"{version.fingerprint}\n{_said(limits)}", name)
        with self._lock:
            found = self._known.get(key)
        if found is None:
            found = self._decided(judged, version, limits)
            with self._lock:
                self._known[key] = found
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        levels = {one.variable: one.level for one in query.where}
        return found[tuple(levels.get(one.variable, slice(None)) for one in judged.by)]

    def _decided(
        self, judged: CanonicalQuery, version: DataVersion, limits: SparsityPolicy
    ) -> BoolArray:
        table = self._table_of(version, judged)
        shape = tuple(len(dimension) for dimension in table.dimensions)
        counts, unknown = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
        # The grand total alone has no index, and is not listed where it is zero.
        index = table.index if shape else (np.zeros(table.stored, dtype=np.int32),)
        np.atleast_1d(counts)[index] = np.rint(table.value).astype(np.int64)
        np.atleast_1d(unknown)[index] = table.status == CellStatus.suppressed
        levels, tells = [], []
        for one, dimension in zip(judged.by, table.spanning, strict=True):
            variable = version.units[judged.unit].variables[one.variable]
            tells.append(not variable.geography)
            codes = [
                [dimension.index[variable.tree.codes[at]] for at in variable.cuts[level].tolist()]
                for level in (0, *one.levels)
            ]
            levels.append([np.array(each, dtype=np.int32) for each in codes])
        return hidden_parts(counts, levels, tells, limits, unknown)


def judged_query(query: CanonicalQuery) -> CanonicalQuery:
    """The table that judges another: of everybody, with all codes and levels down to those shown.

    The variables of filters span it too, so that a slice of a table is judged as the table is.

    Args:
        query: The query.
    """
    deepest = {one.variable: max(one.levels) for one in query.by}
    deepest |= {one.variable: one.level for one in query.where}
    by = tuple(
        SpanningCodes(variable=name, levels=tuple(range(1, level + 1)), codes=None, total=True)
        for name, level in sorted(deepest.items())
    )
    return dataclasses.replace(query, by=by, where=(), measures=(COUNT_MEASURE,))


def _codes(version: DataVersion, query: CanonicalQuery, one: SpanningCodes) -> int:
    """How many codes the levels of a variable have, each counted once."""
    cuts = version.units[query.unit].variables[one.variable].cuts
    return len({at for level in one.levels for at in cuts[level].tolist()})


def _depths(variable: CatalogueVariable, codes: Sequence[str]) -> PositionArray:
    """Per code of an answer, the coarsest level on which it stands; 0 for the total."""
    tree = variable.tree
    return np.array([tree.levels[tree.index[code]] for code in codes], dtype=np.int32)


def _present(shown: Sequence[PositionArray], cells: BoolArray) -> list[tuple[int, ...]]:
    """The parts to which some cells belong."""
    if not shown:
        return [()]
    return [tuple(part) for part in np.unique(np.stack(shown, axis=1)[cells], axis=0).tolist()]


def _said(limits: SparsityPolicy) -> str:
    return json.dumps(limits.model_dump(), sort_keys=True)


def _note(variables: Sequence[CatalogueVariable], parts: Sequence[tuple[int, ...]]) -> Note:
    """The names of hidden parts; if there are many, of the coarsest among them."""
    many = len(parts) > _NAMED
    named = [part for part in parts if not (many and any(_above(each, part) for each in parts))]
    texts = {}
    for language in _LANGUAGES:
        names = [_name_of(variables, part, language) for part in named]
        texts[language] = note(names, language, finer=many)
    return Note(SUPPRESSED_PARTS, texts)


def _above(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a part is coarser than another."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def _name_of(variables: Sequence[CatalogueVariable], part: tuple[int, ...], language: str) -> str:
    names = []
    for variable, number in zip(variables, part, strict=True):
        if number == 0:
            continue
        name = variable.tree.title(language)
        if variable.finest > 1:
            level = variable.level(number).name
            name += f" ({_LEVEL[language].format(level) if level == str(number) else level})"
        names.append(name)
    return " × ".join(names) or _GRAND_TOTAL[language]
