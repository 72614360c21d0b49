"""`PartDecisions`: which parts of a table are published, why not, and what would pass.

In: the outcome of the check of the parts. Out: a log for people and machines; a
`ProtectedTable` without the figures of suppressed parts; how many tables of a release are
shown completely. No true values and no thresholds: that a rule was broken is all that is
told about the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError

from discreet.arrays import CellIndex
from discreet.confidential import without_values
from discreet.errors import SuppressionError
from discreet.files import json_text, texts_of
from discreet.protection.parts.levels import (
    LANGUAGES,
    AreaParts,
    PartKey,
    PartLevel,
    check_kinds,
    is_within,
    name_of_part,
    without_areas,
)
from discreet.tables import (
    CellStatus,
    Note,
    Parts,
    ProtectedTable,
    level_numbers,
    parts_with_figures,
)

PartAction = Literal["released", "suppressed", "follows"]
PartOutcome = Literal["complete", "thinned", "blocked"]


def _words(section: str, language: str) -> Mapping[str, str]:
    """The words of decisions; no true value and no threshold stands in them."""
    return texts_of("discreet.protection.parts", section, language)


#: The form of `to_dict`, for readers of stored logs.
FORM = 1


@dataclass(frozen=True)
class PartReason:
    """A rule that a part broke."""

    code: str  # which one, such as "small-cells"
    #: Where: in the "table" itself; in its "universe", all records without the filter; in the
    #: "difference", the records that the filter leaves out; or by the "filter", if it tells all or
    #: none of whole groups
    of: str = "table"

    def text(self, language: str = "en") -> str:
        """The reason in words."""
        return _words("of", language)[self.of].format(_words("reasons", language)[self.code])


@dataclass(frozen=True, kw_only=True)
class PartDecision:
    """Decision on one part."""

    levels: tuple[PartLevel, ...]  # the level of each spanning variable
    #: "released" after a check, "suppressed" after a check, or "follows": released without a check,
    #: since its cells are sums of released ones
    action: PartAction
    reasons: tuple[PartReason, ...] = ()  # the rules it broke

    @property
    def part(self) -> PartKey:
        """The part as in `ProtectedTable.suppressed_parts`."""
        return tuple(level.number for level in self.levels)

    def name(self, language: str = "en") -> str:
        """Name of the part."""
        return name_of_part(self.levels, language)

    def text(self, language: str = "en") -> str:
        """The decision in words."""
        reasons = "; ".join(reason.text(language) for reason in self.reasons)
        sentence = _words("actions", language)[self.action]
        return sentence.format(part=self.name(language), reasons=reasons)


@dataclass(frozen=True, kw_only=True)
class PartSuggestion:
    """A coarser table that would be shown in full."""

    #: The levels of its innermost part; variables at their total are dropped
    levels: tuple[PartLevel, ...]
    changed: tuple[str, ...]  # the variables to take at this coarser level, or to drop

    def text(self, language: str = "en") -> str:
        """The suggestion in words."""
        text = _words("phrases", language)
        texts = [
            text["drop" if level.total else "coarsen"].format(level.names[language])
            for level in self.levels
            if level.variable in self.changed
        ]
        return text["suggest"].format(text["and"].join(texts))


@dataclass(frozen=True, kw_only=True)
class PartDecisions:
    """Decisions on each part of a table, in order of the checks. Free of true values.

    Args:
        table: Name of the table.
        variables: Its spanning variables.
        parts: The decisions, from the innermost part outward.
        universe: How a filter was guarded: "checked" against the table without it,
            "none" if that was waived, "unfiltered" if there is no filter.
        suggestions: Coarser tables that would pass, the nearest first.
        areas: What is hidden of single areas besides; None if these were not looked at.
    """

    table: str
    variables: tuple[str, ...]
    parts: tuple[PartDecision, ...]
    universe: Literal["checked", "none", "unfiltered"] = "unfiltered"
    suggestions: tuple[PartSuggestion, ...] = ()
    areas: AreaParts | None = None

    @property
    def suppressed(self) -> Parts:
        """The parts that are not published."""
        return frozenset(part.part for part in self.parts if part.action == "suppressed")

    @property
    def released(self) -> Parts:
        """The parts that are published."""
        return frozenset(part.part for part in self.parts if part.action != "suppressed")

    @property
    def outcome(self) -> PartOutcome:
        """Whether the table is "complete", "thinned" or "blocked" (no part is left)."""
        if not self.suppressed:
            return "thinned" if self.areas is not None and self.areas.hidden else "complete"
        return "thinned" if self.released else "blocked"

    def text(self, language: str = "en") -> str:
        """The log in words: English ("en") or German ("de")."""
        if language not in LANGUAGES:
            raise SuppressionError(
                f"unknown language {language!r}",
                code="language",
                where="language",
                hint="use en or de",
            )
        sentence = _words("outcomes", language)[self.outcome].format(table=self.table)
        lines = [sentence + _words("universes", language)[self.universe]]
        lines += [f"{at}. {decision.text(language)}" for at, decision in enumerate(self.parts, 1)]
        lines += [suggestion.text(language) for suggestion in self.suggestions]
        if self.areas is not None:
            text = _words("phrases", language)["areas hidden"]
            lines.append(text.format(len(self.areas.hidden)))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The log as plain data; `from_dict` takes it back."""
        known = [level for one in self.parts for level in one.levels]
        known += [level for one in self.suggestions for level in one.levels]
        levels = {(level.variable, level.number): level.to_dict() for level in known}
        parts = [
            {
                "step": step,
                "part": list(decision.part),
                "levels": [levels[level.variable, level.number] for level in decision.levels],
                "action": decision.action,
                "reasons": [{**vars(one), "text": _in_words(one)} for one in decision.reasons],
                "text": _in_words(decision),
            }
            for step, decision in enumerate(self.parts, 1)
        ]
        suggestions = [
            {
                "part": [level.number for level in one.levels],
                "levels": [levels[level.variable, level.number] for level in one.levels],
                "changed": list(one.changed),
                "text": _in_words(one),
            }
            for one in self.suggestions
        ]
        return {
            "form": FORM,
            "table": self.table,
            "variables": list(self.variables),
            "outcome": self.outcome,
            "universe": self.universe,
            "parts": parts,
            "suggestions": suggestions,
            **({} if self.areas is None else {"areas": self.areas.to_dict()}),
        }

    def to_json(self) -> str:
        """The log as JSON."""
        return json_text(self.to_dict()) + "\n"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PartDecisions:
        """The log from plain data, as `to_dict` made them."""
        if not isinstance(data, Mapping) or data.get("form") != FORM:
            raise SuppressionError(
                "unknown form of the log of subtables",
                code="part-decisions",
                where="form",
                hint="give the result of to_dict",
            )
        try:
            return _form().validate_python(data)
        except ValidationError as error:
            place = ", ".join(map(str, error.errors()[0]["loc"]))
            raise SuppressionError(
                f"the log of subtables is damaged: {place}",
                code="part-decisions",
                where="parts",
                hint="give the result of to_dict",
            ) from None

    def __repr__(self) -> str:
        return f"<PartDecisions {self.table}: {self.outcome}, {len(self.parts)} parts>"


