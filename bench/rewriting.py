"""Rewrite a megabyte of do-files.

Files are written one after another until the size is reached: one like those of researchers,
all programs of the tests with every lexical trap, and both with names changed in each copy, so
that no line comes twice. The promise is under six seconds of the processor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "tests" / "fire" / "data" / "stata_corpus"
_NAME = re.compile(r"(?<![\w`#\\/%_.])[a-z_]\w{2,}(?![\w(])")
_WORDS = frozenset(("using", "robust", "cluster", "detail", "statistics", "noobs", "delimit"))


def text_of(name: str, size: int) -> str:
    """A program by its name."""
    from discreet_fire.texts import read_source

    every = (
        [CORPUS / "panel_wages.do"] if name.startswith("a program") else sorted(CORPUS.glob("*.do"))
    )
    text = "".join(f"{read_source(path).text}\n#delimit cr\n" for path in every)
    return _filled(text, size, renamed=name.endswith("new names"))


def _filled(text: str, size: int, *, renamed: bool = False) -> str:
    """Copies of a text, up to a size, each with names of its own if wanted."""
    from discreet_fire.catalogue.policy import canonical

    copies, length = [], 0
    while length < size:
        number = len(copies)

        def name(found: re.Match[str], number: int = number) -> str:
            word = found.group()
            return word if canonical(word) or word in _WORDS else f"{word}{number}"

        copies.append(_NAME.sub(name, text) if renamed else text)
        length += len(copies[-1])
    return "".join(copies)[:size]


class Rewritten:
    """How much there was to do."""

    def __init__(self, lines: int, edits: int) -> None:
        self.lines, self.edits = lines, edits

    def told(self) -> dict[str, int]:
        """For the parent process."""
        return {"lines": self.lines, "edits": self.edits}


def task(name: str) -> Callable[[Path, int], Callable[[], Rewritten]]:
    """Rewrite a program of so many characters."""

    def set_up(folder: Path, size: int) -> Callable[[], Rewritten]:
        from discreet_fire.rewriting.do_files import rewrite

        text = text_of(name, size)
        return lambda: Rewritten(text.count("\n"), len(rewrite(text).edits))

    return set_up


NAMES = ("a program", "all programs", "a program, new names", "all programs, new names")
TASKS = {name: task(name) for name in NAMES}
