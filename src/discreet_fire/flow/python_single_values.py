"""Single values of a Python script that are handed to many records, and labels made of data.

In: what names stand for. Out: whether an expression picks single values, and whether a label
derives from more than labels. A mean of a hundred copies of the largest value is the largest value.
"""

from __future__ import annotations

import ast

from discreet_fire.flow.chains import grown, kept
from discreet_fire.flow.python_names import PythonNames
from discreet_fire.scripts.python_bindings import attribute_of, root_of, text_of

__all__ = ["PythonPicks"]

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
#: Methods that take how many records they give, and the name of a function.
_HEADS = frozenset(("head", "tail", "sample", "limit"))
_NAMED = frozenset(("agg", "aggregate", "apply", "transform"))
_SMALL = 10
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
#: What makes names of columns out of values.
_TURNING = frozenset(
    (
        *("transpose", "swapaxes", "pivot", "pivot_table", "crosstab", "unstack", "get_dummies"),
        *("to_dummies", "dict"),
    )
)
_FRAMES = frozenset(
    ("DataFrame", "Series", "from_dict", "from_records", "concat", "assign", "with_columns")
)
_MASKS = frozenset(
    (
        *("isna", "isnull", "notna", "notnull", "isin", "between", "duplicated", "contains"),
        *("startswith", "endswith", "eq", "ne", "gt", "ge", "lt", "le", "is_in", "is_null"),
    )
)
_NAMING = frozenset(("name", "names", "columns", "keys", "schema", None))
_QUANTILES = (0.01, 0.99)


