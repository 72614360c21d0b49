"""Comment out a statement such that the rest of the program keeps its meaning.

In: a text and the place of a statement. Out: the text that stands there instead, with
comments only, or an empty block where a command must stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

__all__ = ["WORDING", "commented", "harmless"]

#: What is written in front of a command that may not run, by language.
WORDING: Mapping[str, str] = {
    "en": "*FDZ: command not permitted in remote execution",
    "de": "*FDZ: Befehl in der Datenfernverarbeitung nicht erlaubt",
}

_LINE_END = re.compile(r"\r\n|\n|\r")
_BETWEEN_SIGNS = re.compile(r"(?<=[/*])(?=[/*])")
_NO_SIGNS = str.maketrans(
    {"`": "'", '"': "'", ";": ",", "{": "(", "}": ")", "\f": " ", "\x1a": " "}
)
_BLANKS = " \t\f\u00a0\ufeff\u200b"


@lru_cache(maxsize=4096)
def harmless(line: str) -> str:
    r"""A line of a program as words of a comment: no macro, comment, brace or end of command.

    >>> harmless('list x /* all */ if y == "`z\'"; ')
    "list x / * all * / if y == ''z'',"
    """
    plain = line.translate(_NO_SIGNS).replace("$", "$ ")
    return _BETWEEN_SIGNS.sub(" ", plain).strip()


def commented(
    text: str,
    start: int,
    end: int,
    *,
    wording: str,
    newline: str,
    semicolons: bool = False,
    body: bool = False,
    opens: bool = False,
    joins: int | None = None,
) -> str:
    r"""What stands in place of a statement that may not run.

    Args:
        text: The whole program.
        start: Where the statement starts; behind ``if`` or ``else``, if it is their body.
        end: Where it ends.
        wording: The comment that takes its place, with its star.
        newline: The line end of the program.
        semicolons: Whether ``;`` ends commands here.
        body: Whether it is the whole body of an ``if`` or ``else`` in one line.
        opens: Whether it ends with the brace of a block; the block then never runs.
        joins: Where the ``///`` is by which it joins the next line, if it ends so: a line of a
            comment, whose other lines must stay one.

    >>> commented("if x list y", 5, 11, wording="*FDZ: no", newline="\n", body=True)
    '{\n*FDZ: no: list y\n}'
    """
    lines = _LINE_END.split(text[start : end - 1 if opens else joins or end])
    words = [harmless(line) for line in lines]
    first = f"{wording}: {words[0]}" if words[0] else wording
    # In Stata a line of a comment may be read as a command of its own; the star prevents it.
    comment = newline.join([first, *(f"*FDZ: {word}" for word in words[1:])])
    if joins:
        comment += " ///"
    if semicolons:
        return _between_semicolons(text, start, end, comment, body=body, opens=opens)
    if body:
        comment = f"{{{newline}{comment}{newline}}}"
        return f"{comment} else if 0 {{" if opens else comment
    if opens:
        comment = f"{comment}{newline}if 0 {{"
    before = text[_line_start(text, start) : start].strip(_BLANKS)
    return (newline if before else "") + comment + _line_after(text, end, newline)


def _line_after(text: str, end: int, newline: str) -> str:
    """A line end, if anything follows the statement on its line."""
    rest = _LINE_END.search(text, end)
    return newline if text[end : rest.start() if rest else len(text)].strip(_BLANKS) else ""


def _line_start(text: str, at: int) -> int:
    # Where lines end with one sign, the other is nowhere: it is not looked for far back.
    after = text.rfind("\n", 0, at) + 1
    return max(after, text.rfind("\r", after, at) + 1)


def _between_semicolons(
    text: str, start: int, end: int, comment: str, *, body: bool, opens: bool
) -> str:
    """The same where ``;`` ends commands, and line ends do not."""
    if body:
        return f"{{ ; {comment} ; }}"
    before = text[:start].rstrip()[-1:] if start < 200 else text[start - 200 : start].rstrip()[-1:]
    lead = "" if before in ("", ";") else "; "
    if opens:
        return f"{lead}{comment} ; if 0 {{"
    after = re.compile(r"\s*(;?)").match(text, end)
    closed = after is not None and after.group(1)
    return lead + comment + ("" if closed else " ;")
