"""Texts that a program puts together: macros, macro functions, `display`. CONFIDENTIAL.

In: a session and a text. Out: macros, which evaluate `` `=exp' `` and
`` `:function' `` (`: word 2 of …`, `: variable label x`, `: display …`) and note whenever a
text that rests on values of the data is put in; the text that `display` writes.
"""

from __future__ import annotations

import re
import shlex
from collections import UserDict
from collections.abc import Callable

from discreet_fire.runners.builtin.data.dataset import DataVariable
from discreet_fire.runners.builtin.language.calls import past_quotes
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.macros import Macros
from discreet_fire.runners.builtin.language.values import is_format, shown, shown_default
from discreet_fire.runners.builtin.names import macro_text, one_value, scope_of
from discreet_fire.runners.builtin.state.session import Session

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


def display_text(session: Session, text: str) -> str:
    """The text that `display` writes, without its line end."""
    parts: list[str] = []
    at, layout, times = 0, None, 1
    while text[at:].strip():
        match = _DIRECTIVE.match(text, at)
        if not match:
            end = _expression_end(text, at)
            value = one_value(session, text[at:end].strip())
            parts.append(_written(value, layout) * times)
            layout, times, at = None, 1, end
            continue
        at = match.end()
        if match["format"]:
            if not is_format(match["format"]) and not match["format"].endswith("s"):
                raise DoError("invalid display format", code=120)
            layout = match["format"]
        elif match["dup"]:
            times = _size(match["times"])
        else:
            piece, at = _piece(match, text, parts, at)
            parts.append(_written(piece, layout if piece else None) * times if piece else "")
            if piece:
                layout, times = None, 1
    return _MARKUP.sub(lambda one: one[1] or "", "".join(parts))


def _piece(match: re.Match[str], text: str, parts: list[str], at: int) -> tuple[str, int]:
    """What a directive writes, and where to go on."""
    if match["newline"]:
        return "\n" * _size(match["lines"] or 1), at
    if match["skip"]:
        return " " * _size(match["blanks"]), at
    if match["column"]:
        line = "".join(parts).rpartition("\n")[2]
        return " " * max(_size(match["at"]) - 1 - len(line), 0), at
    if match["plain"]:
        return match["plain"][1:-1], at
    if match["compound"]:
        end = past_quotes(text, at - 2)
        return text[at : end - 2], end
    return "", at


def _size(text: str | int) -> int:
    """A number of blanks, lines or columns."""
    number = int(text)
    DoError.when(number > _MOST, "a line of display is too long", code=198)
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
            DoError.when(at < 0, "quotes do not match", code=132)
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


def words_of(text: str) -> list[str]:
    """The words of a text; what stands in double quotes is one word.

    >>> words_of('a "b c" d')
    ['a', 'b c', 'd']
    """
    cleaned = text.replace('`"', '"').replace("\"'", '"')
    lexer = shlex.shlex(cleaned, posix=True)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return list(lexer)
    except ValueError:
        raise DoError("quotes do not match", code=132) from None


def extended_function(session: Session, text: str) -> str:
    """The text of a macro function."""
    name, _, rest = text.strip().partition(" ")
    function = EXTENDED.get(name)
    if function is None:
        raise UnsupportedError(f"macro function {name}")
    return function(session, rest.strip())


_WRONG = "invalid syntax in a macro function"


def _word(session: Session, rest: str) -> str:
    if rest.startswith("count"):
        return str(len(words_of(rest.removeprefix("count"))))
    match = required(re.match(r"(\S+)\s+of\s*(.*)\Z", rest, re.DOTALL), _WRONG, code=198)
    words = words_of(match[2])
    if match[1] == "count":
        return str(len(words))
    try:
        at = int(float(match[1]))
    except (ValueError, OverflowError):
        raise DoError(_WRONG, code=198) from None
    return words[at - 1] if 1 <= at <= len(words) else ""


def _labelled(session: Session, rest: str) -> DataVariable:
    """The variable after `label`."""
    return session.data.named(rest.removeprefix("label").strip())


def _label(session: Session, rest: str) -> str:
    """The label of a value: `: label NAME 3` or `: label (VARIABLE) 3`."""
    match = required(re.match(r"(\([^)]*\)|\S+)\s*(\S*)", rest), _WRONG, code=198)
    name = match[1]
    if name.startswith("("):
        name = session.data.named(name.strip("() ")).value_label
    session.trace.touch(name in session.trace.labels)
    try:
        return session.data.value_labels.get(name, {}).get(float(match[2]), match[2])
    except ValueError:
        return match[2]


def _sized(session: Session, rest: str) -> DataVariable:
    """A variable of which the storage type is asked; values may have decided about it."""
    session.trace.touch(session.data.full(rest) in session.trace.sized)
    return session.data.named(rest)


