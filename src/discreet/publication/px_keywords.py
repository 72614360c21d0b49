"""Keywords of PX files: their spelling, quoting and line lengths.

In: names, languages and texts. Out: lines of a PX file. Public. A text cannot hold a
double quote there, so it is written as two single ones; a new line is written as "#".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["LONGEST_LINE", "LONGEST_TEXT", "keyword", "listing", "quoted", "text_value"]

#: Characters of a line.
LONGEST_LINE = 256

#: Characters of a label or of the name of a variable; these may not be broken.
LONGEST_TEXT = 220


def quoted(text: str) -> str:
    r"""A text in quotes.

    >>> quoted('the "new" law')
    '"the \'\'new\'\' law"'
    """
    plain = text.replace('"', "''").replace("\r\n", "#").replace("\n", "#").replace("\t", " ")
    return f'"{plain}"'


def keyword(name: str, value: str, *, language: str = "", key: Sequence[str] = ()) -> str:
    """A keyword with a value that is written already.

    >>> keyword("UNITS", quoted("EUR"), language="de", key=["Miete"])
    'UNITS[de]("Miete")="EUR";'
    """
    spoken = f"[{language}]" if language else ""
    where = f"({','.join(map(quoted, key))})" if key else ""
    line = f"{name}{spoken}{where}="
    below = len(line) + len(value) >= LONGEST_LINE and not value.startswith("\r\n")
    return line + ("\r\n" if below else "") + value + ";"


def listing(texts: Sequence[str]) -> str:
    """Texts in quotes, with a new line before one that would make the line too long."""
    lines, line = [], ""
    for number, text in enumerate(map(quoted, texts)):
        item = text + ("," if number < len(texts) - 1 else "")
        if line and len(line) + len(item) >= LONGEST_TEXT:
            lines.append(line)
            line = ""
        line += item
    return _joined([*lines, line])


def text_value(text: str) -> str:
    """A text of any length: pieces in quotes, each on a line of its own."""
    return _joined([quoted(piece) for piece in _pieces(text)])


def _joined(lines: Sequence[str]) -> str:
    """Lines as one value; if there are several, they begin below the keyword."""
    return lines[0] if len(lines) == 1 else "\r\n" + "\r\n".join(lines)


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces, broken after a space where there is one."""
    while len(text) > LONGEST_TEXT:
        cut = text.rfind(" ", LONGEST_TEXT // 2, LONGEST_TEXT) + 1 or LONGEST_TEXT
        yield text[:cut]
        text = text[cut:]
    yield text
