"""`parameters_of`: sections of a programme to checked parameters.

In: plain sections and opened perturbation tables. Out: `Parameters` (SECRET), or one
error that lists everything that is wrong and quotes no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from discreet.errors import DiscreetError, PackageError, Problem
from discreet.keygrid import KeyGrid
from discreet.release.document import KeysEntry, PerturbationEntry
from discreet.release.figure_entries import FiguresEntry, MagnitudeEntry, PartsEntry
from discreet.release.packages.parameters import PLACES, Magnitude, Parameters

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.perturbation import MagnitudePerturbationTable, PerturbationTable

__all__ = ["SECTIONS", "parameters_of"]

#: The sections of a programme that are parameters; `official` is a text of [defaults].
SECTIONS = ("perturbation", "magnitudes", "parts", "figures", "keys", "official")

_Form = TypeVar("_Form", bound=BaseModel)


def parameters_of(
    sections: Mapping[str, Any],
    perturbation_table: PerturbationTable,
    magnitude_tables: Mapping[str, MagnitudePerturbationTable] | None = None,
    *,
    secret: Secret | None = None,
    statistic: str = "",
    version: str = "",
) -> Parameters:
    """Parameters of plain sections, as a programme has them, and of opened tables.

    Args:
        sections: Any of perturbation, magnitudes, parts, figures and keys, each with the
            keys it has in a programme, and official, a filter on codes.
        perturbation_table: The perturbation table for counts.
        magnitude_tables: Per value column in `magnitudes`, its perturbation table.
        secret: The secret of the record keys, only if it is to be handed on.
        statistic: The statistic, if these come from a package.
        version: The version, if these come from a package.

    Raises:
        PackageError: Lists everything that is wrong.

    >>> from discreet import PerturbationTable
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> parameters_of({"figures": {"bracket_above": 0.2}}, ptable)
    <Parameters: secret>
    """
    problems = [
        Problem("there is no such section", name, f"known: {', '.join(SECTIONS)}")
        for name in sections
        if name not in SECTIONS
    ]
    rules = _entry(PerturbationEntry, "perturbation", sections.get("perturbation"), problems)
    keys = _entry(KeysEntry, "keys", sections.get("keys"), problems)
    figures = _entry(FiguresEntry, "figures", sections.get("figures"), problems)
    parts = None
    if sections.get("parts") is not None:
        parts = _entry(PartsEntry, "parts", sections["parts"], problems)
    magnitudes = _magnitudes(sections.get("magnitudes"), magnitude_tables or {}, problems)
    official = _official(sections.get("official"), problems)
    if not problems:
        problems += _together(perturbation_table, rules, keys.grid)
        problems += _usable(parts, magnitudes)
    _raise(problems)
    return Parameters(
        perturbation_table=perturbation_table,
        rules=rules,
        magnitudes=MappingProxyType(magnitudes),
        parts=parts,
        figures=figures,
        official=official,
        keys=keys,
        secret=secret,
        statistic=statistic,
        version=version,
    )


def _entry(form: type[_Form], where: str, given: Any, problems: list[Problem]) -> _Form:
    """A section in its form, without the places of files."""
    if given is not None and not isinstance(given, Mapping):
        problems.append(Problem("this is not a section of keys and values", where))
        given = None
    places = PLACES.get(where.partition(".")[0], set())
    values = {key: value for key, value in (given or {}).items() if key not in places}
    try:
        return form.model_validate(values)
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False):
            place = ".".join(str(part) for part in (where, *details["loc"]))
            unknown = details["type"] == "extra_forbidden"
            what = "there is no such key" if unknown else "the value cannot be used"
            hint = f"known: {', '.join(form.model_fields)}" if unknown else ""
            problems.append(Problem(what, place, hint))
        return form()


def _magnitudes(
    given: Any, tables: Mapping[str, MagnitudePerturbationTable], problems: list[Problem]
) -> dict[str, Magnitude]:
    """Each value column with its section and its table."""
    if given is not None and not isinstance(given, Mapping):
        problems.append(Problem("this is not a section of keys and values", "magnitudes"))
        given = None
    sections: Mapping[str, Any] = given or {}
    problems += [
        Problem("there is no such section", f"magnitudes.{column}")
        for column in tables
        if column not in sections
    ]
    found = {}
    for column, section in sections.items():
        where = f"magnitudes.{column}"
        entry = _entry(MagnitudeEntry, where, section, problems)
        if column in tables:
            found[column] = Magnitude(entry, tables[column])
        else:
            problems.append(Problem("its perturbation table is missing", where))
    return found


def _official(given: Any, problems: list[Problem]) -> str | None:
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    if not isinstance(given, str):
        problems.append(Problem("must be a text", "official"))
        return None
    problems += _attempted("official", lambda: _parsed(given))
    return given.strip()


def _parsed(text: str) -> None:
    from discreet.tabulation.filters import parse_filter

    parse_filter(text)


def _together(
    table: PerturbationTable, rules: PerturbationEntry, grid: KeyGrid
) -> Iterator[Problem]:
    """What concerns the table for counts and a rule at once."""
    if rules.zeros == "table" and not table.changes_zeros:
        hint = 'use zeros = "keep", or a table with such a row 0'
        what = "the perturbation table holds no noise for zeros"
        yield Problem(what, "perturbation.zeros", hint)
    nothing = np.zeros(1, dtype=np.int64)
    yield from _attempted("keys.grid", lambda: table.lookup(nothing, nothing, grid))


def _usable(parts: PartsEntry | None, magnitudes: Mapping[str, Magnitude]) -> Iterator[Problem]:
    """What thresholds and noise find wrong with their own settings."""
    if parts is not None:
        yield from _attempted("parts", lambda: _part_rules(parts))
    for column, magnitude in magnitudes.items():
        yield from _attempted(f"magnitudes.{column}", magnitude.noise)
        yield from _attempted(f"magnitudes.{column}", magnitude.rules)


def _part_rules(parts: PartsEntry) -> None:
    from dataclasses import fields

    from discreet.suppression import PartRules

    known = [field.name for field in fields(PartRules)]
    hint = f"known: {', '.join(known)}"
    unknown = [name for name in parts.thresholds if name not in known]
    _raise([Problem("there is no such key", name, hint) for name in unknown])
    # Tables may state the thresholds themselves, and only the rest here.
    PartRules(**{"max_share_small": 1.0, **parts.thresholds})


def _attempted(where: str, step: Callable[[], object]) -> Iterator[Problem]:
    try:
        step()
    except DiscreetError as error:
        for problem in error.problems:
            place = f"{where}.{problem.where}" if problem.where else where
            yield Problem(problem.what, place, problem.hint)


def _raise(problems: Sequence[Problem]) -> None:
    """Raise one error for all problems; do nothing when there is none."""
    if not problems:
        return
    several = len(problems) > 1
    raise PackageError(
        f"the parameters have {len(problems)} mistakes" if several else problems[0].what,
        code="parameters",
        where="" if several else problems[0].where,
        hint="" if several else problems[0].hint,
        problems=problems,
    )
