"""`Waivers`: units that have consented to be shown. CONFIDENTIAL.

In: records, and a filter that says who has consented. Out: tables of those who have *not*,
whom rules go on protecting. Whoever cannot be told – a missing value in a column of the
filter – has not consented; a holding has if all of its records have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import SuppressionError
from discreet.microdata import parse_filter
from discreet.rules.holdings import count_holdings
from discreet.tables import Table
from discreet.tabulation import tabulate

if TYPE_CHECKING:
    from discreet.tables import Spanning


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Waivers:
    """Those who have not consented, in tables of these only (confidential).

    Args:
        records: The table of their records, by the same variables and of the same values.
        holdings: The holdings with a record among them, whole; for rules per holding.
    """

    records: Table
    holdings: Table | None = None

    def __repr__(self) -> str:
        return "<Waivers (confidential)>"


def without_consent(consent: str) -> str:
    """The filter of those who have not consented, or of whom it cannot be told.

    >>> without_consent("consent == 'yes'")
    "not (consent == 'yes') or consent is null"
    """
    columns = sorted(parse_filter(consent).columns)
    if not columns:
        message = "the filter of waivers needs a column of the data"
        hint = "for example consent == 'yes'"
        raise SuppressionError(message, code="waivers", where="waivers", hint=hint)
    named = [name if name.isidentifier() else f"`{name}`" for name in columns]
    return " or ".join([f"not ({consent.strip()})", *(f"{name} is null" for name in named)])


def count_waivers(
    frame: Any,
    by: Sequence[Spanning],
    *,
    consent: str,
    values: Sequence[str] = (),
    contributions: int = 3,
    weight: str | None = None,
    holding: str | None = None,
    where: str | None = None,
    name: str = "table",
) -> Waivers:
    """Count those who have not consented to be shown.

    Args:
        frame: Records, as for `tabulate`.
        by: The spanning variables.
        consent: Filter of the records whose units have consented. A record with a missing
            value in one of its columns has not.
        values: Columns that rules look at.
        contributions: How many of the largest contributions to keep, as in the table.
        weight: Column of weights, as in the table.
        holding: Column of the holding, for rules per holding.
        where: Which records count.
        name: Name of the table.

    >>> import polars as pl
    >>> firms = pl.DataFrame({"region": ["N", "N", "S"], "consent": ["yes", None, "yes"]})
    >>> count_waivers(firms, ["region"], consent="consent == 'yes'").records.count.tolist()
    [1, 1]
    """
    others = without_consent(consent)
    listed = (values,) if isinstance(values, str) else tuple(values)
    records = tabulate(
        frame,
        list(by),
        values=listed,
        contributions=contributions if listed else 0,
        weight=weight,
        where=others if not where else f"({where}) and ({others})",
        name=name,
    )
    if holding is None:
        return Waivers(records=records)
    holdings = count_holdings(
        frame,
        by,
        holding=holding,
        values=listed,
        contributions=contributions,
        where=where,
        having=others,
        name=name,
    )
    return Waivers(records=records, holdings=holdings)
