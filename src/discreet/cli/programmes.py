"""Commands on programmes and what they make: ``new``, ``protect``, ``anonymise``, ``verify``, …"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from discreet.cli.program import (
    FAILURE,
    SINGLE,
    command,
    names,
    pairs,
    progress_bar,
    show,
    warn,
)
from discreet.cli.records import programme_keys
from discreet.errors import DiscreetError
from discreet.files import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from discreet.release import Inputs


@command(SINGLE, "protect")
def protect(
    context: typer.Context,
    file: Path,
    out: Path | None = None,
    check: bool = False,
    by: list[str] | None = None,
    ptable: Path | None = None,
    id_: list[str] | None = None,
    secret: Path | None = None,
    secret_env: str | None = None,
    record_key: str | None = None,
    key_grid: str | None = None,
    where: str | None = None,
    weight: str | None = None,
    classification: list[str] | None = None,
    prefixes: list[str] | None = None,
    intervals: list[str] | None = None,
    codes: list[str] | None = None,
    found_codes: Literal["list", "hide"] = "list",
    title: str | None = None,
    language: Literal["en", "de"] = "en",
    official: str | None = None,
    zeros: Literal["keep", "table"] = "keep",
    suppress_below: int | None = None,
    round_to: int = 1,
    decimals: int = 0,
    complete: bool | None = None,
    save_programme: Path | None = None,
    resume: bool = True,
    internal: Path | None = None,
    accept_changes: bool = False,
    read: list[str] | None = None,
    show_values: bool = False,
    master: str | None = None,
    memory: str | None = None,
    as_json: bool = False,
) -> None:
    """Run a table programme, or protect one table from a microdata file."""
    given = context.params
    _check_options(given)
    found = _line_protected(given) if by else _programme_protected(given)
    show(*found, as_json=as_json)


@command(SINGLE, "new")
def new(
    file: Path,
    out: Path = Path("programme.toml"),
    by: list[str] | None = None,
    id_: str | None = None,
    record_key: str | None = None,
    secret: Path = Path("secret.key"),
    ptable: Path = Path("ptable.json"),
    title: str | None = None,
    read: list[str] | None = None,
    yes: bool = False,
    as_json: bool = False,
) -> None:
    """Write a first programme for a microdata file; asks a few questions."""
    from discreet.release import check_saved, drafted, preparations, write_draft

    check_saved(out)
    data = programme_keys(file, ["auto"] if read is None else read)
    draft = drafted(file, **{key: data[key] for key in data if key not in ("source", "database")})
    asks = _asks() and not (yes or as_json)

    def answer(question: str, likely: str) -> str:
        """The answer to a question; what is likely where nobody can be asked."""
        return str(typer.prompt(question, default=likely or None)) if asks else likely

    spanning = names(by or [answer("Spanning variables of the first table", ",".join(draft.by))])
    key = record_key or (None if id_ else draft.record_key)
    keys: dict[str, Any] = {"column": key}
    if key is None:
        column = id_ or answer("Identifier column", draft.identifier or "")
        if not column:
            raise typer.BadParameter("no identifier column found; add --id COLUMN")
        keys = {"id": column, "secret_file": str(secret)}
    heading = title or answer("Heading", file.stem)
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


#: Options with another value than none, and this value.
_DEFAULTS = {
    "language": "en",
    "zeros": "keep",
    "found_codes": "list",
    "round_to": 1,
    "decimals": 0,
    "resume": True,
}
#: Options of a line → section and key of the programme that they stand for.
_KEYS = {
    "record_key": ("keys", "column"),
    "id_": ("keys", "id"),
    "secret": ("keys", "secret_file"),
    "secret_env": ("keys", "secret_env"),
    "key_grid": ("keys", "grid"),
    "ptable": ("perturbation", "table"),
    **{n: ("perturbation", n) for n in ("suppress_below", "zeros", "decimals", "found_codes")},
    **{
        name: ("table", name)
        for name in ("by", "title", "where", "weight", "official", "complete", "round_to")
    },
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
    line: dict[str, Any] = {
        "languages": [given["language"]],
        "data": programme_keys(given["file"], given["read"]),
        "keys": {},
        "perturbation": {},
        "variables": _variables(given),
        "table": {},
    }
    for name, (section, key) in _KEYS.items():
        value = names(given[name]) or None if name in ("by", "id_") else given[name]
        if value is not None and value != _DEFAULTS.get(name):
            line[section][key] = str(value) if isinstance(value, Path) else value
    return line


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
        case ("keys" | "perturbation" as section, name, *_) | ("tables" as section, _, name, *_):
            places = {(own.removesuffix("s"), entry): word for word, (own, entry) in _KEYS.items()}
            return _word(places.get((section.removesuffix("s"), str(name)), str(name)))
    return where


# -- programmes -------------------------------------------------------------------


def _programme_protected(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A programme carried out, or checked."""
    from discreet import release

    options = {name: given[name] for name in ("show_values", "master")}
    if given["check"]:
        inputs = release.checked_inputs(given["file"], **options)
        warn(inputs.warnings)
        return _in_order(inputs, str(given["file"]))
    options |= {name: given[name] for name in _PROGRAMMES_ONLY}
    with progress_bar("Protecting") as report:
        summary = release.protect(given["file"], given["out"], progress=report, **options)
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


@command(SINGLE, "verify")
def verify(
    release: Path,
    public_key: Path | None = None,
    programme: Path | None = None,
    seal: str | None = None,
    as_json: bool = False,
) -> None:
    """Verify that a release is unchanged since the office signed it."""
    from discreet.release import verify_release

    if public_key is not None and programme is not None:
        raise typer.BadParameter("give --public-key or --programme, not both")
    found = verify_release(release, public_key=public_key, programme=programme, seal=seal)
    show(found.text(), found.described(), as_json=as_json)
    if not found.in_order:
        raise typer.Exit(FAILURE)


@command(SINGLE, "transmit")
def transmit(
    file: Path,
    release: Path,
    out: Path,
    confidential: bool = False,
    names_file: Path | None = None,
    language: Literal["en", "de"] = "en",
    as_json: bool = False,
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


@command(SINGLE, "anonymise")
def anonymise(
    file: Path,
    out: Path | None = None,
    check: bool = False,
    internal: Path | None = None,
    resume: bool = True,
    show_values: bool = False,
    as_json: bool = False,
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
