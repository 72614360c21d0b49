"""Files of records on the command line: ``discreet detect``, and ``--read`` of all commands.

In: a file and words such as ``decimal=,``, the name of a TOML file, or ``auto``. Out: records as
they are meant (confidential), or what was found out about the file. Values are shown only with
``--show-values``, and then the first wrong one only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discreet.cli.program import FAILURE, Json, command, names, show

Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        help="How the file is read: KEY=VALUE as in [data] (decimal=, or types.income=number), "
        "a TOML file with such keys, or auto; again for several.",
    ),
]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Let errors quote the first wrong value. CONFIDENTIAL."),
]

#: Keys of sources that say where records are, and nothing on how they are read.
_PLACES = ("source", "database", "database_env", "name", "version")
_CALL = ("format", "table", "query")
_LISTS = ("null_values", "text", "columns")
_TABLES = ("types", "rename", "recode", "null_values")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(app, "detect", example="discreet detect persons.csv > reading.toml")(detect)
    line = "discreet structure-file survey.dta --id pid --secret-file secret.key --out dummy.dta"
    command(app, "structure-file", example=line)(structure)
    line = "discreet assess-records persons.csv --keys region,age,sex --out risk.html"
    command(app, "assess-records", example=line)(assess)


def detect(
    file: Annotated[Path, typer.Argument(help="The file of records.")],
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Find out how a file of records is to be read: a [data] section to paste, no values."""
    from discreet.microdata import detect_reading

    given = stated(read)
    given.pop("detect", None)
    for key in ("table", "query"):
        if key in given:
            raise typer.BadParameter(f"{key} is for databases, which say their types themselves")
    found = detect_reading(file, **given)
    show(found.text(), found.described(), as_json=as_json)
    if found.problems:
        raise typer.Exit(FAILURE)