class PythonPicks:
    r"""Judges what is put into columns and labels.

    Args:
        names: What names stand for.

    >>> from discreet_fire.catalogue.script_policy import ScriptPolicy
    >>> tree = ast.parse("import pandas as pd\nd = pd.read_csv('a')\nd['m'] = d.x.max()")
    >>> picks = PythonPicks(PythonNames(tree, ScriptPolicy.default("python")))
    >>> picks.spreads(tree.body[2]), picks.labels(tree.body[2])
    (True, False)
    """

    def __init__(self, names: PythonNames) -> None:
        self.names = names
        #: Names with what they are bound to, and functions with what they give back.
        pairs = [*names.made.direct]
        for name in sorted(names.functions):
            given = (n for n in ast.walk(names.own[name]) if isinstance(n, ast.Return))
            pairs += [(name, each.value) for each in given]
        #: Names of names of columns, and of what chooses records.
        self.schemas, self.masks = set(names.values), set(names.values)
        kept(self.schemas, names.values, self._schema)
        kept(self.masks, names.values, self._mask)
        self.picked: set[str] = set()
        grown(self.picked, pairs, self.picks)
        #: Names of frames whose columns are called by values.
        self.turned = {root for node in ast.walk(names.tree) if (root := self._names_column(node))}
        grown(self.turned, pairs, self.turns)

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
            return self._picks_place(node) or self.picks(node.value)
        if isinstance(node, ast.Call):
            return self._picks_call(node)
        if isinstance(node, ast.Attribute):
            return self.picks(node.value)
        return any(map(self.picks, ast.iter_child_nodes(node)))

    def _picks_place(self, node: ast.Subscript) -> bool:
        """Whether it is one place of data: ``df.loc[17, "x"]``, ``df.x[17]``."""
        word = getattr(node.value, "attr", "")
        place = _parts(node.slice)[0]
        if word in _PLACES:
            single = isinstance(place, ast.Constant | ast.UnaryOp | ast.Name)
            return single and not self._mask(place) and not self.names.clean(node.value)
        inner = place.operand if isinstance(place, ast.UnaryOp) else place
        number = isinstance(inner, ast.Constant) and type(inner.value) is int
        return number and word not in ("str", "shape") and not self._schema(node.value)

    def _picks_call(self, node: ast.Call) -> bool:
        arguments = [*node.args, *(each.value for each in node.keywords)]
        if self.names.resolved(node.func) & _FUNCTIONS:
            return not all(map(self.names.clean, arguments))
        attribute = attribute_of(node.func)
        if attribute is not None and attribute[1] in _PICKING:
            return not self.names.clean(attribute[0])
        if attribute is not None and attribute[1] == "quantile":
            return not all(map(_inner_quantile, arguments)) and not self.names.clean(attribute[0])
        if attribute is not None and not self.names.clean(attribute[0]):
            few = attribute[1] in _HEADS and any(map(_is_small, arguments))
            named = attribute[1] in _NAMED and any(text_of(each) in _PICKING for each in arguments)
            if few or named:
                return True
        inside = [attribute[0] if attribute is not None else node.func]
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

    def turns(self, node: ast.AST) -> bool:
        """Whether an expression may be a frame whose columns are called by values.

        Args:
            node: The expression.
        """
        if isinstance(node, ast.Compare | ast.Lambda | ast.Constant):
            return False
        if isinstance(node, ast.Name):
            return node.id in self.turned
        if isinstance(node, ast.Attribute):
            inner: ast.expr = node
            while isinstance(inner, ast.Attribute) and inner.attr == "T":
                inner = inner.value
            if inner is not node:
                return not self.names.clean(inner)
            return node.attr in _PLACES and self.turns(node.value)
        if isinstance(node, ast.Subscript):
            return not self.names.clean(node.slice) and self.turns(node.value)
        if isinstance(node, ast.Dict | ast.DictComp):
            keys = [node.key] if isinstance(node, ast.DictComp) else node.keys
            if not all(each is None or self._schema(each) for each in keys):
                return True
        if isinstance(node, ast.Call):
            return self._turns_call(node)
        return any(map(self.turns, ast.iter_child_nodes(node)))

    def _turns_call(self, node: ast.Call) -> bool:
        attribute = attribute_of(node.func)
        word = attribute[1] if attribute else getattr(node.func, "id", "")
        full = self.names.resolved(node.func)
        inside = [*([attribute[0]] if attribute is not None and not full else []), *node.args]
        if word in _TURNING and not any(name.startswith("numpy.") for name in full):
            given = [*inside, *(each.value for each in node.keywords if word != "dict")]
            return not all(map(self.names.clean, given))
        named = [each.value for each in node.keywords if each.arg in _NAMING]
        if word in _FRAMES and not all(map(self._schema, named)):
            return True
        if isinstance(node.func, ast.Name):
            inside.append(node.func)
        return any(map(self.turns, [*inside, *(each.value for each in node.keywords)]))

    def _names_column(self, node: ast.AST) -> str | None:
        """The name of what gets a column that is called by a value: ``df[str(df.x.max())] = 1``."""
        places: list[ast.expr] = []
        target: ast.expr | None = None
        if isinstance(node, ast.Assign):
            for each in node.targets:
                if isinstance(each, ast.Subscript) and getattr(each.value, "attr", "") != "iloc":
                    target = each
                    places.append(_parts(each.slice)[-1])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "insert":
            target, places = node.func, node.args[1:2]
        if target is None or all(self._schema(each) or self._mask(each) for each in places):
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
        return isinstance(node, ast.Compare) or (attribute is not None and attribute[1] in _MASKS)

    def _schema(self, node: ast.AST) -> bool:
        """Whether an expression is made of names of columns only, and of constants."""
        if self.names.clean(node) or isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Name):
            return node.id in self.schemas
        if isinstance(node, ast.Attribute):
            inner: ast.expr = node
            while isinstance(inner, ast.Attribute):
                if inner.attr in _SCHEMA:
                    return True
                inner = inner.value
            return self._schema(inner)
        if isinstance(node, ast.Call):
            inside = [*node.args, *(each.value for each in node.keywords)]
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


def _is_small(node: ast.AST) -> bool:
    """Whether it is a number of few records."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value < _SMALL


def _inner_quantile(node: ast.AST) -> bool:
    """Whether a share is far from the ends."""
    shares = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(
        isinstance(each, ast.Constant)
        and isinstance(each.value, float)
        and _QUANTILES[0] <= each.value <= _QUANTILES[1]
        for each in shares
    )
