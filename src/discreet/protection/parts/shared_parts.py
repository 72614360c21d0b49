"""Table parts that several tables of the same records have: what one hides, none shows.

In: the decisions on each table. Out: the same, with every part hidden that is a part hidden
elsewhere, or finer than one. Public on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from discreet.protection.parts.areas import AreaParts
from discreet.protection.parts.decisions import PartDecision, PartDecisions, PartReason
from discreet.protection.parts.levels import PartLattice, PartLevel, named_level
from discreet.tables import Dimension, Parts

#: Why a part is hidden that passed.
ELSEWHERE = PartReason("hidden-elsewhere")

#: Variable → level; variables at their total are left out.
_Levels = Mapping[str, PartLevel]


def released_parts(
    table: str, dimensions: Sequence[Dimension], existing: Parts | None
) -> PartDecisions:
    """Decisions on a table without rules: every part is released."""
    lattice = PartLattice.of(dimensions, existing)
    parts = [
        tuple(
            named_level(dimension, levels[number])
            for dimension, levels, number in zip(dimensions, lattice.levels, part, strict=True)
        )
        for part in filter(lattice.exists, lattice.outward)
    ]
    return PartDecisions(
        table=table,
        variables=tuple(dimension.name for dimension in dimensions),
        parts=tuple(PartDecision(levels=levels, action="released") for levels in parts),
    )


def agreed_decisions(
    decisions: Mapping[str, PartDecisions], totals: Mapping[str, str]
) -> dict[str, PartDecisions]:
    """Decisions on tables of the same records, so that none shows what another hides."""
    whole: list[_Levels] = []
    single: dict[str, list[tuple[str, _Levels]]] = {}
    for decision in decisions.values():
        hidden = [part for part in decision.parts if part.action == "suppressed"]
        whole += [_levels(part.levels) for part in hidden]
        if decision.areas is None:
            continue
        variable = decision.areas.variable
        for code, levels in _area_levels(decision, decision.areas):
            if code == totals.get(variable):
                whole.append(levels)
            else:
                single.setdefault(variable, []).append((code, levels))
    return {name: _agreed(decided, whole, single) for name, decided in decisions.items()}


def _levels(levels: Iterable[PartLevel]) -> _Levels:
    return {level.variable: level for level in levels if not level.total}


def _area_levels(decided: PartDecisions, areas: AreaParts) -> Iterator[tuple[str, _Levels]]:
    """Each hidden part of an area, with its levels."""
    known = {
        tuple(level.number for level in others): _levels(others)
        for others in _others(decided, areas.variable)
    }
    for code, parts in areas.hidden.items():
        for part in parts:
            yield code, known[part]


def _others(decided: PartDecisions, variable: str) -> Iterator[tuple[PartLevel, ...]]:
    """The parts of a table over all but one of its variables, each once."""
    levels = {
        tuple(level.number for level in others): others
        for part in decided.parts
        for others in [tuple(level for level in part.levels if level.variable != variable)]
    }
    yield from levels.values()


def _hides(hidden: _Levels, part: _Levels) -> bool:
    """Whether a part must not be shown, as what is hidden would be a sum of its cells."""
    return all(name in part and level.above(part[name]) for name, level in hidden.items())


def _agreed(
    decided: PartDecisions,
    whole: Sequence[_Levels],
    single: Mapping[str, Sequence[tuple[str, _Levels]]],
) -> PartDecisions:
    parts = tuple(
        replace(part, action="suppressed", reasons=(ELSEWHERE,))
        if part.action != "suppressed" and any(_hides(one, _levels(part.levels)) for one in whole)
        else part
        for part in decided.parts
    )
    own = decided.areas
    variables = [own.variable] if own is not None else [v for v in decided.variables if v in single]
    for variable in variables:
        own = own or AreaParts(variable=variable, hidden={})
        own = own.with_hidden(_more(decided, single.get(variable, ()), variable))
    hidden = {part.part for part in parts if part.action == "suppressed"}
    kept = [s for s in decided.suggestions if tuple(at.number for at in s.levels) not in hidden]
    return replace(decided, parts=parts, areas=own, suggestions=tuple(kept))


def _more(
    decided: PartDecisions, single: Sequence[tuple[str, _Levels]], variable: str
) -> dict[str, Parts]:
    """What a table must hide of single areas for others."""
    by_levels: dict[tuple[tuple[str, int], ...], list[str]] = {}
    known: dict[tuple[tuple[str, int], ...], _Levels] = {}
    for code, levels in single:
        key = tuple(sorted((name, level.number) for name, level in levels.items()))
        by_levels.setdefault(key, []).append(code)
        known[key] = levels
    hidden: dict[str, set[tuple[int, ...]]] = {}
    for others in _others(decided, variable):
        part = tuple(level.number for level in others)
        for key, codes in by_levels.items():
            if _hides(known[key], _levels(others)):
                for code in codes:
                    hidden.setdefault(code, set()).add(part)
    return {code: frozenset(parts) for code, parts in hidden.items()}
