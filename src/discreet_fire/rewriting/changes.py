"""Changes of a program, by place, what an officer is told of them, and the files that it runs.

In: spans in characters. Out: `Edit`s that do not overlap, and `Finding`s; the new text. What is
alike in programs of SPSS and SAS is here, too: how a part of a command is judged by the catalogue,
and what becomes a comment. Of a do-file the paths that its statements name, with a judgement of
each path: whether it stays within the folder of the submission, and where a call must point
instead; whether all that is written stands in the program, or whether a file is gone when Stata
ends. All that is not seen to be so needs a look. Nothing is run.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from discreet.files import texts_of
from discreet_fire.catalogue import (
    Action,
    CommandRule,
    Forms,
    ScriptLanguage,
    ScriptPolicy,
    commands_with,
    stata_catalogue,
)
from discreet_fire.findings import Finding, Severity
from discreet_fire.flow import StatementParts
from discreet_fire.scripts import PackageToken, ReadingError, SasStatement, SpssCommand
from discreet_fire.stata import DoFile, DoStatement
from discreet_fire.texts import Lines

#: What is added to the name of a rewritten file.
SUFFIX = "_FiRe"

Language = Literal["en", "de"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CalledFile:
    """A do-file that is run by another (`do`, `run` or `include`), or may not be, and why.

    The path has macros filled in where their text is known; it starts and ends, without quotes,
    at places of the text. The target is the file that is meant, if it is there.
    """

    command: str
    path: str = ""
    start: int = 0
    end: int = 0
    written: str
    action: Action = Action.ALLOWED
    reason: str = ""
    target: Path | None = None

    @property
    def name(self) -> str:
        """The last part of the path as it is written."""
        return re.split(r"[\\/]", self.written)[-1]


class Edit(NamedTuple):
    """One place where the old text was changed (characters from 0, its line from 1), and by which
    rule.

    The command is named in full; the action is whether it was wrapped or refused.
    """

    start: int
    end: int
    before: str
    after: str
    rule: str
    command: str
    action: Action
    reason: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Rewriting:
    """What became of a do-file: the new text without a header, every change in the order of the
    text, what an officer must know, and the do-files that it runs.
    """

    text: str = field(repr=False)
    edits: tuple[Edit, ...]
    findings: tuple[Finding, ...]
    calls: tuple[CalledFile, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether a finding forbids running the program at all."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def needs_review(self) -> bool:
        """Whether an officer must look at it."""
        return any(finding.severity is Severity.REVIEW for finding in self.findings)


_REST = re.compile(r"[ \t\f]*(?:#|[\r\n]|\Z)")


@dataclass(kw_only=True)
class ProgramNotes:
    """Edits and findings of one text, as they are found."""

    text: str = field(repr=False)
    edits: list[Edit] = field(default_factory=list)
    spans: set[tuple[int, int]] = field(default_factory=set)
    findings: dict[tuple[int, int, str, str], Finding] = field(default_factory=dict)
    calls: list[CalledFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines, self.newline = Lines(self.text), newline_of(self.text)

    def find(
        self, rule: str, severity: Severity, what: str, span: tuple[int, int], hint: str = ""
    ) -> None:
        """Note a finding, once for each place."""
        finding = self.lines.finding(rule, severity, what, *span, hint)
        self.findings.setdefault((*span, rule, what), finding)

    def last_on_line(self, end: int) -> bool:
        """Whether nothing but blanks or a comment follows on the line."""
        return _REST.match(self.text, end) is not None

    def replace(
        self, span: tuple[int, int], after: str, rule: str, name: str, action: Action, reason: str
    ) -> None:
        """Note an edit."""
        start, end = span
        self.spans.add(span)
        line, _ = self.lines.place(start)
        edit = Edit(start, end, self.text[start:end], after, rule, name, action, reason, line)
        self.edits.append(edit)

    def taken_out(self) -> Callable[[tuple[int, int]], bool]:
        """Which passages are commented out, or do not run: these need no look."""
        spans: list[tuple[int, int]] = []
        for edit in sorted(self.edits, key=lambda e: (e.start, -e.end)):
            new = edit.action is Action.REFUSED and (not spans or edit.end > spans[-1][1])
            spans += [(edit.start, edit.end)] if new else []

        def is_inside(span: tuple[int, int]) -> bool:
            at = bisect_right(spans, span[0], key=lambda one: one[0]) - 1
            return at >= 0 and span[0] < span[1] <= spans[at][1]

        return is_inside

    def rewriting(self) -> Rewriting:
        """The new text, with the outermost of nested edits; the graver of two in one place."""
        kept: list[Edit] = []
        # An insertion goes before what is replaced in the same place.
        order = sorted(self.edits, key=lambda e: (e.start, e.end > e.start, -e.end, -e.action.rank))
        for edit in order:
            if not kept or edit.start >= kept[-1].end:
                kept.append(edit)
            elif kept[-1].action is Action.WRAPPED and edit.action is Action.REFUSED:
                # A safe call holds its arguments as they were written.
                after = kept[-1].after.replace(edit.before, edit.after) if edit.before else ""
                kept[-1] = kept[-1]._replace(after=after or kept[-1].after)
        moot = self.taken_out()
        left = (
            one for one in self.findings.values()
            if one.severity is not Severity.REVIEW or not moot((one.start, one.end))
        )  # fmt: skip
        findings = sorted(left, key=lambda f: (f.start, -f.severity.rank, f.rule))
        return Rewriting(
            text=applied(self.text, kept),
            edits=tuple(kept),
            findings=tuple(findings),
            calls=tuple(self.calls),
        )


@dataclass(kw_only=True)
class ScriptNotes(ProgramNotes, ABC):
    """A program in a language but Stata that is judged, by the rules on its names."""

    policy: ScriptPolicy  # the rules
    language: Language  # of what is written and told
    folder: Path | None  # where the program lies; other programs in it, or below, may be run
    parts: Sequence[tuple[int, int]] | None  # where its code stands in a document; None for all
    kind: ClassVar[ScriptLanguage]
    #: What is said where the program cannot be read, and what to do about it
    unread: ClassVar[tuple[str, str]] = ("{what}", "correct the script; nothing was written")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.wording = texts_of("discreet_fire.rewriting", "wording", self.language)["code"]

    @abstractmethod
    def judge(self) -> None:
        """Read the program, and note findings and edits."""

    @classmethod
    def rewrite(
        cls, text: str, policy: ScriptPolicy | None = None, *, language: Language = "en",
        folder: Path | None = None, parts: Sequence[tuple[int, int]] | None = None,
    ) -> Rewriting:  # fmt: skip
        """The new text of a program; a finding in place of all edits where it cannot be read."""
        rules = policy or ScriptPolicy.default(cls.kind)
        notes = cls(text=text, policy=rules, language=language, folder=folder, parts=parts)
        words, hint = cls.unread
        try:
            notes.judge()
        except ReadingError as error:
            notes.edits.clear()
            what, span = words.format(what=error.what), (error.at, error.at)
            notes.find("syntax", Severity.ERROR, what, span, error.hint or hint)
        except RecursionError:
            notes.edits.clear()
            message = "the code is nested too deeply to be read"
            notes.find("too-deep", Severity.ERROR, message, (0, 0), "write it in smaller parts")
        return notes.rewriting()


def comment_words(text: str) -> str:
    r"""Code as words of a comment in one line.

    >>> comment_words("print(\n    df)\n")
    'print( df)'
    """
    words = " ".join(text.split())
    return "".join(word if word.isprintable() else "?" for word in words)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made."""
    parts = []
    at = 0
    for edit in edits:
        parts += [text[at : edit.start], edit.after]
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


