"""Commands on records: ``records …``, ``structure-file``, ``synthesise``, ``assess-records``.

In: a file of records (CONFIDENTIAL) and words. Out: changed or made-up records as a file, or a
report (CONFIDENTIAL). Options of a method are those of its settings; none is written here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import typer

from discreet.cli.program import SINGLE, command, group, names, secret_from, show, warn
from discreet.cli.records import stated
from discreet.cli.setting_options import with_settings
from discreet.operations import (
    OPERATIONS,
    ChangedSource,
    MicrodataSource,
    Operation,
    fields_of,
)

app = group("Apply one microdata method to a file (several: discreet anonymise).")


def _lines(measures: Mapping[str, Any]) -> Iterator[str]:
    """What a method did, in numbers."""
    for name, value in measures.items():
        inner = value if isinstance(value, Mapping) else {"": value}
        texts = (f"{key} {one:.4g}" if isinstance(one, float) else f"{key} {one}"
                 for key, one in inner.items())  # fmt: skip
        yield f"  {name}: {', '.join(map(str.strip, texts))}"


def add_method(operation: Operation) -> None:
    """Add the command of a method on records."""

    def run(
        file: Path,
        out: Path,
        settings: Any,
        identifier: list[str] | None = None,
        drop: list[str] | None = None,
        keep: list[str] | None = None,
        secret_file: Path | None = None,
        secret_env: str | None = None,
        read: list[str] | None = None,
        as_json: bool = False,
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
        facts["measures"] = json.loads(json.dumps(made.measures, default=str))
        lines = [*made.statement["en"], "Measures (confidential):", *_lines(facts["measures"][0])]
        show("\n".join(lines), facts, as_json=as_json)

    run.__doc__ = operation.words(operation.name)["command"]
    line = [operation.command, "persons.csv"]
    for field in fields_of(operation.settings, operation.package):
        value = getattr(operation.begin, field.name)
        if value and value != field.usual:
            option = f"--{field.name.replace('_', '-')}"
            texts = field.text_of(value).replace(", ", ",").replace(" = ", "=").splitlines()
            texts = [f"{field.name}.csv"] if field.kind == "content" else texts
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


@command(SINGLE, "structure-file")
@with_settings(OPERATIONS["structure_file"])
def structure(
    file: Path,
    out: Path,
    settings: Any,
    identifier: list[str] | None = None,
    secret_file: Path | None = None,
    secret_env: str | None = None,
    findings: Path | None = None,
    read: list[str] | None = None,
    as_json: bool = False,
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


@command(SINGLE, "synthesise")
@with_settings(OPERATIONS["synthesise"])
def synthesise(
    file: Path,
    out: Path,
    settings: Any,
    identifier: list[str] | None = None,
    secret_file: Path | None = None,
    secret_env: str | None = None,
    language: Literal["en", "de"] = "en",
    read: list[str] | None = None,
    as_json: bool = False,
) -> None:
    """Create synthetic records from microdata or protected tables, and a report on them."""
    from discreet.microdata import described_records, format_of

    format_of(out, None)
    secret = secret_from(secret_file, secret_env)
    if secret is None:
        raise typer.BadParameter("add --secret-file FILE (create it with: discreet keys secret)")
    tables, ids = settings.method == "tables", names(identifier)
    if not tables and not ids:
        raise typer.BadParameter("add --id COLUMN, the identifier of a record")
    records = file if tables and file.is_dir() else described_records(file, **stated(read))
    source = MicrodataSource(records=records, id=ids, files=True)
    made: Any = OPERATIONS["synthesise"].run(source, settings, secret)
    # The report first: where an attack exceeds its limit, writing the records is refused.
    show(made.report.text(language), {"out": str(out), **made.report.described()}, as_json=as_json)
    made.write(out, language=language)


@command(SINGLE, "assess-records")
@with_settings(OPERATIONS["assess_records"])
def assess(
    file: Path,
    settings: Any,
    original: Path | None = None,
    identifier: list[str] | None = None,
    numbers: list[str] | None = None,
    codes: list[str] | None = None,
    language: Literal["en", "de"] = "en",
    out: Path | None = None,
    read: list[str] | None = None,
    as_json: bool = False,
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
