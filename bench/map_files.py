"""How long maps of many squares take the processor, and how large their files are.

    python bench/map_files.py [SQUARES SIDE]

Random figures of squares by sex, one in ten hidden. Without arguments: 200,000 squares of 1 km
and 2.5 million of 100 m.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from discreet.classifications import Classification
from discreet.classifications.grids import SIZES, square_codes
from discreet.tables import CellStatus, Dimension, ProtectedTable, Provenance


def squares(number: int, side: int) -> ProtectedTable:
    """A table of so many squares of a side, with all larger ones."""
    chance = np.random.default_rng(2026)
    width = int((number * 1.6) ** 0.5)
    places = chance.choice(width * width, number, replace=False)
    north, east = places // width * side + 2_700_000, places % width * side + 4_300_000
    sizes = [size for size in SIZES if size >= side]
    tree = Classification.from_squares("square", square_codes(side, north, east), sizes=sizes)
    trees = (tree, Classification.flat("sex", ["m", "w"]))
    index = np.indices([len(each) for each in trees]).reshape(2, -1).astype(np.int32)
    cells = index.shape[1]
    status = np.where(chance.random(cells) < 0.1, CellStatus.suppressed, CellStatus.published)
    return ProtectedTable(
        dimensions=tuple(Dimension(classifications=(each,)) for each in trees),
        index=tuple(index),
        value=chance.integers(0, 50, cells),
        status=status.astype(np.int8),
        provenance=Provenance(version="1", method="cell-key"),
        name="squares",
    )


def main() -> None:
    """Write each map and say how long it took."""
    given = [int(each) for each in sys.argv[1:3]]
    for number, side in [tuple(given)] if given else [(200_000, 1_000), (2_500_000, 100)]:
        table = squares(number, side)
        print(f"{number:,} squares of {side:,} m, {table.grid_size:,} figures on all levels")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("squares.geojson", "squares.geo.parquet"):
                start = time.process_time()
                size = table.write(Path(folder) / name).stat().st_size / 1e6
                most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                took = time.process_time() - start
                print(f"  {name:<20} {took:6.1f} s {size:9.1f} MB; at most {most:,} MB of memory")


if __name__ == "__main__":
    main()
