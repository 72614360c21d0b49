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
_PANEL, _LONG = "One table straight from records", "Programmes"


def _of_records(text: str, *words: str) -> Any:
    """An option that goes with records."""
    return typer.Option(*words, help=text, rich_help_panel=_PANEL)


def _of_programmes(text: str, *words: str) -> Any:
    """An option that goes with a programme."""
    return typer.Option(*words, help=text, rich_help_panel=_LONG)


File = Annotated[
    Path, typer.Argument(help="A table programme (.toml), or with --by records. CONFIDENTIAL.")
]
Out = Annotated[
    Path | None,
    typer.Option(help="The folder of the release; of one table also a file: csv, xlsx, html, …"),
]
Check = Annotated[bool, typer.Option("--check", help="Check everything, and write nothing.")]
Resume = Annotated[
    bool, _of_programmes("Keep tables that have not changed.", "--resume/--no-resume")
]
Internal = Annotated[
    Path | None, _of_programmes("A folder for the internal report on quality. CONFIDENTIAL.")
]
Accept = Annotated[
    bool, _of_programmes("Make anew what is not as it was sealed.", "--accept-changes")
]
Master = Annotated[
    str | None, _of_programmes("Of data in Spark: the cluster, such as yarn.", "--master")
]
Memory = Annotated[
    str | None, _of_programmes("How much memory the run may take, such as 4GB.", "--memory")
]
RecordsBy = Annotated[
    list[str] | None, _of_records("Spanning variables; the file holds records then.")
]
Noise = Annotated[
    Path | None, _of_records("The file of the perturbation table. SECRET.", "--ptable")
]
Id = Annotated[list[str] | None, _of_records("Column that identifies a record.", "--id")]
SecretFile = Annotated[
    Path | None, _of_records("File of the secret that makes record keys.", "--secret")
]
SecretEnv = Annotated[str | None, _of_records("Instead: the environment variable that holds it.")]
RecordKey = Annotated[str | None, _of_records("Instead: the column of record keys made before.")]
KeyGrid = Annotated[str | None, _of_records("Their key grid: 256, 4096, 2^32, 10^15 (the usual).")]
Where = Annotated[str | None, _of_records("Filter, such as: age >= 18")]
Weight = Annotated[str | None, _of_records("Column of weights.")]
Trees = Annotated[
    list[str] | None, _of_records("NAME=FILE: the code tree of a variable.", "--classification")
]
Prefixes = Annotated[
    list[str] | None, _of_records("NAME=2,5: a tree by so many leading signs of its codes.")
]
Intervals = Annotated[
    list[str] | None, _of_records("NAME=0,18,65: groups of a number, by where they begin.")
]
Codes = Annotated[
    list[str] | None, _of_records("NAME=m,w: all codes of a variable, whether they occur or not.")
]
Title = Annotated[str | None, _of_records("The heading of the table.")]
Language = Annotated[Literal["en", "de"], _of_records("Language of what is published.")]
Official = Annotated[str | None, _of_records("Filter on codes: cells published as they are.")]
Zeros = Annotated[Literal["keep", "table"], _of_records('"table" for noise on zeros.')]
FoundCodes = Annotated[
    Literal["list", "hide"],
    _of_records('"hide" leaves out codes that only the records tell and have no figure.'),
]
Below = Annotated[int | None, _of_records("Suppress perturbed values below this.")]
Multiples = Annotated[int, _of_records("Round figures to multiples of this, such as 10.")]
Digits = Annotated[int, _of_records("Digits of weighted figures.")]
Complete = Annotated[bool | None, _of_records("List zeros too.", "--complete/--sparse")]
Saved = Annotated[Path | None, _of_records("Also write the programme that does the same.")]


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
    """Carry out a table programme, or protect one table straight from records."""
    given = context.params
    _check_options(given)
    found = _line_protected(given) if by else _programme_protected(given)
    show(*found, as_json=as_json)


