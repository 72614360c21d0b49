"""Single values of an R script that are handed to many records, and labels made of data.

In: what names stand for. Out: whether an expression picks single values, and whether a label
derives from more than labels.
"""

from __future__ import annotations

from discreet_fire.flow.chains import grown, kept
from discreet_fire.flow.r_names import RNames, arguments, is_assignment, root_of
from discreet_fire.scripts.r_syntax import RNode

__all__ = ["RPicks"]

_PICKING = frozenset(
    (
        *("max", "min", "range", "sort", "order", "which.max", "which.min", "fivenum", "first"),
        *("last", "nth", "head", "tail", "cummax", "cummin", "pmax", "pmin", "rev"),
    )
)
_SPREADING = frozenset(("rep", "rep_len", "mutate", "transform", "within", "replace", "cbind"))
_COMPARED = ("==", "!=", "<", ">", "<=", ">=", "%in%")
_COMPARING = ("==", "!=", "<", ">", "<=", ">=", "%in%", "~", "$", "@")
_NAMED = ("FUN", "f", ".f", "fn")
_LABELS = frozenset(("names", "colnames", "rownames", "levels", "dimnames", "attr", "attributes"))
_LABELLING = frozenset(("setNames", "setnames", "set_names", "rename_with"))
_SCHEMA = frozenset(("names", "colnames"))
#: What makes names of columns out of values.
_TURNING = frozenset(
    (
        *("t", "pivot_wider", "spread", "dcast", "unstack", "reshape", "split", "tapply"),
        *("model.matrix",),
    )
)
#: What chooses records, or counts them.
_CHOOSING = frozenset(
    (
        *("is.na", "is.finite", "complete.cases", "duplicated", "which", "between", "grepl"),
        *("nrow", "ncol", "NROW", "length", "seq_len", "seq_along", "startsWith", "endsWith"),
    )
)


class RPicks:
    """Judges what is put into columns and labels.

    Args:
        names: What names stand for.

    >>> from discreet_fire.catalogue.script_policy import ScriptPolicy
    >>> from discreet_fire.scripts.r_syntax import parse_r
    >>> tree = parse_r("d <- read.csv('a'); d$m <- max(d$x)")
    >>> RPicks(RNames(tree, ScriptPolicy.default("r"))).spreads(tree[1])
    True
    """

    def __init__(self, names: RNames) -> None:
        self.names = names
        #: Names with what they are bound to, and functions with what they give back.
        pairs = [
            (name, each)
            for name, value in names.direct
            for each in (_given(value) if value is not None else [])
        ]
        self.picked: set[str] = set()
        grown(self.picked, pairs, self.picks)
        #: Names of names of columns, and of what chooses records.
        self.schemas, self.masks = set(names.values), set(names.values)
        kept(self.schemas, names.values, self._schema)
        kept(self.masks, names.values, self._mask)
        #: Names of frames whose columns are called by values.
        self.turned = {
            root_of(target)
            for value in names.changes
            if (target := self._names_column(value)) is not None
        }
        grown(self.turned, pairs, self.turns)

    def picks(self, node: RNode) -> bool:
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
        if node.kind == "call" and self._picks_by(node):
            return not all(map(self.names.clean, node.parts[1:]))
        return any(map(self.picks, node.parts))

    def _picks_by(self, node: RNode) -> bool:
        """Whether a call is of a function that picks, or is given one: ``ave(x, k, FUN = max)``."""
        if self.names.called(node.parts[0]) & _PICKING:
            return True
        for name, each in arguments(node):
            given = each.kind == "name" or (each.kind == "string" and name in _NAMED)
            if given and self.names.called(each) & _PICKING:
                return True
            if each.kind == "function" and any(map(self.picks, _given(each))):
                return True
        return False

    def _is_frame(self, node: RNode) -> bool:
        """Whether it is a whole name, of which ``[[1]]`` is a column."""
        return node.kind == "name"

    def spreads(self, node: RNode) -> bool:
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

    def labels(self, node: RNode) -> bool:
        """Whether a node makes labels of data.

        Args:
            node: An assignment or a call.
        """
        if is_assignment(node):
            target, value = node.parts if node.value[0] != "-" else reversed(node.parts)
            if target.kind == "unary":  # `!!name := value`
                return not self._schema(target)
            while target.kind in ("index", "binary") and target.parts:
                target = target.parts[0]
            label = target.kind == "call" and bool(self.names.called(target.parts[0]) & _LABELS)
            return label and not self._schema(value)
        if node.kind == "call" and self.names.called(node.parts[0]) & _LABELLING:
            return not all(map(self._schema, node.parts[2:]))
        return False

    def turns(self, node: RNode) -> bool:
        """Whether an expression may be a frame whose columns are called by values.

        Args:
            node: The expression.
        """
        if node.kind == "name":
            return node.value in self.turned
        if node.kind in ("function", "number", "string"):
            return False
        if node.kind == "binary" and (node.value in _COMPARING or is_assignment(node)):
            return False
        if node.kind == "index":
            return not self.names.clean(node.parts[-1]) and self.turns(node.parts[0])
        if node.kind == "call" and self.names.called(node.parts[0]) & _TURNING:
            return not all(map(self.names.clean, node.parts[1:]))
        return any(map(self.turns, node.parts))

    def _names_column(self, node: RNode) -> RNode | None:
        """What gets a column that is called by a value: ``d[[max(d$x)]] <- 1``."""
        target = node.parts[1 if node.value[0] == "-" else 0]
        if target.kind != "index" or len(target.parts) < 2:
            return None
        place = target.parts[-1]
        return None if self._schema(place) or self._mask(place) else target

    def _mask(self, node: RNode) -> bool:
        """Whether an expression chooses records, as a comparison or their numbers do."""
        if node.kind == "name":
            return node.value in self.masks
        if node.kind == "call":
            return bool(self.names.called(node.parts[0]) & _CHOOSING)
        if node.kind == "binary" and node.value in ("&", "|", ":", "+", "-"):
            return all(self._mask(each) or self.names.clean(each) for each in node.parts)
        if node.kind in ("unary", "paren"):
            return self._mask(node.parts[0])
        return node.kind == "missing" or (node.kind == "binary" and node.value in _COMPARED)

    def _schema(self, node: RNode) -> bool:
        """Whether an expression is made of names of columns only, and of constants."""
        if self.names.clean(node) or node.kind == "function":
            return True
        if node.kind == "name":
            return node.value in self.schemas
        if node.kind == "call":
            called = self.names.called(node.parts[0])
            if called & _SCHEMA:
                return True
            plain = all(self.names.policy.rule(name).role == "clean" for name in called)
            return bool(called) and plain and all(map(self._schema, node.parts[1:]))
        pieces = ("binary", "unary", "index", "paren")
        return node.kind in pieces and all(map(self._schema, node.parts))


def _given(value: RNode) -> list[RNode]:
    """What a value is; for a function, what it may give back."""
    if value.kind != "function":
        return [value]
    last = value.parts[-1]
    while last.kind in ("block", "paren") and last.parts:
        last = last.parts[-1]
    calls = (each for each in value.walk() if each.kind == "call" and len(each.parts) > 1)
    return [last, *(each.parts[1] for each in calls if each.parts[0].value == "return")]