def newline_of(text: str) -> str:
    r"""The line end that the text uses first.

    >>> newline_of("a\r\nb")
    '\r\n'
    """
    match = re.search(r"\r\n|\n|\r", text)
    return match.group() if match else "\n"


_NETWORK = re.compile(r"^['\"]?\s*(?:\\\\|//|[a-z]{2,}:/)", re.I)
_PLACE = re.compile(r"^(?!.*(?:^|[\\/])\.\.(?:[\\/]|$))[^:*?|<>&!]+$")
_MOST_WORDS = 160
#: What is found, by the rule that finds it; `finding_words.toml` has the German.
SAID = {
    "unknown": "{name}: no rule for it; it may show anything",
    "part": "{name}: {part} is not permitted",
    "part-unknown": "{name}: no rule for {part} in it",
    "runtime": "{name}: its variables are known at run time only, so no safe macro can check it",
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
    "holds": "{name}: holds a value that comes from data",
    "function": "{name}: the function {part} reaches files, the system, or is not known",
    "dataset": "{name}: name the data set with data=, so that a safe macro can check it",
    "twice": "{name}: the same record may be written several times, and count several times",
    "quotes": "{name}: a quotation mark in a comment is read differently within a macro",
    "unclosed": "{name}: a quotation mark is not closed, so that its end is not certain",
    "syntax": "the program cannot be read: {what}",
}
#: A passage: a command, a statement, or its start and end.
_Where = SpssCommand | SasStatement | tuple[int, int]
_SEVERITY = {Action.REVIEW: Severity.REVIEW, Action.REFUSED: Severity.REFUSED}


