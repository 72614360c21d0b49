"""Folders that are handed in: of a session, and of SACRO and acro. CONFIDENTIAL.

In: outputs of a session; later a folder, as material that anybody can have written. Out: the
folder, all of it or nothing; and what it holds, if every file is what its checksum says.

    outputs/       one file for each output, and its picture
    session.json   what was asked for, verdicts, comments, exceptions that are asked for
    evidence.json  the counts behind what is shown
    SHA256SUMS     checksums of all these

No record, no identifier and no hidden number is in it. In the form of SACRO (``results.json``)
outputs are written so that acro and its viewer read them. Which rules were held against an output
there is not known here: nothing of it counts as checked.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet import __version__
from discreet.errors import OutputCheckError
from discreet.files import TEMPORARY_SUFFIX, check_writable, kept_on_disk, told_if_full
from discreet_fire.research_session.calls import SessionCall
from discreet_fire.research_session.outputs import SessionOutput
from discreet_fire.research_session.session_check import SessionCheck

RESULTS, _CHECKSUMS = "results.json", "checksums"
#: The form of `results.json` that is written, by the version of acro that reads it.
_FORM = "1.0.2"
_LARGEST = 20_000_000
#: What outputs may be: tables, texts, pictures. Others are named and not taken.
_SUFFIXES = frozenset((".csv", ".txt", ".png", ".jpg", ".jpeg", ".svg"))
#: How acro ends the names of outputs that officers read and nobody gets.
_INSIDE = "DONT_RELEASE"
_TYPES = dict.fromkeys(("ols", "logit", "probit", "utest"), "regression") | {
    "hist": "histogram", "survival": "survival plot", "custom": "custom",
}  # fmt: skip

_MITIGATION = ("suppress", "round")
_SacroText = Annotated[str, Field(max_length=20_000)]


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class SacroMarks(_Loose):
    """What acro's checks say of a file."""

    cells: dict[str, list[tuple[int, int]]] = {}  # by the check: row and column, without headings


class SacroFile(_Loose):
    """A file of an output, with the cells that acro marked."""

    name: Annotated[str, Field(max_length=200)]
    sdc: SacroMarks = SacroMarks()

    @property
    def marked(self) -> set[tuple[int, int]]:
        """Places of cells that a check was about, from 0."""
        return set(chain.from_iterable(self.sdc.cells.values()))


class SacroOutput(_Loose):
    """Entry of one output."""

    uid: _SacroText
    status: _SacroText
    type: _SacroText = ""
    command: _SacroText = ""
    summary: _SacroText = ""
    comments: list[_SacroText] = []
    exception: _SacroText | None = ""
    files: list[SacroFile]


class _Results(_Loose):
    version: _SacroText
    results: dict[str, SacroOutput]


@dataclass(frozen=True, kw_only=True)
class SacroFolder:
    """A folder of SACRO."""

    version: str  # of its form
    #: Its outputs by name, without what acro itself names as not to be released
    outputs: Mapping[str, SacroOutput]
    #: What is wrong with it, in sentences that name outputs, without a figure
    wrong: tuple[tuple[str, str], ...]


def read_sacro(folder: Path) -> SacroFolder:
    """Read a SACRO folder whose files agree with their checksums."""
    try:
        results = _Results.model_validate_json((folder / RESULTS).read_bytes())
    except (OSError, ValidationError, ValueError, RecursionError):
        raise _not_sacro(folder, f"{RESULTS} is not what SACRO writes") from None
    outputs = {key: one for key, one in results.results.items() if not key.endswith(_INSIDE)}
    names = [file.name for one in outputs.values() for file in one.files]
    if not names or len({name.casefold() for name in names}) < len(names):
        raise _not_sacro(folder, "its outputs have no files, or one file for several")
    wrong: list[tuple[str, str]] = []
    for key, one in outputs.items():
        if not key.isprintable() or not 0 < len(key) <= 200:
            raise _not_sacro(folder, "the name of an output holds characters that hide or mislead")
        for file in one.files:
            path, name = folder / file.name, file.name
            plain = name == path.name and name.isprintable() and not name.startswith(".")
            if not plain or path.suffix.lower() not in _SUFFIXES:
                message = f"{name!a} is not taken: outputs are tables, texts and pictures"
                raise _not_sacro(folder, message)
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
                raise _not_sacro(folder, f"{name!a} is missing, or no ordinary file")
            try:
                known = (folder / _CHECKSUMS / f"{name}.txt").read_text(encoding="ascii").strip()
            except (OSError, UnicodeDecodeError):
                raise _not_sacro(folder, f"{name!a} has no checksum") from None
            if _digest(path.read_bytes()) != known:
                raise _not_sacro(folder, f"{name!a} is not what its checksum says")
            if mark := _shown_marks(folder / file.name, file):
                wrong.append((key, mark))
    return SacroFolder(version=results.version, outputs=outputs, wrong=tuple(wrong))


