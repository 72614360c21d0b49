"""What rests on single values of the data while a program runs. CONFIDENTIAL.

In: what commands touch; texts and results. Out: `Trace`: names of macros, scalars, variables
that hold such values, and whether the run is in a part of the program that such a value has
chosen; the same texts and results without names, such as `v7777`, that hold values themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from discreet_fire.statistics import SafeResult

#: Stands among the variables for "which observations there are".
ROWS = "_N"
#: Stands among the variables for "in which order the observations are".
ORDER = "_n"
_COUNTED = re.compile(r"`\s*(?:\+\+|--)(\w+)'|`(\w+)(?:\+\+|--)\s*'")


@dataclass(repr=False)
class Trace:
    """Whether what is being worked out rests on values of the data that may not be shown."""

    touched: bool = False  # it does, since the last `fresh`
    plain: bool = True  # whether it may be told that a condition of the statement chose nobody
    few: bool = False  # whether a comparison in the statement holds for a few only
    #: Names of local macros (by depth) and global macros that do
    macros: set[tuple[int, str]] = field(default_factory=set)
    #: Of macros that do, the words that may be known
    levels: dict[tuple[int, str], frozenset[str]] = field(default_factory=dict)
    scalars: set[str] = field(default_factory=set)  # names of scalars that do
    matrices: set[str] = field(default_factory=set)  # names of matrices that do
    #: Names of variables made from such values; `ROWS` if they chose records, `ORDER` if the
    #: records are sorted by them
    variables: set[str] = field(default_factory=set)
    #: Names of variables that the program has made or changed itself
    made: set[str] = field(default_factory=set)
    #: Names of variables that were made without any data: constants, `_n`, random numbers
    own: set[str] = field(default_factory=set)
    #: Names of variables with copied values that the statement reads
    copied: set[str] = field(default_factory=set)
    #: Names of variables whose storage type hangs on values
    sized: set[str] = field(default_factory=set)
    #: Names of value labels whose texts are values of the data
    labels: set[str] = field(default_factory=set)
    #: Names of variables and files that hold such values themselves
    names: set[str] = field(default_factory=set)
    #: Kinds of things of which each may: "macros", "scalars", "shape", "r()", "e()"
    whole: set[str] = field(default_factory=set)
    branches: int = 0  # in how many branches or loops, chosen by such values, the run is
    code: bool = False  # whether `_rc` does
    #: Whether anything did since each `capture` began, the innermost last
    doubts: list[bool] = field(default_factory=lambda: [False])

    def fresh(self) -> None:
        """Begin with a new statement."""
        self.doubt(self.touched)
        self.touched = self.branches > 0
        self.plain, self.few = True, False
        self.copied = set()

    def doubt(self, held: bool = True) -> None:
        """Note that it hangs on such values whether what `capture` runs may fail."""
        self.doubts[-1] |= held

    @contextmanager
    def captured(self) -> Iterator[None]:
        """Note whether `_rc` rests on values, as what is done inside does."""
        self.doubts.append(False)
        try:
            yield
        finally:
            doubted = self.doubts.pop()
            self.code = doubted or self.touched or "shape" in self.whole
            self.doubt(doubted)

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Inside, everything rests on the values that have chosen it; so does what follows."""
        self.branches += 1
        # Whether it fails would tell what the values are.
        self.touched = self.code = True
        try:
            yield
        finally:
            self.branches -= 1
            self.touched = True

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is touched inside is not that of the statement."""
        touched, few = self.touched, self.few
        try:
            yield
        finally:
            self.touched, self.few = touched, few

    def touch(self, held: bool = True) -> None:
        """Note that a value is used, if it may not be shown."""
        self.touched |= held

    def note_few(self, held: bool) -> None:
        """A comparison holds for a few only; nothing takes that back within a statement."""
        self.few = self.few or held

    def note_plain(self, held: bool) -> None:
        """Unless `held`, nothing may be told of a condition that chose nobody."""
        self.plain = self.plain and held

    def doubt_code(self) -> None:
        """`_rc` may come from single values."""
        self.code = True

    def rests(self, names: Iterable[str]) -> bool:
        """Whether one of the variables, or which observations there are, rests on values."""
        return ROWS in self.variables or not self.variables.isdisjoint(names)

    def ordered(self) -> None:
        """Note that the order of the observations is used."""
        self.touch(ORDER in self.variables)

    def mark(self, held: set[str], name: str) -> None:
        """Note whether what is being set rests on values, in a set of names."""
        if self.touched:
            held.add(name)
        else:
            held.discard(name)


def counted_names(text: str) -> set[str]:
    """Macros that a text counts up or down when it is expanded.

    >>> sorted(counted_names("x > `++i' & `j--'"))
    ['i', 'j']
    """
    return {one or other for one, other in _COUNTED.findall(text)}


_HIDDEN = "(withheld)"


def _pattern(names: AbstractSet[str]) -> str:
    longest = sorted(names, key=lambda name: (-len(name), name))
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)"


def holds_name(text: str, names: AbstractSet[str]) -> bool:
    """Whether a text has one of the names.

    >>> holds_name("drop v7777", {"v7777"}), holds_name("drop v77771", {"v7777"})
    (True, False)
    """
    return bool(names) and re.search(_pattern(names), text) is not None


def masked(text: str, names: AbstractSet[str]) -> str:
    """The text without the names.

    >>> masked("sum of v7777 by x", {"v7777"})
    'sum of (withheld) by x'
    """
    return re.sub(_pattern(names), _HIDDEN, text) if names else text


def masked_result(result: SafeResult, names: AbstractSet[str]) -> SafeResult:
    """A result without the names; its table is left out where it has one of them."""
    if not names:
        return result
    checks = [
        replace(one, where=masked(one.where, names), reason=masked(one.reason, names))
        for one in result.checks
    ]
    frame = result.frame
    if frame is not None and holds_name(f"{frame.columns} {frame.rows()}", names):
        frame = None
    return SafeResult(
        command=masked(result.command, names),
        shown=masked(result.shown, names),
        frame=frame,
        stored=result.stored,
        checks=checks,
        evidence=result.evidence,
    )


#: By the number of the record, a mark of a value; 0 for none.
RecordMarks = npt.NDArray[np.uint32]
