"""What is done alike with programs in SPSS and in SAS: findings, comments, safe macros.

In: the text of a program and a policy. Out: a `ProgramNotes` with findings in one language and
edits. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from discreet._version import __version__
from discreet.files import texts_of
from discreet_fire.catalogue import Action, PackagePolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.called_files import SUFFIX, CalledFile
from discreet_fire.rewriting.changes import (
    Language,
    ProgramNotes,
    Rewriting,
    comment_words,
    newline_of,
)
from discreet_fire.texts import Lines

_NETWORK = re.compile(r"^['\"]?\s*(?:\\\\|//|[a-z]{2,}:/)", re.I)
_PLACE = re.compile(r"^(?!.*(?:^|[\\/])\.\.(?:[\\/]|$))[^:*?|<>&!]+$")
_ENCODING = re.compile(r"\* *encoding:", re.I)
_MOST_WORDS = 160
#: What is found, by the rule that finds it; `finding_words.toml` has the German.
SAID = {
    "unknown": "{name}: no rule for it; it may show anything",
    "part": "{name}: {part} is not permitted",
    "part-unknown": "{name}: no rule for {part} in it",
    "runtime": "{name}: what it is about is known at run time only, so no safe macro can check it",
    "statistic": "{name}: a table holds a statistic that no rule knows as safe",
    "list": "{name}: write each variable by its name, so that a safe macro can check it",
    "temporary": "{name}: a temporary choice of records cannot be checked: use FILTER BY",
    "split": "{name}: under SPLIT FILE no safe macro checks each group",
    "reason": "{name}: {reason}",
    "called": "{name}: the file it runs is not in the submission",
    "network": "{name}: names a place of the network",
    "record": "{name}: takes a value from another record, or one record by its number",
    "carries": "{name}: carries a value from record to record",
    "picks": "{name}: gives single values to many records",
    "tells": "{name}: a message about a wrong value may quote it",
    "text": "{name}: makes program text out of pieces",
    "reserved": "names that begin with fire_ belong to the safe macros",
    "macro": "the macro {name} has the name of a command, or is called without !",
    "shown": "{name}: shows a value that comes from data",
    "decides": "{name}: what runs depends on data",
    "holds": "{name}: holds a value that comes from data",
    "function": "{name}: the function {part} reaches files, the system, or is not known",
    "dataset": "{name}: name the data set with data=, so that a safe macro can check it",
    "twice": "{name}: the same record may be written several times, and count several times",
    "quotes": "{name}: a quotation mark in a comment is read differently within a macro",
    "syntax": "the program cannot be read: {what}",
}
_SEVERITY = {Action.REVIEW: Severity.REVIEW, Action.REFUSED: Severity.REFUSED}


@dataclass(kw_only=True)
class PackageNotes:
    """Findings and edits of a program in SPSS or SAS."""

    text: str = field(repr=False)  # the program
    policy: PackagePolicy  # the rules
    language: Language  # of what is written and told
    folder: Path | None  # where the program lies; other programs in it, or below, may be run
    calls: list[CalledFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.notes = ProgramNotes(text=self.text, lines=Lines(self.text))
        self.newline = newline_of(self.text)
        self.wording = texts_of("discreet_fire.rewriting", "wording", self.language)["code"]

    def say(self, kind: str, action: Action, span: tuple[int, int], **filled: str) -> None:
        """Note a finding; what is refused must be taken out by the caller."""
        self.notes.find(kind, _SEVERITY[action], SAID[kind].format(**filled), span)

    def fail(self, kind: str, span: tuple[int, int], **filled: str) -> None:
        """Note that the program may not run at all."""
        self.notes.find(kind, Severity.ERROR, SAID[kind].format(**filled), span)

    def comment(self, span: tuple[int, int], end: str) -> str:
        """The words of a comment in place of a passage."""
        words = comment_words(self.text[slice(*span)]).replace(end, " ").strip()
        words = words.replace("*/", "* /").replace("/*", "/ *")
        return f"{self.wording}: {words[:_MOST_WORDS].rstrip(' .')}"

    def called(self, command: str, span: tuple[int, int]) -> str | None:
        """The name to run in place of a file; None if that is not in the submission."""
        place = self.text[slice(*span)].strip("'\"").strip()
        stem, dot, suffix = place.rpartition(".")
        if not dot or not _PLACE.match(place) or place.startswith(("/", "\\", "~")):
            return None
        target = None if self.folder is None else self.folder / place.replace("\\", "/")
        if target is None or not target.is_file() or target.is_symlink():
            return None
        start, end = span
        self.calls.append(
            CalledFile(
                command=command,
                path=place,
                start=start,
                end=end,
                written=place,
                action=Action.WRAPPED,
                target=target,
            )
        )
        return place if stem.endswith(SUFFIX) else f"{stem}{SUFFIX}{dot}{suffix}"

    def rewriting(self) -> Rewriting:
        """The new text, with the programs that it runs."""
        return replace(self.notes.rewriting(), calls=tuple(self.calls))


def package_header(
    name: str, text: str, rewriting: Rewriting, policy: PackagePolicy, language: Language
) -> str:
    """The lines that go before a program in SPSS or SAS: the safe macros."""
    end = "." if policy.language == "spss" else ";"
    first = text.split("\n", 1)[0].rstrip("\r")
    lines = [first] if _ENCODING.match(first) else []
    plain = "".join(sign if sign.isprintable() and sign.isascii() else "?" for sign in name)
    texts = texts_of("discreet_fire.rewriting", "header", language)
    count = sum(finding.severity is Severity.REVIEW for finding in rewriting.findings)
    told_lines = [
        f"this file was made by discreet fire pre (discreet {__version__})",
        texts["from"].format(name=plain.replace("*", "")),
        texts["policy"].format(digest=policy.digest[:16], language=language),
        texts["review"].format(count=count),
    ]
    lines += [f"* FDZ: {line.replace(';', ',')}{end}" for line in told_lines]
    newline = newline_of(text)
    return newline.join([*lines, *policy.macros.strip().splitlines(), ""])


def of_network(texts: Iterable[str]) -> bool:
    """Whether one of the texts is an address of the network.

    >>> of_network(["'//host/share'"]), of_network(["'C:/data/a.sav'"])
    (True, False)
    """
    return any(_NETWORK.match(text) for text in texts)
