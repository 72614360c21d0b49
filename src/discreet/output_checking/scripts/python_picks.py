"""Single values of a Python script that are handed to many records, and labels made of data.

In: what names stand for. Out: whether an expression picks single values, and whether a label
derives from more than labels. A mean of a hundred copies of the largest value is the largest value.
"""

from __future__ import annotations

import ast

from discreet.output_checking.scripts.python_bindings import attribute_of, root_of
from discreet.output_checking.scripts.python_names import Names

__all__ = ["Picks"]

_PICKING = frozenset(
    (
        *("max", "min", "item", "idxmax", "idxmin", "argmax", "argmin", "nlargest", "nsmallest"),
        *("first", "last", "nth", "top_k", "bottom_k", "cummax", "cummin", "squeeze", "pop"),
    )
)
_FUNCTIONS = frozenset(
    (
        *("builtins.max", "builtins.min", "builtins.sorted", "builtins.next"),
        *("numpy.max", "numpy.min", "numpy.amax", "numpy.amin", "numpy.nanmax", "numpy.nanmin"),
        *("numpy.sort", "numpy.partition", "numpy.percentile", "numpy.quantile"),
    )
)
_PLACES = frozenset(("iloc", "loc", "iat", "at", "values"))
_SPREADING = frozenset(
    (
        *("assign", "fillna", "replace", "mask", "where", "clip", "insert", "with_columns", "map"),
        *("Series", "DataFrame", "full", "full_like", "repeat", "tile", "concat", "apply", "set"),
        *("fill_null", "lit", "select", "transform", "update"),
    )
)
_LABELS = frozenset(("columns", "name", "names", "index"))
_LABELLING = frozenset(
    ("rename", "set_axis", "add_prefix", "add_suffix", "alias", "to_frame", "rename_axis")
)
_SCHEMA = frozenset(("columns", "dtypes", "schema"))
_QUANTILES = (0.01, 0.99)
_DEEPEST = 4


class Picks:
    r"""Judges what is put into columns and labels.

    Args:
        names: What names stand for.

    >>> from discreet.output_checking.scripts.policies import ScriptPolicy
    >>> tree = ast.parse("import pandas as pd\nd = pd.read_csv('a')\nd['m'] = d.x.max()")
    >>> picks = Picks(Names(tree, ScriptPolicy.default("python")))
    >>> picks.spreads(tree.body[2]), picks.labels(tree.body[2])
    (True, False)
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self.picked: set[str] = set()
        size = -1
        while size != (size := len(self.picked)):
            for name, value in names.made.direct:
                if name not in self.picked and value is not None and self.picks(value):
                    self.picked.add(name)

    def picks(self, node: ast.AST) -> bool:
        """Whether an expression holds single values of data; comparisons with them do not.

        Args:
            node: The expression.
        """
        if isinstance(node, ast.Compare | ast.Lambda | ast.Constant):
            return False
        if isinstance(node, ast.Name):
            return node.id in self.picked
        if isinstance(node, ast.Subscript):
            place = getattr(node.value, "attr", "") in _PLACES
            single = isinstance(node.slice, ast.Constant | ast.UnaryOp | ast.Name)
            if place and single and not self.names.clean(node.value):
                return True
            return self.picks(node.value)
        if isinstance(node, ast.Call):
            return self._picks_call(node)
        if isinstance(node, ast.Attribute):
            return self.picks(node.value)
        return any(map(self.picks, ast.iter_child_nodes(node)))

    def _picks_call(self, node: ast.Call) -> bool:
        arguments = [*node.args, *(each.value for each in node.keywords)]
        if self.names.resolved(node.func) & _FUNCTIONS:
            return not all(map(self.names.clean, arguments))
        attribute = attribute_of(node.func)
        if attribute is not None and attribute[1] in _PICKING:
            return not self.names.clean(attribute[0])
        if attribute is not None and attribute[1] == "quantile":
            return not all(map(_inner_quantile, arguments)) and not self.names.clean(attribute[0])
        inside = [attribute[0]] if attribute is not None else []
        return any(map(self.picks, [*inside, *arguments]))

    def spreads(self, node: ast.AST) -> bool:
        """Whether a statement or call puts single values into many records.

        Args:
            node: An assignment or a call.
        """
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets: list[ast.expr] = [node.target] if isinstance(node, ast.AugAssign) else []
            targets += node.targets if isinstance(node, ast.Assign) else []
            parts = any(isinstance(each, ast.Attribute | ast.Subscript) for each in targets)
            return parts and self._of_data(targets) and self.picks(node.value)
        if isinstance(node, ast.Call):
            attribute = attribute_of(node.func)
            word = attribute[1] if attribute else getattr(node.func, "id", "")
            arguments = [*node.args, *(each.value for each in node.keywords)]
            return word in _SPREADING and any(map(self.picks, arguments))
        return False

    def _of_data(self, targets: list[ast.expr]) -> bool:
        """Whether targets are parts of names that hold data from elsewhere too."""
        return any(root_of(each) in self.names.tainted for each in targets)

    # ------------------------------------------------------------ labels

    def labels(self, node: ast.AST) -> bool:
        """Whether a statement or call makes labels of data.

        Args:
            node: An assignment or a call.
        """
        if isinstance(node, ast.Assign):
            parts = [each for each in node.targets if isinstance(each, ast.Attribute)]
            labels = any(each.attr in _LABELS for each in parts) and self._of_data(node.targets)
            return labels and not self._schema(node.value)
        if isinstance(node, ast.Call):
            attribute = attribute_of(node.func)
            if attribute is None or attribute[1] not in _LABELLING:
                return False
            arguments = [*node.args, *(each.value for each in node.keywords)]
            return not all(map(self._schema, arguments))
        return False

    def _schema(self, node: ast.AST, depth: int = 0) -> bool:
        """Whether an expression is made of names of columns only, and of constants."""
        if self.names.clean(node) or isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Name):
            values = self.names.values.get(node.id, [])
            known = bool(values) and depth < _DEEPEST and None not in values
            return known and all(self._schema(each or node, depth + 1) for each in values)
        if isinstance(node, ast.Attribute):
            return node.attr in _SCHEMA or self._schema(node.value, depth)
        if isinstance(node, ast.Call):
            inside = [*node.args, *(each.value for each in node.keywords)]
            full = self.names.resolved(node.func)
            if any(not name.startswith("builtins.") for name in full):
                return False
            if not full and isinstance(node.func, ast.Attribute):
                inside.append(node.func.value)
            return all(self._schema(each, depth) for each in inside)
        if isinstance(node, ast.expr | ast.comprehension):
            return all(self._schema(each, depth) for each in ast.iter_child_nodes(node))
        return True


def _inner_quantile(node: ast.AST) -> bool:
    """Whether a share is far from the ends."""
    shares = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(
        isinstance(each, ast.Constant)
        and isinstance(each.value, float)
        and _QUANTILES[0] <= each.value <= _QUANTILES[1]
        for each in shares
    )
