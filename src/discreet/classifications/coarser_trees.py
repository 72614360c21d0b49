"""Coarser trees: codes folded into the one above them, neighbours merged. Public.

In: a `Classification` and some of its codes. Out: a coarser one, and the code there of each
finest code, so that records and cells can be carried over. The finest codes must be values
of a column: intervals and level columns are made coarser where they are made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from discreet.classifications.classification import Classification
from discreet.errors import ClassificationError, Problem, raise_all

#: The coarser tree, and the code in it of each of the finest codes before.
Coarser = tuple[Classification, Mapping[str, str]]


def folded(tree: Classification, codes: Collection[str]) -> Coarser:
    """The tree without what stands below some codes.

    >>> region = Classification.from_prefixes("region", ["11", "12", "21"], [1, 2])
    >>> coarser, code_of = folded(region, ["1"])
    >>> coarser.codes, code_of["12"]
    (('Total', '1', '2', '21'), '1')
    """
    _check(tree, codes)
    top = list(range(len(tree)))  # the highest folded code above each, or itself
    for at, parent in enumerate(tree.parents):
        if at and (top[parent] != parent or tree.codes[parent] in codes):
            top[at] = top[parent]
    keep = np.array([at == own for at, own in enumerate(top)], dtype=np.bool_)
    code_of = {code: tree.codes[top[tree.index[code]]] for code in tree.leaves}
    return tree.restricted(keep), code_of


def levels_folded(tree: Classification, depth: int) -> Coarser:
    """The tree with so many levels below the total."""
    deep = [code for code, level in zip(tree.codes, tree.levels, strict=True) if level == depth]
    return folded(tree, deep)


def merged(tree: Classification, codes: Sequence[str], into: str) -> Coarser:
    """The tree with some of its finest codes, all with one parent, as one code.

    >>> branch = Classification.flat("branch", ["a", "b", "c"])
    >>> coarser, code_of = merged(branch, ["a", "c"], "a+c")
    >>> coarser.codes, code_of["c"], code_of["b"]
    (('Total', 'a+c', 'b'), 'a+c', 'b')
    """
    _check(tree, codes)
    inner = [code for code in codes if code not in tree.leaves]
    problems = [Problem(f"code {code!r} has codes below it", tree.name) for code in inner]
    if len({tree.parents[tree.index[code]] for code in codes}) > 1:
        problems.append(Problem("the codes have different parents", tree.name))
    if into in tree.index and into not in codes:
        problems.append(Problem(f"code {into!r} exists already", tree.name))
    raise_all(ClassificationError, problems, code="merge", where=tree.name)
    first, *others = codes
    cut = tree.restricted(np.array([code not in others for code in tree.codes], dtype=np.bool_))
    names = tuple(into if code == first else code for code in cut.codes)
    labels = {code: texts for code, texts in cut.labels.items() if code != first}
    code_of = {code: into if code in codes else code for code in tree.leaves}
    return cut.replace(codes=names, labels=labels), code_of


def _check(tree: Classification, codes: Collection[str]) -> None:
    unknown = [code for code in codes if code not in tree.index or code == tree.total]
    problems = [Problem(f"code {code!r} not found", tree.name) for code in unknown]
    if tree.bounds is not None or tree.level_columns:
        message = (
            "a classification from intervals or level columns cannot be made coarser here; "
            "change its bounds or columns"
        )
        problems.append(Problem(message, tree.name))
    if not codes:
        problems.append(Problem("no code given", tree.name))
    raise_all(ClassificationError, problems, code="merge", where=tree.name)