def _shown_marks(path: Path, file: SacroFile) -> str:
    """What is wrong with cells that acro marked: that its table shows them all the same."""
    if path.suffix.lower() != ".csv" or not file.marked:
        return ""
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (UnicodeDecodeError, csv.Error):
        return "the table cannot be read"
    whole = _numbers_of(rows)
    if whole is None:
        return "which cells were marked cannot be seen in this table; look at it"
    if not all(0 <= at < len(whole) and 0 <= to < len(whole[at]) for at, to in file.marked):
        return "a marked cell is not in the table; look at it"
    gone = ("", "nan", "NaN", "<NA>")
    shown = sum(whole[at][to].strip() not in gone for at, to in file.marked)
    cells = "1 cell" if shown == 1 else f"{shown} cells"
    return f"{cells} that broke a rule there are still shown" if shown else ""


def _numbers_of(rows: list[list[str]]) -> list[list[str]] | None:
    """The cells of a table with one line of headings and one column of labels; else None."""
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        return None
    head, *body = rows
    simple = bool(head[0]) and all(row[0] for row in body) and not any(map(_is_number, head[1:2]))
    labels = [row[1] for row in body if len(row) > 1]
    if not simple or not all(not one or _is_number(one) for one in labels):
        return None
    return [row[1:] for row in body]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _not_sacro(folder: Path, message: str) -> OutputCheckError:
    hint = "submit the folder as acro.finalise() wrote it"
    return OutputCheckError(message, code="sacro-folder", where=folder.name, hint=hint)


# Sessions in the form of SACRO --------------------------------------------------------------------


def write_sacro(outputs: Sequence[SessionOutput], folder: Path) -> Path:
    """Write outputs as acro does: tables as CSV, `results.json`, a checksum for each file."""
    files: dict[str, str] = {}
    results = {}
    for one in outputs:
        stem, method = one.name.replace(" ", "_"), one.call.partition("(")[0]
        shown = {f"{stem}_0.txt": f"{one.text}\n"}
        if one.table is not None or one.coefficients:
            shown = {f"{stem}_0.csv": one.table.csv() if one.table else one.coefficients}
        if one.svg:
            shown[f"{stem}_1.svg"] = one.svg
        outcome: dict[str, dict[str, str]] = {}
        for measure, numbers in one.table.measures.items() if one.table else ():
            cells = ("hidden" if x is None else "ok" for x in numbers)
            outcome[measure] = {str(at): cell for at, cell in enumerate(cells)}
        files |= shown
        results[one.name] = sacro_entry(
            one.name,
            list(shown),
            status=one.verdict.value,
            type=_TYPES.get(method, "table"),
            properties={"method": method, "mitigation": _MITIGATION["rounding=" in one.call]},
            outcome=outcome,
            command=one.call,
            summary=one.summary,
            comments=[one.comment] if one.comment else [],
            exception=one.exception,
        )
    files[RESULTS] = sacro_document(results)
    data = {name: text.encode() for name, text in files.items()}
    return placed(with_checksums(data), folder, "sacro-folder")


def sacro_document(results: Mapping[str, Any], *, indent: int = 4) -> str:
    """The content of `results.json`."""
    about = {"@type": "SoftwareApplication", "name": "discreet", "version": __version__}
    plain = {"version": _FORM, "tool": about, "results": results}
    return json.dumps(plain, ensure_ascii=False, indent=indent) + "\n"


def sacro_entry(uid: str, files: Sequence[str], **parts: Any) -> dict[str, Any]:
    """Entry of an output in `results.json`, as acro writes it."""
    return {
        "uid": uid,
        "status": "",
        "type": "custom",
        "properties": {},
        "files": [{"name": name, "sdc": {}} for name in files],
        "outcome": {},
        "command": "",
        "summary": "",
        "timestamp": "",
        "comments": [],
        "exception": "",
        "fair": {},
    } | parts


