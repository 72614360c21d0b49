"""What stops a do-file: an error with Stata's return code, or something not supported.

In: what is wrong and where. Out: `DoError`, which `capture` can catch, and `UnsupportedError`,
which nothing catches: a program that cannot be run as written is not run on.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from discreet.errors import OutputCheckError

_Found = TypeVar("_Found")
_SHOWN = 60


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


class DoError(OutputCheckError):
    """An error of the program that Stata would report too, with its return code.

    Messages name at most what stands in the do-file itself, no expanded program text: macros may
    carry values of the data.

    >>> print(DoError("variable x not found", code=111, line=3))
    [do-file] line 3: variable x not found; r(111)
    """

    #: Whether single values of the data decided that it happens: then its line tells, too.
    redacted = False

    def __init__(self, what: str, *, code: int, line: int | None = None) -> None:
        self.rc = code
        self.line = line
        self.failed = what
        place = f"line {line}" if line is not None else ""
        super().__init__(f"{what}; r({code})", code="do-file", where=place)

    def at(self, line: int) -> DoError:
        """The same error with the line where it happened."""
        return self if self.line is not None else DoError(self.failed, code=self.rc, line=line)

    @classmethod
    def when(cls, held: object, what: str, *, code: int) -> None:
        """Raise the error where something holds."""
        if held:
            raise cls(what, code=code)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(DoError, self.failed, code=self.rc, line=self.line), ()


class UnsupportedError(OutputCheckError):
    """The do-file uses a command, option or function that the runner does not know.

    >>> print(UnsupportedError("command xtabond", line=7))
    [unsupported] line 7: not supported by the runner: command xtabond
      Hint: see the table of supported commands, or run the program in Stata
    """

    redacted = False

    def __init__(self, what: str, *, line: int | None = None) -> None:
        self.unknown = what
        self.line = line
        super().__init__(
            f"not supported by the runner: {_short(what)}",
            code="unsupported",
            where=f"line {line}" if line is not None else "",
            hint="see the table of supported commands, or run the program in Stata",
        )

    def at(self, line: int) -> UnsupportedError:
        """The same with its line."""
        return self if self.line is not None else UnsupportedError(self.unknown, line=line)

    @classmethod
    def when(cls, held: object, what: str) -> None:
        """Raise the error where something holds."""
        if held:
            raise cls(what)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(UnsupportedError, self.unknown, line=self.line), ()


def required(found: _Found | None, what: str = "varlist required", *, code: int = 100) -> _Found:
    """What was found; an error where it is nothing: no names, no words, no match."""
    if not found:
        raise DoError(what, code=code)
    return found


def present(found: _Found | None, what: str, *, code: int) -> _Found:
    """What was found, be it 0 or empty; an error where there is none."""
    if found is None:
        raise DoError(what, code=code)
    return found
