"""A log taken apart: commands as they were echoed, and the output of each.

In: the lines of a log. Out: `Block`s: commands that stand together, with what they printed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.stata import DoFile, Kind, Statement, parse_do

__all__ = ["Block", "blocks_of"]

#: How a line can go on behind a prompt. What starts like no command is output that looks like
#: an echo: ``display ". " x[17]``.
_COMMAND = r"(?=\s*(?:[^\W\d]|[*/#{}`$!]|\.\s*[^\W\d]|$))"
_PROMPT = re.compile(rf"\.(?: {_COMMAND}|$)")
_NUMBERED = re.compile(rf"\s{{0,4}}\d{{1,4}}\. ?{_COMMAND}")
_MATA = re.compile(r":(?: (?!\s*[-+.(]*\d)|$)")
_MATA_STARTS = re.compile(r"\. mata:?\s*$")
_MATA_ENDS = re.compile(r": end\s*$")


@dataclass(slots=True)
class Block:
    """Commands that were echoed together, and the output below them.

    Args:
        echo: Places of the lines with commands.
        start: Place of the first line of output.
        end: Behind the last line of output.
        statements: The commands.
        mata: Whether they belong to Mata.
    """

    echo: list[int]
    start: int
    end: int
    statements: list[Statement] = field(default_factory=list)
    mata: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of the commands, as far as they are known; each once."""
        names = (name for one in self.statements for name in _names(one))
        return tuple(dict.fromkeys(names))


def _names(statement: Statement) -> Iterator[str]:
    if statement.command is not None:
        yield statement.command.canonical or statement.command.text
    for reading in statement.readings:
        yield from _names(reading.statement)


def blocks_of(lines: Sequence[LogLine]) -> list[Block]:
    r"""The blocks of a log, in order.

    >>> from discreet.output_checking.sanitising.lines import log_lines
    >>> text = ". qui su x\n\n. count if x > 3\n   12\n\n. di 5\n5\n"
    >>> [(block.names, block.start, block.end) for block in blocks_of(log_lines(text, smcl=False))]
    [(('summarize',), 1, 2), (('count',), 3, 5), (('display',), 6, 7)]
    """
    blocks = [Block([], 0, 0)]
    mata = False
    for at, line in enumerate(lines):
        block = blocks[-1]
        follows = bool(block.echo) and block.end == at and block.start == at
        if _is_echo(line.text, mata=mata, follows=follows):
            if not follows:
                block = Block([], at, at)
                blocks.append(block)
            block.echo.append(at)
            block.start = block.end = at + 1
            mata = not _MATA_ENDS.match(line.text) if mata else bool(_MATA_STARTS.match(line.text))
            block.mata = block.mata or mata
        else:
            block.end = at + 1
    _add_statements(lines, blocks)
    return [block for block in blocks if block.echo or block.end > block.start]


def _is_echo(text: str, *, mata: bool, follows: bool) -> bool:
    if _PROMPT.match(text):
        return True
    if mata and _MATA.match(text):
        return True
    return follows and bool(_NUMBERED.match(text))


def _program(line: LogLine) -> str:
    """An echoed line as it stood in the program."""
    text = line.text
    prompt = _PROMPT.match(text) or _MATA.match(text) or _NUMBERED.match(text)
    start = prompt.end() if prompt else 0
    places = [start, *(place for place in line.echo_breaks if place > start), len(text)]
    parts = [text[a:b] for a, b in pairwise(places)]
    return "\n".join(parts)


def _add_statements(lines: Sequence[LogLine], blocks: list[Block]) -> None:
    """Parse all commands at once; block by block if together they are not balanced."""
    own = [block for block in blocks if block.echo]
    texts = ["".join(f"{_program(lines[at])}\n" for at in block.echo) for block in own]
    whole = parse_do("".join(texts))
    if whole.findings:
        for block, text in zip(own, texts, strict=True):
            block.statements = _commands(parse_do(text))
        return
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text))
    for statement in _commands(whole):
        own[bisect_right(starts, statement.start) - 1].statements.append(statement)


def _commands(program: DoFile) -> list[Statement]:
    """Commands, and what can be read as one."""
    return [one for one in program.statements if one.kind is Kind.COMMAND or one.readings]
