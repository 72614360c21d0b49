"""Common spanning variables of tables with different filters. Public.

In: the spanning variables of several protected figures. Out: one list of them, and where
each table's codes stand in it. Code lists may differ only where they were found in the
data: a filter leaves out codes that then do not occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from discreet.classifications import Classification
from discreet.classifications.order import natural_order
from discreet.errors import Problem, TableError, shortened
from discreet.tables import Dimension

__all__ = ["common_dimensions", "positions"]

IndexArray = npt.NDArray[np.int32]
Spanning = tuple[Dimension, ...]

_MOST_PROBLEMS = 10


def common_dimensions(tables: Mapping[str, Spanning]) -> Spanning:
    """The spanning variables of all tables, with the codes of all of them.

    Args:
        tables: name → spanning variables.
    """
    problems = list(_problems(tables))
    if problems:
        raise TableError(
            problems[0].what if len(problems) == 1 else "the ingredients do not fit together",
            code="dimensions",
            where=problems[0].where,
            hint=problems[0].hint,
            problems=shortened(problems, _MOST_PROBLEMS),
        )
    return tuple(_joint(same) for same in zip(*tables.values(), strict=True))


def positions(own: Dimension, common: Dimension) -> IndexArray:
    """Where each code of a variable stands in the common list."""
    return np.array([common.index[code] for code in own.codes], dtype=np.int32)


def _problems(tables: Mapping[str, Spanning]) -> Iterator[Problem]:
    (first, reference), *others = tables.items()
    names = [dimension.name for dimension in reference]
    for name, dimensions in others:
        if [dimension.name for dimension in dimensions] != names:
            what = f"the spanning variables differ from those of {first}"
            hint = "tabulate both by the same variables, in the same order"
            yield Problem(what, name, hint)
            continue
        for known, given in zip(reference, dimensions, strict=True):
            if len(known.classifications) != len(given.classifications):
                what = f"{given.name} has other classifications than in {first}"
                yield Problem(what, name)
                continue
            for tree, other in zip(known.classifications, given.classifications, strict=True):
                yield from _tree_problems(tree, other, first, name)


def _tree_problems(
    tree: Classification, other: Classification, first: str, name: str
) -> Iterator[Problem]:
    above = _parents(tree)
    shared = {code: parent for code, parent in _parents(other).items() if code in above}
    if tree.total != other.total:
        yield Problem(f"{other.name} has another total than in {first}", name)
        return
    if any(above[code] != parent for code, parent in shared.items()):
        yield Problem(f"codes of {other.name} stand below others than in {first}", name)
    for more, fewer in ((tree, other), (other, tree)):
        left = set(more.codes) - set(fewer.codes)
        if more.found == "missing":
            left -= {more.missing}
        if left and more.found != "all":
            what = f"the codes of {other.name} differ from those in {first}"
            yield Problem(what, name, "use one classification for both tables")
            return


def _parents(tree: Classification) -> dict[str, str | None]:
    above: list[str | None] = [tree.codes[at] for at in tree.parents[1:]]
    return dict(zip(tree.codes, [None, *above], strict=True))


def _joint(same: Sequence[Dimension]) -> Dimension:
    trees = zip(*(dimension.classifications for dimension in same), strict=True)
    joint = tuple(_joint_tree(alternatives) for alternatives in trees)
    return Dimension(classifications=joint, name=same[0].name)


def _joint_tree(trees: Sequence[Classification]) -> Classification:
    every = {code for tree in trees for code in tree.codes}
    found = max((tree.found for tree in trees), key=("none", "missing", "all").index)
    for tree in trees:
        if len(tree.codes) == len(every):  # the longest list keeps its order
            return tree if tree.found == found else tree.replace(found=found)
    parents: dict[str, str | None] = {}
    labels: dict[str, Mapping[str, str]] = {}
    for tree in trees:
        parents.update(_parents(tree))
        labels = {**tree.labels, **labels}
    codes = list(_ordered(parents, trees[0]))
    at = {code: position for position, code in enumerate(codes)}
    above = [parents[code] for code in codes]
    return trees[0].replace(
        codes=tuple(codes),
        parents=tuple(-1 if parent is None else at[parent] for parent in above),
        labels=labels,
        found=found,
    )


def _ordered(parents: Mapping[str, str | None], tree: Classification) -> Iterator[str]:
    """Codes in tree order, siblings in natural order, missing values last."""
    children: dict[str, list[str]] = {}
    for code, parent in parents.items():
        if parent is not None:
            children.setdefault(parent, []).append(code)
    waiting = [tree.total]
    while waiting:
        code = waiting.pop()
        yield code
        below = children.get(code, [])
        listed = natural_order(part for part in below if part != tree.missing)
        listed += [part for part in below if part == tree.missing]
        waiting.extend(reversed(listed))
