"""`NoiseProtection`: what the cell-key method answers to a release.

In: tables of a programme and their true counts (CONFIDENTIAL), perturbation tables (SECRET).
Out: tables of counts and key figures with noise, each protected on its own.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.errors import DisclosureWarning, TableError
from discreet.protection.protocol import (
    COUNT,
    AssessedTable,
    Counts,
    Determinants,
    InputsView,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
    all_of,
    figure_filter,
)
from discreet.tables import codes_found

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.protection.noise.table import PerturbationTable
    from discreet.tables import Ingredient, Note, ProtectedTable, Table

#: What of a table changes no cell, or is described by itself; and what other methods ask for.
_APART = {
    "official",
    "parts",
    "areas",
    "source",
    "workbook",
    "map",
    "quantiles",
    "flows",
    "available",
}
_OTHERS = {"protect", "rules", "holdings", "value", "shadow", "marks", "known", "ratios"}


class NoiseProtection(Protection):
    """Counts and magnitudes change by noise that their cell keys draw."""

    name = "noise"
    manner = "noise"
    beside: Mapping[str, str] = MappingProxyType(
        {"suppress": "noise on values that are suppressed elsewhere discloses them"}
    )
    table_keys = (
        "figures",
        "parts",
        "official",
        "round_to",
        "additive",
        "quantiles",
        "flows",
        "available",
    )
    sections = ("perturbation",)
    record_keys = True
    attacked = "table"

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Zeros that get noise, digits of rounded figures; the rest is checked elsewhere."""
        stated = programme.perturbation
        for name in tables:
            if programme.additive_with(name) and stated.suppress_below:
                message = "suppressed values are not additive"
                yield programme.at(programme.setting(name, "additive"), message)
            if (programme.tables[name].round_to or 1) > 1 and stated.decimals:
                message = "values rounded to multiples have no decimals"
                hint = "remove decimals from [perturbation]"
                yield programme.at(programme.setting(name, "round_to"), message, hint)
            if programme.tables[name].weight and stated.zeros == "table":
                message = (
                    "zeros of a weighted table cannot be perturbed, because they have no "
                    "mean weight"
                )
                place = programme.setting(name, "weight")
                yield programme.at(place, message, 'use zeros = "keep"')

    def warnings(self, inputs: InputsView, tables: Sequence[str]) -> Iterable[str]:
        """Tables of the wrong form, figures that tell too much, noise without use."""
        programme = inputs.programme
        if inputs.parameters is not None:
            yield from noise_warnings(inputs.parameters)
            yield from _shared_columns(programme, inputs.parameters)
            for column, magnitude in inputs.parameters.magnitudes.items():
                if magnitude.p_percent == 0:
                    yield (
                        f"values of {column!r} may come close to a single contribution: remove "
                        "p_percent = 0"
                    )
            weighted = [name for name in tables if programme.tables[name].weight]
            if weighted and inputs.parameters.rules.decimals:
                yield (
                    f"decimals of the weighted values of {', '.join(weighted)} disclose the "
                    "number of records: remove decimals from [perturbation]"
                )
        yield from unused_noise(programme)
        for source in {item.name: item for item in map(programme.source_of, tables)}.values():
            if source.plain_parts is not None and source.keys.inheritance is None:
                place = programme.problem(source.keys_path, "").where
                yield (
                    f"the units of {source.name!r} have the sums of the keys of "
                    f"{source.plain_parts!r} and therefore the same noise, so the difference of "
                    'their published numbers is a true value; add unit = "household" in '
                    f'{place} for independent noise, or confirm with inheritance = "plain"'
                )

    def margin(self, inputs: InputsView, table: str) -> int | None:
        """That of the perturbation table, for counts that nothing else changes."""
        programme, entry = inputs.programme, inputs.programme.tables[table]
        other = any(figure.kind != "count" for figure in entry.figures.values())
        changed = entry.weight or programme.additive_with(table) or other
        if changed or not programme.document.publication.margins:
            return None
        ptable: PerturbationTable = inputs.parameters.perturbation_table
        return ptable.margin(entry.round_to or 1)

    def tells(self, programme: ProgrammeView, table: str) -> Sequence[str]:
        """Figures that readers learn, including derived ones.

        Means stand beside a count that can be worked out with them. Figures that are not
        printed are ingredients of others, so they count too.
        """
        figures = [each for each in programme.tables[table].figures.values() if each.counted]
        counts = {COUNT for each in figures if each.kind == "mean"}
        if programme.tables[table].figures:
            return sorted(counts | {each.of or COUNT for each in figures})
        return [COUNT]

    def linked(self, programme: ProgrammeView, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Each table alone: cells with equal keys get equal noise wherever they stand."""
        return [(name,) for name in tables]

    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """One count per filter."""
        entry = inputs.programme.tables[table]
        columns: dict[str, set[str]] = {}
        for figure, described in entry.figures.items():
            if described.counted:
                named = columns.setdefault(figure_filter(entry, figure), set())
                named |= {described.of} if described.of else set()
        if not entry.figures:
            columns[all_of(entry.where)] = set()
        magnitudes = inputs.parameters.magnitudes
        return {
            where: {column: max(2, magnitudes[column].contributions) for column in named}
            for where, named in columns.items()
        }

    def cellwise(self, inputs: InputsView, table: str) -> bool:
        """Counts, unless figures or other cells decide what becomes of one."""
        programme, entry = inputs.programme, inputs.programme.tables[table]
        others = entry.figures or entry.weight or programme.additive_with(table)
        return not others and inputs.parameters.rules.found_codes == "list"

    def determinants(self, inputs: InputsView, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """Per table, its figures, thresholds and exemptions, and digests of the parameters."""
        programme = inputs.programme
        keys = {name: inputs.release_keys[programme.source_of(name).name] for name in tables}
        digests = {
            key: inputs.parameters.digests(key.value) for key in dict.fromkeys(keys.values())
        }
        determined = {}
        for name, key in keys.items():
            entry, official, secret = programme.tables[name], inputs.official(name), digests[key]
            columns = {figure.of for figure in entry.figures.values() if figure.of is not None}
            own = [
                entry.model_dump(exclude=_APART | _OTHERS),
                inputs.described_variables(name),
                [official, inputs.totals] if official else [],
                secret["figures"] if entry.figures else "",
                {column: secret[f"magnitudes.{column}"] for column in sorted(columns)},
                [inputs.programme.thresholds(name), inputs.programme.held_against_all(name)],
            ]
            shared = {"counts": secret["perturbation"]}
            determined[name] = Determinants(shared=shared, own=own, whole=True)
        return determined

    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """Each table by itself."""
        for name, counts in counted.items():
            rules = inputs.parameters.rules
            options = {
                "suppress_below": rules.suppress_below,
                "official": inputs.official_rule(name),
                "totals": inputs.totals,
                "digests": context.printed[name],
            }
            make = _figures if inputs.programme.tables[name].figures else _plain
            table, used, assessed = make(inputs, name, counts, options)
            outcome = ReleasedOutcome(
                table=table,
                remembered={},
                assessed=assessed,
                found_codes=codes_found([own for table in used for own in table.dimensions])
                if inputs.parameters.rules.found_codes == "list"
                else {},
            )
            yield ProtectedGroup(tables={name: outcome}, internal=None, warnings=())

    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """The standard deviation of the noise that counts can get."""
        from discreet.protection.noise.intervals import count_deviations

        return count_deviations(inputs.parameters.perturbation_table.content, counts)

    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """Nothing: its tables say that they need not add up."""
        return ()

    def changed(
        self, name: str, before: Callable[[], ProtectedTable], after: ProtectedTable
    ) -> str:
        """Nothing: equal cells have equal noise in both."""
        return ""


# -- what is made of counts; here they cross the confidentiality line --------------------

_Made = tuple["ProtectedTable", list["Table"], AssessedTable]


def _plain(inputs: InputsView, name: str, counts: Counts, options: Mapping[str, Any]) -> _Made:
    """A table of counts without key figures, what it is made of, and what it is judged by."""
    from discreet.protection.noise.counts import protect_counts
    from discreet.tables import without_unpublished

    entry, rules = inputs.programme.tables[name], inputs.parameters.rules
    table = counts[all_of(entry.where)]
    safe = protect_counts(
        table,
        inputs.parameters.perturbation_table,
        zeros=rules.zeros,
        decimals=rules.decimals,
        round_to=entry.round_to or 1,
        **options,
    ).protected
    if rules.found_codes == "hide":
        safe = without_unpublished(safe)
    return safe, [table], AssessedTable(counts=table, ingredients={}, figures=())


def _figures(inputs: InputsView, name: str, counts: Counts, options: Mapping[str, Any]) -> _Made:
    """A table of key figures, from the counts and magnitudes they are made of."""
    from discreet.derived import derive

    entry, parameters = inputs.programme.tables[name], inputs.parameters
    used = {
        figure: counts[figure_filter(entry, figure)]
        for figure, described in entry.figures.items()
        if described.counted
    }
    ingredients = {
        figure: _ingredient(inputs, name, figure, table, options) for figure, table in used.items()
    }
    figures = []
    for figure, described in entry.figures.items():
        limit = described.bracket_above
        if limit is None and described.of is not None:
            limit = parameters.magnitudes[described.of].entry.bracket_above
        figures.append(described.key_figure(figure, limit))
    try:
        safe = derive(
            ingredients,
            figures,
            bracket_above=parameters.figures.bracket_above,
            found_codes=parameters.rules.found_codes,
            name=name,
        )
    except TableError as error:
        raise _placed(inputs.programme, error, name) from None
    assessed = AssessedTable(counts=None, ingredients=ingredients, figures=figures)
    return safe, list(used.values()), assessed


def _ingredient(
    inputs: InputsView, name: str, figure: str, table: Table, options: Mapping[str, Any]
) -> Ingredient:
    from discreet.protection.noise.counts import count_ingredient
    from discreet.protection.noise.magnitudes import magnitude_ingredient, mean_ingredient

    entry, parameters = inputs.programme.tables[name], inputs.parameters
    described, rules = entry.figures[figure], parameters.rules
    if described.of is None:
        return count_ingredient(
            table,
            parameters.perturbation_table,
            round_to=entry.round_to or 1,
            zeros=rules.zeros,
            decimals=rules.decimals,
            **options,
        )
    make = mean_ingredient if described.kind == "mean" else magnitude_ingredient
    with warnings.catch_warnings():  # a release says once for all tables what is shared
        warnings.simplefilter("ignore", DisclosureWarning)
        return make(
            table,
            parameters.noise[described.of],
            described.of,
            **parameters.magnitudes[described.of].treatment(table, described.of),
            ptable=parameters.perturbation_table,
            decimals=described.decimals,
            count_decimals=rules.decimals,
            **options,
        )


def _placed(programme: ProgrammeView, error: TableError, name: str) -> TableError:
    """An error about key figures, at their places in the programme."""
    problems = []
    for problem in error.problems:
        known = problem.where in programme.tables[name].figures
        key = ("tables", name, *(("figures", problem.where) if known else ()))
        where = f"{programme.path.name}, {programme.problem(key, '').where}"
        problems.append(dataclasses.replace(problem, where=where))
    return TableError(
        error.what,
        code=error.code,
        where=problems[0].where if len(problems) == 1 else str(programme.path),
        hint=error.hint,
        problems=problems,
    )


# -- warnings ---------------------------------------------------------------------------


def noise_warnings(parameters: Any) -> tuple[str, ...]:
    """Warnings about a table without noise, and tables of magnitudes that look like it."""
    from discreet.protection.noise.counts import WITHOUT_NOISE

    without = (WITHOUT_NOISE,) if parameters.perturbation_table.changes_nothing else ()
    return without + tuple(
        f"the table of [magnitudes.{column}] looks like a perturbation table for counts; check "
        "that it is one for magnitudes"
        for column, magnitude in parameters.magnitudes.items()
        if magnitude.table.resembles_counts
    )


def unused_noise(programme: ProgrammeView) -> tuple[str, ...]:
    """Warnings about noise that a programme describes and no table uses."""
    used = {f.of for table in programme.tables.values() for f in table.figures.values()}
    return tuple(
        f"no table uses [magnitudes.{column}]"
        for column in programme.document.magnitudes
        if column not in used
    )


def _shared_columns(programme: ProgrammeView, parameters: Any) -> Iterator[str]:
    """Warnings about value columns of the same records whose noise has the same keys."""
    shared = {name for name, each in parameters.magnitudes.items() if each.entry.keys == "shared"}
    columns: dict[str, set[str]] = {}
    for name, place in programme.places.items():
        used = {figure.of for figure in programme.tables[name].figures.values() if figure.of}
        columns.setdefault(place, set()).update(used & shared)
    for item in sorted({tuple(sorted(own)) for own in columns.values() if len(own) > 1}):
        from discreet.protection.noise.magnitudes import shared_keys_warning

        yield shared_keys_warning(item)
