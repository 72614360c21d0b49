"""Single values of an R script that are handed to many records, and labels made of data.

In: what names stand for. Out: whether an expression picks single values, and whether a label
derives from more than labels.
"""

from __future__ import annotations

from discreet.output_checking.scripts.r_flows import is_assignment
from discreet.output_checking.scripts.r_names import RNames
from discreet.output_checking.scripts.r_tree import Node

__all__ = ["RPicks"]

_PICKING = frozenset(
    (
        *("max", "min", "range", "sort", "order", "which.max", "which.min", "fivenum", "first"),
        *("last", "nth", "head", "tail", "cummax", "cummin", "pmax", "pmin", "rev"),
    )
)
_SPREADING = frozenset(("rep", "rep_len", "mutate", "transform", "within", "replace", "cbind"))
_COMPARING = ("==", "!=", "<", ">", "<=", ">=", "%in%", "~", "$", "@")
_LABELS = frozenset(("names", "colnames", "rownames", "levels", "dimnames", "attr", "attributes"))
_LABELLING = frozenset(("setNames", "setnames", "set_names", "rename_with"))
_SCHEMA = frozenset(("names", "colnames"))


class RPicks:
    """Judges what is put into columns and labels.

    Args:
        names: What names stand for.

    >>> from discreet.output_checking.scripts.policies import ScriptPolicy
    >>> from discreet.output_checking.scripts.r_tree import parse_r
    >>> tree = parse_r("d <- read.csv('a'); d$m <- max(d$x)")
    >>> RPicks(RNames(tree, ScriptPolicy.default("r"))).spreads(tree[1])
    True
    """

    def __init__(self, names: RNames) -> None:
        self.names = names
        self.picked: set[str] = set()
        size = -1
        while size != (size := len(self.picked)):
            for name, value in names.direct:
                if name not in self.picked and value is not None and self.picks(value):
                    self.picked.add(name)

    def picks(self, node: Node) -> bool:
        """Whether an expression holds single values of data; comparisons with them do not.

        Args:
            node: The expression.
        """
        if node.kind == "name":
            return node.value in self.picked
        if node.kind == "index":
            numbers = [each for each in node.parts[1:] if each.kind in ("number", "unary")]
            rows = bool(numbers) and node.parts[1] is numbers[0]
            if any(map(self.picks, node.parts[1:])):
                return True
            if rows and not (node.value == "[[" and self._is_frame(node.parts[0])):
                return not self.names.clean(node.parts[0])
            return self.picks(node.parts[0])
        if node.kind in ("function", "number", "string"):
            return False
        if node.kind == "binary" and (node.value in _COMPARING or is_assignment(node)):
            return node.value in ("$", "@") and self.picks(node.parts[0])
        if node.kind == "call" and self.names.called(node.parts[0]) & _PICKING:
            return not all(map(self.names.clean, node.parts[1:]))
        return any(map(self.picks, node.parts[1:] if node.kind == "call" else node.parts))

    def _is_frame(self, node: Node) -> bool:
        """Whether it is a whole name, of which ``[[1]]`` is a column."""
        return node.kind == "name"

    def spreads(self, node: Node) -> bool:
        """Whether a node puts single values into many records.

        Args:
            node: An assignment or a call.
        """
        if is_assignment(node):
            target, value = node.parts if node.value[0] != "-" else reversed(node.parts)
            return target.kind in ("binary", "index") and self.picks(value)
        if node.kind == "call" and self.names.called(node.parts[0]) & _SPREADING:
            return any(map(self.picks, node.parts[1:]))
        return False

    def labels(self, node: Node) -> bool:
        """Whether a node makes labels of data.

        Args:
            node: An assignment or a call.
        """
        if is_assignment(node):
            target, value = node.parts if node.value[0] != "-" else reversed(node.parts)
            while target.kind == "index" and target.parts:
                target = target.parts[0]
            label = target.kind == "call" and bool(self.names.called(target.parts[0]) & _LABELS)
            return label and not self._schema(value)
        if node.kind == "call" and self.names.called(node.parts[0]) & _LABELLING:
            return not all(map(self._schema, node.parts[2:]))
        return False

    def _schema(self, node: Node) -> bool:
        """Whether an expression is made of names of columns only, and of constants."""
        if self.names.clean(node) or node.kind == "function":
            return True
        if node.kind == "call":
            called = self.names.called(node.parts[0])
            if called & _SCHEMA:
                return True
            plain = all(self.names.policy.rule(name).role == "clean" for name in called)
            return bool(called) and plain and all(map(self._schema, node.parts[1:]))
        return node.kind in ("binary", "index", "paren") and all(map(self._schema, node.parts))