class PackageProgram(ScriptNotes):
    """A program in SPSS or SAS, with findings and edits as they are made."""

    unread = (SAID["syntax"], "")

    def check_reserved(self, statement: SpssCommand | SasStatement) -> None:
        """Names of the safe macros may not be given by a program."""
        named = (one.upper.lstrip("!%&_") for one in statement.tokens if one.kind != "text")
        if any(name.startswith("FIRE_") for name in named):
            self.find("reserved", Severity.ERROR, SAID["reserved"], _span(statement))

    def say(self, kind: str, action: Action, where: _Where, name: str = "", **filled: str) -> None:
        """Note a finding; what is refused must be taken out by the caller."""
        what = SAID[kind].format(name=name, **filled)
        self.find(kind, _SEVERITY[action], what, _span(where))

    def review_network(self, where: _Where, name: str, tokens: Iterable[PackageToken]) -> None:
        """Note texts that are addresses of the network."""
        if any(token.kind == "text" and _NETWORK.match(token.text) for token in tokens):
            self.review("network", where, name)

    def review(self, kind: str, where: _Where, name: str = "", **filled: str) -> None:
        """Note what an officer looks at."""
        self.say(kind, Action.REVIEW, where, name, **filled)

    def change(
        self,
        kind: str,
        where: _Where,
        after: str,
        rule: CommandRule,
        action: Action = Action.WRAPPED,
    ) -> None:
        """Note what stands in place of a passage that a rule is about."""
        self.replace(_span(where), after, kind, rule.name, action, rule.reason)

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
        wrapped = Action.WRAPPED
        self.calls.append(CalledFile(command=command, written=place, action=wrapped, target=target))
        return place if stem.endswith(SUFFIX) else f"{stem}{SUFFIX}{dot}{suffix}"


def _span(where: _Where) -> tuple[int, int]:
    return where if isinstance(where, tuple) else (where.start, where.end)


# Files of do-files --------------------------------------------------------------------------------

FORM = Forms(__package__, "do_files")
CALLERS = commands_with("calls")
_TRICKS = (
    (re.compile(r"(?:^|[\\/])\.\.(?:[\\/]|$)"), "the path leaves the folder by `..`"),
    (re.compile(r"^\s*~"), "the path leads to a home folder"),
    (re.compile(r"^\s*[A-Za-z][A-Za-z+]+:(?:[\\/]{2})?"), "the path leads to a network address"),
    (re.compile(r"^\s*[\\/]{2}"), "the path leads to another computer"),
)


