"""Covariance matrices that do not trust equal variances: robust and by clusters.

In: scores (weighted residuals) of a solved model. Out: covariance around the means, the same
whatever the order of the rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.models.coefficients import bread
from discreet.output_checking.safe.models.design import Design
from discreet.output_checking.safe.models.exact import exact_gram, exact_group_sums, powers_of
from discreet.output_checking.safe.models.solving import Solution, product
from discreet.output_checking.safe.threads import side_by_side

__all__ = ["sandwich"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def sandwich(
    design: Design,
    solution: Solution,
    scores: FloatArray,
    clusters: IntArray | None,
) -> FloatArray:
    """Inverse × cross products of scores × inverse.

    Args:
        design: The columns.
        solution: The solved model; its inverse is that of the weighted cross products.
        scores: For each row what its columns are multiplied by.
        clusters: Cluster of each row; scores are added within clusters.
    """
    outer = bread(solution)
    rows, width = design.size, len(outer)

    def column(place: int) -> FloatArray:
        if place == len(solution.kept):
            return scores
        values = design.estimated[solution.kept[place]].values(slice(0, rows))
        found: FloatArray = (values - solution.means[place]) * scores
        return found

    if clusters is None:
        table = np.empty((rows, width), order="F")

        def fill(place: int) -> None:
            table[:, place] = column(place)

        side_by_side([partial(fill, place) for place in range(width)])
    else:
        number = int(clusters.max()) + 1

        def added(place: int) -> FloatArray:
            values = column(place)
            return exact_group_sums(values, clusters, number, _largest(values) or 1.0)

        table = np.column_stack(side_by_side([partial(added, place) for place in range(width)]))
    largest = np.array(side_by_side([partial(_largest, table[:, place]) for place in range(width)]))
    largest[largest == 0.0] = 1.0
    scale = powers_of(largest, np.zeros(width, dtype=bool), slices=2)
    middle = exact_gram(lambda a, b: table[a:b], len(table), scale).floats()
    return product(product(outer, middle), outer)


def _largest(values: FloatArray) -> float:
    return max(-float(values.min()), float(values.max()))