def structure(
    file: Annotated[Path, typer.Argument(help="The file of records. CONFIDENTIAL.")],
    out: Annotated[Path, typer.Option(help="The file to write: .dta, .sav, .csv or .parquet.")],
    count: Annotated[int, typer.Option("--records", min=1, help="Records to make up.")] = 1_000,
    secret_file: Annotated[
        Path | None, typer.Option(help="File of a secret: the same file again.")
    ] = None,
    identifier: Annotated[
        list[str] | None, typer.Option("--id", help="Variables that name a unit.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Whose record it is, where units have several.")
    ] = None,
    threshold: Annotated[int, typer.Option(min=3, help="Fewest units behind a code.")] = 10,
    agree: Annotated[
        int | None, typer.Option(min=1, help="Rare values agree in fewer variables than this.")
    ] = None,
    public: Annotated[
        list[str] | None, typer.Option(help="Variables whose codes and ends are known anyway.")
    ] = None,
    shares: Annotated[
        list[str] | None, typer.Option(help="Variables that keep their rough distribution.")
    ] = None,
    together: Annotated[
        list[str] | None, typer.Option(help="Variables combined as they occur; again for others.")
    ] = None,
    findings: Annotated[
        Path | None, typer.Option(help="Write what was left out, in JSON. CONFIDENTIAL.")
    ] = None,
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Make up records with the structure of a file: a Dummy-Datei for those who write programs."""
    from discreet.microdata import format_of
    from discreet.pretabular import structure_file

    format_of(out, None)
    made = structure_file(
        file,
        records=count,
        secret=secret_file,
        id=names(identifier),
        unit=unit,
        threshold=threshold,
        agree=agree,
        public=names(public),
        shares=names(shares),
        together=[names([one]) for one in together or ()],
        **stated(read),
    )
    made.write(out)
    if findings is not None:
        made.write_findings(findings)
    show(made.statement["en"], {"out": str(out), **made.statement}, as_json=as_json)


def assess(
    file: Annotated[Path, typer.Argument(help="The file of records. CONFIDENTIAL.")],
    keys: Annotated[list[str], typer.Option(help="Variables that others know, together.")],
    weight: Annotated[str | None, typer.Option(help="Column of sampling weights.")] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(help="Variables that nobody is to learn.")
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Fewer records alike are counted.")] = 3,
    limit: Annotated[float, typer.Option(help="Risks above are counted.")] = 0.05,
    missing: Annotated[
        Literal["own", "any"],
        typer.Option(help='A missing value: a value like others ("own"), or it may be any.'),
    ] = "own",
    special: Annotated[
        int, typer.Option(min=0, help="Search sets of so many variables for special uniques.")
    ] = 3,
    harmless: Annotated[
        list[str] | None, typer.Option(help="Columns that name nobody, though values differ.")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(help="The file before it was changed: both are compared.")
    ] = None,
    id_: Annotated[
        list[str] | None, typer.Option("--id", help="What identifies a record in both files.")
    ] = None,
    numbers: Annotated[list[str] | None, typer.Option(help="Numbers to compare.")] = None,
    codes: Annotated[list[str] | None, typer.Option(help="Codes to compare.")] = None,
    language: Annotated[Literal["en", "de"], typer.Option(help="Language of the report.")] = "en",
    out: Annotated[
        Path | None, typer.Option(help="Write the report: .html, .txt or .json. CONFIDENTIAL.")
    ] = None,
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Say how easily those in a file are found, and what changing it did. CONFIDENTIAL."""
    from discreet.assessment import assess_records, compare_records

    if (original is None) != (id_ is None):
        raise typer.BadParameter("to compare two files, give --original FILE and --id COLUMN")
    records = assess_records(
        file, keys=names(keys), weight=weight, sensitive=names(sensitive), k=k, limit=limit,
        missing=missing, special=special, harmless=names(harmless), **stated(read),
    )  # fmt: skip
    text, described = [records.text(language)], records.described()
    if original is not None:
        changes = compare_records(
            original, file, id=names(id_), numbers=names(numbers), codes=names(codes),
            sensitive=names(sensitive) if codes else (),
        )  # fmt: skip
        text.append(changes.text(language))
        described["changes"] = changes.described()
    if out is not None:
        records.write(out, language=language)
    show("\n".join(text), described, as_json=as_json)


def stated(read: Sequence[str] | None) -> dict[str, Any]:
    """What the words of ``--read`` say, as `discreet.read_microdata` takes it.

    >>> stated(["decimal=,", "null_values=NA,-", "types.income=number"])
    {'decimal': ',', 'null_values': ['NA', '-'], 'types': {'income': 'number'}}
    """
    found: dict[str, Any] = {}
    for word in read or ():
        key, equals, value = word.partition("=")
        if word == "auto":
            found["detect"] = True
        elif not equals:
            found |= _of_file(Path(word))
        elif "." in key:
            _put(found, key, value)
        else:
            found[key] = _value(key, value)
    return found


def _put(found: dict[str, Any], key: str, value: str) -> None:
    """One entry of a table: types.income=number, recode.sex.1=m."""
    table, _, rest = key.partition(".")
    if table not in _TABLES:
        raise typer.BadParameter(f"{table} has no entries; --read {key} cannot be")
    place = found.setdefault(table, {})
    if not isinstance(place, dict):
        raise typer.BadParameter(f"{table} is given for all columns and for one")
    if table == "recode":
        column, dot, code = rest.rpartition(".")
        if not dot:
            raise typer.BadParameter("write recode.COLUMN.CODE=NEW")
        place.setdefault(column, {})[code] = value
    else:
        place[rest] = value.split(",") if table == "null_values" else value


def _value(key: str, text: str) -> Any:
    if key in _LISTS:
        return text.split(",")
    if key in ("skip", "header", "sheet") and text.isdigit():
        return int(text)
    if key == "trim":
        return {"true": True, "false": False}.get(text, text)
    return text


def _of_file(path: Path) -> dict[str, Any]:
    """The keys of [data] in a TOML file, or those at its top."""
    try:
        raw = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        words = f"--read {path}: the file cannot be read ({error.strerror}); or write KEY=VALUE"
        raise typer.BadParameter(words) from None
    except (ValueError, RecursionError):
        raise typer.BadParameter(f"--read {path}: this is not TOML") from None
    section = raw.get("data", raw)
    if not isinstance(section, dict):
        raise typer.BadParameter(f"--read {path}: [data] is no section")
    return {key: value for key, value in section.items() if key not in _PLACES}


def programme_keys(file: Path, read: Sequence[str] | None) -> dict[str, Any]:
    """The keys of [data] that read a file as the words of ``--read`` say."""
    given = stated(read)
    kind = "database" if {"table", "query"} & set(given) else "source"
    if given.pop("detect", False):
        from discreet.microdata import detect_reading

        options = detect_reading(file, **given).stated()
        found = {key: getattr(options, key) for key in options.given}
        given = {**{key: given[key] for key in _CALL if key in given}, **found}
    return {kind: str(file), **{key: _listed(value) for key, value in given.items()}}


def _listed(value: Any) -> Any:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return {key: _listed(each) for key, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def opened(
    file: Path, read: Sequence[str] | None, show_values: bool, text: Sequence[str] = ()
) -> Any:
    """The records of a file as they are meant; the file itself if nothing is said of it."""
    if not read and not show_values:
        return file
    from discreet.microdata import read_microdata

    given = stated(read)
    if text and not given.get("detect") and str(file).lower().endswith((".csv", ".tsv", ".txt")):
        own = given.get("types", {})
        free = [name for name in text if name not in own]
        given["text"] = list(dict.fromkeys([*given.get("text", ()), *free]))
    return read_microdata(file, show_values=show_values, **given)
