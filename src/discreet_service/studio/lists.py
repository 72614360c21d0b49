"""Lists: rows to read and to search, as one page for all that is a list.

In: columns, rows, and what they were searched for. Out: a page: its words, the form of its fields,
its table, the way to older rows. A template is needed only for what a list has besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response

from discreet_service.studio.choices import address
from discreet_service.web import Visit, page


def list_page(
    visit: Visit,
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    path: str = "",
    fields: Mapping[str, str] | None = None,
    choices: Mapping[str, Mapping[str, str]] | None = None,
    cursor: int | None = None,
    up: str = "",
    term: str = "",
    template: str = "list",
    **more: Any,
) -> Response:
    """A list, with words of its own name: `title`, `lead`, `nothing`, and each column and field.

    Fields hold what was searched for; choices of a field are its values with their labels. The
    cursor is where older rows begin. `up` names the page above, `term` what the glossary explains.
    """
    path, fields = path or visit.url.path, fields or {}
    given = [(field, value) for field, value in fields.items() if value]
    return page(
        visit,
        template,
        said_in=name,
        columns=columns,
        rows=rows,
        path=path,
        fields=fields,
        choices=choices or {},
        older="" if cursor is None else address(path, [*given, ("cursor", str(cursor))]),
        up=up,
        term=term,
        **more,
    )
