"""Whom the statistics of a run are about, for whoever keeps a ledger of that.

In: one statistic. Out: `Told`, given to the witness of the session. CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

__all__ = ["Told"]


@dataclass(frozen=True, repr=False)
class Told:
    """Whom one statistic is about, for whoever keeps a ledger of that (confidential).

    Args:
        line: Where it is in the program.
        command: The safe command.
        units: Whom each record is about, None where that is not known; None if for no record.
        frame: Its variables.
        groups: Those that span the output.
        missing: Whether missing values are a group of their own.
    """

    line: int
    command: str
    units: list[Any] | None
    frame: pl.DataFrame
    groups: tuple[str, ...] = ()
    missing: bool = False
