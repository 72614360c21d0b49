"""The array types of the project, and the numbering of cells.

In: codes of cells as positions in code lists, one array per variable. Out: one whole number
per cell, and back. Numbers say nothing about what is in a cell; whoever holds them next to
values holds confidential data.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError, TableError

#: Counts, keys, numbers of cells.
IntArray: TypeAlias = npt.NDArray[np.int64]
#: Positions in code lists.
PositionArray: TypeAlias = npt.NDArray[np.int32]
#: Statuses, reasons and other facts with few values.
SmallIntArray: TypeAlias = npt.NDArray[np.int8]
UintArray: TypeAlias = npt.NDArray[np.uint64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
#: Texts and other Python objects.
TextArray: TypeAlias = npt.NDArray[np.object_]
AnyArray: TypeAlias = npt.NDArray[Any]

#: From so many cells on, numbers would not be sure to fit into 64 bits.
_LIMIT = 2**62
#: Cells are looked up on the whole grid if it has at most so many places, and so many per cell.
_DENSE, _DENSE_SHARE = 2**22, 8


@dataclass(frozen=True)
class CellIndex:
    """Numbers the cells of a grid, the last variable fastest, as they are sorted in tables.

    >>> cells = CellIndex((2, 3))
    >>> numbers = cells.numbers([np.array([0, 1]), np.array([2, 0])])
    >>> numbers
    array([2, 3])
    >>> cells.positions(numbers)
    [array([0, 1], dtype=int32), array([2, 0], dtype=int32)]
    """

    sizes: tuple[int, ...]  # number of codes of each variable

    @classmethod
    def of(cls, columns: Sequence[Sized]) -> CellIndex:
        """The grid that code lists, dimensions or trees span.

        >>> CellIndex.of([["Total", "m", "f"], ["Total", "1"]]).sizes
        (3, 2)
        """
        return cls(tuple(len(column) for column in columns))

    @property
    def size(self) -> int:
        """Number of cells in the grid."""
        return math.prod(self.sizes)

    @property
    def fits(self) -> bool:
        """Whether numbers of all its cells fit into 64 bits."""
        return math.prod(self.sizes) < _LIMIT

    @property
    def strides(self) -> tuple[int, ...]:
        """Step in the cell number from one code to the next, per variable."""
        found, stride = [], 1
        for width in reversed(self.sizes):
            found.append(stride)
            stride *= width
        return tuple(reversed(found))

    def require(self, where: str = "", error: type[DiscreetError] = TableError) -> CellIndex:
        """Itself, if its numbers fit into 64 bits.

        Raises:
            TableError: The grid is too large to number.
        """
        if not self.fits:
            raise error(
                "the complete table has more than 2^62 cells",
                code="table-size",
                where=where,
                hint="use fewer spanning variables",
            )
        return self

    def numbers(
        self, index: Sequence[npt.NDArray[Any]], length: int | None = None, *, where: str = ""
    ) -> IntArray:
        """The number of each cell.

        Raises:
            TableError: The grid is too large to number.
        """
        if math.prod(self.sizes) >= _LIMIT:
            self.require(where)
        flat: IntArray | None = None
        for width, part in zip(self.sizes, index, strict=True):
            if flat is None:
                flat = part.astype(np.int64)
            else:
                flat *= width
                flat += part
        return np.zeros(_cells(index, length), dtype=np.int64) if flat is None else flat

    def positions(self, numbers: IntArray) -> list[PositionArray]:
        """Per variable, the position of the code of each cell."""
        self.require()
        parts: list[PositionArray] = []
        for width in reversed(self.sizes):
            above = numbers // width  # several times as fast as with the remainder
            parts.append((numbers - above * width).astype(np.int32))
            numbers = above
        return parts[::-1]

    def every(self, start: int = 0, stop: int | None = None) -> list[PositionArray]:
        """The positions of all cells of the grid, or of those with numbers of a range.

        >>> CellIndex((2, 2)).every()
        [array([0, 0, 1, 1], dtype=int32), array([0, 1, 0, 1], dtype=int32)]
        """
        self.require()
        stop = self.size if stop is None else stop
        if stop - start < self.size:
            return self.positions(np.arange(start, stop, dtype=np.int64))
        codes = [np.arange(width, dtype=np.int32) for width in self.sizes]
        return [part.ravel() for part in np.meshgrid(*codes, indexing="ij")]

    def position(self, numbers: IntArray, variable: int) -> IntArray:
        """The position of the code of each cell in one variable."""
        array: IntArray = (numbers // self.strides[variable]) % self.sizes[variable]
        return array

    def joined(
        self, index: Sequence[npt.NDArray[Any]], length: int | None = None
    ) -> tuple[IntArray, int]:
        """A number per combination that occurs, and a bound above all, for grids of any size.

        In the order of the codes. The numbers are those of `numbers` unless the grid is too
        large for that; then they hold among these cells only.

        >>> CellIndex((2, 3)).joined([np.array([0, 1]), np.array([2, 0])])
        (array([2, 3]), 6)
        """
        if self.fits:
            return self.numbers(index, length), self.size
        numbers, bound = np.zeros(_cells(index, length), dtype=np.int64), 1
        for width, part in zip(self.sizes, index, strict=True):
            if bound * width >= _LIMIT:
                found, numbers = np.unique(numbers, return_inverse=True)
                bound = max(len(found), 1)
            numbers = numbers * width + part
            bound *= width
        return numbers, bound

    def shared(
        self,
        *several: Sequence[npt.NDArray[Any]],
        lengths: Sequence[int | None] | None = None,
    ) -> list[IntArray]:
        """Numbers of several lists of cells, the same for the same cell; for grids of any size.

        >>> huge = CellIndex((2**40, 2**40))
        >>> one, other = huge.shared([np.array([7, 8])] * 2, [np.array([8])] * 2)
        >>> one == other
        array([False,  True])
        """
        given = [None] * len(several) if lengths is None else lengths
        if self.fits:
            return [self.numbers(each, size) for each, size in zip(several, given, strict=True)]
        sizes = [_cells(each, size) for each, size in zip(several, given, strict=True)]
        index = [np.concatenate(parts) for parts in zip(*several, strict=True)]
        return list(np.split(self.joined(index)[0], np.cumsum(sizes)[:-1]))

    def find(
        self,
        known: Sequence[npt.NDArray[Any]],
        wanted: Sequence[npt.NDArray[Any]],
        lengths: Sequence[int | None] | None = None,
    ) -> IntArray:
        """Positions of wanted cells among others, -1 for missing ones; for any grid.

        >>> cells = CellIndex((2, 3))
        >>> cells.find([np.array([1, 0]), np.array([0, 2])], [np.array([0, 1]), np.array([2, 1])])
        array([ 1, -1])
        """
        if (size := math.prod(self.sizes)) < _LIMIT:
            one, other = lengths or (None, None)
            here, there = self.numbers(known, one), self.numbers(wanted, other)
            few = len(there) > size or size > min(_DENSE_SHARE * len(there), _DENSE)
            if few or int(there.min()) < 0:
                return find_numbers(here, there)
            if len(here) == len(there) and np.array_equal(here, there):
                return np.arange(len(here), dtype=np.int64)
            places = np.full(size, -1, dtype=np.int64)
            places[here[::-1]] = np.arange(len(here) - 1, -1, -1)
            return places.take(there)
        return find_numbers(*self.shared(known, wanted, lengths=lengths))


def _cells(index: Sequence[npt.NDArray[Any]], length: int | None) -> int:
    """How many cells an index names; one, the grand total, if there is no variable."""
    if length is not None:
        return length
    return len(index[0]) if len(index) else 1


def find_sorted(known: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> IntArray:
    """Positions of wanted numbers in a sorted array, -1 for missing ones.

    >>> find_sorted(np.array([2, 5, 9]), np.array([5, 6, 9]))
    array([ 1, -1,  2])
    """
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1).astype(np.int64, copy=False)
    return np.where(known[at] == wanted, at, -1)


def find_numbers(known: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> IntArray:
    """As `find_sorted`, for numbers in any order; of equal ones, the first is found.

    >>> find_numbers(np.array([9, 2, 5]), np.array([5, 6, 9]))
    array([ 2, -1,  0])
    """
    if bool((known[1:] > known[:-1]).all()):  # cells of tables mostly are in order
        if len(known) == len(wanted) and np.array_equal(known, wanted):
            return np.arange(len(known), dtype=np.int64)
        return find_sorted(known, wanted)
    order = np.argsort(known, kind="stable").astype(np.int64, copy=False)
    at = find_sorted(known[order], wanted)
    return np.where(at >= 0, order[at], -1)


def starts(widths: npt.NDArray[Any] | Sequence[int]) -> IntArray:
    """Starts of rows of these widths in one long array, and the end of the last one.

    >>> starts([2, 0, 3])
    array([0, 2, 2, 5])
    """
    found = np.zeros(len(widths) + 1, dtype=np.int64)
    np.cumsum(widths, out=found[1:])
    return found


def ranges(first: IntArray, width: IntArray) -> IntArray:
    """The numbers of several ranges one after the other, from where each begins.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    begin: IntArray = np.repeat(first - starts(width)[:-1], width)
    return begin + np.arange(len(begin))


