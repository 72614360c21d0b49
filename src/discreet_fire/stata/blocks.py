"""Blocks up to ``end``: programs, Mata, Python, Java, and the data lines after ``input``.

In: the text behind the opening command. Out: where the block ends. In doubt it ends
early, so that what follows is taken for commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet_fire.catalogue import command_table
from discreet_fire.stata.scanner import ScannedCommand
from discreet_fire.stata.statements import Word

#: Commands behind which text is read in another way, with what it is.
BODIES = {
    name: row.reading.body
    for name, row in command_table().rows.items()
    if row.reading.body != "none"
}
_NOT_A_BODY = re.compile(r"\s*(?:drop|di|dir|l|li|lis|list)\b")
_PROGRAM_NAME = re.compile(r"\s*(?:(?:de|def|defi|defin|define)\s+)?([^\s,]+)")
_PLUGIN = re.compile(r",.*\bplugin\b", re.DOTALL)

_ALONE = re.compile(r"\s*+(?:,[^:]*+)?:?\s*+(?:\{\s*+)?(?://[^\r\n]*)?\Z")
_END = re.compile(r"(?<=[\r\n])[^\S\r\n]*(end)(?![^\s;/])")
_END_SEMICOLON = re.compile(r"(?<=[\r\n;])[^\S\r\n]*(end)(?![^\s;/])")
#: In Python ``end = 5`` gives a variable its value.
_END_ALONE = re.compile(r"(?<=[\r\n;])[^\S\r\n]*(end)(?=[^\S\r\n]*(?:\Z|[\r\n;]|//|/\*))")
_TEXT = re.compile(r"\s+textb\w*\s+(?:begin|append)\b")
_END_TEXT = re.compile(r"(?<=[\r\n;])[^\S\r\n]*(putdocx\s+textb\w*\s+end\b)")
_END_MATA = re.compile(
    r"(?P<comment>/\*)|(?<![^\s])//[^\r\n]*|\"[^\"\r\n]*\"|(?<=[\r\n])[^\S\r\n]*(?P<end>end)(?![^\s;/])"
)
_IN_BRACES = re.compile(r"(?P<comment>/\*)|(?<![^\s])//[^\r\n]*|\"[^\"\r\n]*\"|[{}]")
_COMMENT = re.compile(r"/\*|\*/")
#: What may stand between statements.
_BLANKS = " \t\f\v\xa0\ufeff;"
_LINE = re.compile(r"[^\r\n]+")


def program_name(text: str, command: Word, piece: ScannedCommand) -> str | None:
    """The name of the program whose body follows; None if there is no body."""
    if _NOT_A_BODY.match(text, command.end, piece.end):
        return None
    name = _PROGRAM_NAME.match(text, command.end, piece.end)
    if name is None or _PLUGIN.search(text, command.end, piece.end):
        return None
    return name.group(1)


def block_name(text: str, command: Word, piece: ScannedCommand) -> str | None:
    """The language of the block that a command opens; None if it is all in one line."""
    if BODIES.get(command.canonical or "") == "data":
        return command.canonical
    end = piece.end - 1 if piece.opens else piece.end
    parts, at = [], command.end
    for kind, first, last in piece.spans:
        if first >= at and kind in ("comment", "continuation"):
            parts.append(text[at:first])
            at = last
    parts.append(text[at:end])
    return command.canonical if _ALONE.match(" ".join(parts)) else None


def find_block_end(
    text: str, start: int, limit: int, block: str, *, braces: bool, semicolons: bool
) -> tuple[int, int | None]:
    """Where a block ends and where its ``end`` or brace does; None for that if there is none."""
    if braces:
        return _closing_brace(text, start, limit)
    if block == "mata" and not semicolons:
        return _mata_end(text, start, limit)
    if block in ("python", "java"):
        match = _END_ALONE.search(text, start, limit)
    else:
        match = (_END_SEMICOLON if semicolons else _END).search(text, start, limit)
    return (match.start(1), match.end(1)) if match else (limit, None)


def opens_text(text: str, command: Word, piece: ScannedCommand) -> bool:
    """Whether ``putdocx`` opens a block of text."""
    return _TEXT.match(text, command.end, piece.end) is not None


def text_block_end(text: str, start: int, limit: int) -> int | None:
    """Where the command stands that closes a block of text; None if there is none."""
    match = _END_TEXT.search(text, start, limit)
    return match.start(1) if match else None


def _mata_end(text: str, at: int, limit: int) -> tuple[int, int | None]:
    """The ``end`` of Mata code; one within a comment does not count."""
    for outside_comment in _outside_comments(_END_MATA, text, at, limit):
        if outside_comment["end"]:
            return outside_comment.start("end"), outside_comment.end("end")
    return limit, None


def _closing_brace(text: str, at: int, limit: int) -> tuple[int, int | None]:
    depth = 1
    for outside_comment in _outside_comments(_IN_BRACES, text, at, limit):
        depth += {"{": 1, "}": -1}.get(outside_comment.group(), 0)
        if depth == 0:
            return outside_comment.start(), outside_comment.end()
    return limit, None


def _outside_comments(
    pattern: re.Pattern[str], text: str, at: int, limit: int
) -> Iterator[re.Match[str]]:
    """Finds outside of comments; a comment that never closes counts for none."""
    closes = True
    while match := pattern.search(text, at, limit):
        at = match.end()
        if not match["comment"]:
            yield match
        elif closes:
            behind = _comment_end(text, match.start(), limit)
            closes = behind is not None
            at = behind or at


def _comment_end(text: str, at: int, limit: int) -> int | None:
    """The place behind a comment; None if it never closes."""
    depth = 0
    for mark in _COMMENT.finditer(text, at, limit):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


def block_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of a block that hold anything, without the blanks around them."""
    for line in _LINE.finditer(text, start, end):
        content = line.group()
        bare = content.strip(_BLANKS)
        if bare:
            first = line.start() + len(content) - len(content.lstrip(_BLANKS))
            yield first, first + len(bare)
