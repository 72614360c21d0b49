"""Reference pages get what the program itself says, when the site is built.

In: a page with `<!-- NAME -->` or `<!-- NAME PART -->` where something belongs, and the program.
Out: the page with commands, keys, operations or endpoints in that place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import command_line_reference
import endpoint_reference
import operations_reference
import programme_reference
import runner_reference

#: What stands in a place → the lines of Markdown for it.
PLACES: Mapping[str, Callable[..., Iterator[str]]] = {
    "commands": command_line_reference.reference,
    "endpoints": endpoint_reference.reference,
    "keys": programme_reference.table_of_keys,
    "operations": operations_reference.reference,
    "small-stata": lambda part: getattr(runner_reference, part)(),
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page with what belongs in its places."""
    return re.sub(r"<!-- (\S+)(?: (\S+))? -->", filled, markdown)


def filled(place: re.Match[str]) -> str:
    """What belongs in a place; other remarks stay."""
    name, part = place.groups()
    if name not in PLACES:
        return place[0]
    return "\n".join(PLACES[name](*([part] if part else [])))