def called_files(statement: DoStatement, dofile: DoFile) -> CalledFile | None:
    """The do-file that a statement runs; None if it runs none."""
    command = statement.command
    if command is None or command.canonical not in CALLERS:
        return None
    start = command.end
    for span in statement.spans:
        comment = span.kind in ("comment", "continuation") and span.start >= start
        if comment and not dofile.text[start : span.start].strip():
            start = span.end
    match = FORM.path.match(dofile.text, start, statement.end)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        reason = "no file is named"
        return CalledFile(
            command=command.canonical, written="", action=Action.REVIEW, reason=reason
        )
    written = match.group(kind)
    path = filled(written, dofile)
    name = re.split(r"[\\/]", written)[-1]
    suffix = re.search(r"\.(\w+)$", name)
    action, reason = _judged(path, written)
    if action is Action.REFUSED:
        pass
    elif name.endswith(".") or not FORM.start.match(written):
        action, reason = Action.REFUSED, "not the name of a do-file"
    elif FORM.macro.search(name) and not FORM.folder.match(name):
        action, reason = Action.REFUSED, "the name of the file is a macro"
    elif suffix is not None and suffix.group(1).lower() != "do":
        action, reason = Action.REFUSED, "only files that end in .do are rewritten"
    return CalledFile(
        command=command.canonical, written=written, path=path, start=match.start(kind),
        end=match.end(kind), action=action, reason=reason,
    )  # fmt: skip


def _judged(path: str, written: str) -> tuple[Action, str]:
    """What becomes of a path, and why: it stays in the folder."""
    for trick, reason in _TRICKS:
        if trick.search(path) or trick.search(written):
            return Action.REFUSED, reason
    if FORM.macro.search(path):
        return Action.REVIEW, "the folder of the file is a macro"
    if FORM.absolute.match(path):
        return Action.REVIEW, "the path does not start in the folder"
    return Action.ALLOWED, ""


def written_place(
    statement: DoStatement, dofile: DoFile, word: str = "using"
) -> tuple[Action, str]:
    """Action on a file that a statement writes, by its place, with the reason."""
    before = FORM.using if word == "using" else re.compile(rf"\s*{word}\b")
    using = before.match(dofile.text, statement.body, statement.end)
    match = FORM.path.match(dofile.text, using.end(), statement.end) if using else None
    if match is None or match.lastgroup is None:
        return Action.ALLOWED, ""
    written = match.group(match.lastgroup)
    return _judged(filled(written, dofile), written)


def filled(written: str, dofile: DoFile) -> str:
    """The path with macros whose only definition is a plain text."""
    texts = _plain_texts(dofile.text)

    def fill(found: re.Match[str]) -> str:
        local, braced, plain = found.groups()
        known = texts.get((local is not None, local or braced or plain), set())
        return next(iter(known)) if len(known) == 1 else found.group()

    return FORM.reference.sub(fill, written)


@lru_cache(maxsize=8)
def _plain_texts(program: str) -> dict[tuple[bool, str], set[str]]:
    """The plain texts that a program gives to local (True) and global macros.

    Macros that are given anything else as well are left out.
    """
    texts: dict[tuple[bool, str], set[str]] = {}
    others: set[str] = set()
    for line in FORM.giving.finditer(program):
        plain = FORM.defined.fullmatch(line.group())
        if plain is None:
            others.update(re.findall(r"\w+", FORM.reference.sub(" ", line.group())))
        else:
            kind, name, text = plain.groups()
            texts.setdefault((kind.startswith("l"), name), set()).add(text)
    return {key: sorts for key, sorts in texts.items() if key[1] not in others}


def placed(call: CalledFile, root: Path, file: Path) -> CalledFile:
    """The call with the file that is meant, or why it may not run.

    No do-file leaves the folder of the submission.
    """
    if not call.path:
        return call
    root = root.resolve()
    path = call.path.strip().replace("\\", "/")
    path = path if path.lower().endswith(".do") else f"{path}.do"
    original = f"{path[:-3].removesuffix(SUFFIX)}.do"
    own = call.name.endswith((SUFFIX, f"{SUFFIX}.do"))
    action, reason = Action.REFUSED, "the path leads out of the folder of the submission"
    if FORM.macro.search(path) or FORM.absolute.match(path):
        # A path from elsewhere: its end may name a file of the submission.
        parts = original.split("/")
        parts[-1] = FORM.folder.sub("", parts[-1])
        for first in range(len(parts)):
            end = parts[first:]
            if any(FORM.macro.search(part) or part in ("", "..") for part in end):
                continue
            target = root.joinpath(*end).resolve()
            if target.is_relative_to(root) and target.is_file():
                reason = f"{call.reason}; it must be that of the submission"
                return replace(call, action=Action.REVIEW, reason=reason, target=target)
        if FORM.macro.search(original) and not own:
            return call
        return replace(call, action=action, reason=reason)
    for base in (root, file.resolve().parent):
        target = (base / original).resolve()
        if not target.is_relative_to(root):
            return replace(call, action=action, reason=reason)
        if target.is_file():
            return replace(call, target=target)
    reason = "the name is reserved for rewritten files, and the original was not found"
    if not own:
        action = Action.REVIEW
        reason = "not found in the submission; only a rewritten file will run"
    return replace(call, action=action, reason=reason)


