"""A do-file as steps: commands with the blocks that belong to them.

In: the statements of a parsed do-file. Out: `Step`s in order; comments are left out, a
block's commands stand under the command that opens it. What cannot be run, such as a Mata
block, becomes a step that stops the run when it is reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.stata import DoFile, DoStatement, Kind
from discreet_fire.texts import Lines

_DROPPED = ("comment", "continuation")
_OTHERS = ("mata", "python", "java")


@dataclass(frozen=True)
class Step:
    """One command, its text without comments on one line, and what belongs to it: the commands of
    its block (None if it opens none), the lines of data or of another language.
    """

    code: str
    line: int
    source: str
    body: tuple[Step, ...] | None = None
    lines: tuple[str, ...] = ()


class _StepReader:
    def __init__(self, do: DoFile) -> None:
        self.statements = [one for one in do.statements if one.kind is not Kind.COMMENT]
        self.lines = Lines(do.text)
        self.at = 0

    def block(self, until: str) -> tuple[Step, ...]:
        """Steps up to the closing brace, to `end`, or to the end of the file."""
        steps: list[Step] = []
        while self.at < len(self.statements):
            one = self.statements[self.at]
            if one.kind is Kind.BRACE and one.text.strip() == "}":
                if until != "}":
                    raise DoError("a brace closes nothing", code=199, line=self.line(one))
                self.at += 1
                return tuple(steps)
            if until == "end" and one.canonical == "end":
                self.at += 1
                return tuple(steps)
            self.at += 1
            steps.extend(self.steps(one))
        DoError.when(until, f"unexpected end of file: {until} is missing", code=612)
        return tuple(steps)

    def steps(self, one: DoStatement) -> Iterator[Step]:
        """The step of a statement; none for directives."""
        if one.kind is Kind.DIRECTIVE:
            return
        code, line = cleaned(one), self.line(one)
        if one.kind is Kind.BRACE:
            yield Step("", line, one.text, self.block("}"))
        elif one.opens:
            yield Step(code.removesuffix("{").rstrip(), line, one.text, self.block("}"))
        elif one.canonical == "program" and not _is_program_word(one, code):
            yield Step(code, line, one.text, self.block("end"))
        elif one.canonical == "input":
            yield Step(code, line, one.text, lines=self.raw())
        else:
            follows = self.statements[self.at : self.at + 1]
            if one.canonical in _OTHERS and any(other.block is not None for other in follows):
                self.raw()
            yield Step(code, line, one.text)

    def raw(self) -> tuple[str, ...]:
        """Lines of data or of another language up to their `end`."""
        lines: list[str] = []
        while self.at < len(self.statements):
            one = self.statements[self.at]
            self.at += 1
            if one.canonical == "end" or one.text.strip() == "end":
                return tuple(lines)
            lines.append(one.text)
        raise DoError("unexpected end of file: end is missing", code=612)

    def line(self, one: DoStatement) -> int:
        """The line of a statement."""
        return self.lines.place(one.start)[0]


def cleaned(one: DoStatement) -> str:
    """The text of a statement without comments, line ends as blanks."""
    parts = [" " if token.kind in _DROPPED else token.text for token in one.tokens]
    return " ".join("".join(parts).splitlines()).strip()


def _is_program_word(one: DoStatement, code: str) -> bool:
    """Whether `program drop`, `list` or `dir` is meant, which have no body."""
    words = code.replace(":", " ").split()
    at = words.index(one.command.text) if one.command is not None else 0
    return words[at + 1 : at + 2] != [] and words[at + 1] in ("drop", "list", "dir", "di")


def steps_of(do: DoFile) -> tuple[Step, ...]:
    """The steps of a do-file."""
    return _StepReader(do).block("")
