"""What `display` writes: texts, numbers in formats, columns.

In: what stands after `display`. Out: its text. The session's trace says afterwards whether
it rests on values of the data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.formats import is_format, shown, shown_default
from discreet.output_checking.running.single import one_value

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["displayed"]

_MOST = 10_000

_DIRECTIVE = re.compile(
    r"\s*(?:(?P<style>as\s+(?:text|txt|result|res|error|err|input|inp)\b|in\s+\w+\b|_request\([^)]*\))"
    r"|(?P<newline>_n(?:ewline)?(?:\((?P<lines>\d+)\))?(?![\w\[]))"
    r"|(?P<skip>_s(?:kip)?\((?P<blanks>\d+)\))"
    r"|(?P<column>_col(?:umn)?\((?P<at>\d+)\))"
    r"|(?P<dup>_dup\((?P<times>\d+)\))"
    r"|(?P<continue>_c(?:ontinue|ont|o|on)?(?![\w\[]))"
    r"|(?P<format>%-?\d[\w.,]*|%t\w+)"
    r"|(?P<comma>,)|(?P<plain>\"[^\"]*\")|(?P<compound>`\"))"
)
_NEXT = re.compile(
    r"\s(?=as\s+(?:text|txt|result|res|error|err|input|inp)\b|_n(?:ewline)?\b(?!\[)|_s(?:kip)?\(|_col(?:umn)?\(|_dup\(|%|\"|`\"|_c(?:ont)?\b)"
)
#: What ends an expression, a blank, and what can only begin another.
_OPERANDS = re.compile(r"[\w.)\]] +[A-Za-z0-9_.(]")
_MARKUP = re.compile(
    r"\{(?:txt|res|err|inp|bf|it|sf|hline(?: \d+)?|cmd|text|result|\.\.\.)(?::([^{}]*))?\}"
)


def displayed(session: Session, text: str) -> str:
    """The text that `display` writes, without its line end."""
    parts: list[str] = []
    at, layout, times = 0, None, 1
    while text[at:].strip():
        found = _DIRECTIVE.match(text, at)
        if not found:
            end = _expression_end(text, at)
            value = one_value(session, text[at:end].strip())
            parts.append(_written(value, layout) * times)
            layout, times, at = None, 1, end
            continue
        at = found.end()
        if found["format"]:
            if not is_format(found["format"]) and not found["format"].endswith("s"):
                raise DoError("invalid display format", code=120)
            layout = found["format"]
        elif found["dup"]:
            times = _size(found["times"])
        else:
            piece, at = _piece(found, text, parts, at)
            parts.append(_written(piece, layout if piece else None) * times if piece else "")
            if piece:
                layout, times = None, 1
    return _MARKUP.sub(lambda one: one[1] or "", "".join(parts))


def _piece(found: re.Match[str], text: str, parts: list[str], at: int) -> tuple[str, int]:
    """What a directive writes, and where to go on."""
    if found["newline"]:
        return "\n" * _size(found["lines"] or 1), at
    if found["skip"]:
        return " " * _size(found["blanks"]), at
    if found["column"]:
        line = "".join(parts).rpartition("\n")[2]
        return " " * max(_size(found["at"]) - 1 - len(line), 0), at
    if found["plain"]:
        return found["plain"][1:-1], at
    if found["compound"]:
        depth, end = 1, at
        while depth and end < len(text):
            if text.startswith('`"', end):
                depth, end = depth + 1, end + 2
            elif text.startswith("\"'", end):
                depth, end = depth - 1, end + 2
            else:
                end += 1
        if depth:
            raise DoError("quotes do not match", code=132)
        return text[at : end - 2], end
    return "", at


def _size(text: str | int) -> int:
    """A number of blanks, lines or columns."""
    number = int(text)
    if number > _MOST:
        raise DoError("a line of display is too long", code=198)
    return number


def _written(value: float | str, layout: str | None) -> str:
    if isinstance(value, str):
        width = re.match(r"%(-?)(\d+)s", layout or "")
        if not width:
            return value
        return value.ljust(_size(width[2])) if width[1] else value.rjust(_size(width[2]))
    return shown(value, layout) if layout else shown_default(value, 10)


def _expression_end(text: str, start: int) -> int:
    """Where the expression that begins at `start` ends: at a comma, quote or directive."""
    depth, at, end = 0, start, len(text)
    while at < end:
        one = text[at]
        if one in "([":
            depth += 1
        elif one in ")]":
            depth -= 1
        elif one == '"' and depth:
            at = text.find('"', at + 1)
            if at < 0:
                raise DoError("quotes do not match", code=132)
        elif not depth:
            if one == "," or (one == '"' and text[start:at].strip()[-1:] not in "=<>+(,&|"):
                return at
            if one.isspace() and _OPERANDS.match(f"{text[start:at].rstrip()[-1:]} {text[at:]}"):
                return at
            if one.isspace() and text[start:at].strip() and _NEXT.match(text, at):
                before, after = text[start:at].rstrip()[-1:], text[at:].lstrip()[:1]
                if before not in "=<>+-*/&|(," and not (after == '"' and before in "=<>+"):
                    return at
        at += 1
    return end
