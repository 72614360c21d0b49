"""What every way to run a program tells the outside: whom each statistic is about.

In: one statistic. Out: `StatisticShown`, given to whoever keeps a ledger of that.
CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

__all__ = ["StatisticShown"]


@dataclass(frozen=True, repr=False)
class StatisticShown:
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
