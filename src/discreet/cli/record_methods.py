"""Commands on records: ``discreet records …``, ``structure-file`` and ``assess-records``.

In: a file of records (CONFIDENTIAL) and words. Out: changed or made-up records as a file, or a
report (CONFIDENTIAL). Options of a method are those of its settings; none is written here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discreet.cli.program import Json, command, group, names, secret_from, show, warn
from discreet.cli.records import Read, stated
from discreet.cli.setting_options import with_settings
from discreet.operations import (
    OPERATIONS,
    ChangedSource,
    MicrodataSource,
    Operation,
    fields_of,
)

app = group("Apply one microdata method to a file (several: discreet anonymise).")

File = Annotated[Path, typer.Argument(help="Microdata file. CONFIDENTIAL.")]
Out = Annotated[Path, typer.Option(help="File to write: .dta, .sav, .csv or .parquet.")]
Identifier = Annotated[list[str] | None, typer.Option("--id", help="Identifier columns.")]
SecretFile = Annotated[Path | None, typer.Option(help="Secret file for random draws.")]
SecretEnv = Annotated[str | None, typer.Option(help="Environment variable with the secret.")]


def register(to: typer.Typer) -> None:
    """Add the commands that stand in no group."""
    line = "discreet structure-file survey.dta --id pid --secret-file secret.key --out dummy.dta"
    command(to, "structure-file", example=line)(structure)
    line = "discreet assess-records persons.csv --keys region,age,sex --out risk.html"
    command(to, "assess-records", example=line)(assess)


def add_method(operation: Operation) -> None:
    """Add the command of a method on records."""

    def run(
        file: File,
        out: Out,
        settings: Any,
        identifier: Identifier = None,
        drop: Annotated[list[str] | None, typer.Option(help="Columns to drop.")] = None,
        keep: Annotated[list[str] | None, typer.Option(help="Identifying columns to keep.")] = None,
        secret_file: SecretFile = None,
        secret_env: SecretEnv = None,
        read: Read = None,
        as_json: Json = False,
    ) -> None:
        from discreet.microdata import described_records, format_of, write_described

        format_of(out, None)
        ids, secret = names(identifier), secret_from(secret_file, secret_env)
        if settings.identified and not ids:
            raise typer.BadParameter("add --id COLUMN, the identifier of a record")
        if settings.drawn and secret is None:
            raise typer.BadParameter(
                "add --secret-file FILE (create it with: discreet keys secret)"
            )
        source = ChangedSource(
            records=described_records(file, **stated(read)),
            id=ids,
            files=True,
            drop=names(drop),
            keep=names(keep),
            keys=(),
            tables=(),
        )
        made: Any = operation.run(source, settings, secret)
        write_described(made.described, out)
        warn(made.warnings)
        facts = {"out": str(out), "records": made.described.frame.height, **made.statement}
        show("\n".join(made.statement["en"]), facts, as_json=as_json)

    run.__doc__ = operation.words(operation.name)["command"]
    line = [operation.command, "persons.csv"]
    for field in fields_of(operation.settings, operation.package):
        value = getattr(operation.begin, field.name)
        if value and value != field.usual:
            option = f"--{field.name.replace('_', '-')}"
            texts = field.text_of(value).replace(", ", ",").replace(" = ", "=").splitlines()
            line += [option] if field.kind == "yes" else [f"{option} {text}" for text in texts]
    begin: Any = operation.begin
    line += ["--id person_id"] if begin.identified else []
    line += ["--secret-file secret.key"] if begin.drawn else []
    line += [] if "direct" in begin.model_fields_set else ["--drop person_id"]
    word = operation.command.rpartition(" ")[2]
    example = " ".join(["discreet", *line, "--out changed.csv"])
    command(app, word, example=example)(with_settings(operation)(run))


for _operation in OPERATIONS.values():
    if _operation.step:
        add_method(_operation)


@with_settings(OPERATIONS["structure_file"])
def structure(
    file: File,
    out: Out,
    settings: Any,
    identifier: Identifier = None,
    secret_file: SecretFile = None,
    secret_env: SecretEnv = None,
    findings: Annotated[
        Path | None, typer.Option(help="JSON file with the omitted features. CONFIDENTIAL.")
    ] = None,
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Create a dummy file: synthetic records with the structure of a file, for writing programs."""
    from discreet.microdata import described_records, format_of

    format_of(out, None)
    source = MicrodataSource(
        records=described_records(file, **stated(read)), id=names(identifier), files=True
    )
    secret = secret_from(secret_file, secret_env)
    made: Any = OPERATIONS["structure_file"].run(source, settings, secret)
    made.write(out)
    if findings is not None:
        made.write_findings(findings)
    show(made.statement["en"], {"out": str(out), **made.statement}, as_json=as_json)


@with_settings(OPERATIONS["assess_records"])
def assess(
    file: File,
    settings: Any,
    original: Annotated[Path | None, typer.Option(help="Original file to compare with.")] = None,
    identifier: Annotated[
        list[str] | None, typer.Option("--id", help="Identifier columns in both files.")
    ] = None,
    numbers: Annotated[list[str] | None, typer.Option(help="Numeric columns to compare.")] = None,
    codes: Annotated[list[str] | None, typer.Option(help="Categorical columns to compare.")] = None,
    language: Annotated[Literal["en", "de"], typer.Option(help="Language of the report.")] = "en",
    out: Annotated[
        Path | None, typer.Option(help="Report file: .html, .txt or .json. CONFIDENTIAL.")
    ] = None,
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Say how easily those in a file are found, and what changing it did. CONFIDENTIAL."""
    from discreet.assessment import assess_records, compare_records

    if (original is None) != (identifier is None):
        raise typer.BadParameter("--original FILE and --id COLUMN are required together")
    records = assess_records(file, settings, **stated(read))
    text, described = [records.text(language)], records.described()
    if original is not None:
        changes = compare_records(
            original, file, id=names(identifier), numbers=names(numbers), codes=names(codes),
            sensitive=settings.sensitive if codes else (),
        )  # fmt: skip
        text.append(changes.text(language))
        described["changes"] = changes.described()
    if out is not None:
        records.write(out, language=language)
    show("\n".join(text), described, as_json=as_json)
