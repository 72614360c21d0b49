"""Commands on programmes and what they make: ``new``, ``protect``, ``anonymise``, ``verify``, …"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.program import FAILURE, Json, command, names, pairs, progress_bar, show, warn
from discreet.cli.records import Read, ShowValues, programme_keys
from discreet.cli.setting_options import with_settings
from discreet.errors import DiscreetError
from discreet.files import TEMPORARY_SUFFIX
from discreet.operations import ATTACK

if TYPE_CHECKING:
    from discreet.assessment import AttackReport, PeriodReport
    from discreet.release import Inputs, ReleaseSummary

#: Headings of options in the help.
_PANEL, _LONG = "One table from a microdata file", "Programmes"


def _of_records(text: str, *words: str) -> Any:
    """An option that goes with records."""
    return typer.Option(*words, help=text, rich_help_panel=_PANEL)


def _of_programmes(text: str, *words: str) -> Any:
    """An option that goes with a programme."""
    return typer.Option(*words, help=text, rich_help_panel=_LONG)


File = Annotated[
    Path, typer.Argument(help="Table programme (.toml), or microdata file with --by. CONFIDENTIAL.")
]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the release; for one table also a file: csv, xlsx, html, …"),
]
Check = Annotated[bool, typer.Option("--check", help="Check everything without writing.")]
Resume = Annotated[bool, _of_programmes("Keep unchanged tables.", "--resume/--no-resume")]
Internal = Annotated[
    Path | None, _of_programmes("Folder of the internal quality report. CONFIDENTIAL.")
]
Accept = Annotated[
    bool, _of_programmes("Rebuild tables that changed since they were signed.", "--accept-changes")
]
Master = Annotated[str | None, _of_programmes("Spark cluster, such as yarn.", "--master")]
Memory = Annotated[str | None, _of_programmes("Memory limit, such as 4GB.", "--memory")]
RecordsBy = Annotated[
    list[str] | None, _of_records("Spanning variables, if FILE is a microdata file.")
]
Noise = Annotated[Path | None, _of_records("Perturbation table file. SECRET.", "--ptable")]
Id = Annotated[list[str] | None, _of_records("Identifier column.", "--id")]
SecretFile = Annotated[Path | None, _of_records("Secret file for record keys.", "--secret")]
SecretEnv = Annotated[
    str | None, _of_records("Environment variable with the secret, instead of --secret.")
]
RecordKey = Annotated[str | None, _of_records("Column of existing record keys, instead of --id.")]
KeyGrid = Annotated[
    str | None, _of_records("Key grid of the record keys: 256, 4096, 2^32 or 10^15 (default).")
]
Where = Annotated[str | None, _of_records("Filter, such as: age >= 18")]
Weight = Annotated[str | None, _of_records("Column of weights.")]
Trees = Annotated[
    list[str] | None, _of_records("NAME=FILE with the hierarchy of a variable.", "--classification")
]
Prefixes = Annotated[
    list[str] | None,
    _of_records("NAME=2,5: levels by the number of leading characters of its codes."),
]
Intervals = Annotated[
    list[str] | None, _of_records("NAME=0,18,65: lower bounds of the groups of a number.")
]
Codes = Annotated[list[str] | None, _of_records("NAME=m,w: all categories of a variable.")]
Title = Annotated[str | None, _of_records("Heading of the table.")]
Language = Annotated[Literal["en", "de"], _of_records("Language of the publication.")]
Official = Annotated[
    str | None, _of_records("Filter on categories: exempt cells, published unchanged.")
]
Zeros = Annotated[Literal["keep", "table"], _of_records('"table" for noise on zeros.')]
FoundCodes = Annotated[
    Literal["list", "hide"],
    _of_records('"hide" omits categories that occur only in the data and have no value.'),
]
Below = Annotated[
    int | None,
    _of_records("Lower limit of published values; smaller perturbed values are suppressed."),
]
Multiples = Annotated[int, _of_records("Base of rounding, such as 10.")]
Digits = Annotated[int, _of_records("Decimals of weighted values.")]
Complete = Annotated[bool | None, _of_records("Include empty cells.", "--complete/--sparse")]
Saved = Annotated[Path | None, _of_records("File for the programme that makes the same table.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    command(app, "new", example="discreet new persons.csv --out programme.toml")(new)
    line = "discreet protect persons.csv --by region,age,sex --ptable ptable.json --id person_id"
    command(app, "protect", example=f"{line} --secret secret.key --out table.xlsx")(protect)
    line = "discreet anonymise persons.toml --out for-researchers --internal changes"
    command(app, "anonymise", example=line)(anonymise)
    command(app, "verify", example="discreet verify release --public-key office.pub")(verify)
    line = "discreet transmit programme.toml --release release --out to-eurostat --confidential"
    command(app, "transmit", example=line)(transmit)
    command(app, ATTACK.command, example=ATTACK.example)(attack)
    line = "discreet attack-periods 2025=release-2025 2026=release-2026 --ptable ptable.json"
    command(app, "attack-periods", example=line)(attack_together)
    line = "discreet check-revision programme.toml --first persons-first.parquet --id person_id"
    command(app, "check-revision", example=line)(revision)


def protect(
    context: typer.Context,
    file: File,
    out: Out = None,
    check: Check = False,
    by: RecordsBy = None,
    ptable: Noise = None,
    id_: Id = None,
    secret: SecretFile = None,
    secret_env: SecretEnv = None,
    record_key: RecordKey = None,
    key_grid: KeyGrid = None,
    where: Where = None,
    weight: Weight = None,
    classification: Trees = None,
    prefixes: Prefixes = None,
    intervals: Intervals = None,
    codes: Codes = None,
    found_codes: FoundCodes = "list",
    title: Title = None,
    language: Language = "en",
    official: Official = None,
    zeros: Zeros = "keep",
    suppress_below: Below = None,
    round_to: Multiples = 1,
    decimals: Digits = 0,
    complete: Complete = None,
    save_programme: Saved = None,
    resume: Resume = True,
    internal: Internal = None,
    accept_changes: Accept = False,
    read: Read = None,
    show_values: ShowValues = False,
    master: Master = None,
    memory: Memory = None,
    as_json: Json = False,
) -> None:
    """Run a table programme, or protect one table from a microdata file."""
    given = context.params
    _check_options(given)
    found = _line_protected(given) if by else _programme_protected(given)
    show(*found, as_json=as_json)


def new(
    file: Annotated[Path, typer.Argument(help="Microdata file. CONFIDENTIAL.")],
    out: Annotated[Path, typer.Option(help="Programme to write.")] = Path("programme.toml"),
    by: Annotated[
        list[str] | None, typer.Option(help="Spanning variables of the first table.")
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Identifier column.")] = None,
    record_key: Annotated[
        str | None, typer.Option(help="Column of existing record keys, instead of --id.")
    ] = None,
    secret: Annotated[Path, typer.Option(help="File of the secret.")] = Path("secret.key"),
    ptable: Annotated[Path, typer.Option(help="Perturbation table.")] = Path("ptable.json"),
    title: Annotated[str | None, typer.Option(help="Heading of the release.")] = None,
    read: Read = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept all suggestions without questions.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a first programme for a microdata file; asks a few questions."""
    from discreet.release import check_saved, drafted, preparations, write_draft

    check_saved(out)
    data = programme_keys(file, ["auto"] if read is None else read)
    draft = drafted(file, **{key: data[key] for key in data if key not in ("source", "database")})
    asks = _asks() and not (yes or as_json)
    spanning = names(
        by or [_asked("Spanning variables of the first table", ",".join(draft.by), asks)]
    )
    key = record_key or (None if id_ else draft.record_key)
    keys: dict[str, Any] = {"column": key}
    if key is None:
        column = id_ or _asked("Identifier column", draft.identifier or "", asks)
        if not column:
            raise typer.BadParameter("no identifier column found; add --id COLUMN")
        keys = {"id": column, "secret_file": str(secret)}
    heading = title or _asked("Heading", file.stem, asks)
    about: dict[str, Any] = {"keys": keys, "ptable": str(ptable), "title": heading}
    written = write_draft(draft, out, data=data, by=spanning, **about)
    missing = ("ptable",) if key is not None else ("secret", "ptable")
    steps = preparations(*missing, secret=str(secret), ptable=str(ptable))
    steps += [f"discreet protect {out} --check", f"discreet protect {out} --out release"]
    frame = "\n".join([f"A first programme is in {written}. Check it, then run:", *steps])
    show(frame, {"out": str(written), "by": spanning, "next": steps}, as_json=as_json)


