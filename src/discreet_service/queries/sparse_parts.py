"""`SparseParts`: the parts of answers that a policy hides because they are too sparse (P7).

In: an answer with noise, and the policy in force. Out: the same with its sparse parts hidden, and a
note that names them. A part is judged by the perturbed cells of everybody and by its own levels
alone, a filter being a level like any other: it is hidden in all tables and slices of tables that
show it, or in none. Which tables judge an answer is said by `judgements_of`.
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
from discreet_service.queries.canonical import CanonicalQuery
from discreet_service.queries.judgements import judgements_of
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
    """Hides sparse parts."""

    def __init__(self, policies: Policies, table_of: NoisyTable, *, most_cells: int) -> None:
        self._policies, self._table_of, self._most = policies, table_of, most_cells
        self._known: OrderedDict[tuple[str, str], BoolArray] = OrderedDict()
        self._lock = threading.Lock()

    def require(self, query: CanonicalQuery, version: DataVersion) -> None:
        """Raise an error if too much would have to be counted to judge a table."""
        if self._limits(query) is None:
            return
        size = sum(
            math.prod(1 + _codes(version, query.unit, *axis) for axis in judge)
            for judge in self._judges(query, version)
        )
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
        """What determines which parts are hidden, for tags of answers; empty if none are."""
        limits = self._limits(query)
        return "" if limits is None else _said(limits)

    def judged(self, version: DataVersion) -> tuple[int, int]:
        """How many tables judged answers of a version in this process, and hide parts of them."""
        with self._lock:
            found = [
                bool(hidden.any())
                for (about, _), hidden in self._known.items()
                if about.partition("\n")[0] == version.fingerprint
            ]
        return len(found), sum(found)

    def thinned(
        self, table: ProtectedTable, query: CanonicalQuery, version: DataVersion
    ) -> ProtectedTable:
        """The answer without its sparse parts."""
        limits = self._limits(query)
        if limits is None:
            return table
        hidden = self._of_answer(query, version, limits)
        if not hidden.any():
            return table
        variables = [version.units[query.unit].variables[one.variable] for one in query.by]
        # Cells that a table omits are zero, or have no value: hidden ones must not be told by that.
        index, value, status = every_cell(table)
        shown = [
            _depths(variable, dimension.codes)[at]
            for variable, dimension, at in zip(variables, table.spanning, index, strict=False)
        ]
        # Positions of figures are those of the measures, which stand in canonical order.
        figure = index[-1] if table.several_figures else np.zeros(len(value), dtype=np.int32)
        cells = hidden[(*shown, figure)]
        if not cells.any():
            return table
        # The names of hidden parts; if there are many, of the coarsest among them.
        parts = _present(shown, cells)
        many = len(parts) > _NAMED
        named = [
            part
            for part in parts
            if not (
                many
                and any(
                    (each != part and all(a <= b for a, b in zip(each, part, strict=True)))
                    for each in parts
                )
            )
        ]
        texts = {}
        for language in _LANGUAGES:
            names = [_name_of(variables, part, language) for part in named]
            texts[language] = note(names, language, finer=many)
        return dataclasses.replace(
            table,
            index=index,
            value=np.where(cells, 0, value).astype(value.dtype),
            status=np.where(cells, CellStatus.suppressed, status).astype(status.dtype),
            notes=(*table.notes, Note(SUPPRESSED_PARTS, texts)),
        )

    def _limits(self, query: CanonicalQuery) -> SparsityPolicy | None:
        limits = self._policies.policy(query.dataset, query.version).sparsity
        return limits if limits.then == "hide" else None

    def _judges(
        self, query: CanonicalQuery, version: DataVersion
    ) -> frozenset[tuple[tuple[str, int], ...]]:
        """The tables that judge an answer, by their variables and levels, each once."""
        unit = version.units[query.unit]
        return frozenset(
            judgement.axes for measure in query.measures
            for judgement in judgements_of(query, measure, unit)
        )  # fmt: skip

    def _of_answer(
        self, query: CanonicalQuery, version: DataVersion, limits: SparsityPolicy
    ) -> BoolArray:
        """Which parts of an answer are hidden: an axis for each variable, the last for measures."""
        unit = version.units[query.unit]
        shape = [max(each.levels) + 1 for each in query.by]
        masks = []
        for measure in query.measures:
            hidden = np.zeros(shape, dtype=np.bool_)
            for one in judgements_of(query, measure, unit):
                # Which parts of a table that judges others are hidden; worked out once.
                judge = one.query(query)
                name = json.dumps([judge.unit, one.axes, one.measure.name])
                key = (f"{version.fingerprint}\n{_said(limits)}", name)
                with self._lock:
                    found = self._known.get(key)
                if found is None:
                    found = self._decided(judge, version, limits)
                    with self._lock:
                        self._known[key] = found
                        if len(self._known) > _REMEMBERED:
                            self._known.popitem(last=False)
                hidden |= one.for_answer(found).reshape(shape)
            masks.append(hidden)
        return np.stack(masks, axis=-1)

    def _decided(
        self, judge: CanonicalQuery, version: DataVersion, limits: SparsityPolicy
    ) -> BoolArray:
        table = self._table_of(version, judge)
        shape = tuple(len(dimension) for dimension in table.spanning)
        counts, unknown = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
        # The grand total alone has no index, and is not listed where it is zero.
        index = table.index if shape else (np.zeros(table.stored, dtype=np.int32),)
        np.atleast_1d(counts)[index] = np.rint(table.value).astype(np.int64)
        np.atleast_1d(unknown)[index] = table.status == CellStatus.suppressed
        levels, tells = [], []
        for one, dimension in zip(judge.by, table.spanning, strict=True):
            variable = version.units[judge.unit].variables[one.variable]
            tells.append(not variable.geography)
            codes = [
                [dimension.index[variable.tree.codes[at]] for at in variable.cuts[level].tolist()]
                for level in (0, *one.levels)
            ]
            levels.append([np.array(each, dtype=np.int32) for each in codes])
        return hidden_parts(counts, levels, tells, limits, unknown)


def _codes(version: DataVersion, unit: str, variable: str, level: int) -> int:
    """How many codes a variable has down to a level, each counted once."""
    cuts = version.units[unit].variables[variable].cuts
    return len({at for cut in cuts[1 : level + 1] for at in cut.tolist()})


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
