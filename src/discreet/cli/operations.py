"""Commands of operations: each has the options of its settings, and those of what goes in.

In: a file of cells or records (CONFIDENTIAL) and words. Out: the protected table as a file, and
what may be said of it. Options of a method, their kinds and help are those of its settings model;
none is written here.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from discreet.cli.program import (
    SINGLE,
    command,
    names,
    options_of,
    secret_from,
    show,
    trees_from,
    warn,
    with_parameters,
)
from discreet.cli.records import opened
from discreet.cli.setting_options import option_of, stated_settings, word_of
from discreet.errors import DiscreetError
from discreet.operations import (
    OPERATIONS,
    CountSource,
    MagnitudeSource,
    Operation,
    ProtectedSource,
    SensitiveSource,
    Source,
    UnitSource,
    draws_nothing,
    fields_of,
)

if TYPE_CHECKING:
    from discreet.microdata import Secret

# -- what goes in -----------------------------------------------------------------


def _counts(
    name: str,
    cells: Path,
    by: list[str],
    count: str,
    cell_key: str | None = None,
    key_grid: str = "10^15",
    key_digits: Literal["exact", "round"] = "exact",
    weight: str | None = None,
    found_codes: Literal["list", "hide"] = "list",
    classification: list[str] | None = None,
    read: list[str] | None = None,
    show_values: bool = False,
    values: Any = None,
) -> CountSource:
    from discreet.protection.noise import check_found_codes
    from discreet.release import cell_table

    table = cell_table(
        opened(cells, read, show_values, names(by)),
        names(by),
        trees_from(classification),
        count=count,
        weight=weight,
        cell_key=cell_key,
        key_grid=key_grid,
        key_digits=key_digits,
        values=values,
        name=name,
    )
    check_found_codes(table, found_codes)
    return CountSource(table=table)


def _magnitudes(
    name: str,
    value: str,
    largest: list[str],
    smallest: str | None = None,
    value_count: str | None = None,
    value_key: str | None = None,
    **counts: Any,
) -> MagnitudeSource:
    from discreet.tables import ValueColumns

    columns = ValueColumns(
        total=value,
        largest=names(largest),
        count=value_count or counts["count"],
        cell_key=value_key or counts["cell_key"],
        smallest=smallest,
    )
    table = _counts(name, **counts, values={value: columns}).table
    return MagnitudeSource(table=table, value=value)


def _protected_counts(
    name: str,
    cells: Path,
    by: list[str],
    value: str = "value",
    classification: list[str] | None = None,
    read: list[str] | None = None,
    show_values: bool = False,
) -> ProtectedSource:
    from discreet.release import cell_table

    rows, trees = opened(cells, read, show_values, names(by)), trees_from(classification)
    return ProtectedSource(table=cell_table(rows, names(by), trees, count=value, name=name))


def _records(
    name: str,
    file: Path,
    by: list[str],
    value: str,
    where: str | None = None,
    decimals: int = 0,
    classification: list[str] | None = None,
    read: list[str] | None = None,
    show_values: bool = False,
) -> UnitSource:
    from discreet.microdata import read_microdata
    from discreet.release import spanning_of

    records = read_microdata(opened(file, read, show_values))
    by_trees = spanning_of(records, names(by), trees_from(classification), {})
    return UnitSource(
        records=records, by=by_trees, value=value, where=where, decimals=decimals, name=name
    )


def _sensitive(
    name: str,
    file: Path,
    by: list[str],
    rule: list[str] | None = None,
    rules: Path | None = None,
    value: str | None = None,
    holding: str | None = None,
    where: str | None = None,
    decimals: int = 0,
    classification: list[str] | None = None,
    read: list[str] | None = None,
    show_values: bool = False,
) -> SensitiveSource:
    from discreet.release import RecordTable, rules_from, spanning_of

    if not rule and rules is None:
        raise typer.BadParameter("no sensitivity rule: add --rule p=10 or --rules FILE")
    records = opened(file, read, show_values)
    table, (primary,) = RecordTable(
        records=records,
        by=spanning_of(records, names(by), trees_from(classification), {}),
        rules=rules_from(rule or (), rules),
        values=[] if value is None else [value],
        holding=holding,
        where=where,
        decimals=decimals,
        name=name,
    ).judged()
    return SensitiveSource(table=table, primary=primary, value=value, decimals=decimals, computed=0)


#: How what goes into a method is read from a file: its parameters but the first are options.
_READERS: Mapping[type[Source], Callable[..., Source]] = {
    CountSource: _counts,
    MagnitudeSource: _magnitudes,
    ProtectedSource: _protected_counts,
    UnitSource: _records,
    SensitiveSource: _sensitive,
}


# -- the command ------------------------------------------------------------------


def _protect(
    out: Path,
    language: Literal["en", "de"] = "en",
    complete: bool | None = None,
    internal: Path | None = None,
    as_json: bool = False,
) -> None:
    """The options of every method."""


def _draw(
    secret: Path | None = None,
    secret_env: str | None = None,
) -> None:
    """The options of methods that draw random numbers."""


def _follow(
    programme: Path | None = None,
) -> None:
    """The option of methods that a programme for cells may replace."""


def _going_in(takes: type[Source]) -> list[inspect.Parameter]:
    """The options of what goes in: magnitudes have those of counts besides."""
    own = options_of(_READERS[takes])[1:]
    if takes is MagnitudeSource:
        counts = [
            item.replace(default=inspect.Parameter.empty) if item.name == "cell_key" else item
            for item in _going_in(CountSource)
            if item.name not in ("weight", "found_codes")
        ]
        return [*counts, *own[:-1]]
    return [item for item in own if item.name != "values"]


#: What a programme for cells leaves to the words of the line.
_BESIDE_PROGRAMME = ("cells", "out", "language", "complete", "read", "show_values", "as_json")


def add_command(operation: Operation) -> None:
    """Add the command of an operation: it reads, protects, writes and reports."""
    reader = _READERS[operation.takes]
    fields = fields_of(operation.settings, operation.package)
    going_in = _going_in(operation.takes)
    parameters = [*going_in, *(option_of(field) for field in fields)]
    parameters += [] if operation.draws is draws_nothing else options_of(_draw)
    if operation.programme:
        options = [option_of(field, needed=False) for field in fields]
        parameters = []
        for item in going_in:  # an option need not be given; the file itself must be
            if item.name != "cells" and item.default is inspect.Parameter.empty:
                kind, option = get_args(item.annotation)
                item = item.replace(default=None, annotation=Annotated[kind | None, option])
            parameters.append(item)
        parameters += options + options_of(_follow)
    parameters += options_of(_protect)
    parameters.sort(key=lambda item: item.default is not inspect.Parameter.empty)
    usual = {item.name: item.default for item in parameters}
    needed = {item.name for item in going_in if item.default is inspect.Parameter.empty}
    needed |= {field.name for field in fields if field.needed}
    needed |= {"cell_key"} if operation.programme else set()

    def run(**given: Any) -> None:
        from discreet.files import write_text
        from discreet.publication import check_place, write
        from discreet.tables import ProtectedTable, without_unpublished

        out: Path = given["out"]
        check_place(out)
        published = {"language": given["language"], "complete": given["complete"]}
        if operation.programme:
            stated = [name for name in given if given[name] != usual[name]]
            if given["programme"] is not None:
                if set(stated) - {*_BESIDE_PROGRAMME, "programme"}:
                    message = "with --programme, only --out is allowed; remove the other options"
                    raise typer.BadParameter(message)
                from discreet.release import CellProgramme, protect_by_programme

                plan = CellProgramme.read(given["programme"])
                how = given["read"], given["show_values"], plan.cells.by or []
                table = protect_by_programme(opened(given["cells"], *how), plan)
                written = write(table, out, **published)
                message = f"The protected table is in {written}."
                show(message, {"out": str(written)}, as_json=given["as_json"])
                return
            if not needed <= set(stated):
                words = ", ".join(word_of(name) for name in sorted(needed - {"cells"}))
                raise typer.BadParameter(f"add {words}, or --programme FILE")
        options = {field.name: given[field.name] for field in fields}
        settings = stated_settings(operation, fields, options)
        secret = _secret(operation, settings, given)
        with _in_options(options):
            source = reader(
                out.name.partition(".")[0], **{item.name: given[item.name] for item in going_in}
            )
            if given["internal"] is not None:  # first: it says why a table is refused
                assert operation.study is not None
                study = operation.study(source, settings, secret).described()
                text = json.dumps(study, indent=2, ensure_ascii=False)
                write_text(given["internal"], text + "\n", private=True)
            safe = operation.run(source, settings, secret)
            assert isinstance(safe, ProtectedTable)
            report = None
            if operation.report is not None:
                report = operation.report(source, settings, secret, safe)
        safe = without_unpublished(safe) if given.get("found_codes") == "hide" else safe
        written = write(safe, out, **published)
        text = f"The protected table is in {written}."
        described: dict[str, Any] = {"out": str(written)}
        described |= {"cells": len(source.table)} if isinstance(source, CountSource) else {}
        if report is not None:
            for remark in report.remarks:
                if remark.manner in ("problem", "care"):
                    warn([" ".join(item["en"] for item in (remark.text, remark.hint) if item)])
            text, described = f"{text} {report.text}".rstrip(), described | dict(report.facts)
        show(text, described, as_json=given["as_json"])

    text = operation.words(operation.name)["command"]
    whole = with_parameters(run, parameters, text)
    command(SINGLE, operation.command, example=operation.example)(whole)


def _secret(operation: Operation, settings: Any, given: Mapping[str, Any]) -> Secret | None:
    """What is drawn from, if anything is; keys and secrets that are missing are errors."""
    keys = given.get("cell_key") is not None
    if operation.keys(settings) == "needed" and not keys:
        message = "these settings need cell keys: add --cell-key COLUMN, or change the settings"
        raise typer.BadParameter(message)
    secret = secret_from(given.get("secret"), given.get("secret_env"))
    if secret is None and operation.draws(settings, keys):
        raise typer.BadParameter("add --secret FILE (create it with: discreet keys secret)")
    return secret


@contextmanager
def _in_options(options: Mapping[str, Any]) -> Iterator[None]:
    """Say of what is wrong with a setting which option it is; hints name options, too."""
    try:
        yield
    except DiscreetError as error:
        places = [problem.where.partition(",") for problem in error.problems]
        if not any(name in options for name, _, _ in places):
            raise
        stated = re.compile(rf'\b({"|".join(options)}) = ("?)([\w.…]+)\2')
        problems = [
            replace(
                problem,
                where=f"{word_of(name)}{comma}{rest}" if name in options else name,
                hint=stated.sub(lambda match: f"{word_of(match[1])} {match[3]}", problem.hint),
            )
            for problem, (name, comma, rest) in zip(error.problems, places, strict=True)
        ]
        raise type(error).of(problems, error.what, code=error.code) from None


for _operation in OPERATIONS.values():
    if _operation.command and _operation.takes in _READERS:
        add_command(_operation)
