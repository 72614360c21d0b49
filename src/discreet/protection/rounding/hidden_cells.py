"""`round_shown`: what stands beside hidden cells is rounded. Public: it looks at figures shown.

In: a `ProtectedTable` with hidden cells. Out: the same with its other figures rounded, each on
its own. `discreet.audit(…, rounded=base)` proves what hidden cells keep.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.errors import CountRoundingError
from discreet.protection.rounding.bases import Rounding
from discreet.protection.rounding.counts import notes_of
from discreet.protection.suppression import METHOD, pattern_notes, rounded_values, zeros_of
from discreet.tables import CellStatus, ProtectedTable, Table


def round_shown(safe: ProtectedTable, base: int) -> ProtectedTable:
    """Round the figures that a table with hidden cells shows, halves up.

    What is worked out from rounded figures could be worked out from true ones: hidden cells are
    protected at least as well as before.

    Args:
        safe: The table, of one figure, without published intervals.
        base: Figures become multiples of this, in the unit of the value.

    Raises:
        CountRoundingError: If the base is none, or intervals would tell what was rounded.

    >>> import polars as pl
    >>> from discreet import suppress
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> safe = round_shown(suppress(table, table.count < 3, method="fast"), 5)
    >>> safe.get("Total"), safe.get("m"), safe.get("d")
    (20, 10, None)
    """
    how = Rounding(base=base, method="conventional")
    message = ""
    if safe.withheld is not None and safe.withheld.low is not None:
        message = "intervals of suppressed cells belong to the values before rounding"
    elif safe.several_figures:
        message = "round tables of several figures one figure at a time"
    elif np.isin(safe.status, (CellStatus.official, CellStatus.bracketed)).any():
        message = "exempt and bracketed values cannot be rounded"
    if message:
        raise CountRoundingError(message, code="rounding", where=safe.name)
    scale = 10 ** safe.figure_decimals()
    units = rounded_values(np.rint(safe.value * float(scale)).astype(np.int64), base * scale)
    units = np.where(safe.status == CellStatus.suppressed, 0, units)
    whole = np.issubdtype(safe.value.dtype, np.integer)
    shell = Table(
        dimensions=safe.dimensions, index=safe.index, count=np.zeros(safe.stored, np.int64)
    )
    kept = [note for note in safe.notes if note.kind != METHOD]
    hidden = pattern_notes(safe.withheld, zeros=zeros_of([safe]) == "partners", rounded=True)
    first = [note for note in hidden if note.kind == METHOD and len(kept) < len(safe.notes)]
    return replace(
        safe,
        value=units if whole else units / scale,
        notes=(*first, *kept, *notes_of(how, shell)),
        provenance=replace(safe.provenance, method=f"{safe.provenance.method}, rounded"),
    )
