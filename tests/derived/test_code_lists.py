"""Tables with different filters: code lists found in the data are joined."""

from typing import Any

import numpy as np
import pytest

from discreet import Classification
from discreet.derived.components import common_dimensions, positions
from discreet.errors import TableError
from discreet.tables import Dimension, Figure, figure_dimension
from discreet.tables.dimension import parts_with_figures, within


def found(*codes: str, **more: Any) -> Classification:
    return Classification.flat("country", codes).replace(found="all", **more)


def joint(*trees: Classification) -> Dimension:
    tables = {f"t{at}": (Dimension(classifications=(tree,)),) for at, tree in enumerate(trees)}
    (dimension,) = common_dimensions(tables)
    return dimension


def test_found_codes_are_joined_in_natural_order() -> None:
    assert joint(found("10", "9"), found("2", "10")).codes == ("Total", "2", "9", "10")
    assert joint(found("b"), found("a"), found("a", "b")).codes == ("Total", "a", "b")
    assert joint(found("b"), found()).codes == ("Total", "b")


def test_the_longest_list_keeps_its_order() -> None:
    assert joint(found("z", "a", "k"), found("a")).codes == ("Total", "z", "a", "k")


def test_joined_codes_stay_found_and_keep_their_labels() -> None:
    one = found("a", labels={"a": {"en": "Austria"}})
    other = found("b", labels={"b": {"en": "Belgium"}})
    dimension = joint(one, other)
    assert dimension.found.tolist() == [False, True, True]
    assert dimension.labels("en") == ("Total", "Austria", "Belgium")


def test_trees_are_joined_below_their_parents() -> None:
    def tree(codes: tuple[str, ...], parents: tuple[int, ...]) -> Classification:
        return Classification(name="region", codes=codes, parents=parents, found="all")

    one = tree(("Total", "N", "N2", "S", "S1"), (-1, 0, 1, 0, 3))
    other = tree(("Total", "N", "N1", "W", "W1"), (-1, 0, 1, 0, 3))
    dimension = joint(one, other)
    assert dimension.codes == ("Total", "N", "N1", "N2", "S", "S1", "W", "W1")
    assert dimension.parents.tolist() == [-1, 0, 1, 1, 0, 4, 0, 6]


def test_missing_values_stand_last_and_may_be_absent() -> None:
    stated = Classification.flat("sex", ["m", "w"])
    assert joint(stated, stated.with_missing()).codes == ("Total", "m", "w", "Missing")
    assert joint(found("z").with_missing(), found("a")).codes == ("Total", "a", "z", "Missing")


def test_stated_codes_must_agree() -> None:
    stated = Classification.flat("country", ["a", "b"])
    assert joint(stated, found("a", "c", "b")).codes == ("Total", "a", "c", "b")
    for other in (Classification.flat("country", ["a"]), found("c")):
        with pytest.raises(TableError, match="country has other codes in"):
            joint(stated, other)


def test_labels_do_not_make_codes_differ() -> None:
    plain = Classification.flat("sex", ["m", "w"])
    named = Classification.flat("sex", ["m", "w"], labels={"m": {"de": "männlich"}})
    assert joint(plain, named).codes == plain.codes


def test_positions_of_codes_in_the_joint_list() -> None:
    one, other = found("b"), found("a")
    dimension = joint(one, other)
    own = Dimension(classifications=(one,))
    assert positions(own, dimension).tolist() == [0, 2]


@pytest.mark.parametrize("count", [2, 3])
def test_parts_of_a_table_with_several_figures(count: int) -> None:
    """Whatever the figure, the cells on the part are within it, and no others."""
    figures = figure_dimension([Figure(name=f"f{k}") for k in range(count)])
    sex = Dimension(classifications=(Classification.flat("sex", ["m", "w"]),))
    dimensions = (sex, figures)
    places = np.array([divmod(k, count) for k in range(3 * count)], dtype=np.int32)
    index = (places[:, 0], places[:, 1])
    parts = parts_with_figures(frozenset({(0,)}), dimensions)
    inside = within(dimensions, index, 3 * count, parts)
    assert inside.tolist() == (places[:, 0] > 0).tolist()
    assert parts_with_figures(frozenset(), dimensions) == frozenset()