def _asks() -> bool:
    """Whether somebody sits there who can answer."""
    return sys.stdin.isatty()


def _asked(question: str, found: str, asks: bool) -> str:
    """The answer to a question; what was found where nobody can be asked."""
    return str(typer.prompt(question, default=found or None)) if asks else found


_DEFAULTS = {
    "language": "en",
    "zeros": "keep",
    "found_codes": "list",
    "round_to": 1,
    "decimals": 0,
    "resume": True,
}
_PROGRAMMES_ONLY = ("resume", "internal", "accept_changes", "master", "memory")
_ALWAYS = ("file", "out", "check", "by", "show_values", "as_json", *_PROGRAMMES_ONLY)


def _check_options(given: Mapping[str, Any]) -> None:
    """Refuse options that say nothing about what is to be done; none is ignored."""
    stated = [name for name in given if given[name] and given[name] != _DEFAULTS.get(name)]
    stated += ["sparse"] if given["complete"] is False else []
    by, what = given["by"], "a programme; set it there"
    wrong = [name for name in stated if name not in _ALWAYS]
    if by:
        wrong, what = (
            [name for name in stated if name in _PROGRAMMES_ONLY],
            "one table from microdata",
        )
        if not given["resume"]:
            wrong = ["no-resume"]
    elif given["file"].suffix.lower() != ".toml":
        words = "a microdata file needs spanning variables; add --by region,sex"
        raise typer.BadParameter(words)
    for name in wrong[:1]:
        raise typer.BadParameter(f"{_word(name)} does not apply to {what}")
    if given["out"] is None and not given["check"] and not given["save_programme"]:
        raise typer.BadParameter("add --out DIR, the folder of the release" + (
            ", or --out table.xlsx, the file of the table" if by else ""))  # fmt: skip
    if not by:
        return
    if given["file"].suffix.lower() == ".toml":
        raise typer.BadParameter("--by does not apply to a programme; name its tables there")
    if given["ptable"] is None:
        raise typer.BadParameter(
            "add --ptable FILE, the perturbation table (create it with: discreet ptable design)"
        )
    made = given["id_"] and (given["secret"] or given["secret_env"])
    if bool(made) == bool(given["record_key"]) or (given["id_"] and given["record_key"]):
        words = "add --id COLUMN --secret FILE, or --record-key COLUMN"
        raise typer.BadParameter(words)


