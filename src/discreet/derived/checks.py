"""What can be wrong with ingredients and figures, all of it at once. Public.

In: the arguments of `derive`. Out: nothing, or a `TableError` that lists every problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from discreet.derived.key_figure import KeyFigure, is_limit
from discreet.errors import Problem, TableError, shortened
from discreet.perturbation.ingredient import Ingredient
from discreet.tables import Dimension
from discreet.tables.figures import FIGURE

__all__ = ["check_arguments", "check_codes"]

_MOST_PROBLEMS = 10


def check_arguments(ingredients: Any, figures: Any, bracket_above: Any, found_codes: Any) -> None:
    """Refuse what is no ingredient, no figure or no option."""
    problems = list(_type_problems(ingredients, figures))
    if bracket_above is not None and not is_limit(bracket_above):
        problems.append(Problem("bracket_above is a number of at least 0", "bracket_above"))
    if found_codes not in ("list", "hide"):
        problems.append(Problem('found_codes is "list" or "hide"', "found_codes"))
    _refuse(problems, "argument")
    _refuse(list(_name_problems(ingredients, figures)), "key-figure")


def check_codes(figures: Sequence[KeyFigure], dimensions: Sequence[Dimension]) -> None:
    """Refuse figures that name variables or codes that the table has not."""
    problems = [problem for figure in figures for problem in _code_problems(figure, dimensions)]
    if len(figures) > 1 and any(dimension.name == FIGURE for dimension in dimensions):
        what = f"no spanning variable may be called {FIGURE!r} in a table of several figures"
        problems.append(Problem(what, FIGURE))
    _refuse(problems, "key-figure")


def _refuse(problems: Sequence[Problem], code: str) -> None:
    if problems:
        raise TableError(
            problems[0].what if len(problems) == 1 else f"{len(problems)} mistakes in key figures",
            code=code,
            where=problems[0].where if len(problems) == 1 else "",
            hint=problems[0].hint,
            problems=shortened(problems, _MOST_PROBLEMS),
        )


def _type_problems(ingredients: Any, figures: Any) -> Iterator[Problem]:
    if not isinstance(ingredients, Mapping):
        yield Problem("ingredients are given by name", "ingredients", 'such as {"people": …}')
    else:
        for name, made in ingredients.items():
            if not isinstance(made, Ingredient):
                what = f"an Ingredient is needed, this is a {type(made).__name__}"
                hint = "make it with count_ingredient or magnitude_ingredient"
                yield Problem(what, str(name), hint)
    if not isinstance(figures, Sequence) or isinstance(figures, str):
        yield Problem("a list of key figures is needed", "figures")
        return
    for at, figure in enumerate(figures):
        if not isinstance(figure, KeyFigure):
            what = f"a KeyFigure is needed, this is a {type(figure).__name__}"
            yield Problem(what, f"figures[{at}]")


def _name_problems(
    ingredients: Mapping[str, Ingredient], figures: Sequence[KeyFigure]
) -> Iterator[Problem]:
    if not any(not figure.hidden for figure in figures):
        what = "all figures are hidden" if figures else "there is no figure"
        yield Problem(what, "figures", "a table needs one that is shown")
    for name, times in Counter(figure.name for figure in figures).items():
        if times > 1:
            yield Problem(f"{times} figures have this name", name)
    names = {figure.name for figure in figures}
    for figure in figures:
        for name in figure.ingredients:
            if name not in ingredients:
                hint = _advice(name, ingredients, names)
                yield Problem(f"there is no ingredient {name!r}", figure.name, hint)
        if figure.shown in ingredients:
            made = ingredients[figure.shown].protected.figures
            kind = made[0].kind if made else "count"  # a plain count names no figure
            if figure.kind not in (kind, "sum" if kind == "count" else kind):
                what = f"a {kind} cannot be shown as a {figure.kind}"
                yield Problem(what, figure.name, f'write kind="{kind}"')


def _advice(name: str, ingredients: Mapping[str, Ingredient], figures: set[str]) -> str:
    if name in figures:
        return "figures are made of ingredients, not of other figures"
    near = get_close_matches(name, list(ingredients), n=1)
    known = f"ingredients: {', '.join(ingredients)}" if ingredients else ""
    return f"did you mean {near[0]!r}?" if near else known


def _code_problems(figure: KeyFigure, dimensions: Sequence[Dimension]) -> Iterator[Problem]:
    known = {dimension.name: dimension for dimension in dimensions}
    for variable in (*figure.over, *figure.base):
        if variable not in known:
            hint = f"variables: {', '.join(known)}" if known else ""
            yield Problem(f"the table has no variable {variable!r}", figure.name, hint)
    for variable, code in figure.base.items():
        if variable in known and code not in known[variable].index:
            yield Problem(f"{variable} has no code {code!r}", figure.name)
