"""The methods on records by the names that programmes call them.

In: the name of a method. Out: the function that carries it out: records, options, and where it
asks for them the columns of the identifier (``id``) and the secret (``secret``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

from discreet.pretabular.changed_records import ChangedRecords
from discreet.pretabular.microaggregation import local_suppression, microaggregate
from discreet.pretabular.pram import Invariant, PramMatrix, pram
from discreet.pretabular.recoding import (
    bottom_code,
    drop_identifiers,
    recode,
    round_values,
    top_code,
)
from discreet.pretabular.safe import safe
from discreet.pretabular.swapping import permute, rank_swap, swap


def _pram(
    source: Any,
    *,
    variables: Mapping[str, Invariant | PramMatrix],
    id: Sequence[str],  # noqa: A002 - the word users know
    secret: Any,
    strata: Sequence[str] = (),
    exact: bool = False,
) -> ChangedRecords:
    """As `pram`; variables that change together are joined by a plus sign."""
    sets = {tuple(names.split("+")) if "+" in names else names: m for names, m in variables.items()}
    return pram(source, sets, id=id, secret=secret, strata=strata, exact=exact)


#: Everything that a step of a programme can be.
METHODS: Mapping[str, Callable[..., ChangedRecords]] = MappingProxyType(
    {
        "bottom_code": bottom_code,
        "drop_identifiers": drop_identifiers,
        "local_suppression": local_suppression,
        "microaggregate": microaggregate,
        "permute": permute,
        "pram": _pram,
        "rank_swap": rank_swap,
        "recode": recode,
        "round_values": round_values,
        "safe": safe,
        "swap": swap,
        "top_code": top_code,
    }
)

#: Methods that promise how often combinations occur: the options that name variables and number.
_PROMISES = {
    "local_suppression": ("keys", "k"),
    "microaggregate": ("variables", "k"),
    "safe": ("variables", "at_least"),
}


def broken_promise(method: str, options: Mapping[str, Any], records: pl.DataFrame) -> str:
    """What a step has promised that records no longer keep after later ones; empty if nothing.

    >>> people = pl.DataFrame({"sex": ["m", "m", "f"]})
    >>> broken_promise("local_suppression", {"keys": ["sex"], "k": 2}, people)
    'not every combination of sex occurs 2 times'
    """
    alone = method == "microaggregate" and options["method"] != "mdav"
    if method not in _PROMISES or alone or not records.height:
        return ""
    named, fewest = (options[option] for option in _PROMISES[method])
    listed = [named] if isinstance(named, str) else list(named)
    kept = [name for name in listed if name in records.columns]
    if not kept or int(records.group_by(kept).len()["len"].to_numpy().min()) >= fewest:
        return ""
    return f"not every combination of {', '.join(kept)} occurs {fewest} times"