def _word(name: str) -> str:
    return "--" + {"id_": "id"}.get(name, name).replace("_", "-")


# -- one table -------------------------------------------------------------------


def _line_protected(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A table straight from records: made, checked or written down as a programme."""
    from discreet.release import check_line, check_saved, protect_line, save_programme

    line, out, saved = _line(given), given["out"], given["save_programme"]
    told: list[str] = []
    described: dict[str, Any] = {}
    if saved is not None and not given["check"]:
        check_saved(saved)
    with _in_words():
        if given["check"] or out is None:
            inputs = check_line(line, out, show_values=given["show_values"])
            _warn(inputs.warnings)
            said, described = _in_order(inputs, str(given["file"]))
            told.append(said)
        else:
            with progress_bar("Protecting") as report:
                shown = given["show_values"]
                summary = protect_line(line, out, progress=report, show_values=shown)
            _warn(summary.warnings)
            (table,) = summary.tables
            described = {"out": str(out), **table.described(), "warnings": list(summary.warnings)}
            told.append(f"The protected table is in {out}: {table.cells:,} cells.")
        if saved is not None and not given["check"]:
            save_programme(line, saved, out)
            told.append(f"Programme of this table: {saved}")
            described["programme"] = str(saved)
    return "\n".join(told), described


def _line(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the words of the line ask for: a programme, but for the name of its table."""
    keys = {
        "column": given["record_key"],
        "id": names(given["id_"]) or None,
        "secret_file": given["secret"],
        "secret_env": given["secret_env"],
        "grid": given["key_grid"],
    }
    noise = {"table": str(given["ptable"]), "suppress_below": given["suppress_below"]}
    noise |= {
        name: given[name]
        for name in ("zeros", "decimals", "found_codes")
        if given[name] != _DEFAULTS[name]
    }
    table: dict[str, Any] = {"by": names(given["by"])}
    table |= {name: given[name] for name in ("title", "where", "weight", "official", "complete")}
    table["round_to"] = None if given["round_to"] == 1 else given["round_to"]
    return {
        "languages": [given["language"]],
        "data": programme_keys(given["file"], given["read"]),
        "keys": {name: str(one) if isinstance(one, Path) else one for name, one in _stated(keys)},
        "perturbation": dict(_stated(noise)),
        "variables": _variables(given),
        "table": dict(_stated(table)),
    }


def _stated(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, entry) for name, entry in entries.items() if entry is not None)


