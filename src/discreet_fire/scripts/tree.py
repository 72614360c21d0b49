"""The tree of a script in R or Python, in one form, and what its nodes bind and hand out.

In: nodes that a reader of the language made. Out: their parts, roots and texts, the names that they
give values to, and the conditions under which their parts run. Nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    """A part of a script.

    Both languages have names, numbers, texts, calls (the function first, then arguments with their
    names or None), places in brackets (``index``), ``binary`` (also assignments, ``<-``, and parts
    of objects, ``$``), ``unary``, ``function`` (what it gets by default, then its body; its names
    are those of its parameters), ``block``, ``paren``, ``if``, ``for`` (target, values, body),
    ``while``, ``repeat`` and ``missing``. Python has more.
    """

    kind: str
    value: str  # a name, text or operator
    start: int
    end: int
    parts: list[Node] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    stored: bool = False  # whether something is put there, so that it cannot be a call
    formatted: ast.AST | None = None  # what it is within a formatted text, whose place it has

    def walk(self) -> Iterator[Node]:
        """The node and all below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))

    @property
    def span(self) -> tuple[int, int]:
        """Where it starts and ends in the text."""
        return self.start, self.end


ASSIGNS = ("<-", "<<-", "=", ":=", "->", "->>")
PARTS = ("$", "@")
LOOPS = ("for", "comprehension", "while", "repeat")


def is_assignment(node: Node) -> bool:
    """Whether a node assigns."""
    return node.kind == "binary" and node.value in ASSIGNS


def is_part(node: Node) -> bool:
    """Whether a node is a part of an object by its name."""
    return node.kind == "binary" and node.value in PARTS


def is_column(node: Node) -> bool:
    """Whether an expression may be a column of a frame: ``df.x``, ``d$x``, ``d[["x"]]``."""
    last = node.parts[-1] if node.parts else node
    return is_part(node) or (node.kind == "index" and last.kind == "string")


def sides(node: Node) -> tuple[Node, Node]:
    """Target and value of an assignment."""
    left, right = node.parts
    return (right, left) if node.value[0] == "-" else (left, right)


def arguments(call: Node) -> Iterator[tuple[str | None, Node]]:
    """The arguments of a call with their names."""
    return zip(call.names, call.parts[1:], strict=True)


def word_of(function: Node) -> str:
    """The last word of the name of a function; empty if it has none."""
    while function.kind == "binary" and function.value in (*PARTS, "::", ":::"):
        function = function.parts[1]
    return function.value if function.kind in ("name", "string", "word") else ""


def text_of(node: Node) -> str | None:
    """A text that is written out, perhaps in parts."""
    if node.kind == "string":
        return node.value
    if node.kind == "binary" and node.value == "+":
        texts = [text_of(part) for part in node.parts]
        return None if None in texts else "".join(map(str, texts))
    return None


def object_of(node: Node) -> Node:
    """What stands at the beginning of ``object.part[0].part``."""
    while node.kind == "index" or is_part(node) or (node.kind, node.value) == ("unary", "*"):
        node = node.parts[0]
    return node


def root_of(node: Node) -> str:
    """The name at the beginning of ``name.part[0].part()``, or of ``names(name)[1]`` in R."""
    node = object_of(node)
    while node.kind == "call" and (len(node.parts) > 1 or is_part(node.parts[0])):
        node = object_of(node.parts[0 if is_part(node.parts[0]) else 1])
    return node.value if node.kind in ("name", "string") else ""


def roots_of(node: Node) -> set[str]:
    """All names whose objects an expression may hand out: ``a`` and ``b`` in ``f(a, b).part``."""
    node = object_of(node)
    if node.kind == "name":
        return {node.value}
    if node.kind in ("call", "holder", "dict", "if", "bound") or node.value in ("and", "or", "<-"):
        return set[str]().union(*map(roots_of, node.parts))
    return set()


def places_of(target: Node) -> Iterator[Node]:
    """The places in brackets of what something is put into."""
    while target.parts and target.kind in ("index", "call", "binary", "unary"):
        inner = 1 if target.kind == "call" and len(target.parts) > 1 else 0
        if target.kind in ("index", "call"):
            yield from (part for part in target.parts[inner + 1 :] if part.kind != "missing")
        target = target.parts[inner]