@cache
def _form() -> TypeAdapter[PartDecisions]:
    return TypeAdapter(PartDecisions)


def _in_words(item: PartReason | PartDecision | PartSuggestion) -> dict[str, str]:
    return {language: item.text(language) for language in LANGUAGES}


#: Kind of the note that names suppressed parts.
SUPPRESSED_PARTS = "suppressed-parts"

#: Kind of the note that says that single areas lack parts.
HIDDEN_AREAS = "hidden-areas"

_LISTED = 8


@without_values
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
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.1, 0: 0.8, 1: 0.1}})
    >>> safe = perturb(table, ptable)
    >>> thinned = suppress_parts(safe, decisions)
    >>> thinned.get("Total"), thinned.get("m")
    (9, None)
    >>> thinned.notes[-1].text()
    'Suppressed subtables, shown as “.”: sex.'
    """
    _check(protected, decisions)
    if decisions.areas is not None and decisions.areas.hidden:
        protected = without_areas(protected, decisions.areas)
        others = [note for note in protected.notes if note.kind != HIDDEN_AREAS]
        named = {item.name: item for item in protected.spanning}[decisions.areas.variable]
        texts = {
            language: _words("phrases", language)["areas note"].format(named.title(language))
            for language in LANGUAGES
        }
        protected = replace(protected, notes=(*others, Note(HIDDEN_AREAS, texts)))
    if not decisions.suppressed:
        return _without_remarks(protected)
    hidden = decisions.suppressed
    if protected.several_figures:
        hidden = parts_with_figures(hidden, protected.dimensions)
    notes = [note for note in protected.notes if note.kind != SUPPRESSED_PARTS]
    thinned = replace(
        protected,
        suppressed_parts=protected.suppressed_parts | hidden,
        notes=(*notes, _note(decisions)),
    )
    return _without_remarks(thinned)


def _without_remarks(protected: ProtectedTable) -> ProtectedTable:
    """A table without remarks on single cells that are hidden, such as their precision."""
    sizes = {len(protected.dimensions)}
    single = [n for n in protected.cell_notes if None not in n.codes and len(n.codes) in sizes]
    if not single:
        return protected
    codes = zip(*(note.codes for note in single), strict=True)
    index = [
        np.array([dimension.index.get(str(code), 0) for code in column], dtype=np.int32)
        for dimension, column in zip(protected.dimensions, codes, strict=True)
    ]
    status = protected.absent(index, len(single))
    lengths = (protected.stored, len(single))
    at = CellIndex.of(protected.dimensions).find(protected.index, index, lengths)
    status[at >= 0] = protected.status[at[at >= 0]]
    gone = {
        id(n) for n, state in zip(single, status, strict=True) if state == CellStatus.suppressed
    }
    kept = tuple(note for note in protected.cell_notes if id(note) not in gone)
    return replace(protected, cell_notes=kept)


def note(parts: Sequence[str], language: str, *, finer: bool) -> str:
    """The note under a table: which parts are suppressed."""
    text, listed = _words("phrases", language), "; ".join(parts)
    return text["note"].format(text["finer"].format(listed) if finer else listed)


def _note(decisions: PartDecisions) -> Note:
    """The names of the suppressed parts; if there are many, of the coarsest among them."""
    hidden = [part for part in decisions.parts if part.action == "suppressed"]
    many = len(hidden) > _LISTED
    shown = [
        part
        for part in hidden
        if not many
        or not any(other is not part and is_within(part.levels, other.levels) for other in hidden)
    ]
    texts = {
        language: note([part.name(language) for part in shown], language, finer=many)
        for language in LANGUAGES
    }
    return Note(SUPPRESSED_PARTS, texts)


def _check(protected: object, decisions: object) -> None:
    check_kinds(("protected", protected, ProtectedTable), ("decisions", decisions, PartDecisions))
    if isinstance(protected, ProtectedTable) and isinstance(decisions, PartDecisions):
        names = tuple(dimension.name for dimension in protected.spanning)
        known = decisions.released | decisions.suppressed
        if names != decisions.variables or not _parts(protected) <= known:
            raise SuppressionError(
                "the decisions belong to a table with other variables or levels",
                code="part-decisions",
                where=protected.name,
                hint="check the original table of the protected one",
            )


def _parts(protected: ProtectedTable) -> Parts:
    if protected.parts is not None:
        length = len(protected.spanning)
        return frozenset(part[:length] for part in protected.parts)
    numbers = [np.unique(level_numbers(item)).tolist() for item in protected.spanning]
    return frozenset(product(*numbers))


#: Whether it is the total, classification, depth turned round, name: finest levels first.
_Key = tuple[bool, int, int, str]
_WHOLE: _Key = (False, 0, 0, "")


@dataclass(frozen=True, kw_only=True)
class ReleaseShare:
    """Share of the tables shown completely on a level."""

    tables: int  # number of tables that have the level
    complete: int  # number of those with every part on it released
    thinned: int  # number of those with some parts on it released
    blocked: int  # number of those with none
    #: language → name of the level; empty for tables as a whole
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def share_complete(self) -> float:
        """Share of the tables that are shown completely."""
        return self.complete / self.tables


def release_shares(
    decisions: Iterable[PartDecisions], variable: str | None = None
) -> tuple[ReleaseShare, ...]:
    """Numbers of tables shown completely, in part and not at all.

    Args:
        decisions: The decisions on each table.
        variable: A spanning variable, to tell its levels apart, finest first; tables
            without it are left out. None for tables as a whole.

    >>> import polars as pl
    >>> from discreet import PartRules, Table, check_parts
    >>> tables = [
    ...     Table.from_cells(pl.DataFrame({"sex": ["Total", "m"], "n": n}), by=["sex"], count="n")
    ...     for n in ([9, 5], [3, 1], [8, 4])
    ... ]
    >>> logs = [check_parts(table, PartRules(max_share_small=0)) for table in tables]
    >>> [(share.tables, share.complete) for share in release_shares(logs)]
    [(3, 2)]
    >>> [(share.names["en"], share.complete) for share in release_shares(logs, "sex")]
    [('sex', 2), ('Total', 3)]
    """
    logs: list[Any] = list(decisions) if isinstance(decisions, Iterable) else [None]
    if not all(isinstance(log, PartDecisions) for log in logs):
        raise SuppressionError(
            "expected a list of PartDecisions",
            code="argument",
            where="decisions",
            hint="give the results of check_parts",
        )
    outcomes: dict[_Key, list[tuple[bool, bool]]] = {}
    names: dict[_Key, Mapping[str, str]] = {}
    for item in logs:
        states: dict[_Key, list[bool]] = {}  # per level, which parts on it are released
        for decision in item.parts:
            released = decision.action != "suppressed"
            if variable is None:
                names[_WHOLE] = {}
                states.setdefault(_WHOLE, []).append(released)
            for level in (own for own in decision.levels if own.variable == variable):
                called = {"en": "Total", "de": "Insgesamt"} if level.total else level.names
                key = level.total, level.tree, -level.depth, called["en"]
                names.setdefault(key, called)
                states.setdefault(key, []).append(released)
        for key, on_level in states.items():
            outcomes.setdefault(key, []).append((all(on_level), any(on_level)))
    return tuple(
        ReleaseShare(
            tables=len(outcomes[key]),
            complete=sum(whole for whole, _ in outcomes[key]),
            thinned=sum(some and not whole for whole, some in outcomes[key]),
            blocked=sum(not some for _, some in outcomes[key]),
            names=names[key],
        )
        for key in sorted(outcomes)
    )


def joint_decisions(decisions: Sequence[PartDecisions]) -> PartDecisions:
    """One log for a table: a part is suppressed if one of its counts asks for it."""
    first = decisions[0]
    if len(decisions) == 1:
        return first
    every: dict[tuple[int, ...], list[PartDecision]] = {}
    for decided in decisions:
        for part in decided.parts:
            every.setdefault(part.part, []).append(part)
    hidden = frozenset[tuple[int, ...]]().union(*(decided.suppressed for decided in decisions))
    passing = [
        suggestion
        for suggestion in _once(one for decided in decisions for one in decided.suggestions)
        if tuple(level.number for level in suggestion.levels) not in hidden
    ]
    guarded = any(decided.universe == "checked" for decided in decisions)
    areas: AreaParts | None = None
    for own in (decided.areas for decided in decisions if decided.areas is not None):
        areas = own if areas is None else areas.with_hidden(own.hidden)
    return PartDecisions(
        table=first.table,
        variables=first.variables,
        parts=tuple(_together(item) for item in every.values()),
        universe="checked" if guarded else "unfiltered",
        suggestions=tuple(passing),
        areas=areas,
    )


def _together(decisions: Sequence[PartDecision]) -> PartDecision:
    """What becomes of a part, as the strictest of its decisions has it."""
    hidden = [item for item in decisions if item.action == "suppressed"]
    if not hidden:
        checked = [item for item in decisions if item.action == "released"]
        return (checked or decisions)[0]
    reasons = tuple(_once(reason for item in hidden for reason in item.reasons))
    return replace(hidden[0], reasons=reasons)


def _once(entries: Iterable[Any]) -> list[Any]:
    kept: list[Any] = []
    for entry in entries:
        if entry not in kept:
            kept.append(entry)
    return kept


def described_decisions(
    decisions: Mapping[str, PartDecisions], joint: PartDecisions
) -> dict[str, Any]:
    """The log of a table for programs."""
    whole = joint.to_dict()
    if len(decisions) == 1:
        return whole
    counts = [
        {"where": where, "parts": decided.to_dict()["parts"]}
        for where, decided in decisions.items()
    ]
    return whole | {"counts": counts}
