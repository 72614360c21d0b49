"""Shown tables: releases with their tables, and a protected table on a page, as in publication,
turned, sorted, by pages, with charts. Public: cells keep figure and status, hidden figures have a
sign in charts, and the library has escaped all texts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Response
from markupsafe import Markup

from discreet.arrays import IntArray
from discreet.errors import DiscreetError
from discreet.publication import (
    FORMATS,
    BodyRows,
    Boundaries,
    PageLayout,
    arrange,
    caption,
    check_texts,
    has_total,
    is_figure,
    labels_at,
    lay_out,
    legend,
    legend_html,
    notes_html,
    provenance_html,
    provenance_lines,
    table_html,
    write,
)
from discreet.tables import Dimension, ProtectedTable, lacks_number
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.studio.choices import StudioView
from discreet_service.web import (
    NavigationEntry,
    Visit,
    address,
    get_release,
    list_releases,
    page,
    path_to,
    visit_with,
)

router = APIRouter(tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/releases", place=20, permissions=(Permission.releases_read,))

_Reader = Annotated[Visit, Depends(visit_with(Permission.releases_read))]
_Page = Annotated[int, Query(ge=1, le=1_000_000)]
_SIZE = 50
#: Cells on one page, usually and at most, and columns that can be looked at side by side.
PAGE_CELLS, WHOLE_CELLS = 2_000, 10_000
_MOST_COLUMNS = 2_000
#: Columns that are offered for sorting.
_SORT_COLUMNS = 60
_IDENTIFIER = "table"


class _SortedLayout(PageLayout):
    """A layout whose rows stand in another order, or are some of them only."""

    def blocks(self, rows: int = 2_000) -> Iterator[BodyRows]:
        order = np.lexsort(self.row_codes.T[::-1]) if self.rows else np.arange(len(self.row_codes))
        place = np.argsort(order, kind="stable")
        for block in PageLayout(
            table=self.table,
            rows=self.rows,
            columns=self.columns,
            row_codes=self.row_codes[order],
            column_codes=self.column_codes,
        ).blocks(max(len(order), 1)):
            decimals: Any = block.decimals
            bounds = block.bounds
            if bounds is not None:
                low, high = (bound.reshape(block.value.shape)[place].ravel() for bound in bounds)
                bounds = (low, high)
            yield BodyRows(
                0,
                block.value[place],
                block.status[place],
                decimals if isinstance(decimals, int) else decimals[place],
                bounds,
            )


def shown_table(
    table: ProtectedTable,
    view: StudioView,
    language: str,
    boundaries: Mapping[str, Boundaries] = MappingProxyType({}),
) -> dict[str, Any]:
    """A table as a page shows it: its parts as HTML, variables that can be moved, columns that rows
    can be sorted by, how it is shown, which rows are, counted from 1, and its chart.
    """
    check_texts(table, language)
    down, across = _arranged(table, view)
    layout = lay_out(table, rows=down, columns=across, limit=None)
    if layout.shape[1] > _MOST_COLUMNS:
        what, hint = "the table is too wide for this page", "put fewer variables in columns"
        raise ServiceError(what, "too-many-cells", limit=_MOST_COLUMNS, hint=hint)
    size = max((WHOLE_CELLS if view.whole else PAGE_CELLS) // max(layout.shape[1], 1), 1)
    pages = max(-(-layout.shape[0] // size), 1)
    sort = view.sort if view.sort <= layout.shape[1] else 0
    view = dataclasses.replace(view, page=min(view.page, pages), sort=sort)
    kinds, chart, problem = chart_kinds(table, boundaries), "", ""
    if view.chart in kinds:
        try:
            chart = chart_of(table, view.chart, down, across, language, boundaries)
        except DiscreetError as error:
            problem = error.what
    codes = _sorted(layout, view) if sort else layout.row_codes
    start = (view.page - 1) * size
    part = _SortedLayout(
        table=table,
        rows=layout.rows,
        columns=layout.columns,
        row_codes=codes[start : start + size],
        column_codes=layout.column_codes,
    )
    pieces = table_html(part, language, identifier=_IDENTIFIER, caption=caption(table, language))
    provenance = provenance_html([(table.name, provenance_lines(table, language))], language)
    labels = [labels_at(table, at, language) for at in layout.columns]
    columns = [
        (number, " · ".join(own[code] for own, code in zip(labels, codes, strict=True)))
        for number, codes in enumerate(layout.column_codes[:_SORT_COLUMNS].tolist(), 1)
    ]
    return {
        # The library has escaped every text.
        "table": Markup("".join(pieces)),  # noqa: S704
        "legend": Markup(legend_html(legend(table, language), language)),  # noqa: S704
        "notes": Markup(notes_html(table, language)),  # noqa: S704
        "provenance": Markup(provenance),  # noqa: S704
        "variables": list(_variables(table, down, across, view, language)),
        "columns": columns,
        "view": view,
        "arranged": bool(dataclasses.replace(view, chart="").pairs()),
        "charts": [(kind, dataclasses.replace(view, chart=kind)) for kind in kinds],
        "table_alone": dataclasses.replace(view, chart=""),
        # The library has escaped every text.
        "chart": Markup(chart),  # noqa: S704
        "chart_problem": problem,
        "rows": layout.shape[0],
        "first": min(start + 1, layout.shape[0]),
        "last": min(start + size, layout.shape[0]),
        "pages": pages,
        "wholly": pages > 1 and layout.shape[0] * layout.shape[1] <= WHOLE_CELLS,
    }


def table_page(
    visit: Visit,
    table: ProtectedTable,
    path: str,
    *,
    file: str,
    boundaries: Mapping[str, Boundaries],
    asked: Sequence[tuple[str, str]] = (),
    downloads: Sequence[tuple[str, str]] = (),
    **more: Any,
) -> Response:
    """The page of a table, as its address says that it is shown; or its chart, as a file to keep.

    Args:
        visit: Who looks, and what the address says.
        table: The table.
        path: Where its page is.
        file: The name of files of its charts.
        boundaries: Per variable of areas, these, for maps.
        asked: What addresses of the page say besides how it is shown.
        downloads: Formats with their addresses.
        more: Title, page above (`up`), and texts for programs (`code`).
    """
    pairs = visit.query_params.multi_items()
    shown = shown_table(table, StudioView.of(pairs), visit.language, boundaries)
    if ("image", "svg") in pairs:
        if not shown["chart"]:
            raise ServiceError("the table has no such chart", "not-found", "chart")
        head = {"Content-Disposition": f'attachment; filename="{file}-{shown["view"].chart}.svg"'}
        return Response(str(shown["chart"]), media_type="image/svg+xml", headers=head)
    usual: dict[str, Any] = {"basket": False, "code": {}}
    usual["base"] = visit.service.settings.base_url
    return page(
        visit,
        "table",
        said_in="result",
        shown=shown,
        viewed=lambda view: address(path, [*asked, *view.pairs()]),
        sort_action=path,
        sort_pairs=[*asked, *shown["view"].pairs()],
        downloads=downloads,
        **usual | more,
    )


def _arranged(table: ProtectedTable, view: StudioView) -> tuple[list[str], list[str]]:
    names = [dimension.name for dimension in table.dimensions]
    if view.down is None and view.across is None:
        usual_down, usual_across = arrange(table)
        return [names[at] for at in usual_down], [names[at] for at in usual_across]
    across = [name for name in dict.fromkeys(view.across or ()) if name in names]
    down = [n for n in dict.fromkeys(view.down or ()) if n in names and n not in across]
    rest = [name for name in names if name not in (*down, *across)]
    return (down, [*across, *rest]) if view.across is None else ([*down, *rest], across)


def _sorted(layout: PageLayout, view: StudioView) -> IntArray:
    """The rows by their figures in a column, within the groups that they form; totals stay first.

    Cells without a figure come last.
    """
    codes, column = layout.row_codes, view.sort - 1
    blocks = list(layout.blocks(max(len(codes), 1)))
    value = np.concatenate([block.value[:, column] for block in blocks]).astype(np.float64)
    hidden = lacks_number(np.concatenate([block.status[:, column] for block in blocks]))
    key = np.where(hidden, np.inf, -value if view.falling else value)
    if layout.rows and has_total(layout.table, layout.rows[-1]):
        key[codes[:, -1] == 0] = -np.inf
    return codes[np.lexsort((key, *reversed([codes[:, k] for k in range(codes.shape[1] - 1)])))]


def _variables(
    table: ProtectedTable, down: list[str], across: list[str], view: StudioView, language: str
) -> Iterator[dict[str, Any]]:
    titles = {
        dimension.name: dimension.title(language)
        for at, dimension in enumerate(table.dimensions)
        if not is_figure(table, at)
    }
    for name in (*down, *across):
        turned = name in across
        own, other = (across, down) if turned else (down, across)
        at, left = own.index(name), [item for item in own if item != name]
        orders = {"turn": (left, [*other, name])}
        if at:
            orders["earlier"] = ([*own[: at - 1], name, own[at - 1], *own[at + 1 :]], other)
        moves = {}
        for move, sides in orders.items():
            first, second = map(tuple, reversed(sides) if turned else sides)
            moves[move] = dataclasses.replace(view, down=first, across=second, sort=0, page=1)
        yield {"name": name, "title": titles.get(name, ""), "across": turned, "moves": moves}


def chart_kinds(table: ProtectedTable, boundaries: Mapping[str, Boundaries]) -> list[str]:
    """The charts that a table has, by their names in addresses."""
    spanning = table.spanning
    kinds = ["bars", "lines"] if spanning else []
    if len(spanning) > 1:
        kinds.append("heat-map")
        if any(_parts(dimension) == 2 for dimension in spanning):
            kinds.append("pyramid")
    if find_spec("vl_convert") is None:  # what draws them is an extra
        kinds = []
    return kinds + ["map"] * any(dimension.name in boundaries for dimension in spanning)


def chart_of(
    table: ProtectedTable,
    kind: str,
    down: Sequence[str],
    across: Sequence[str],
    language: str,
    boundaries: Mapping[str, Boundaries],
) -> str:
    """A chart as SVG, with variables as they go down and across the table."""
    names = [dimension.name for dimension in table.spanning]
    if kind == "map":
        place = next(name for name in names if name in boundaries)
        with TemporaryDirectory(prefix="discreet-chart-") as folder:
            path = Path(folder) / "map.svg"
            write(table, path, format="map", language=language, geo=[place],
                  boundaries=boundaries[place])  # fmt: skip
            return path.read_text("utf-8")
    order = [name for name in (*down, *across) if name in names]
    rows, columns = order[0], next((name for name in across if name in order[1:]), None)
    if kind == "heat-map":
        columns = columns or order[1]
    if kind == "pyramid":
        sides = {dimension.name: _parts(dimension) == 2 for dimension in table.spanning}
        columns = next(name for name in reversed(order) if sides[name])
        rows = next(name for name in order if name != columns)
    picture = table.plot(kind.replace("-", " "), rows=rows, columns=columns, language=language)
    svg: str = picture.svg()
    return svg


def _parts(dimension: Dimension) -> int:
    """How many finest categories a variable shows."""
    return int((dimension.is_leaf & (dimension.breakdown == 0) & (dimension.levels > 0)).sum())


@router.get("/releases")
def show_releases(visit: _Reader, number: _Page = 1) -> Response:
    """All releases, the youngest first."""
    releases = list_releases(visit, visit.language, number, _SIZE)
    more = releases["total"] > number * _SIZE
    return page(visit, "releases", releases=releases["releases"], next=number + 1 if more else 0)


@router.get("/releases/{release}")
def show_release(
    release: str,
    visit: _Reader,
    query: Annotated[str, Query(max_length=500)] = "",
    number: _Page = 1,
) -> Response:
    """A release with its tables."""
    language = visit.language
    found = get_release(visit, release, language, query, number, _SIZE)
    return page(
        visit,
        "release",
        title=found["title"],
        release=found,
        query=query,
        next=number + 1 if (found["total"] > number * _SIZE) else 0,
    )


@router.get("/releases/{release}/{table}")
def show_release_table(release: str, table: str, visit: _Reader) -> Response:
    """A table of a release."""
    language, found = visit.language, visit.service.releases.release(release)
    listed = found.listed(table)
    path, api = path_to("releases", release, table), f"/api/v1/releases/{release}/tables/{table}"
    own = visit.service.releases.table(listed.id)
    made_of = visit.service.publications.origin(found.id, found.identity)
    origin = (made_of["dataset"], made_of["version"]) if "version" in made_of else None
    links = {name: address(api, [("format", name), ("language", language)]) for name in FORMATS}
    return table_page(
        visit,
        own,
        path,
        file=listed.name,
        boundaries=visit.service.datasets.boundaries(
            own, origin, partial(visit.principal.may, Permission.catalogue_read)
        ),
        title=listed.title(language),
        up=(path_to("releases", found.id), found.title(language)),
        downloads=[(name, link) for name, link in links.items() if name != "exact"],
        code={"curl": f"curl '{visit.service.settings.base_url}{links['csv']}'"},
    )