def mixed(numbers: UintArray) -> UintArray:
    """Numbers of 64 bits that look drawn, one for each: the finaliser of splitmix64.

    >>> [f"{number:x}" for number in mixed(np.array([1, 2], dtype=np.uint64))]
    ['5692161d100b05e5', 'dbd238973a2b148a']
    """
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def set_sums(place: IntArray, marks: UintArray, sets: int) -> UintArray:
    """Per set the sum of the marks of its members, modulo 2^64.

    >>> set_sums(np.array([1, 1, 0]), np.array([2**63, 2**63, 5], dtype=np.uint64), 3).tolist()
    [5, 0, 0]
    """
    sums = np.zeros(sets, dtype=np.uint64)
    np.add.at(sums, place, marks)
    return sums


def quotient(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> FloatArray:
    """Part / whole; 0 where there is no whole.

    >>> quotient(np.array([3.0, 1.0]), np.array([2, 0])).tolist()
    [1.5, 0.0]
    """
    found = np.zeros(len(part), dtype=np.float64)
    np.divide(part, whole, out=found, where=whole != 0)
    return found


class GrowingRows:
    """Rows with room behind them: a copy with more of them shares what is there.

    >>> few = GrowingRows(np.array([1, 2]))
    >>> more, others = few.joined([3]), few.joined([4])
    >>> few.rows.tolist(), more.rows.tolist(), others.rows.tolist()
    ([1, 2], [1, 2, 3], [1, 2, 4])
    """

    _lock = threading.Lock()

    def __init__(self, rows: AnyArray, room: list[Any] | None = None) -> None:
        self.rows = rows
        self._room: list[Any] = room or [rows, len(rows)]  # and how much of it is taken

    def joined(self, more: Any) -> GrowingRows:
        """A copy with more rows at its end."""
        begin, end = len(self.rows), len(self.rows) + len(more)
        with self._lock:
            room = self._room
            if room[1] != begin or end > len(room[0]):  # others took it, or it is too small
                room = [np.empty((2 * end, *self.rows.shape[1:]), self.rows.dtype), end]
                room[0][:begin] = self.rows
            room[0][begin:end], room[1] = more, end
        return GrowingRows(room[0][:end], room)