def new(
    file: Annotated[Path, typer.Argument(help="The file of records. CONFIDENTIAL.")],
    out: Annotated[Path, typer.Option(help="The programme to write.")] = Path("programme.toml"),
    by: Annotated[list[str] | None, typer.Option(help="What spans the first table.")] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Column that identifies a record.")
    ] = None,
    record_key: Annotated[
        str | None, typer.Option(help="Instead: the column of record keys made before.")
    ] = None,
    secret: Annotated[Path, typer.Option(help="File of the secret.")] = Path("secret.key"),
    ptable: Annotated[Path, typer.Option(help="The perturbation table.")] = Path("ptable.json"),
    title: Annotated[str | None, typer.Option(help="The heading of the release.")] = None,
    read: Read = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; take what seems right.")] = False,
    as_json: Json = False,
) -> None:
    """Write a first programme from a look at a file of records; asks a few questions."""
    from discreet.release import check_saved, drafted, preparations, write_draft

    check_saved(out)
    data = programme_keys(file, ["auto"] if read is None else read)
    draft = drafted(file, **{key: data[key] for key in data if key not in ("source", "database")})
    asks = _asks() and not (yes or as_json)
    spanning = names(by or [_asked("What spans the first table", ",".join(draft.by), asks)])
    key = record_key or (None if id_ else draft.record_key)
    keys: dict[str, Any] = {"column": key}
    if key is None:
        column = id_ or _asked("Which column identifies a record", draft.identifier or "", asks)
        if not column:
            raise typer.BadParameter("no column identifies records: name one with --id")
        keys = {"id": column, "secret_file": str(secret)}
    heading = title or _asked("Heading", file.stem, asks)
    about: dict[str, Any] = {"keys": keys, "ptable": str(ptable), "title": heading}
    written = write_draft(draft, out, data=data, by=spanning, **about)
    missing = ("ptable",) if key is not None else ("secret", "ptable")
    steps = preparations(*missing, secret=str(secret), ptable=str(ptable))
    steps += [f"discreet protect {out} --check", f"discreet protect {out} --out release"]
    frame = "\n".join([f"A first programme is in {written}. Look at it, then:", *steps])
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
    by, what = given["by"], "a programme, which says it itself"
    wrong = [name for name in stated if name not in _ALWAYS]
    if by:
        wrong, what = [name for name in stated if name in _PROGRAMMES_ONLY], "one table of records"
        if not given["resume"]:
            wrong = ["no-resume"]
    elif given["file"].suffix.lower() != ".toml":
        words = "a file of records needs --by: the spanning variables, such as --by region,sex"
        raise typer.BadParameter(words)
    for name in wrong[:1]:
        raise typer.BadParameter(f"{_word(name)} says nothing about {what}")
    if given["out"] is None and not given["check"] and not given["save_programme"]:
        raise typer.BadParameter("name the folder of the release: --out DIR" + (
            ", or the file of the table: --out table.xlsx" if by else ""))  # fmt: skip
    if not by:
        return
    if given["file"].suffix.lower() == ".toml":
        raise typer.BadParameter("--by is for records; a programme names its own tables")
    if given["ptable"] is None:
        raise typer.BadParameter(
            "name the perturbation table: --ptable FILE (see: discreet ptable)"
        )
    made = given["id_"] and (given["secret"] or given["secret_env"])
    if bool(made) == bool(given["record_key"]) or (given["id_"] and given["record_key"]):
        words = "say how records get their keys: --id COLUMN --secret FILE, or --record-key COLUMN"
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
            told.append(f"The programme that does the same: {saved}")
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
                raise typer.BadParameter(f"{name!r} has a code tree but does not stand in --by")
            if name in variables:
                raise typer.BadParameter(f"{name!r} has two code trees: choose one")
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
            raise typer.BadParameter(f"{part!r} is no number, in {text}") from None
    return numbers


