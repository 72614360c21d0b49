"""Commands of operations: each has the options of its settings, and those of a table of cells.

In: a file of cells (CONFIDENTIAL) and words. Out: the protected table as a file, and what is known
of it. Options, their kinds and help are those of the settings model; none is written here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from discreet.cli.program import (
    By,
    Complete,
    FoundCodes,
    Grid,
    Json,
    KeyDigits,
    Trees,
    command,
    group,
    names,
    secret_from,
    show,
    trees_from,
    warn,
)
from discreet.cli.records import Read, ShowValues, opened
from discreet.errors import DiscreetError, Problem, raise_all
from discreet.operations import (
    BY_LINE,
    OPERATIONS,
    Operation,
    SettingField,
    fields_of,
    value_of,
)
from discreet.settings import Settings, setting_problems

app = group("Methods over cells that were made elsewhere.")
_KINDS: Mapping[str, Any] = {
    **{"whole": int, "number": float, "text": str, "names": list[str], "numbers": list[str]},
    **dict.fromkeys(BY_LINE, list[str]),
    "file": Path,
}


def with_settings(
    operation: Operation, *, but: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of an operation's settings in place of its parameter
    `settings`.
    """
    fields = [
        field for field in fields_of(operation.settings, operation.package) if field.name not in but
    ]

    def added(function: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            problems: list[Problem] = []
            said = {field.name: _read(field, given.pop(field.name), problems) for field in fields}
            function(**given, settings=stated_settings(operation, said, problems))

        own = inspect.signature(function, eval_str=True)
        options = [_option(field) for field in fields]
        parameters: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            parameters += options if parameter.name == "settings" else [parameter]
        parameters = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters]
        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        run.__doc__ = function.__doc__
        return run

    return added


def _read(field: SettingField, value: Any, problems: list[Problem]) -> Any:
    """What the words of an option say: of several words each is a line, or a name."""
    if not isinstance(value, list):
        return value
    return value_of(field, ("\n" if field.kind in BY_LINE else ",").join(value), problems)


def stated_settings(
    operation: Operation, said: Mapping[str, Any], problems: Sequence[Problem] = ()
) -> Settings:
    """Settings from options; what is wrong is said with the option."""
    stated = {
        name: {"yes": True, "no": False}.get(value, value) if isinstance(value, str) else value
        for name, value in said.items()
        if value is not None
    }
    problems = [*problems]
    try:
        settings = operation.settings.model_validate(stated)
        if not problems:
            return settings
    except ValidationError as error:
        problems += setting_problems(error, known=list(operation.settings.model_fields))
    for at, each in enumerate(problems):
        word = f"--{each.where.replace('_', '-')}" if each.where else operation.command
        problems[at] = type(each)(each.what, word, each.hint)
    raise_all(DiscreetError, problems, code=operation.name, many="{} options are wrong")
    raise AssertionError


def _option(field: SettingField) -> inspect.Parameter:
    """A setting as an option."""
    word, text = f"--{field.name.replace('_', '-')}", field.help["en"] or field.label["en"]
    said = text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
    kind: Any = bool
    if field.kind == "choice":
        kind = Literal.__getitem__(field.choices)
    elif field.kind != "yes":
        kind = _KINDS[field.kind]
    usual = field.usual
    if field.kind == "choice" and isinstance(usual, bool):
        usual = "yes" if usual else "no"
    if usual is None:
        kind = kind | None
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.needed else usual,
        annotation=Annotated[kind, typer.Option(word, help=said)],
    )


def add_command(operation: Operation) -> None:
    """Add the command of an operation over a table of counts."""

    def run(
        cells: Annotated[Path, typer.Argument(help="A file with one row per cell (confidential).")],
        by: By,
        count: Annotated[str, typer.Option(help="Column with the number of records.")],
        out: Annotated[
            Path, typer.Option(help="The file to write: csv, xlsx, html, parquet, json.")
        ],
        settings: Settings,
        seed_file: Annotated[
            Path | None, typer.Option(help="File of a secret to draw from.")
        ] = None,
        seed_env: Annotated[str | None, typer.Option(help="The same as a variable.")] = None,
        cell_key: Annotated[str | None, typer.Option(help="Column with the cell keys.")] = None,
        key_grid: Grid = "10^15",
        key_digits: KeyDigits = "exact",
        weight: Annotated[str | None, typer.Option(help="Column with the sum of weights.")] = None,
        found_codes: FoundCodes = "list",
        classification: Trees = None,
        language: Annotated[str, typer.Option(help="en or de")] = "en",
        complete: Complete = None,
        read: Read = None,
        show_values: ShowValues = False,
        as_json: Json = False,
    ) -> None:
        from discreet.operations import CountSource
        from discreet.protection.noise import check_found_codes
        from discreet.publication import check_place, write
        from discreet.release import cell_table
        from discreet.tables import without_unpublished

        assert operation.study is not None
        if operation.keys(settings) == "needed" and cell_key is None:
            message = "these settings go by cell keys: name the --cell-key, or choose others"
            raise typer.BadParameter(message)
        check_place(out)
        table = cell_table(
            opened(cells, read, show_values, names(by)),
            names(by),
            trees_from(classification),
            count=count,
            weight=weight,
            cell_key=cell_key,
            key_grid=key_grid,
            key_digits=key_digits,
            name=out.name.partition(".")[0],
        )
        check_found_codes(table, found_codes)
        secret = secret_from(seed_file, seed_env)
        study = operation.study(CountSource(table=table), settings, secret)
        safe = without_unpublished(study.table) if found_codes == "hide" else study.table
        written = write(safe, out, language=language, complete=complete)
        for remark in study.remarks:
            if remark.manner in ("problem", "care"):
                warn([" ".join(item["en"] for item in (remark.text, remark.hint) if item)])
        described = {"out": str(written), "cells": len(table), "audit": study.audit}
        described |= {"not_audited": study.unexamined} if study.unexamined else {}
        show(f"The protected table is in {written}.", described, as_json=as_json)

    run.__doc__ = operation.words(operation.name)["command"]
    command(app, operation.command, example=operation.example)(with_settings(operation)(run))


for _operation in OPERATIONS.values():
    if _operation.command and not _operation.on_records:
        add_command(_operation)
