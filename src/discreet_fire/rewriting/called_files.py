"""Do-files that a do-file runs (`do`, `run` and `include`), and files that it writes.

In: statements, and what is known of macros. Out: the paths they name, with a judgement of each
path: whether it stays within the folder of the submission, and where a call must point instead;
whether all that is written stands in the program, or whether a file is gone when Stata ends. All
that is not seen to be so needs a look. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from discreet_fire.catalogue import Action, Forms, commands_with, stata_catalogue
from discreet_fire.flow import StatementParts
from discreet_fire.stata import DoFile, DoStatement

#: What is added to the name of a rewritten file.
SUFFIX = "_FiRe"

FORM = Forms(__package__, "do_files")
CALLERS = commands_with("calls")
_TRICKS = (
    (re.compile(r"(?:^|[\\/])\.\.(?:[\\/]|$)"), "the path leaves the folder by `..`"),
    (re.compile(r"^\s*~"), "the path leads to a home folder"),
    (re.compile(r"^\s*[A-Za-z][A-Za-z+]+:(?:[\\/]{2})?"), "the path leads to a network address"),
    (re.compile(r"^\s*[\\/]{2}"), "the path leads to another computer"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CalledFile:
    """A do-file that is run by another (`do`, `run` or `include`), or may not be, and why.

    The path has macros filled in where their text is known; it starts and ends, without quotes,
    at places of the text. The target is the file that is meant, if it is there.
    """

    command: str
    path: str
    start: int
    end: int
    written: str
    action: Action = Action.ALLOWED
    reason: str = ""
    target: Path | None = None

    @property
    def name(self) -> str:
        """The last part of the path as it is written."""
        return re.split(r"[\\/]", self.written)[-1]


def called_files(statement: DoStatement, dofile: DoFile) -> CalledFile | None:
    """The do-file that a statement runs; None if it runs none."""
    command = statement.command
    if command is None or command.canonical not in CALLERS:
        return None
    start = _behind_comments(statement, command.end)
    match = FORM.path.match(dofile.text, start, statement.end)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        return CalledFile(
            command=command.canonical, path="", start=start, end=start, written="",
            action=Action.REVIEW, reason="no file is named",
        )  # fmt: skip
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
        command=command.canonical or "do", path=path, start=match.start(kind),
        end=match.end(kind), written=written, action=action, reason=reason,
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


def _behind_comments(statement: DoStatement, at: int) -> int:
    text = statement.source
    for kind, start, end in statement.spans:
        if kind in ("comment", "continuation") and start >= at and not text[at:start].strip():
            at = end
    return at


def filled(written: str, dofile: DoFile) -> str:
    """The path with macros whose only definition is a plain text."""
    if not FORM.macro.search(written):
        return written
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


_DRAWING = commands_with("data", "drawn", "models")
#: Commands that draw no graph.
_DRAWING_NONE = commands_with("data", "kept")
_MODELS = commands_with("data", "models")


def draws_judged(part: StatementParts, dofile: DoFile, earlier: bool) -> bool:
    """Whether a statement draws nothing but models that are stored, or files a graph that was
    judged where it was drawn.
    """
    statement = part.statement
    if part.name == "graph":
        picture = earlier and _writing("picture")["graph"].fullmatch(part.code) is not None
        return picture and written_place(statement, dofile, r"ex\w*")[0] is Action.ALLOWED
    if part.name not in _MODELS or "$" in part.code or "`" in part.code:
        return False
    return _writing("models")[part.name].fullmatch(part.outside) is not None


def judged_graph(part: StatementParts, before: bool) -> bool:
    """Whether the last graph that was drawn, if any, is one that was judged where it was drawn."""
    if part.name == "graph" and (other := FORM.no_drawing.match(part.outside)) is not None:
        return before and other.group().strip() == "ex"
    if part.name in _DRAWING:
        return not part.by_macro
    return before and part.name in _DRAWING_NONE and not part.by_macro


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
    if (saving := [match[1] for match in FORM.saving.finditer(_arguments(part))]) and part.name:
        return part.name not in _writing("texts") and all(name in temporary for name in saving)
    if (texts := _writing("texts").get(part.name)) is None:
        return False
    if (place := _writing("place")[part.name].fullmatch(part.code)) is not None:
        word = re.escape(place["word"])
        return written_place(statement, dofile, word)[0] is Action.ALLOWED
    if "$" in part.inside or not all(name in known for name in FORM.one_macro.findall(part.inside)):
        return False
    return not FORM.one_macro.sub("", part.inside).strip() and bool(texts.fullmatch(part.outside))


def _arguments(part: StatementParts) -> str:
    statement = part.statement
    arguments_of = [slice(*prefix.arguments) for prefix in statement.prefixes if prefix.arguments]
    return " ".join(
        statement.source[one] for one in (*arguments_of, slice(part.start, statement.end))
    )