@cache
def _writing(form: str) -> Mapping[str, re.Pattern[str]]:
    """By command the form of statements that write nothing of the data, or nothing new."""
    forms = stata_catalogue()["writes"]
    pieces = forms["pieces"]
    texts = {name: one[form] for name, one in forms.items() if form in one}
    for piece, text in pieces.items():
        texts = {name: one.replace(f"<{piece}>", text) for name, one in texts.items()}
    return {name: re.compile(text, re.S | re.X) for name, text in texts.items()}


def draws_judged(part: StatementParts, dofile: DoFile, earlier: bool) -> bool:
    """Whether a statement draws nothing but models that are stored, or files a graph that was
    judged where it was drawn.
    """
    statement = part.statement
    if part.name == "graph":
        picture = earlier and _writing("picture")["graph"].fullmatch(part.code) is not None
        return picture and written_place(statement, dofile, r"ex\w*")[0] is Action.ALLOWED
    if part.name not in commands_with("data", "models") or "$" in part.code or "`" in part.code:
        return False
    return _writing("models")[part.name].fullmatch(part.outside) is not None


def judged_graph(part: StatementParts, before: bool) -> bool:
    """Whether the last graph that was drawn, if any, is one that was judged where it was drawn."""
    if part.name == "graph" and (other := FORM.no_drawing.match(part.outside)) is not None:
        return before and other.group().strip() == "ex"
    if part.name in commands_with("data", "drawn", "models"):
        return not part.by_macro
    return before and part.name in commands_with("data", "kept") and not part.by_macro


def keeps_records(part: StatementParts, dofile: DoFile, folders: set[str]) -> bool:
    """Whether a statement saves records in the folder; one in a folder that is a macro is looked
    at once.
    """
    records = _writing("records").get(part.name)
    if records is None or (saved := records.fullmatch(part.code)) is None:
        return False
    folder = filled(saved[1], dofile)
    known = folder in folders or not FORM.macro.search(folder)
    folders.add(folder)
    return known and ".." not in folder and ":" not in folder and not folder.startswith(("/", "~"))


def holds_no_data(
    part: StatementParts,
    dofile: DoFile,
    known: Mapping[str, frozenset[str]],
    temporary: Set[str],
) -> bool:
    """Whether a statement writes nothing but texts of the program, or to a temporary file."""
    statement = part.statement
    if part.name in ("save", "saveold"):
        saved = FORM.temporary.fullmatch(part.code)
        return saved is not None and saved[1] in temporary
    if part.name == "postfile":
        posted = FORM.posted.fullmatch(part.code)
        return posted is not None and posted[1] in temporary
    places = [*(prefix.arguments for prefix in statement.prefixes), (part.start, statement.end)]
    arguments = " ".join(statement.source[slice(*place)] for place in places if place)
    if (saving := FORM.saving.findall(arguments)) and part.name:
        return part.name not in _writing("texts") and all(name in temporary for name in saving)
    if (texts := _writing("texts").get(part.name)) is None:
        return False
    if (place := _writing("place")[part.name].fullmatch(part.code)) is not None:
        word = re.escape(place["word"])
        return written_place(statement, dofile, word)[0] is Action.ALLOWED
    if "$" in part.inside or not all(name in known for name in FORM.one_macro.findall(part.inside)):
        return False
    return not FORM.one_macro.sub("", part.inside).strip() and bool(texts.fullmatch(part.outside))
