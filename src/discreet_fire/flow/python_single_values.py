"""Single values of a Python script that are handed to many records, and labels made of data.

In: what names stand for. Out: whether an expression picks single values, and whether a label
derives from more than labels.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from discreet_fire.flow.engine import SingleValues
from discreet_fire.flow.python_names import PythonNames
from discreet_fire.scripts import arguments_of, attribute_of, root_of, text_of, word_of

_SMALL = 10
_NAMING = frozenset(("name", "names", "columns", "keys", "schema", None))
_QUANTILES = (0.01, 0.99)


class PythonPicks(SingleValues[ast.AST]):
    r"""Judges what is put into columns and labels.

    >>> from discreet_fire.catalogue.script_policy import ScriptPolicy
    >>> tree = ast.parse("import pandas as pd\nd = pd.read_csv('a')\nd['m'] = d.x.max()")
    >>> picks = PythonPicks(PythonNames(tree, ScriptPolicy.default("python")))
    >>> picks.spreads(tree.body[2]), picks.labels(tree.body[2])
    (True, False)
    """

    def __init__(self, names: PythonNames) -> None:
        self.names = names
        pairs = [*names.direct]
        for name in sorted(names.functions):
            given = (n for n in ast.walk(names.own[name]) if isinstance(n, ast.Return))
            pairs += [(name, item.value) for item in given]
        super().__init__(names, pairs, ast.walk(names.tree))

    def _kind(self, node: ast.AST) -> str:
        kinds = {ast.Name: "name", ast.Subscript: "place", ast.Call: "call", ast.Attribute: "part"}
        plain = isinstance(node, ast.Compare | ast.Lambda | ast.Constant)
        return "plain" if plain else kinds.get(type(node), "other")

    def _pieces(self, node: ast.AST) -> Sequence[ast.AST]:
        if isinstance(node, ast.Call):
            return [node.func, *arguments_of(node)]
        if isinstance(node, ast.Attribute):
            return [node.value]
        if isinstance(node, ast.Subscript):
            return [node.value, node.slice]
        return list(ast.iter_child_nodes(node))

    def _name_of(self, node: ast.AST) -> str:
        return node.id if isinstance(node, ast.Name) else ""

    def _compared(self, node: ast.AST) -> Sequence[ast.AST]:
        return [node.left, *node.comparators] if isinstance(node, ast.Compare) else []

    def _selects(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript):
            return self._mask(_parts(node.slice)[0])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return any(self._mask(_unwrapped(side)) for side in (node.left, node.right))
        return isinstance(node, ast.Call) and self._does(node, "selects")

    def _copies(self, name: str, value: ast.AST) -> bool:
        root = root_of(value)
        return root is not None and root != name and root in self.names.values

    def _called(self, node: ast.AST) -> str:
        return word_of(node.func) if isinstance(node, ast.Call) else ""

    def _carries(self, node: ast.AST) -> bool:
        given = {keyword.arg for keyword in node.keywords} if isinstance(node, ast.Call) else set()
        filled = self._called(node) in ("fillna", "fill_null") and given & {"method", "strategy"}
        return bool(filled) or super()._carries(node)

    def _operands(self, node: ast.AST) -> list[ast.expr]:
        assert isinstance(node, ast.Call)
        attribute = attribute_of(node.func)
        full = self.names.given_names(node.func)
        inside = [attribute[0]] if attribute is not None and not full else []
        return [*inside, *arguments_of(node)] or [node.func]

    def _crosses(self, node: ast.AST) -> bool:
        assert isinstance(node, ast.Call)
        return any(
            text_of(keyword.value) == "cross" for keyword in node.keywords if keyword.arg == "how"
        )

    def _picks_place(self, node: ast.AST) -> bool:
        assert isinstance(node, ast.Subscript)
        if self.picks(node.value):
            return True
        place = _parts(node.slice)[0]
        if self._is_place(node.value):
            single = isinstance(place, ast.Constant | ast.UnaryOp | ast.Name)
            return single and not self._mask(place) and not self.names.clean(node.value)
        inner = place.operand if isinstance(place, ast.UnaryOp) else place
        number = isinstance(inner, ast.Constant) and type(inner.value) is int
        word = getattr(node.value, "attr", "")
        return number and word not in ("str", "shape") and not self._schema(node.value)

    def _is_place(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and self.names.states(f".{node.attr}", "place")

    def _picks_call(self, node: ast.AST) -> bool:
        assert isinstance(node, ast.Call)
        arguments = arguments_of(node)
        attribute = attribute_of(node.func)
        dirty = attribute is not None and not self.names.clean(attribute[0])
        if self.names.given_names(node.func):
            dirty = dirty or not all(map(self.names.clean, arguments))
        may = self.names.may
        if dirty and (
            may(node.func, "picks")
            or (may(node.func, "ends") and not all(map(_inner_quantile, arguments)))
            or (may(node.func, "few") and any(map(_is_small, arguments)))
            or (may(node.func, "runs") and any(map(self._names_picking, arguments)))
        ):
            return True
        inside = attribute[0] if attribute is not None else node.func
        return any(map(self.picks, [inside, *arguments]))

    def _names_picking(self, node: ast.AST) -> bool:
        """Whether a text or a name is that of a function that picks."""
        text = text_of(node)
        if text is not None:
            return self.names.states(f".{text}", "picks")
        return bool(self.names.resolved(node)) and self.names.may(node, "picks")

    def _part_that_gets(self, node: ast.AST) -> ast.AST | None:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
                return node.value if self._of_data(targets) else None
        return None

    def _of_data(self, targets: list[ast.expr]) -> bool:
        """Whether targets are parts of names that hold data from elsewhere too."""
        return any(root_of(target) in self.names.tainted for target in targets)

    def _label_from(self, node: ast.AST) -> list[ast.expr]:
        if isinstance(node, ast.Assign):
            parts = [target for target in node.targets if isinstance(target, ast.Attribute)]
            labels = any(map(self._is_label, parts)) and self._of_data(node.targets)
            return [node.value] if labels else []
        if isinstance(node, ast.Call) and attribute_of(node.func) is not None:
            return arguments_of(node) if self.names.does(node.func, "labels") else []
        return []

    def _is_label(self, node: ast.Attribute) -> bool:
        """Whether labels may be assigned so; objects of the script have parts of any name."""
        own = root_of(node) in {*self.names.made.selves, *self.names.own}
        rule = self.names.policy.rule(f".{node.attr}")
        return rule.may("named") and (rule.known or not own)

    def _turns_part(self, node: ast.AST) -> bool:
        inner = node
        while isinstance(inner, ast.Attribute) and inner.attr == "T":
            inner = inner.value
        if inner is not node:
            return not self.names.clean(inner)
        return self._is_place(node) and self.turns(self._pieces(node)[0])

    def _turns_call(self, node: ast.AST) -> bool:
        assert isinstance(node, ast.Call)
        attribute = attribute_of(node.func)
        full = self.names.given_names(node.func)
        inside = [*([attribute[0]] if attribute is not None and not full else []), *node.args]
        values = [keyword.value for keyword in node.keywords]
        if self.names.may(node.func, "turns"):
            given = [*inside, *([] if full == {"builtins.dict"} else values)]
            return not all(map(self.names.clean, given))
        named = [keyword.value for keyword in node.keywords if keyword.arg in _NAMING]
        if self.names.may(node.func, "frames") and not all(map(self._schema, named)):
            return True
        if isinstance(node.func, ast.Name):
            inside.append(node.func)
        return any(map(self.turns, [*inside, *values]))

    def turns(self, node: ast.AST) -> bool:
        """Whether an expression may be a frame whose columns are called by values."""
        if isinstance(node, ast.Dict | ast.DictComp):
            keys = [node.key] if isinstance(node, ast.DictComp) else node.keys
            if not all(key is None or self._schema(key) for key in keys):
                return True
        return super().turns(node)

    def _names_column(self, node: ast.AST) -> str | None:
        places: list[ast.expr] = []
        target: ast.expr | None = None
        if isinstance(node, ast.Assign):
            for item in node.targets:
                if isinstance(item, ast.Subscript) and getattr(item.value, "attr", "") != "iloc":
                    target = item
                    places.append(_parts(item.slice)[-1])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "insert":
            target, places = node.func, node.args[1:2]
        if target is None or all(self._schema(place) or self._mask(place) for place in places):
            return None
        return root_of(target)

    def _mask(self, node: ast.AST) -> bool:
        """Whether an expression chooses records, as a comparison does."""
        if isinstance(node, ast.Name):
            return node.id in self.masks
        if isinstance(node, ast.BinOp):
            return self._mask(node.left) and self._mask(node.right)
        if isinstance(node, ast.UnaryOp):
            return self._mask(node.operand)
        attribute = attribute_of(node.func) if isinstance(node, ast.Call) else None
        chooses = attribute is not None and self.names.has(f".{attribute[1]}", "chooses")
        return isinstance(node, ast.Compare) or chooses

    def _schema_of(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Attribute):
            inner: ast.expr = node
            while isinstance(inner, ast.Attribute):
                if self.names.has(f".{inner.attr}", "schema"):
                    return True
                inner = inner.value
            return self._schema(inner)
        if isinstance(node, ast.Call):
            inside = arguments_of(node)
            full = self.names.resolved(node.func)
            if any(not name.startswith("builtins.") for name in full):
                return False
            if not full and isinstance(node.func, ast.Attribute):
                inside.append(node.func.value)
            return all(map(self._schema, inside))
        if isinstance(node, ast.expr | ast.comprehension):
            return all(map(self._schema, ast.iter_child_nodes(node)))
        return True


def _parts(place: ast.expr) -> list[ast.expr]:
    """Rows and columns of a place; itself where these are not told apart."""
    return place.elts if isinstance(place, ast.Tuple) and place.elts else [place]


def _unwrapped(node: ast.expr) -> ast.expr:
    """A condition without what makes it numbers: ``(df.id == 17).astype(int)``."""
    inner = attribute_of(node.func) if isinstance(node, ast.Call) else None
    return inner[0] if inner is not None and inner[1] in ("astype", "cast") else node


def _is_small(node: ast.AST) -> bool:
    """Whether it is a number of few records."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value < _SMALL


def _inner_quantile(node: ast.AST) -> bool:
    """Whether a share is far from the ends."""
    shares = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(
        isinstance(share, ast.Constant)
        and isinstance(share.value, float)
        and _QUANTILES[0] <= share.value <= _QUANTILES[1]
        for share in shares
    )
