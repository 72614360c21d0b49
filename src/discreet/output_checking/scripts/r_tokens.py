"""Tokens of R scripts.

In: a text. Out: tokens that say where they stand; blanks and comments are left out.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

__all__ = ["RSyntaxError", "Token", "tokens_of"]

_PARTS = re.compile(
    r"""
    (?P<blank>[ \t\f\u00a0]+|\#[^\r\n]*)
  | (?P<newline>\r\n|\n|\r)
  | (?P<raw>[rR](?P<quote>["'])(?P<dashes>-*)(?P<open>[\[({]))
  | (?P<number>0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?[Li]?
        |(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[Li]?)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<quoted>`(?:[^`\\]|\\.)+`)
  | (?P<name>(?:[^\W\d_]|\.(?!\d))[\w.]*|_(?!\w))
  | (?P<operator>%[^%\r\n]*%|<<-|->>|<-|->|\|>|:::|::|:=|==|!=|<=|>=|&&|\|\||\*\*
        |[-+*/^<>=!&|~?:$@,;(){}\[\]\\])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"""\\(?:(?:x(?=[0-9a-fA-F])|u(?=[0-9a-fA-F])|U)(?P<hex>(?<=x)[0-9a-fA-F]{1,2}|(?<=u)[0-9a-fA-F]{1,4}|(?<=U)[0-9a-fA-F]{1,8})|[uU]\{(?P<braced>[0-9a-fA-F]{1,8})\}
    |(?P<octal>[0-7]{1,3})|(?P<one>.))""",
    re.VERBOSE | re.DOTALL,
)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CLOSE = {"(": ")", "[": "]", "{": "}"}


class RSyntaxError(Exception):
    """The text is no R, as far as can be read here.

    Args:
        what: What is wrong.
        at: Where.
    """

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what, self.at = what, at


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Args:
        kind: name, number, string, operator, newline or end.
        value: The name without backticks, the content of a string, or the text itself.
        start: Where it starts.
        end: Where it ends.
    """

    kind: str
    value: str
    start: int
    end: int


def unescaped(text: str) -> str:
    r"""The content of a string, with its escapes read as R reads them.

    Args:
        text: What stands between the quotes.

    >>> unescaped(r"\x70r\u{69}nt\t\"")
    'print\t"'
    """
    return _ESCAPE.sub(_sign, text) if "\\" in text else text


def _sign(found: re.Match[str]) -> str:
    """One escape as the sign it stands for."""
    if number := found["hex"] or found["braced"]:
        code = int(number, 16)
    elif found["octal"]:
        code = int(found["octal"], 8)
    else:
        return _SIGNS.get(found["one"], found["one"])
    return chr(code) if code <= sys.maxunicode else "?"


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, an end token last.

    >>> [token.value for token in tokens_of("x |> summary() # all")]
    ['x', '|>', 'summary', '(', ')', '', '']
    """
    tokens = []
    at = 0
    while at < len(text):
        found = _PARTS.match(text, at)
        if found is None:
            raise RSyntaxError("a sign that R does not know, or a quote that is not closed", at)
        kind, end = str(found.lastgroup), found.end()
        value = found.group()
        if found.group("raw"):
            close = _CLOSE[found.group("open")] + found.group("dashes") + found.group("quote")
            stop = text.find(close, end)
            if stop < 0:
                raise RSyntaxError("a raw string is not closed", at)
            kind, value, end = "string", text[end:stop], stop + len(close)
        elif kind == "string":
            value = unescaped(value[1:-1])
        elif kind == "quoted":
            kind, value = "name", unescaped(value[1:-1])
        if kind != "blank":
            tokens.append(Token(kind, value, at, end))
        at = end
    # Two of them, since the parser looks one token further.
    tokens += [Token("end", "", at, at)] * 2
    return tokens
