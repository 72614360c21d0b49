"""Charts of a table beside it: bars, lines, heat map, pyramid and map, as the library draws them.
Public: a chart tells what its table tells, and hidden figures have a sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.publication import Boundaries, write
from discreet.tables import Dimension, ProtectedTable

#: Charts as addresses name them, and as the library does; that of areas is a file of its own.
CHARTS: Mapping[str, str] = {
    "bars": "bars",
    "lines": "lines",
    "heat-map": "heat map",
    "pyramid": "pyramid",
    "map": "map",
}


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
    picture = table.plot(CHARTS[kind], rows=rows, columns=columns, language=language)
    svg: str = picture.svg()
    return svg


def _parts(dimension: Dimension) -> int:
    """How many finest categories a variable shows."""
    return int((dimension.is_leaf & (dimension.breakdown == 0) & (dimension.levels > 0)).sum())
