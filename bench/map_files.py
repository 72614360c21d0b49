"""How long maps take the processor, and how large their files are.

    python bench/map_files.py

Random figures, one in ten hidden: squares by sex, 200,000 of 1 km and 2.5 million of 100 m as
GeoJSON and GeoParquet; the regions of the invented country of 83 million persons by sex and 18
age groups, and 70,000 squares of 1 km, as pictures and as atlases.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.classifications import Classification
from discreet.classifications.grids import SIZES, square_codes
from discreet.demo.classifications import classifications_of
from discreet.demo.geography import Geography
from discreet.demo.outlines import outlines_of
from discreet.tables import CellStatus, Dimension, ProtectedTable, Provenance


def squares(number: int, side: int) -> ProtectedTable:
    """A table of so many squares of a side, with all larger ones, by sex."""
    chance = np.random.default_rng(2026)
    width = int((number * 1.6) ** 0.5)
    places = chance.choice(width * width, number, replace=False)
    north, east = places // width * side + 2_700_000, places % width * side + 4_300_000
    sizes = [size for size in SIZES if size >= side]
    tree = Classification.from_squares("square", square_codes(side, north, east), sizes=sizes)
    return filled(tree, Classification.flat("sex", ["m", "w"]))


def filled(*trees: Classification) -> ProtectedTable:
    """A table with random figures, of which one in ten is hidden."""
    chance = np.random.default_rng(2026)
    index = np.indices([len(each) for each in trees]).reshape(len(trees), -1).astype(np.int32)
    cells = index.shape[1]
    status = np.where(chance.random(cells) < 0.1, CellStatus.suppressed, CellStatus.published)
    return ProtectedTable(
        dimensions=tuple(Dimension(classifications=(each,)) for each in trees),
        index=tuple(index),
        value=chance.lognormal(5, 2, cells).astype(np.int64),
        status=status.astype(np.int8),
        provenance=Provenance(version="1", method="cell-key"),
        name="squares",
    )


def written(table: ProtectedTable, names: Sequence[str], **maps: Any) -> None:
    """Write maps and say how long each took."""
    print(f"{table.dimensions[0]}, {table.grid_size:,} figures on all levels")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            size = table.write(Path(folder) / name, **maps).stat().st_size / 1e6
            took = time.process_time() - start
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"  {name:<16} {took:6.1f} s {size:9.1f} MB; at most {most:,} MB of memory")


def main() -> None:
    """Write all of them."""
    place = Geography.of(83_000_000, seed=2026)
    region = classifications_of(place)["region"]
    ages = Classification.flat("age", [f"age {k}" for k in range(18)])
    country = filled(region, Classification.flat("sex", ["m", "w"]), ages)
    written(country, ["map.svg", "map.atlas.html"], boundaries=outlines_of(place))
    written(squares(70_000, 1_000), ["map.svg", "map.atlas.html"])
    for number, side in ((200_000, 1_000), (2_500_000, 100)):
        written(squares(number, side), ["map.geojson", "map.geo.parquet"])


if __name__ == "__main__":
    main()
