"""Single values of an R script that are handed to many records, and labels made of data.

In: what names stand for. Out: whether an expression picks single values, and whether a label
derives from more than labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet_fire.flow.engine import SingleValues
from discreet_fire.flow.r_names import RNames, arguments, is_assignment, root_of, sides
from discreet_fire.scripts import RNode

_COMPARED = ("==", "!=", "<", ">", "<=", ">=", "%in%")
_NAMED = ("FUN", "f", ".f", "fn")


class RPicks(SingleValues[RNode]):
    """Judges what is put into columns and labels.

    >>> from discreet_fire.catalogue.script_policy import ScriptPolicy
    >>> from discreet_fire.scripts.r_syntax import parse_r
    >>> tree = parse_r("d <- read.csv('a'); d$m <- max(d$x)")
    >>> RPicks(RNames(tree, ScriptPolicy.default("r"))).spreads(tree[1])
    True
    """

    def __init__(self, names: RNames) -> None:
        self.names = names
        bound = ((name, value) for name, value in names.direct if value is not None)
        pairs = [(name, item) for name, value in bound for item in _given(value)]
        super().__init__(names, pairs, names.changes)

    def _kind(self, node: RNode) -> str:
        if node.kind == "binary":
            plain = node.value in (*_COMPARED, "~") or is_assignment(node)
            return "part" if node.value in ("$", "@") else "plain" if plain else "other"
        kinds = {"name": "name", "index": "place", "call": "call"}
        return kinds.get(node.kind, "plain" if not node.parts or _is_plain(node) else "other")

    def _pieces(self, node: RNode) -> Sequence[RNode]:
        return node.parts[:1] if self._kind(node) == "part" else node.parts

    def _name_of(self, node: RNode) -> str:
        return node.value

    def _compared(self, node: RNode) -> Sequence[RNode]:
        return node.parts if node.kind == "binary" and node.value in _COMPARED else []

    def _selects(self, node: RNode) -> bool:
        if node.kind == "index":
            place = node.parts[1] if len(node.parts) > 1 else node
            return place.kind not in ("index", "missing") and self._mask(place)
        if node.kind == "binary" and node.value == "*":
            return any(self._mask(_unwrapped(side)) for side in node.parts)
        return self._does(node, "selects")

    def _copies(self, name: str, value: RNode) -> bool:
        return any(
            node.kind == "name" and node.value != name and node.value in self.names.values
            for node in value.walk()
        )

    def _called(self, node: RNode) -> str:
        if node.kind != "call":
            return ""
        function = node.parts[0]
        while function.kind == "binary" and function.value.startswith("::"):
            function = function.parts[-1]
        return function.value

    def _operands(self, node: RNode) -> Sequence[RNode]:
        return [
            each for name, each in arguments(node) if name in ("", None, "x", "y")
        ] or node.parts

    def _crosses(self, node: RNode) -> bool:
        crossed = any(name == "by" and each.value == "NULL" for name, each in arguments(node))
        return crossed or self._does(node, "crosses")

    def _picks_place(self, node: RNode) -> bool:
        base, *places = node.parts
        if any(map(self.picks, places)):
            return True
        first = bool(places) and places[0].kind in ("number", "unary")
        if first and not (node.value == "[[" and base.kind == "name"):
            return not self.names.clean(base)
        return self.picks(base)

    def _picks_call(self, node: RNode) -> bool:
        if self._picks_by(node):
            return not all(map(self.names.clean, node.parts[1:]))
        return any(map(self.picks, node.parts))

    def _picks_by(self, node: RNode) -> bool:
        """Whether a call is of a function that picks, or is given one: ``ave(x, k, FUN = max)``."""
        if self.names.may(node.parts[0], "picks"):
            return True
        for name, each in arguments(node):
            given = each.kind == "name" or (each.kind == "string" and name in _NAMED)
            rules = self.names.rules(each) if given else []
            if any(rule.known and rule.may("picks") for rule in rules):
                return True
            if each.kind == "function" and any(map(self.picks, _given(each))):
                return True
        return False

    def _part_that_gets(self, node: RNode) -> RNode | None:
        target, value = sides(node) if is_assignment(node) else (None, None)
        return value if target is not None and target.kind in ("binary", "index") else None

    def spreads(self, node: RNode) -> bool:
        """Also what is chosen from a vector: where it is one value, all records get it."""
        value = self._part_that_gets(node) if self._kind(node) != "call" else None
        if value is not None and value.kind == "index" and self._selects(value):
            target = sides(node)[0]
            return not (target.kind == "index" and self._selects(target))
        return super().spreads(node)

    def _label_from(self, node: RNode) -> Sequence[RNode]:
        if is_assignment(node):
            target, value = sides(node)
            if target.kind == "unary":  # `!!name := value`
                return [target]
            while target.kind in ("index", "binary") and target.parts:
                target = target.parts[0]
            label = target.kind == "call" and self.names.does(target.parts[0], "named")
            return [value] if label else []
        if node.kind == "call" and self.names.does(node.parts[0], "labels"):
            return node.parts[2:]
        return []

    def _turns_part(self, node: RNode) -> bool:
        return False

    def _turns_call(self, node: RNode) -> bool:
        if self.names.may(node.parts[0], "turns"):
            return not all(map(self.names.clean, node.parts[1:]))
        return any(map(self.turns, node.parts))

    def _names_column(self, node: RNode) -> str | None:
        target, _ = sides(node)
        if target.kind != "index" or len(target.parts) < 2:
            return None
        place = target.parts[-1]
        return None if self._schema(place) or self._mask(place) else root_of(target)

    def _mask(self, node: RNode) -> bool:
        """Whether an expression chooses records, as a comparison or their numbers do."""
        if node.kind == "name":
            return node.value in self.masks
        if node.kind == "call":
            return self.names.has(node.parts[0], "chooses")
        if node.kind == "binary" and node.value in ("&", "|", ":", "+", "-"):
            return all(self._mask(part) or self.names.clean(part) for part in node.parts)
        if node.kind in ("unary", "paren"):
            return self._mask(node.parts[0])
        return node.kind == "missing" or (node.kind == "binary" and node.value in _COMPARED)

    def _schema_of(self, node: RNode) -> bool:
        if node.kind == "call":
            if self.names.has(node.parts[0], "schema"):
                return True
            rules = self.names.rules(node.parts[0])
            plain = all(rule.role == "clean" for rule in rules)
            return bool(rules) and plain and all(map(self._schema, node.parts[1:]))
        pieces = ("binary", "unary", "index", "paren")
        return node.kind == "function" or (
            node.kind in pieces and all(map(self._schema, node.parts))
        )


def _unwrapped(node: RNode) -> RNode:
    """A condition without brackets and what makes it numbers: ``as.numeric(d$id == 17)``."""
    while node.parts and (node.kind == "paren" or node.kind == "call"):
        node = node.parts[-1]
    return node


def _is_plain(node: RNode) -> bool:
    return node.kind in ("function", "number", "string")


def _given(value: RNode) -> list[RNode]:
    """What a value is; for a function, what it may give back."""
    if value.kind != "function":
        return [value]
    last = value.parts[-1]
    while last.kind in ("block", "paren") and last.parts:
        last = last.parts[-1]
    calls = (node for node in value.walk() if node.kind == "call" and len(node.parts) > 1)
    return [last, *(call.parts[1] for call in calls if call.parts[0].value == "return")]
