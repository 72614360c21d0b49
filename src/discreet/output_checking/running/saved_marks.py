"""Which variables of saved data rest on single values, for later runs. CONFIDENTIAL.

In: the bytes of a file that a run has saved, and the names of such variables. Out: a note
beside the file, found again by the digest of its bytes under any name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from discreet.files import write_text
from discreet.output_checking.running.errors import DoError

__all__ = ["NOTES", "marks_of", "note_marks"]

#: The file of the notes, in the folder of the data.
NOTES = ".discreet-saved.json"


def note_marks(path: Path, content: bytes, variables: Iterable[str], made: Iterable[str]) -> None:
    """Note what a file holds that was just saved.

    Args:
        path: The file.
        content: Its bytes.
        variables: Names of variables that rest on single values.
        made: Names of variables that the program has made or changed.
    """
    marked = sorted(variables)
    known = _notes(path.parent)
    if not marked and not known:
        return
    known[_digest(content)] = {"variables": marked, "made": sorted(made)}
    text = json.dumps(known, ensure_ascii=False, indent=1, sort_keys=True)
    write_text(path.parent / NOTES, text + "\n", private=True)


def marks_of(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The variables of a file that rest on single values, and those that a program made."""
    known = _notes(path.parent)
    if not known:
        return frozenset(), frozenset()
    found = known.get(_digest(path.read_bytes()), {})
    return frozenset(found.get("variables", ())), frozenset(found.get("made", ()))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _notes(folder: Path) -> dict[str, dict[str, list[str]]]:
    place = folder / NOTES
    if not place.exists():
        return {}
    try:
        notes = json.loads(place.read_text("utf-8"))
        return {
            str(digest): {str(key): [str(name) for name in names] for key, names in note.items()}
            for digest, note in notes.items()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        raise DoError(f"the notes on saved data, {NOTES}, cannot be read", code=610) from None