#: A name, what it is given (None if that cannot be known), and whether the whole name is.
Binding = tuple[str, Node | None, bool]


def stored_in(target: Node, value: Node | None) -> Iterator[Binding]:
    """The names that a target gives a value to."""
    if target.kind in ("name", "string"):
        yield target.value, value, True
    elif target.kind == "holder":
        values: Sequence[Node | None] = [value] * len(target.parts)
        plain = value is not None and value.kind == "holder" and len(value.parts) == len(values)
        if plain and value is not None and not any(p.kind == "unary" for p in target.parts):
            values = value.parts
        for part, inputs in zip(target.parts, values, strict=True):
            yield from stored_in(part, inputs)
    elif target.kind == "unary":
        # `!!name := value` names a column by what `name` holds, which stays as it is.
        yield from stored_in(target.parts[0], value) if target.value == "*" else ()
    else:
        # Where something is put tells as much as what: ``flags[max(d$x)] <- 1``.
        first = object_of(target)
        in_python = first.kind == "call" and target.stored
        for name in roots_of(first) if in_python else filter(None, {root_of(target)}):
            yield name, value, False
            yield from ((name, place, False) for place in places_of(target))


def bindings_of(node: Node) -> Iterator[Binding]:
    """The names that a node itself gives values to."""
    if is_assignment(node):
        yield from stored_in(*sides(node))
    elif node.kind in ("for", "comprehension"):
        values = node.parts[1]
        item = Node("item", "", values.start, values.end, [values])
        yield from stored_in(node.parts[0], item if is_column(values) else values)
    elif node.kind == "function":
        yield from ((name, None, True) for name in node.names if name)
    elif node.kind in ("handler", "capture") and node.value:
        yield node.value, None, True
    elif node.kind == "delete":
        for target in node.parts:
            for place in target.parts[1:] if target.kind == "index" else ():
                yield from ((name, place, False) for name in roots_of(target))


def conditions_of(node: Node, decides: bool = False) -> tuple[list[Node], Sequence[Node]]:
    """The conditions under which parts of a node run, and the parts that run whatever they say.

    The first argument of a call `decides` whether, or how often, the others run.
    """
    parts = node.parts
    if node.kind == "while":  # also what its own condition counts up
        return parts[:1], ()
    if node.kind in ("if", "match"):
        return parts[:1], parts[:1]
    if node.kind in ("for", "comprehension"):
        return parts[1:2], parts[1:2]
    if node.kind == "binary" and node.value in ("&&", "||", "and", "or"):
        return parts[:1], parts[:1]
    if node.kind == "case" and parts[1].kind != "missing":
        return parts[1:2], parts[1:2]
    if node.kind == "try":
        return failing(parts[0]), ()
    if node.kind == "call" and decides and len(parts) > 1:
        return parts[1:2], parts[:2]
    return [], parts


def failing(body: Node) -> list[Node]:
    """The expressions that decide whether the body of a `try` fails."""
    result: list[Node] = []
    waiting = list(body.parts)
    while waiting:
        one = waiting.pop()
        inside = [part for part in one.parts if part.kind not in ("block", "missing")]
        result += inside or ([one] if one.kind != "block" and not one.parts else [])
        waiting += [part for part in one.parts if part.kind == "block" or part.kind in LOOPS]
        waiting += one.parts if one.kind == "block" else []
    return result


def returned_by(function: Node) -> list[Node]:
    """What a function may give back."""
    last = function.parts[-1]
    while last.kind in ("block", "paren") and last.parts:
        last = last.parts[-1]
    inputs = [last] if last.kind != "return" else []
    for node in function.walk():
        if node.kind == "return" or (node.kind == "call" and node.parts[0].value == "return"):
            inputs += node.parts[-1:] if node.kind == "return" else node.parts[1:2]
    return inputs


def methods_of(node: Node) -> list[Node]:
    """The methods of a class, also those that stand in an `if` or `try` of its body."""
    methods: list[Node] = []
    waiting = list(node.parts)
    while waiting:
        item = waiting.pop(0)
        if item.kind == "define":
            methods.append(item)
        elif item.kind != "class":
            waiting += item.parts
    return methods
