"""Which conditions decide what an R script changes.

In: the syntax tree. Out: for each condition the names that are changed only if it holds, or as
often as it holds: ``for (v in d$x) n <- n + 1`` counts the records, and reads none.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.output_checking.scripts.r_tree import Node

__all__ = ["ASSIGNS", "RFlows", "assigned", "conditions_of", "is_assignment", "root_of"]

ASSIGNS = ("<-", "<<-", "=", ":=", "->", "->>")
_OUTWARD = ("<<-", "->>")
#: Functions whose first argument decides which of the others run.
_DECIDING = frozenset(
    (
        *("switch", "ifelse", "if_else", "tryCatch", "try", "withCallingHandlers"),
        *("sapply", "lapply", "vapply", "Map", "mapply", "Reduce", "Filter", "apply", "tapply"),
        *("map", "walk", "with", "within", "by", "aggregate", "purrr::walk", "purrr::map"),
    )
)


class RFlows:
    r"""The flow of control through one script.

    Args:
        tree: Its top-level expressions.

    >>> from discreet.output_checking.scripts.r_tree import parse_r
    >>> [sorted(names) for _, names in RFlows(parse_r("for (v in d) n <- n + 1")).under]
    [['n']]
    """

    def __init__(self, tree: list[Node]) -> None:
        #: Conditions under which a loop or function is left early, by the id of its node.
        self.jumps: dict[int, list[Node]] = {}
        #: Conditions, and what is changed under them.
        self.under: list[tuple[Node, set[str]]] = []
        #: What functions change outside of themselves: how often they run is not known.
        self.loose: set[str] = set()
        for top in tree:
            self._find_jumps(top, ())
        for top in tree:
            self._visit(top, (), inside=False)

    def _find_jumps(self, node: Node, frames: tuple[tuple[str, Node], ...]) -> None:
        """Note what guards each `break`, `next` and `return`."""
        kind = ""
        if node.kind == "name" and node.value in ("break", "next"):
            kind = "loop"
        elif node.kind == "call" and node.parts[0].value in ("return", "stop", "invokeRestart"):
            kind = "function"
        if kind:
            guards: list[Node] = []
            for each, what in reversed(frames):
                if each == kind:
                    self.jumps.setdefault(id(what), []).extend(guards)
                    break
                if each == "condition":
                    guards.append(what)
        inner = frames
        if node.kind in ("for", "while", "repeat"):
            inner = (*inner, ("loop", node))
        elif node.kind == "function":
            inner = (*inner, ("function", node))
        for child, conditions in conditions_of(node):
            self._find_jumps(child, (*inner, *(("condition", each) for each in conditions)))

    def _visit(self, node: Node, names: tuple[set[str], ...], *, inside: bool) -> None:
        found = assigned(node)
        for each in names:
            each.update(name for name, _ in found)
        if inside and node.kind == "binary" and node.value in _OUTWARD:
            self.loose.update(name for name, _ in found)
        names = (*names, *self._sets(self.jumps.get(id(node), [])))
        inner: tuple[set[str], ...] | None = None
        for child, conditions in conditions_of(node):
            if conditions and inner is None:
                inner = (*names, *self._sets(conditions))
            under = inner if conditions and inner is not None else names
            self._visit(child, under, inside=inside or node.kind == "function")

    def _sets(self, conditions: list[Node]) -> tuple[set[str], ...]:
        made = [(each, set[str]()) for each in conditions]
        self.under.extend(made)
        return tuple(names for _, names in made)


def conditions_of(node: Node) -> Iterator[tuple[Node, list[Node]]]:
    """The parts of a node, each with the conditions under which it runs.

    Args:
        node: The node.
    """
    conditions: list[Node] = []
    first = node.parts[0] if node.parts else node
    if node.kind in ("if", "while", "for") or (
        node.kind == "binary" and node.value in ("&&", "||")
    ):
        conditions = [first]
    elif node.kind == "call" and len(node.parts) > 1 and _word(first) in _DECIDING:
        conditions, first = [node.parts[1]], node.parts[1]
    for child in node.parts:
        yield child, [] if child is first else conditions


def _word(function: Node) -> str:
    if function.kind == "binary" and function.value in ("::", ":::"):
        return function.parts[1].value
    return function.value if function.kind in ("name", "string") else ""


def is_assignment(node: Node) -> bool:
    """Whether a node assigns.

    Args:
        node: The node.
    """
    return node.kind == "binary" and node.value in ASSIGNS


def assigned(node: Node) -> list[tuple[str, Node | None]]:
    """The names that a node itself changes, with what is put into them; None if not known.

    Args:
        node: The node.
    """
    if is_assignment(node):
        target, value = node.parts if node.value[0] != "-" else reversed(node.parts)
        # `!!name := value` names a column by what `name` holds, which stays as it is.
        name = root_of(target) if target.kind != "unary" else ""
        # Where something is put tells as much as what: ``flags[max(d$x)] <- 1``.
        return [(name, value), *((name, each) for each in _places(target))] if name else []
    if node.kind == "for":
        return [(node.value, node.parts[0])]
    if node.kind == "function":
        return [(name, None) for name in node.names if name]
    if node.kind == "binary" and node.value == "%<>%" and (name := root_of(node.parts[0])):
        return [(name, None)]
    return []


def _places(node: Node) -> list[Node]:
    """The indexes of a target."""
    found: list[Node] = []
    while node.kind in ("index", "call", "binary") and node.parts:
        if node.kind == "binary":
            node = node.parts[0]
            continue
        inner = 1 if node.kind == "call" and len(node.parts) > 1 else 0
        found += [each for each in node.parts[inner + 1 :] if each.kind != "missing"]
        node = node.parts[inner]
    return found


def root_of(node: Node) -> str:
    """The name that an assignment changes: ``x`` in ``names(x)[1]$a <- …``.

    Args:
        node: What is assigned to.
    """
    while node.kind not in ("name", "string"):
        if node.kind == "call":
            if len(node.parts) < 2:
                return ""
            node = node.parts[1]
        elif node.parts:
            node = node.parts[0]
        else:
            return ""
    return node.value
