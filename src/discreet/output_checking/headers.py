"""The comment at the top of a rewritten do-file.

In: what was done to the file. Out: comment lines that say so, and the line that makes
Stata find the safe commands. No clock time and no path of this computer is in them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from discreet._version import __version__
from discreet.output_checking.commenting import harmless
from discreet.output_checking.policy import Action, Policy
from discreet.output_checking.rewriting import Language, Rewriting

__all__ = ["MARK", "header"]

#: How the first line of every rewritten file begins.
MARK = "*! FDZ: this file was made by discreet fire pre"

_WIDTH = 90
_WORDS = {
    "en": {
        "from": "made from {name}, which was not changed; run this file instead",
        "policy": "policy {digest}, language {language}",
        "wrapped": "commands that run as safe commands",
        "refused": "commands that are not permitted",
        "review": "places to review: {count}; the list is in the manifest",
        "none": "none",
        "adopath": "the safe commands (fdz*.ado) must be on the adopath of the server",
    },
    "de": {
        "from": "erzeugt aus {name}, das nicht veraendert wurde; diese Datei ausfuehren",
        "policy": "Regelwerk {digest}, Sprache {language}",
        "wrapped": "Befehle, die als sichere Befehle laufen",
        "refused": "Befehle, die nicht erlaubt sind",
        "review": "Stellen zur Pruefung: {count}; siehe Protokoll",
        "none": "keine",
        "adopath": "die sicheren Befehle (fdz*.ado) muessen im adopath des Servers liegen",
    },
}


def header(
    name: str, rewriting: Rewriting, policy: Policy, *, language: Language, newline: str
) -> str:
    """The lines that go before a rewritten program.

    Args:
        name: Name of the original file.
        rewriting: What was done.
        policy: The rules it was done by.
        language: Of the words.
        newline: The line end of the program.
    """
    words = _WORDS[language]
    wrapped: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for edit in rewriting.edits:
        if edit.action is Action.REFUSED:
            refused[edit.command] += 1
        elif edit.rule == "command":
            stands = edit.after.strip() if edit.before else f"{edit.after.strip()} {edit.command}"
            wrapped[f"{edit.command} -> {stands}"] += 1
    count = sum(finding.severity == "review" for finding in rewriting.findings)
    lines = [
        f"{MARK} (discreet {__version__})",
        f"* FDZ: {words['from'].format(name=_plain(Path(name).name))}",
        f"* FDZ: {words['policy'].format(digest=policy.digest[:16], language=language)}",
        *_listed(words["wrapped"], wrapped, words["none"]),
        *_listed(words["refused"], refused, words["none"]),
        f"* FDZ: {words['review'].format(count=count)}",
        f"* FDZ: {words['adopath']}",
    ]
    if policy.adopath:
        lines.append(f'quietly adopath ++ "{policy.adopath}"')
    return newline.join(lines) + newline


def _plain(text: str) -> str:
    """A text without letters that some encodings lack, and without signs of Stata."""
    return harmless(text).encode("ascii", "replace").decode("ascii")


def _listed(title: str, counts: Counter[str], none: str) -> list[str]:
    """A title with names and how often each occurs, over several lines if need be."""
    if not counts:
        return [f"* FDZ: {title}: {none}"]
    lines = [f"* FDZ: {title}:"]
    for name, count in sorted(counts.items()):
        item = f" {_plain(name)} ({count})"
        if len(lines[-1]) + len(item) > _WIDTH:
            lines.append("* FDZ:  ")
        lines[-1] += item
    return lines
