"""Blocks of a log of Stata: commands that were echoed together, with what they printed.

In: the lines of a log (CONFIDENTIAL). Out: `EchoBlock`s in order, with their statements, and
whether these can print any text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise

from discreet_fire.catalogue import commands_with
from discreet_fire.logs.claims import OutputForms
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.safe_outputs import LEGENDS
from discreet_fire.stata import DoFile, DoStatement, Kind, parse_do

_FORM = OutputForms("blocks")

#: Commands that display results, which may be values of single records.
OF_RESULTS = commands_with("log", "results")
#: Commands that print texts which a program or somebody else has written.
_TELLING = frozenset(
    ("char", "ereturn", "error", "estadd", "estpost", "java", "label", "macro", "net", "notes",
     "plugin", "program", "python", "query", "shell", "viewsource", "window", "winexec")
)  # fmt: skip
#: Words that print nothing themselves.
_CONTROL = frozenset(("continue", "else", "foreach", "forvalues", "global", "if", "local", "while"))
#: Commands that make results of models, or change them; nobody knows unknown ones.
_OF_MODELS = (None, "ereturn", "estpost", "estadd")


def readings(statement: DoStatement) -> Iterator[DoStatement]:
    """A statement, and what else it can be read as."""
    yield statement
    for reading in statement.readings:
        yield from readings(reading.statement)


@dataclass(slots=True)
class EchoBlock:
    """Commands that were echoed together, and the output below them."""

    echo: list[int]  # places of the lines with commands
    start: int  # place of the first line of output
    end: int  # behind the last line of output
    statements: list[DoStatement] = field(default_factory=list)  # the commands
    mata: bool = False  # whether they belong to Mata
    own: frozenset[str] = frozenset()  # names of programs that the log defines
    changes: bool = False  # whether the log may change results of models, or add some
    posts: bool = False  # whether it makes results that no model gave

    @property
    def telling(self) -> bool:
        """Whether one of the commands can print any text, in any form."""
        return any(
            _tells(one, self.own)
            for one in self.statements
            if one.command is not None and one.command.canonical not in _CONTROL
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of the commands, as far as they are known; each once."""
        some = chain.from_iterable(map(readings, self.statements))
        words = (one.command for one in some if one.command is not None)
        return tuple(dict.fromkeys(word.canonical or word.text for word in words))


def _tells(statement: DoStatement, own: frozenset[str]) -> bool:
    """Whether a command can print any text: one that nobody knows, or one that displays more than
    the words it was given.
    """
    word = statement.command
    if word is None:
        return False
    if word.canonical is None or word.text in own or word.canonical in _TELLING:
        return True
    if word.canonical in OF_RESULTS:
        start = word.end - statement.start
        return bool(_FORM.display_words.sub("", statement.text[start:]).strip())
    return any(_tells(reading.statement, own) for reading in statement.readings)


def blocks_of(lines: Sequence[LogLine]) -> list[EchoBlock]:
    r"""The blocks of a log, in order.

    >>> from discreet_fire.logs.lines import log_lines
    >>> text = ". qui su x\n\n. count if x > 3\n   12\n\n. di 5\n5\n"
    >>> [(block.names, block.start, block.end) for block in blocks_of(log_lines(text, smcl=False))]
    [(('summarize',), 1, 2), (('count',), 3, 5), (('display',), 6, 7)]
    """
    blocks = [EchoBlock([], 0, 0)]
    mata = False
    for at, line in enumerate(lines):
        block, text = blocks[-1], line.text
        follows = bool(block.echo) and block.end == at and block.start == at
        prompt = _FORM.prompt.match(text) or (mata and _FORM.mata.match(text))
        if (prompt and text not in LEGENDS) or (follows and _FORM.numbered.match(text)):
            if not follows:
                block = EchoBlock([], at, at)
                blocks.append(block)
            block.echo.append(at)
            block.start = at + 1
            ended = mata and _FORM.mata_ends.match(text)
            mata = not ended and (mata or bool(_FORM.mata_starts.match(text)))
            block.mata = block.mata or mata
        block.end = at + 1
    _add_statements([block for block in blocks if block.echo], lines)
    return [block for block in blocks if block.echo or block.end > block.start]


def _add_statements(blocks: list[EchoBlock], lines: Sequence[LogLine]) -> None:
    """Parse all commands at once; block by block if together they are not balanced."""
    texts: list[str] = []
    for block in blocks:
        program = ""
        for line in (lines[at] for at in block.echo):
            # As it stood in the program, with the line ends that it had there.
            text, forms = line.text, (_FORM.prompt, _FORM.mata, _FORM.numbered)
            prompt = next(filter(None, (form.match(text) for form in forms)), None)
            start = prompt.end() if prompt else 0
            places = [start, *(place for place in line.echo_breaks if place > start), len(text)]
            program += "\n".join(text[a:b] for a, b in pairwise(places)) + "\n"
        texts.append(program)
    whole = parse_do("".join(texts))
    if whole.findings:
        for block, text in zip(blocks, texts, strict=True):
            block.statements = _commands(parse_do(text))
    else:
        starts = list(accumulate(map(len, texts), initial=0))
        for statement in _commands(whole):
            blocks[bisect_right(starts, statement.start) - 1].statements.append(statement)
    statements = [one for block in blocks for one in block.statements]
    words = [(one.command, one.text) for some in statements for one in readings(some)]
    programs = (text for word, text in words if word is not None and word.canonical == "program")
    defined = frozenset(name for text in programs for name in _FORM.name.findall(text))
    made = any(word is not None and word.canonical in _OF_MODELS for word, _ in words)
    posts = any(_FORM.posting.match(one.text) for one in statements)
    for block in blocks:
        block.own, block.changes, block.posts = defined, bool(defined) or made, posts


def _commands(program: DoFile) -> list[DoStatement]:
    return [one for one in program.statements if one.kind is Kind.COMMAND or one.readings]
