"""`Looked`: the cells of a table with the kind of each, as far as it may be known.

In: a table to publish, or the suppression that made it. Out: positions, values and kinds of
cells. SECRET if made of a suppression, whose sensitive cells are known then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import PublicationError
from discreet.tables import CellStatus, Dimension, Note, ProtectedTable, Withheld

if TYPE_CHECKING:
    from discreet.suppression.outcome import Suppression

__all__ = ["HIDDEN", "KINDS", "Looked", "place_of"]

KindArray = npt.NDArray[np.int8]
IndexArray = npt.NDArray[np.int32]

#: What a cell can be; positions are its numbers.
KINDS = ("shown", "zero", "hidden", "bracketed", "official", "none", "primary", "secondary")
#: Those without a value, in the order in which they are drawn.
HIDDEN = ("primary", "secondary", "hidden")

_PRIMARY, _SECONDARY = KINDS.index("primary"), KINDS.index("secondary")
_SUPPRESSED = int(CellStatus.suppressed)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Looked:
    """A table as far as a picture may know it.

    Args:
        table: The table; why its cells are hidden is in it, if that may be known.
        figure: Which of its figures is looked at.
        secret: Whether more is known than the published table tells.
    """

    table: ProtectedTable
    figure: int = 0
    secret: bool = False

    @classmethod
    def of(
        cls,
        table: ProtectedTable | Suppression,
        which: str | None = None,
        figure: str | None = None,
    ) -> Looked:
        """Look at a table, or at one of those that were suppressed together.

        Args:
            table: The table, or what `Suppression.of` did.
            which: Name of the table, if there are several.
            figure: Name of its figure, if it has several; the first if None.
        """
        if isinstance(table, ProtectedTable):
            found = cls(table=table)
        else:
            from discreet.suppression.outcome import Suppression

            if not isinstance(table, Suppression):
                raise _wrong(
                    "this is neither a table to publish nor a suppression",
                    "table",
                    "hand in what discreet.suppress or Suppression.of gave you",
                )
            found = cls(table=_told(table, _number(table, which)), secret=True)
        return replace(found, figure=_figure(found.table, figure))

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The spanning variables."""
        return self.table.spanning

    @property
    def told(self) -> bool:
        """Whether primary and secondary cells are told apart."""
        return self.table.withheld is not None and bool(self.table.withheld.reasons)

    @cached_property
    def cells(self) -> tuple[tuple[IndexArray, ...], npt.NDArray[Any], KindArray]:
        """Positions, values and kinds of all cells that are not zero."""
        table = self.table
        index, value, status = table.cells(complete=bool(table.suppressed_parts))
        keep = np.isin(status, (CellStatus.zero_or_changed_to_zero, CellStatus.not_applicable))
        keep = ~keep
        if table.several_figures:
            keep &= index[-1] == self.figure
        index = tuple(part[keep] for part in index)
        kind = self.kinds(index, status[keep])
        return index[: len(self.dimensions)], value[keep], kind

    def kinds(self, index: tuple[IndexArray, ...], status: KindArray) -> KindArray:
        """The kind of cells of the table.

        Args:
            index: Their positions in all its dimensions.
            status: Their status.
        """
        kind = status.astype(np.int8)
        withheld = self.table.withheld
        hidden = kind == _SUPPRESSED
        if withheld is not None and hidden.any():
            reason = withheld.beside(self.table.dimensions, index, ~hidden)["reason"]
            known = reason.is_not_null().to_numpy()
            second = (reason == "secondary").fill_null(False).to_numpy()
            kind[hidden & known] = _PRIMARY
            kind[hidden & second] = _SECONDARY
        return kind

    def __repr__(self) -> str:
        return f"<Looked at {self.table.name}{': secret' if self.secret else ''}>"


def place_of(dimension: Dimension, code: str) -> int:
    """The position of a code that someone named."""
    if code not in dimension.index:
        raise _wrong(f"there is no code {code!r}", dimension.name, "name a code of the variable")
    return dimension.index[code]


def _wrong(what: str, where: str, hint: str) -> PublicationError:
    return PublicationError(what, code="picture", where=where, hint=hint)


def _number(done: Suppression, which: str | None) -> int:
    names = [table.name for table in done.tables]
    if which is None and len(names) == 1:
        return 0
    if which is None or names.count(which) != 1:
        what = "name one of the tables" if which is None else f"there is not one table {which!r}"
        raise _wrong(what, "which", f"tables: {', '.join(names)}")
    return names.index(which)


def _told(done: Suppression, at: int) -> ProtectedTable:
    """A table that tells primary from secondary cells, whatever is published of that."""
    source, published = done.sources[at][0], done.tables[at]
    blank = done.members.hidden(done.pattern.hidden[: len(done.reason)], at)
    primary = done.members.hidden(done.reason > 0, at)
    notes: Mapping[str, str] = {}
    withheld = Withheld(
        index=tuple(part[blank] for part in source.index),
        reason=np.where(primary[blank], 1, 2).astype(np.int8),
        reasons=(Note("primary", notes), Note("secondary", notes)),
    )
    return replace(published, withheld=withheld)


def _figure(table: ProtectedTable, name: str | None) -> int:
    if name is None:
        return 0
    names = [figure.name for figure in table.figures]
    if name not in names:
        hint = f"figures: {', '.join(names)}" if names else "the table has counts only"
        raise _wrong(f"there is no figure {name!r}", "figure", hint)
    return names.index(name)