#: What warnings name that stands in programmes → the words of the line.
_ADVICE = {
    "state them under [variables]": "state them with --codes or a code tree",
    'set found_codes = "hide"': "take --found-codes hide",
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
        many = f"{len(problems)} mistakes in the line"
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
    return f"{called} is in order: {number}." + "".join(said), described


def verify(
    release: Annotated[Path, typer.Argument(help="The folder of the release.")],
    public_key: Annotated[
        Path | None, typer.Option(help="The office's public key: for everyone.")
    ] = None,
    programme: Annotated[
        Path | None, typer.Option(help="Instead, the programme with all it names: for the office.")
    ] = None,
    seal: Annotated[
        str | None, typer.Option(help="The short name that the seal must have.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find out whether a release is as its office made it."""
    from discreet.release import verify_release

    if public_key is not None and programme is not None:
        raise typer.BadParameter("name --public-key or --programme, not both")
    found = verify_release(release, public_key=public_key, programme=programme, seal=seal)
    show(found.text(), found.described(), as_json=as_json)
    if not found.in_order:
        raise typer.Exit(FAILURE)


def transmit(
    file: Annotated[Path, typer.Argument(help="The table programme (.toml). CONFIDENTIAL.")],
    release: Annotated[Path, typer.Option(help="The folder of its release.")],
    out: Annotated[Path, typer.Option(help="A folder outside of it for the files. CONFIDENTIAL.")],
    confidential: Annotated[
        bool, typer.Option("--confidential", help="Say that true values are to be written.")
    ] = False,
    names_file: Annotated[
        Path | None,
        typer.Option("--names", help="What SDMX calls tables, variables and codes: a TOML file."),
    ] = None,
    language: Annotated[Literal["en", "de"], typer.Option(help="Language of remarks.")] = "en",
    as_json: Json = False,
) -> None:
    """Write a release as SDMX for another office, with confidential values and their status."""
    from discreet.publication import SdmxNames
    from discreet.release import transmit as transmitted

    if not confidential:
        raise typer.BadParameter("true values of hidden cells are written: say --confidential")
    names_ = None if names_file is None else SdmxNames.read(names_file)
    done = transmitted(file, release, out, names=names_, language=language)
    show(done.text(), done.described(), as_json=as_json)


def anonymise(
    file: Annotated[Path, typer.Argument(help="A programme for records (.toml).")],
    out: Annotated[Path | None, typer.Option(help="The folder of the file that is made.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Carry out everything, and write nothing.")
    ] = False,
    internal: Annotated[
        Path | None, typer.Option(help="A folder for what each step changed. CONFIDENTIAL.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Keep steps of an interrupted run.")
    ] = True,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Carry out a programme for records: recode, swap, perturb, and write a file for others."""
    from discreet.release import anonymise as anonymised

    if out is None and not check:
        raise typer.BadParameter("name the folder of the file that is made: --out DIR, or --check")
    out = None if check else out
    with progress_bar("Anonymising") as report:
        found = anonymised(
            file, out, internal=internal, resume=resume, progress=report, show_values=show_values
        )
    done = "Everything can be carried out" if out is None else f"The records are in {found.path}"
    said = [f"{done}: {found.records:,} records.", *next(iter(found.statement.values()))]
    show("\n".join(said), found.described(), as_json=as_json)


@with_settings(ATTACK)
def attack(
    release: Annotated[Path, typer.Argument(help="The folder of the release.")],
    settings: Any,
    truth: Annotated[
        Path | None,
        typer.Option(help="Its programme: attacks are held against the data. CONFIDENTIAL."),
    ] = None,
    beside: Annotated[
        list[Path] | None, typer.Option(help="Another release that anyone can lay beside it.")
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(help="RATE=LIMIT: fail above, such as average=0.6 or twins=0; several."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A file for the report: .json, or .txt. SECRET.")
    ] = None,
    public: Annotated[
        Path | None, typer.Option(help="A page for everybody, with rates only: .html.")
    ] = None,
    language: Annotated[Literal["en", "de"], typer.Option(help="Language of pages.")] = "en",
    as_json: Json = False,
) -> None:
    """Find out what a release gives away, by attacking it."""
    from discreet.files import write_text
    from discreet.release import attack as attacked
    from discreet.release import attack_page

    limits = {name: _limit(name, text) for name, text in pairs(fail_over, "fail-over").items()}
    if out is not None and out.suffix not in (".json", ".txt", ".html"):
        raise typer.BadParameter("a report is written as .json, .txt or .html")
    if public is not None and public.suffix != ".html":
        raise typer.BadParameter("the page for everybody is written as .html")
    found = attacked(release, truth=truth, beside=beside or [], limits=limits, **settings.options())
    if out is not None:
        page = attack_page(found, release.name, language=language, internal=True)
        _write_report(found, out, page)
    if public is not None:
        write_text(public, attack_page(found, release.name, language=language))
    _end_attack(found, found.exceeded(), as_json=as_json)


def attack_together(
    periods: Annotated[
        list[str], typer.Argument(help="2026=DIR: the release of a period; two or more, in order.")
    ],
    ptable: Annotated[Path, typer.Option(help="The perturbation table. SECRET.")],
    keys: Annotated[
        Literal["same", "period", "changed"] | None,
        typer.Option(help="Whose record keys stay from period to period; found out if not said."),
    ] = None,
    fail_over: Annotated[
        list[str] | None, typer.Option(help="RATE=LIMIT: fail above, such as told=0; several.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A file for the report: .json, or .txt. SECRET.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find out what the releases of several periods give away together."""
    from discreet.protection.noise import PerturbationTable
    from discreet.release import attack_periods

    limits = {name: _limit(name, text) for name, text in pairs(fail_over, "fail-over").items()}
    if out is not None and out.suffix not in (".json", ".txt"):
        raise typer.BadParameter("a report is written as .json or .txt")
    releases = {name: Path(place) for name, place in pairs(periods, "PERIOD=DIR").items()}
    found = attack_periods(releases, ptable=PerturbationTable.read(ptable), option=keys)
    if out is not None:
        _write_report(found, out)
    _end_attack(found, found.exceeded(limits), as_json=as_json)


def revision(
    programme: Annotated[Path, typer.Argument(help="The programme, with corrected records.")],
    first: Annotated[Path, typer.Option(help="The records as first published. CONFIDENTIAL.")],
    identifier: Annotated[str, typer.Option("--id", help="Column that identifies a unit.")],
    source: Annotated[
        str | None, typer.Option(help="The source that was corrected; the main one.")
    ] = None,
    least: Annotated[
        int, typer.Option(min=2, help="Fail if a cell differs, by fewer units than this.")
    ] = 3,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Check a revision: cells that differ by few units from what was published first."""
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
        raise typer.BadParameter(f"the limit of {name} is a number") from None
