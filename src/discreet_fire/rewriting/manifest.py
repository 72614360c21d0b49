"""The manifest of a rewritten do-file: every edit, so that the original can be restored.

In: a source, what was done to it, and the bytes that were written. Out: a JSON document.
It holds the researcher's code and findings about it, no data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol

from discreet._version import __version__
from discreet.errors import OutputCheckError
from discreet_fire.findings import Finding
from discreet_fire.rewriting.changes import Edit, Language, Rewriting
from discreet_fire.texts import SourceText, decode_source

FORMAT = "discreet-fire-1"

_EDIT = Edit._fields
_FINDING = tuple(part.name for part in fields(Finding))
_PARTS: Mapping[str, type] = {"source": dict, "output": dict, "edits": list, "header": str}


class ProgramRules(Protocol):
    """The rules of any language of programs."""

    @property
    def digest(self) -> str:
        """SHA-256 of all rules."""


def manifest(
    source: SourceText,
    output: bytes,
    name: str,
    head: str,
    rewriting: Rewriting,
    policy: ProgramRules,
    language: Language,
) -> dict[str, Any]:
    """The manifest of one file."""
    moved = len(head)
    edits = []
    for edit in rewriting.edits:
        edits.append({**_plain(edit, _EDIT), "output_start": edit.start + moved})
        moved += len(edit.after) - len(edit.before)
    return {
        "format": FORMAT,
        "program": f"discreet {__version__}",
        "policy": policy.digest,
        "language": language,
        "source": {
            "name": source.path.name,
            "sha256": source.sha256,
            "encoding": source.encoding,
            "bom": source.bom.hex(),
        },
        "output": {"name": name, "sha256": hashlib.sha256(output).hexdigest()},
        "header": head,
        "edits": edits,
        "calls": [
            {"command": call.command, "path": call.written, "action": call.action.value}
            for call in rewriting.calls
        ],
        "findings": [_plain(each, _FINDING) for each in (*source.findings, *rewriting.findings)],
    }


def manifest_text(document: Mapping[str, Any]) -> str:
    """A manifest as JSON, each edit and each finding in a line of its own.

    >>> print(manifest_text({"format": "x", "edits": [{"start": 1}, {"start": 2}]}), end="")
    {
    "format": "x",
    "edits": [
    {"start": 1},
    {"start": 2}]
    }
    """
    parts = []
    for name, value in document.items():
        if isinstance(value, list):
            # Item by item, since the encoder is many times slower when it indents.
            items = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
            text = f"[\n{items}]" if items else "[]"
        else:
            text = json.dumps(value, ensure_ascii=False)
        parts.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_manifest(text: str, place: str) -> dict[str, Any]:
    """A manifest from its JSON text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise _error("this is not JSON", place) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _error("this is not a manifest of a rewritten do-file", place)
    for part, kind in _PARTS.items():
        if not isinstance(document.get(part), kind):
            raise _error(f"the manifest has no proper {part!r}", place)
    return document


def restored(document: Mapping[str, Any], output: bytes) -> bytes:
    """The original's bytes, from a manifest and the rewritten file.

    Both digests are checked: a file that was changed since is an error.
    """
    place = str(document["output"].get("name", ""))
    if hashlib.sha256(output).hexdigest() != document["output"].get("sha256"):
        raise _error("the file was changed after it was made", place)
    try:
        text = _undone(document, output)
        written = decode_source(output, place)
        data = SourceText(
            path=written.path,
            text=text,
            encoding=str(document["source"]["encoding"]),
            bom=bytes.fromhex(document["source"]["bom"]),
            sha256="",
        ).encoded(text)
    except (KeyError, TypeError, ValueError, LookupError):
        raise _error("the manifest is damaged", place) from None
    if hashlib.sha256(data).hexdigest() != document["source"].get("sha256"):
        raise _error("the manifest does not belong to the original", place)
    return data


def _plain(thing: Edit | Finding, names: tuple[str, ...]) -> dict[str, Any]:
    """The parts of a thing; `asdict` copies deeply, which takes ten times as long."""
    return {name: getattr(thing, name) for name in names}


def _undone(document: Mapping[str, Any], output: bytes) -> str:
    """The text of the original."""
    bom = bytes.fromhex(document["source"]["bom"])
    text = output[len(bom) :].decode(str(document["source"]["encoding"]))
    parts = []
    at = len(document["header"])
    for edit in document["edits"]:
        start = int(edit["output_start"])
        parts += [text[at:start], str(edit["before"])]
        at = start + len(edit["after"])
    parts.append(text[at:])
    return "".join(parts)


def _error(what: str, place: str) -> OutputCheckError:
    return OutputCheckError(
        what, code="manifest", where=place, hint="give the NAME_FiRe.json beside the rewritten file"
    )
