"""Do-files that a do-file runs (`do`, `run` and `include`), and places that it writes to.

In: statements. Out: the paths they name, with a judgement of each path: whether it stays
within the folder of the submission, and where the call must point instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from discreet_fire.catalogue import Action, commands_where
from discreet_fire.rewriting.decisions import WordChange
from discreet_fire.stata import DoFile, DoStatement

#: What is added to the name of a rewritten file.
SUFFIX = "_FiRe"

CALLERS = commands_where(lambda row: row.rewriting.calls)
_PATH = re.compile(
    r"\s*(?:`\"(?P<compound>.*?)\"'|\"(?P<plain>[^\"\r\n]*)\"?|(?P<bare>[^\s,\"]+))", re.S
)
_MACRO = re.compile(r"[`$]")
#: A folder in a macro, with its slash, and the name of a file: ``${code}first.do``.
_FOLDER = re.compile(r"^(?:`\w+'|\$\{\w+\})(?=\w[\w. -]*$)")
#: How a path may start.
_START = re.compile(r"[\w`$~.\\/-]")
_DEFINED = re.compile(
    r"(?m)^[ \t]*(gl(?:o|ob|oba|obal)?|loc(?:a|al)?)[ \t]+(\w+)[ \t]+"
    r"=?[ \t]*`?\"?([^\"`$\r\n]*?)\"?'?[ \t]*$"
)
#: A line that gives texts to macros, in whatever way.
_GIVING = re.compile(
    r"(?m)^[^\r\n]*?\b(?:gl(?:o|ob|oba|obal)?|loc(?:a|al)?|c_local|st_local|foreach|forv\w*|args"
    r"|gettoken|syntax|tempfile|tempname|g?levelsof|unab|fvunab|ds)\b[^\r\n]*"
)
_REFERENCE = re.compile(r"`(\w+)'|\$\{(\w+)\}|\$(\w+)")
_TRICKS = (
    (re.compile(r"(?:^|[\\/])\.\.(?:[\\/]|$)"), "the path leaves the folder by `..`"),
    (re.compile(r"^\s*~"), "the path leads to a home folder"),
    (re.compile(r"^\s*[A-Za-z][A-Za-z+]+:(?:[\\/]{2})?"), "the path leads to a network address"),
    (re.compile(r"^\s*[\\/]{2}"), "the path leads to another computer"),
)
_ABSOLUTE = re.compile(r"^\s*(?:[A-Za-z]:|[\\/])")


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
    match = _PATH.match(dofile.text, start, statement.end)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        return CalledFile(
            command=command.canonical, path="", start=start, end=start, written="",
            action=Action.REVIEW, reason="no file is named",
        )  # fmt: skip
    written = match.group(kind)
    path = _filled(written, dofile)
    call = CalledFile(
        command=command.canonical or "do",
        path=path,
        start=match.start(kind),
        end=match.end(kind),
        written=written,
    )
    for trick, reason in _TRICKS:
        if trick.search(path) or trick.search(written):
            return replace(call, action=Action.REFUSED, reason=reason)
    if call.name.endswith(".") or not _START.match(written):
        return replace(call, action=Action.REFUSED, reason="this is no name of a do-file")
    if _MACRO.search(call.name) and not _FOLDER.match(call.name):
        return replace(call, action=Action.REFUSED, reason="the name of the file is a macro")
    suffix = re.search(r"\.(\w+)$", call.name)
    if suffix is not None and suffix.group(1).lower() != "do":
        return replace(
            call, action=Action.REFUSED, reason="only files that end in .do are rewritten"
        )
    if _MACRO.search(path):
        return replace(call, action=Action.REVIEW, reason="the folder of the file is a macro")
    if _ABSOLUTE.match(path):
        return replace(call, action=Action.REVIEW, reason="the path does not start in the folder")
    return call


_USING = re.compile(r"[^\"]*?(?<!\w)us(?:ing?)?(?!\w)")


def written_place(
    statement: DoStatement, dofile: DoFile, word: str = "using"
) -> tuple[Action, str]:
    """What becomes of a file that a statement writes by its place, and why: it stays in the
    folder.
    """
    start = statement.body
    if word == "using":
        using = _USING.match(dofile.text, start, statement.end)
    else:
        using = re.compile(rf"\s*{word}\b").match(dofile.text, start, statement.end)
    match = _PATH.match(dofile.text, using.end(), statement.end) if using else None
    if match is None or match.lastgroup is None:
        return Action.ALLOWED, ""
    written = match.group(match.lastgroup)
    path = _filled(written, dofile)
    for trick, reason in _TRICKS:
        if trick.search(path) or trick.search(written):
            return Action.REFUSED, reason
    if _MACRO.search(path):
        return Action.REVIEW, "the folder of the file is a macro"
    if _ABSOLUTE.match(path):
        return Action.REVIEW, "the path does not start in the folder"
    return Action.ALLOWED, ""


def _behind_comments(statement: DoStatement, at: int) -> int:
    """The place behind comments and blanks; paths are often taken out by a comment."""
    text = statement.source
    for kind, start, end in statement.spans:
        if kind in ("comment", "continuation") and start >= at and not text[at:start].strip():
            at = end
    return at


def _filled(written: str, dofile: DoFile) -> str:
    """The path with macros whose only definition is a plain text."""
    if not _MACRO.search(written):
        return written
    texts = _plain_texts(dofile.text)

    def fill(found: re.Match[str]) -> str:
        local, braced, plain = found.groups()
        known = texts.get((local is not None, local or braced or plain), set())
        return next(iter(known)) if len(known) == 1 else found.group()

    return _REFERENCE.sub(fill, written)


@lru_cache(maxsize=8)
def _plain_texts(program: str) -> dict[tuple[bool, str], set[str]]:
    """The plain texts that a program gives to local (True) and global macros.

    Macros that are given anything else as well are left out.
    """
    texts: dict[tuple[bool, str], set[str]] = {}
    others: set[str] = set()
    for line in _GIVING.finditer(program):
        plain = _DEFINED.fullmatch(line.group())
        if plain is None:
            others.update(re.findall(r"\w+", _REFERENCE.sub(" ", line.group())))
        else:
            kind, name, text = plain.groups()
            texts.setdefault((kind.startswith("l"), name), set()).add(text)
    return {key: sorts for key, sorts in texts.items() if key[1] not in others}


def pointed_call(call: CalledFile) -> WordChange | None:
    """The change that makes a call run the rewritten file; None if it does already."""
    if not call.path:
        return None
    stem = call.name[:-3] if call.name.lower().endswith(".do") else call.name
    if stem.endswith(SUFFIX):
        return None
    at = call.end - (len(call.name) - len(stem))
    return WordChange(at, at, SUFFIX, "path", call.command, "the rewritten file runs")


class SubmissionFolder:
    """The folder of a submission, which its do-files may not leave."""

    def __init__(self, root: Path, file: Path) -> None:
        self.root = root.resolve()
        self.file = file.resolve()

    def place(self, call: CalledFile) -> CalledFile:
        """The call with the file that is meant, or why it may not run."""
        if not call.path:
            return call
        path = call.path.strip().replace("\\", "/")
        path = path if path.lower().endswith(".do") else f"{path}.do"
        original = f"{path[:-3].removesuffix(SUFFIX)}.do"
        if _MACRO.search(path) or _ABSOLUTE.match(path):
            return self._by_end(call, original)
        for base in (self.root, self.file.parent):
            target = (base / original).resolve()
            if not target.is_relative_to(self.root):
                reason = "the path leads out of the folder of the submission"
                return replace(call, action=Action.REFUSED, reason=reason)
            if target.is_file():
                return replace(call, target=target)
        if call.name.endswith((SUFFIX, f"{SUFFIX}.do")):
            reason = "the name is kept for rewritten files, and there is no such original"
            return replace(call, action=Action.REFUSED, reason=reason)
        reason = "there is no such file in the submission; only a rewritten one will run"
        return replace(call, action=Action.REVIEW, reason=reason)

    def _by_end(self, call: CalledFile, path: str) -> CalledFile:
        """A path from elsewhere: its end may name a file of the submission."""
        parts = path.split("/")
        parts[-1] = _FOLDER.sub("", parts[-1])
        for first in range(len(parts)):
            end = parts[first:]
            if any(_MACRO.search(part) or part in ("", "..") for part in end):
                continue
            target = self.root.joinpath(*end).resolve()
            if target.is_relative_to(self.root) and target.is_file():
                reason = f"{call.reason}; it must be that of the submission"
                return replace(call, action=Action.REVIEW, reason=reason, target=target)
        if _MACRO.search(path) and not call.name.endswith((SUFFIX, f"{SUFFIX}.do")):
            return call
        reason = "the path leads out of the folder of the submission"
        return replace(call, action=Action.REFUSED, reason=reason)
