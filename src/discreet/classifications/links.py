"""From links between codes and their parents to a tree in tree order.

In: one link per code, in any order. Out: a checked `CodeTree`, in which every code
stands below its parent and the children of one parent stand in the order given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from discreet.classifications.checks import raise_problems
from discreet.classifications.tree import CodeTree
from discreet.classifications.unknown import suggestion
from discreet.errors import Problem

__all__ = ["Link", "flat_tree", "tree_from_links"]


class Link(NamedTuple):
    """A code, the code above it ("" for the total), and where this was written."""

    child: str
    parent: str
    where: str = ""


def tree_from_links(name: str, links: Sequence[Link], total: str, **fields: object) -> CodeTree:
    """The tree that the links describe.

    Args:
        name: Name of the variable.
        links: One per code but the total.
        total: Code of the total.
        fields: Further fields of the tree.
    """
    problems = [*_text_problems(name, links), *_double_problems(name, links, total)]
    raise_problems(name, problems)
    raise_problems(name, _orphan_problems(name, links, total))
    codes, parents = _walk(links, total)
    if len(codes) <= len(links):
        raise_problems(name, _cycle_problems(name, links, set(codes)))
    tree: CodeTree = CodeTree(
        name=name,
        codes=tuple(codes),
        parents=tuple(parents),
        **fields,  # type: ignore[arg-type]
    )
    return tree


def flat_tree(name: str, codes: Iterable[str], total: str) -> CodeTree:
    """The tree of codes that all stand directly below the total."""
    given: object = codes
    if isinstance(given, str):
        problem = Problem(f"{codes!r} is one text, not a list of codes", name, 'such as ["m", "w"]')
        raise_problems(name, [problem])
    if not isinstance(given, Iterable):
        raise_problems(name, [Problem("the codes are not a list", name, 'such as ["m", "w"]')])
    return tree_from_links(name, [Link(code, "") for code in codes], total)


def _text_problems(name: str, links: Sequence[Link]) -> Iterator[Problem]:
    for link in links:
        codes: tuple[object, object] = (link.child, link.parent)
        for code in codes:
            if not isinstance(code, str):
                hint = f"codes are texts; write {str(code)!r}"
                yield Problem(f"code {code!r} is not a text", link.where or name, hint)
        if link.child == "":
            hint = "give it a code, or make it missing in the data"
            yield Problem("a code is empty", link.where or name, hint)


def _double_problems(name: str, links: Sequence[Link], total: str) -> Iterator[Problem]:
    first: dict[str, Link] = {}
    for link in links:
        where = link.where or name
        if link.child == total:
            hint = "name another total code with total=, or leave the total out"
            yield Problem(f"code {link.child!r} clashes with the total", where, hint)
            continue
        other = first.setdefault(link.child, link)
        if other is link:
            continue
        before = f" (first in {other.where})" if other.where else ""
        if (other.parent or total) == (link.parent or total):
            yield Problem(f"code {link.child!r} is listed twice{before}", where)
        else:
            one, two = other.parent or total, link.parent or total
            what = f"code {link.child!r} stands below {one!r} and below {two!r}{before}"
            yield Problem(what, where, "codes are unique within a tree; add the parent's code")


def _orphan_problems(name: str, links: Sequence[Link], total: str) -> list[Problem]:
    known = {link.child for link in links} | {total, ""}
    problems = []
    for link in links:
        if link.parent not in known:
            near = suggestion(link.parent, known - {total, ""})
            hint = f"did you mean {near!r}?" if near else f"list {link.parent!r} as a code too"
            what = f"the parent {link.parent!r} of code {link.child!r} is not among the codes"
            problems.append(Problem(what, link.where or name, hint))
    return problems


def _walk(links: Sequence[Link], total: str) -> tuple[list[str], list[int]]:
    """Codes and positions of parents in tree order, from the total downwards."""
    children: dict[str, list[str]] = {}
    for link in links:
        children.setdefault(link.parent or total, []).append(link.child)
    codes: list[str] = []
    parents: list[int] = []
    waiting = [(total, -1)]
    while waiting:
        code, parent = waiting.pop()
        at = len(codes)
        codes.append(code)
        parents.append(parent)
        waiting.extend((child, at) for child in reversed(children.get(code, ())))
    return codes, parents


def _cycle_problems(name: str, links: Sequence[Link], reached: set[str]) -> list[Problem]:
    above = {link.child: link for link in links if link.child not in reached}
    problems = []
    done: set[str] = set()
    for start in above:
        path: dict[str, None] = {}
        code = start
        while code not in done and code not in path:
            path[code] = None
            code = above[code].parent
        if code in path:
            problems.append(_cycle_problem(name, list(path), code, above))
        done.update(path)
    return problems


def _cycle_problem(name: str, path: list[str], code: str, above: Mapping[str, Link]) -> Problem:
    circle = [*path[path.index(code) :], code]
    shown = circle if len(circle) <= 12 else [*circle[:10], "…", code]
    chain = " → ".join(item if item == "…" else repr(item) for item in shown)
    where = above[code].where or name
    return Problem(f"codes run in a circle: {chain}", where, "each code needs a way to the total")
