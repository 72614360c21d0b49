"""Single key figures: a share, a ratio, a change, each as a table of its own.

In: confidential `Ingredient`s. Out: a `ProtectedTable` with one figure, as `derive`
makes it; options are those of `KeyFigure` and `derive`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.derived.derivation import derive
from discreet.derived.key_figure import KeyFigure
from discreet.tables import FigureKind, Ingredient, ProtectedTable

_OF_FIGURES = frozenset({"factor", "decimals", "unit", "shared_key"})


def share(
    part: Ingredient,
    whole: Ingredient | None = None,
    *,
    over: Sequence[str] = (),
    **options: Any,
) -> ProtectedTable:
    """The share of a part in a whole, in per cent.

    Args:
        part: What is shared.
        whole: What it is a share of; with `over`, the same figure if None.
        over: Share of the total over these variables.
        options: ``decimals``, ``unit``, and those of `derive`.

    >>> from discreet.derived.examples import people
    >>> share(people, over=["sex"]).to_polars()["value"].to_list()
    [100.0, 75.0, 37.5]
    """
    return _single("share", part, whole, options, over=over)


def ratio(part: Ingredient, whole: Ingredient, **options: Any) -> ProtectedTable:
    """The ratio of two figures, such as persons per household; ``factor`` multiplies it.

    Say ``shared_key=True`` where households have the plain sums of their persons' keys.

    >>> from discreet.derived.examples import people
    >>> ratio(people, people, factor=10, decimals=0).to_polars()["value"].to_list()
    [10.0, 10.0, 10.0]
    """
    return _single("ratio", part, whole, options)


def per_thousand(part: Ingredient, whole: Ingredient, **options: Any) -> ProtectedTable:
    """Events per thousand units.

    >>> from discreet.derived.examples import people
    >>> per_thousand(people, people).get("m")
    1000.0
    """
    return _single("per_thousand", part, whole, options)


def mean(total: Ingredient, count: Ingredient, **options: Any) -> ProtectedTable:
    """The mean as protected sum / protected count.

    >>> from discreet.derived.examples import people
    >>> mean(people, people).figures[0].decimals
    2
    """
    return _single("mean", total, count, options)


def rate_of_change(
    now: Ingredient,
    before: Ingredient | None = None,
    *,
    base: Mapping[str, str] | None = None,
    **options: Any,
) -> ProtectedTable:
    """The change from an earlier figure, in per cent of that figure; at least −100.

    Args:
        now: The figure.
        before: The earlier figure; with `base`, the same figure if None.
        base: variable → code that holds the earlier figure, such as a year.
        options: ``decimals``, ``unit``, and those of `derive`.

    >>> from discreet.derived.examples import people
    >>> rate_of_change(people, base={"sex": "m"}).get("w")
    -50.0
    """
    return _single("change", now, before, options, base=base or {})


def balance(part: Ingredient, whole: Ingredient, **options: Any) -> ProtectedTable:
    """Inflow less outflow; 0 where its sign would be wrong.

    >>> from discreet.derived.examples import people
    >>> balance(people, people).to_polars()["value"].to_list()
    [0, 0, 0]
    """
    return _single("balance", part, whole, options)


def index_figure(
    now: Ingredient,
    at_base: Ingredient | None = None,
    *,
    base: Mapping[str, str] | None = None,
    **options: Any,
) -> ProtectedTable:
    """A figure as an index, 100 at its base.

    Args:
        now: The figure.
        at_base: The figure at its base; with `base`, the same figure if None.
        base: variable → code of the base, such as a year.
        options: ``decimals``, ``unit``, and those of `derive`.

    >>> from discreet.derived.examples import people
    >>> index_figure(people, base={"sex": "m"}).get("w")
    50.0
    """
    return _single("index", now, at_base, options, base=base or {})


def _single(
    kind: FigureKind,
    part: Ingredient,
    whole: Ingredient | None,
    options: Mapping[str, Any],
    **more: Any,
) -> ProtectedTable:
    ingredients = {"part": part}
    if whole is not None:
        ingredients["whole"] = whole
        more["whole"] = "whole"
    own = {name: value for name, value in options.items() if name in _OF_FIGURES}
    rest = {name: value for name, value in options.items() if name not in _OF_FIGURES}
    figure = KeyFigure(
        name=kind, kind=kind, part="part", titles=options.get("titles") or {}, **own, **more
    )
    return derive(ingredients, [figure], **rest)