_OF_LISTS: dict[str, Callable[[list[str], list[str]], object]] = {
    "|": lambda left, right: left + [word for word in right if word not in left],
    "&": lambda left, right: [word for word in left if word in right],
    "-": lambda left, right: [word for word in left if word not in right],
    "in": lambda left, right: int(set(left) <= set(right)),
    "==": lambda left, right: int(left == right),
    "===": lambda left, right: int(sorted(left) == sorted(right)),
}


def _list(session: Session, rest: str) -> str:
    """Set operations on lists of words in macros."""
    macros = macros_of(session)

    def listed(name: str) -> list[str]:
        shared = name.strip().startswith("global(")
        inside = name.strip()[7:-1] if shared else name.strip()
        return words_of(_texts(macros, shared=shared).get(inside, ""))

    match = re.match(r"(uniq|sizeof|retokenize|clean|sort|dups)\s+(.*)\Z", rest)
    if match:
        words = listed(match[2])
        if match[1] == "sizeof":
            return str(len(words))
        if match[1] == "uniq":
            words = list(dict.fromkeys(words))
        if match[1] == "dups":
            words = [word for at, word in enumerate(words) if word in words[:at]]
        return " ".join(sorted(words) if match[1] == "sort" else words)
    match = re.match(r"posof\s+(\".*\"|`\".*\"')\s+in\s+(\S+)\Z", rest)
    if match:
        words, sought = listed(match[2]), words_of(match[1])
        return str(words.index(sought[0]) + 1 if sought and sought[0] in words else 0)
    match = re.match(r"(\S+?)\s*(\||&|-|===|==|\bin\b)\s*(\S+)\Z", rest)
    if not match:
        raise UnsupportedError("this list function")
    joined = _OF_LISTS[match[2]](listed(match[1]), listed(match[3]))
    return " ".join(joined) if isinstance(joined, list) else str(joined)


def _texts(macros: Macros, *, shared: bool) -> dict[str, str]:
    return macros.shared if shared else macros.local


def _subinstr(session: Session, rest: str) -> str:
    match = re.match(r"(local|global)\s+(\w+)\s+(.*)\Z", rest, re.DOTALL)
    words = words_of(match[3].split(", all")[0]) if match else []
    if not match or len(words) != 2:
        raise UnsupportedError("this form of : subinstr")
    text = _texts(macros_of(session), shared=match[1] == "global").get(match[2], "")
    return text.replace(words[0], words[1], -1 if match[3].rstrip().endswith("all") else 1)


def _length(session: Session, rest: str) -> str:
    kind, _, name = rest.partition(" ")
    DoError.when(kind not in ("local", "global"), _WRONG, code=198)
    return str(len(_texts(macros_of(session), shared=kind == "global").get(name.strip(), "")))


EXTENDED: dict[str, Callable[[Session, str], str]] = {
    "word": _word,
    "variable": lambda session, rest: _labelled(session, rest).label,
    "value": lambda session, rest: _labelled(session, rest).value_label,
    "label": _label,
    "type": lambda session, rest: _sized(session, rest).kind,
    "format": lambda session, rest: _sized(session, rest).format,
    "display": display_text,
    "di": display_text,
    "list": _list,
    "subinstr": _subinstr,
    "length": _length,
}


class _TracedTexts(UserDict[str, str]):
    """Macros by name; reading one that rests on values of the data is noted."""

    def __init__(self, session: Session, texts: dict[str, str], depth: int) -> None:
        super().__init__()
        self.data = texts
        self._session = session
        self._depth = depth

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        trace = self._session.trace
        trace.touch((self._depth, name) in trace.macros or "macros" in trace.whole)
        return self.data.get(name, default)

    def __setitem__(self, name: str, text: str) -> None:
        if self._depth:
            self._session.set_local(name, text)
        else:
            self._session.set_global(name, text)


def macros_of(session: Session) -> Macros:
    """The macros that the running program sees; what rests on values of the data is followed."""
    return Macros(
        local=_TracedTexts(session, session.macros.local, session.macros.depth),  # type: ignore[arg-type]
        shared=_TracedTexts(session, session.macros.shared, 0),  # type: ignore[arg-type]
        evaluate=lambda text: macro_text(one_value(session, text)),
        extended=lambda text: extended_function(session, text),
        result=lambda kind, name: _stored_text(session, kind, name),
    )


def _stored_text(session: Session, kind: str, name: str) -> str:
    """A stored result as text; empty if there is none."""
    result = scope_of(session, scalar=True).names.result(kind, name)
    return macro_text(result) if isinstance(result, float | str) else ""