def with_checksums(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files with a checksum for each, as SACRO has them."""
    sums = {f"{_CHECKSUMS}/{name}.txt": _digest(data).encode() for name, data in files.items()}
    return {**files, **sums}


def placed(files: Mapping[str, bytes], folder: Path, code: str) -> Path:
    """Write files into a new folder, in one step."""
    if folder.exists() or folder.is_symlink():
        message, hint = "the place is already in use", "name a new folder"
        raise OutputCheckError(message, code=code, where=str(folder), hint=hint)
    check_writable(folder.parent)
    pending = folder.with_name(f".{folder.name}{TEMPORARY_SUFFIX}")
    with told_if_full(folder):
        try:
            shutil.rmtree(pending, ignore_errors=True)
            for name, data in files.items():
                place = pending / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
                kept_on_disk(place)
            kept_on_disk(pending)
            pending.rename(folder)
        except BaseException:
            shutil.rmtree(pending, ignore_errors=True)
            raise
    kept_on_disk(folder.parent)
    return folder


MANIFEST, EVIDENCE, SUMS, OUTPUTS = "session.json", "evidence.json", "SHA256SUMS", "outputs"
_FORMAT = "discreet session 1"
#: So many outputs one session can have.
MOST_OUTPUTS = 999

_Text = Annotated[str, Field(max_length=100_000)]
_FileName = Annotated[str, Field(pattern=r"\A\d{3} [A-Za-z0-9][A-Za-z0-9 _-]{0,59}\.(txt|svg)\z")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class HandedCheck(_Strict):
    """A rule that does not simply hold."""

    rule: _Text
    verdict: _Text
    reason: _Text
    where: _Text = ""


class HandedOutput(_Strict):
    """One output as it is handed in."""

    number: Annotated[int, Field(ge=1, le=MOST_OUTPUTS)]
    name: Annotated[str, Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9 _-]{0,59}\z")]  # what it is called
    call: SessionCall  # what was asked for
    #: Cells that are hidden besides, because of other tables
    hidden: list[Annotated[int, Field(ge=0)]]
    variables: list[_Text]  # what it is about
    verdict: Annotated[str, Field(pattern=r"\A(pass|review|fail)\z")]  # the worst that was found
    summary: _Text  # verdict and reasons
    checks: list[HandedCheck]  # what does not simply hold
    comment: _Text  # what the researcher says
    exception: _Text  # why an exception is asked for; empty if not
    files: list[_FileName]  # its files in the folder of outputs


class HandedSession(_Strict):
    """Submission of a session."""

    format: str = _FORMAT
    made_by: _Text = f"discreet {__version__}"
    project: _Text  # what for
    entity: _Text | None  # column of whom a record is about; None if each is another case
    minimum: int  # fewest cases behind a number, as the session went by
    outputs: list[HandedOutput]


def files_of(output: SessionOutput) -> dict[str, str]:
    """The files of an output with what they hold."""
    stem = f"{output.number:03d} {output.name}"
    files = {f"{stem}.txt": f"{output.call}\n\n{output.text}\n"}
    if output.svg:
        files[f"{stem}.svg"] = output.svg
    return files


def manifest_of(folder: Path) -> str | None:
    """Manifest of a folder submitted without a program; None without one."""
    if folder.is_dir() and (folder / MANIFEST).is_file() and (folder / SUMS).is_file():
        return MANIFEST
    sacro = (folder / RESULTS).is_file() and (folder / _CHECKSUMS).is_dir()
    return RESULTS if sacro else None


def write_folder(
    folder: Path, handed: HandedSession, outputs: Sequence[SessionOutput], check: SessionCheck
) -> Path:
    """Write the folder, in one step."""
    files = {f"{OUTPUTS}/{name}": text for one in outputs for name, text in files_of(one).items()}
    files[MANIFEST] = _json(handed.model_dump())
    files[EVIDENCE] = _json(check.to_dict())
    files[SUMS] = "".join(
        f"{_digest(text.encode())}  {name}\n" for name, text in sorted(files.items())
    )
    return placed({name: text.encode() for name, text in files.items()}, folder, "session-folder")


def read_folder(folder: Path) -> HandedSession:
    """Read a folder whose files agree with their checksums."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise _broken(folder, f"{SUMS} cannot be read") from None
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    known = {*sums, SUMS}
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    if there != known:
        differ = ", ".join(ascii(name) for name in sorted(there ^ known)[:5])
        raise _broken(folder, f"files and checksums are not of the same names: {differ}")
    for name, digest in sums.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            raise _broken(folder, f"{name!a} is not an ordinary file of a session")
        if _digest(path.read_bytes()) != digest:
            raise _broken(folder, f"{name!a} is not what its checksum says")
    handed = read_manifest(folder)
    named = [f"{OUTPUTS}/{name}" for one in handed.outputs for name in one.files]
    if len(set(named)) < len(named) or {*named, MANIFEST, EVIDENCE} != set(sums):
        raise _broken(folder, "its files are not those of its outputs")
    numbers = [one.number for one in handed.outputs]
    if not numbers or len(set(numbers)) < len(numbers):
        raise _broken(folder, "its outputs are not numbered")
    return handed


def read_manifest(folder: Path) -> HandedSession:
    """Read the calls of the manifest without the other files."""
    try:
        handed = HandedSession.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError, ValueError, RecursionError):
        raise _broken(folder, f"{MANIFEST} is not what a session writes") from None
    if handed.format != _FORMAT:
        raise _broken(folder, f"{MANIFEST} is of another version")
    return handed


def _json(plain: dict[str, Any]) -> str:
    return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _broken(folder: Path, message: str) -> OutputCheckError:
    hint = "submit the folder as s.finalise() wrote it"
    return OutputCheckError(message, code="session-folder", where=str(folder), hint=hint)