def _variables(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The code trees of spanning variables."""
    variables: dict[str, dict[str, Any]] = {}
    ways = {
        "hierarchy": pairs(given["classification"], "NAME=FILE"),
        "prefixes": pairs(given["prefixes"], "NAME=2,5"),
        "intervals": pairs(given["intervals"], "NAME=0,18,65"),
        "codes": pairs(given["codes"], "NAME=m,w"),
    }
    for kind, entries in ways.items():
        for name, text in entries.items():
            if name not in names(given["by"]):
                raise typer.BadParameter(f"{name!r} has a hierarchy but is not in --by")
            if name in variables:
                raise typer.BadParameter(f"{name!r} has two hierarchies; choose one")
            if kind == "hierarchy":
                variables[name] = {kind: text}
            else:
                variables[name] = {kind: names([text]) if kind == "codes" else _numbers(text)}
    return variables


def _numbers(text: str) -> list[int | float]:
    numbers: list[int | float] = []
    for part in text.split(","):
        try:
            numbers.append(int(part) if part.strip().lstrip("-").isdigit() else float(part))
        except ValueError:
            raise typer.BadParameter(f"{part!r} in {text} is not a number") from None
    return numbers


#: What warnings name that stands in programmes → the words of the line.
_ADVICE = {
    "state them under [variables]": "add --codes or a hierarchy",
    'set found_codes = "hide"': "use --found-codes hide",
}


def _warn(texts: Iterable[str]) -> None:
    for text in texts:
        for there, here in _ADVICE.items():
            text = text.replace(there, here)
        warn([text])


@contextmanager
def _in_words() -> Iterator[None]:
    """Say of mistakes which option makes them, not where a programme would."""
    try:
        yield
    except DiscreetError as error:
        if error.code != "programme":
            raise
        problems = [
            replace(
                problem,
                where=_option_at(problem.key, problem.where),
                hint="" if TEMPORARY_SUFFIX in problem.hint else problem.hint,
            )
            for problem in error.problems
        ]
        many = f"{len(problems)} options are wrong"
        raise type(error).of(problems, many, code="line") from None


def _option_at(key: tuple[str | int, ...], where: str) -> str:
    """The word of the line that says what stands at a key of a programme.

    >>> _option_at(("perturbation", "suppress_below"), "line 5"), _option_at((), "persons.csv")
    ('--suppress-below', 'persons.csv')
    """
    match key:
        case ("data", *_):
            return "the file"
        case ("keys", "column"):
            return "--record-key"
        case ("keys", "grid"):
            return "--key-grid"
        case ("keys", "secret_file"):
            return "--secret"
        case ("perturbation", "table"):
            return "--ptable"
        case ("languages", *_):
            return "--language"
        case ("variables", name, "hierarchy", *_):
            return f"--classification {name}"
        case ("variables", name, "prefixes" | "intervals" | "codes" as tree, *_):
            return f"--{tree} {name}"
        case ("variables", name, *_):
            return f"--by {name}"
        case ("tables", _):
            return "--out"
        case ("keys" | "perturbation", name, *_) | ("tables", _, name, *_):
            return _word(str(name))
    return where


# -- programmes -------------------------------------------------------------------


def _programme_protected(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A programme carried out, or checked."""
    from discreet import release

    if given["check"]:
        inputs = release.checked_inputs(
            given["file"], show_values=given["show_values"], master=given["master"]
        )
        warn(inputs.warnings)
        return _in_order(inputs, str(given["file"]))
    with progress_bar("Protecting") as report:
        summary: ReleaseSummary = release.protect(
            given["file"],
            given["out"],
            resume=given["resume"],
            internal=given["internal"],
            progress=report,
            accept_changes=given["accept_changes"],
            show_values=given["show_values"],
            master=given["master"],
            memory=given["memory"],
        )
    warn(summary.warnings)
    return summary.text(), summary.described()


def _in_order(inputs: Inputs, called: str) -> tuple[str, dict[str, Any]]:
    """What a check says that found no mistake."""
    tables = list(inputs.programme.tables)
    keys = {name: list(check.remarks) for name, check in inputs.key_checks.items()}
    described = {"programme": called, "valid": True, "tables": tables, "record_keys": keys}
    said = [f"\nRecord keys of {name!r}: {text}." for name, all_ in keys.items() for text in all_]
    number = "one table" if len(tables) == 1 else f"{len(tables)} tables"
    return f"{called} is valid: {number}." + "".join(said), described


def verify(
    release: Annotated[Path, typer.Argument(help="Folder of the release.")],
    public_key: Annotated[Path | None, typer.Option(help="Public key of the office.")] = None,
    programme: Annotated[
        Path | None,
        typer.Option(
            help="Programme with its data, for a check inside the office, instead of --public-key."
        ),
    ] = None,
    seal: Annotated[str | None, typer.Option(help="Expected fingerprint of the release.")] = None,
    as_json: Json = False,
) -> None:
    """Verify that a release is unchanged since the office signed it."""
    from discreet.release import verify_release

    if public_key is not None and programme is not None:
        raise typer.BadParameter("give --public-key or --programme, not both")
    found = verify_release(release, public_key=public_key, programme=programme, seal=seal)
    show(found.text(), found.described(), as_json=as_json)
    if not found.in_order:
        raise typer.Exit(FAILURE)


def transmit(
    file: Annotated[Path, typer.Argument(help="Table programme (.toml). CONFIDENTIAL.")],
    release: Annotated[Path, typer.Option(help="Folder of its release.")],
    out: Annotated[Path, typer.Option(help="Output folder outside the release. CONFIDENTIAL.")],
    confidential: Annotated[
        bool, typer.Option("--confidential", help="Confirms that true values are written.")
    ] = False,
    names_file: Annotated[
        Path | None,
        typer.Option(
            "--names", help="TOML file with the SDMX names of tables, variables and codes."
        ),
    ] = None,
    language: Annotated[Literal["en", "de"], typer.Option(help="Language of remarks.")] = "en",
    as_json: Json = False,
) -> None:
    """Write a release as SDMX for another office, with confidential values and their status."""
    from discreet.publication import SdmxNames
    from discreet.release import transmit as transmitted

    if not confidential:
        raise typer.BadParameter(
            "the files hold true values of suppressed cells; confirm with --confidential"
        )
    names_ = None if names_file is None else SdmxNames.read(names_file)
    done = transmitted(file, release, out, names=names_, language=language)
    show(done.text(), done.described(), as_json=as_json)


def anonymise(
    file: Annotated[Path, typer.Argument(help="Programme for microdata (.toml).")],
    out: Annotated[Path | None, typer.Option(help="Folder of the anonymised file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Run all steps without writing.")] = False,
    internal: Annotated[
        Path | None, typer.Option(help="Folder for the changes of each step. CONFIDENTIAL.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Keep the steps of an interrupted run.")
    ] = True,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Anonymise a microdata file by a programme: recode, swap, perturb."""
    from discreet.release import anonymise as anonymised

    if out is None and not check:
        raise typer.BadParameter("add --out DIR, the folder of the anonymised file, or --check")
    out = None if check else out
    with progress_bar("Anonymising") as report:
        found = anonymised(
            file, out, internal=internal, resume=resume, progress=report, show_values=show_values
        )
    done = "All steps run" if out is None else f"The microdata are in {found.path}"
    said = [f"{done}: {found.records:,} records.", *next(iter(found.statement.values()))]
    show("\n".join(said), found.described(), as_json=as_json)


@with_settings(ATTACK)
def attack(
    release: Annotated[Path, typer.Argument(help="Folder of the release.")],
    settings: Any,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Programme of the release; attacks are compared with the data. CONFIDENTIAL."
        ),
    ] = None,
    beside: Annotated[
        list[Path] | None, typer.Option(help="Other published release to include; repeatable.")
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "RATE=LIMIT above which the command fails, such as average=0.6 or twins=0; "
                "repeatable."
            )
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Report file: .json, .txt or .html. SECRET.")
    ] = None,
    public: Annotated[Path | None, typer.Option(help="Public page with rates only: .html.")] = None,
    language: Annotated[Literal["en", "de"], typer.Option(help="Language of pages.")] = "en",
    as_json: Json = False,
) -> None:
    """Attack a release and measure what it discloses."""
    from discreet.files import write_text
    from discreet.release import attack as attacked
    from discreet.release import attack_page

    limits = {name: _limit(name, text) for name, text in pairs(fail_over, "fail-over").items()}
    if out is not None and out.suffix not in (".json", ".txt", ".html"):
        raise typer.BadParameter("--out: use the suffix .json, .txt or .html")
    if public is not None and public.suffix != ".html":
        raise typer.BadParameter("--public: use the suffix .html")
    found = attacked(release, truth=truth, beside=beside or [], limits=limits, **settings.options())
    if out is not None:
        page = attack_page(found, release.name, language=language, internal=True)
        _write_report(found, out, page)
    if public is not None:
        write_text(public, attack_page(found, release.name, language=language))
    _end_attack(found, found.exceeded(), as_json=as_json)


def attack_together(
    periods: Annotated[
        list[str],
        typer.Argument(
            help="PERIOD=DIR of two or more releases, in order, such as 2026=release-2026."
        ),
    ],
    ptable: Annotated[Path, typer.Option(help="Perturbation table. SECRET.")],
    keys: Annotated[
        Literal["same", "period", "changed"] | None,
        typer.Option(help="Validity of record keys across periods (default: detected)."),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(help="RATE=LIMIT above which the command fails, such as told=0; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Report file: .json, .txt or .html. SECRET.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Attack the releases of several periods together."""
    from discreet.protection.noise import PerturbationTable
    from discreet.release import attack_periods

    limits = {name: _limit(name, text) for name, text in pairs(fail_over, "fail-over").items()}
    if out is not None and out.suffix not in (".json", ".txt"):
        raise typer.BadParameter("--out: use the suffix .json or .txt")
    releases = {name: Path(place) for name, place in pairs(periods, "PERIOD=DIR").items()}
    found = attack_periods(releases, ptable=PerturbationTable.read(ptable), option=keys)
    if out is not None:
        _write_report(found, out)
    _end_attack(found, found.exceeded(limits), as_json=as_json)


def revision(
    programme: Annotated[Path, typer.Argument(help="Programme with the corrected microdata.")],
    first: Annotated[Path, typer.Option(help="Microdata of the first publication. CONFIDENTIAL.")],
    identifier: Annotated[str, typer.Option("--id", help="Identifier column of the unit.")],
    source: Annotated[
        str | None, typer.Option(help="Corrected source (default: the main source).")
    ] = None,
    least: Annotated[
        int,
        typer.Option(
            min=2, help="Smallest number of changed units per cell; fewer make the command fail."
        ),
    ] = 3,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Find cells of a revision that differ by few units from the first publication."""
    from discreet.release import check_revision

    found = check_revision(
        programme, first, id=identifier, source=source, least=least, show_values=show_values
    )
    show(found.text(), found.described(), as_json=as_json)
    if found.few:
        raise typer.Exit(FAILURE)


def _write_report(found: AttackReport | PeriodReport, out: Path, page: str = "") -> None:
    """The report in the form that the name asks for."""
    from discreet.files import write_text

    text = page if out.suffix == ".html" else found.text() + "\n"
    if out.suffix == ".json":
        text = json.dumps(found.described(), indent=2, ensure_ascii=False) + "\n"
    write_text(out, text, private=True)


def _end_attack(found: AttackReport | PeriodReport, over: Sequence[str], *, as_json: bool) -> None:
    """Say what was found; rates above their limits are a failure."""
    lines = [found.text(), *(f"FAILED: {line}" for line in over)]
    show("\n".join(lines), {**found.described(), "failed": over}, as_json=as_json)
    if over:
        raise typer.Exit(FAILURE)


def _limit(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"--fail-over {name}: write a number") from None
