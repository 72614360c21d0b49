"""The methods on records by the names that programmes call them.

In: the name of a method. Out: the function that carries it out: records, options, and where it
asks for them the columns of the identifier (``id``) and the secret (``secret``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

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
