"""Code and names of functions that stand in texts of a Python script.

In: calls that run a text: ``df.query("…")``, ``df.agg("mean")``, ``smf.ols("y ~ x", df)``.
Out: refusals where the text names what is refused, and a review where it cannot be read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from discreet.output_checking.policy_rules import Action
from discreet.output_checking.scripts.python_bindings import attribute_of, text_of
from discreet.output_checking.scripts.python_noting import Noting

__all__ = ["Texts"]

#: Methods that take the name of a function, or a function.
_NAMED = frozenset(("apply", "agg", "aggregate", "transform", "pivot_table", "crosstab", "pipe"))
_CODE = frozenset(("query", "eval"))
_FORMULAS = ("statsmodels.formula.", "patsy.", "linearmodels.", "formulaic.")
#: Functions of formulas and of queries that compute and show nothing.
_PLAIN = frozenset(
    (
        *("C", "I", "Q", "bs", "cr", "cc", "te", "log", "log10", "log1p", "exp", "expm1", "sqrt"),
        *("center", "scale", "standardize", "Treatment", "Sum", "Poly", "Diff", "Helmert", "abs"),
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "and", "or"),
        *("not", "in", "floor", "ceil", "pow", "min", "max"),
    )
)
_CALLED = re.compile(r"([@\w.]+)\s*\(")
_HIDDEN = re.compile(r"[\])]\s*\(|__")
_EVIDENCE = re.compile(r"[{(][^{}()]*evidence")
_DEEPEST = 6
#: A name that is bound more often than this is not followed.
_MOST = 50


class Texts(Noting):
    """Judges texts that are run."""

    def judge_texts(self, node: ast.Call) -> None:
        """Judge the texts that a call runs, if it runs any.

        Args:
            node: The call.
        """
        attribute = attribute_of(node.func)
        word = attribute[1] if attribute else getattr(node.func, "id", None)
        full = self.names.resolved(node.func)
        if attribute is not None and word in _CODE:
            for each in self._arguments(node, ("expr",)):
                self._judge_code(node, each)
        elif word == "from_formula" or any(name.startswith(_FORMULAS) for name in full):
            for each in self._arguments(node, ("formula", "formula_like")):
                self._judge_code(node, each)
        elif word in _NAMED and (attribute is not None or full):
            for each in self._arguments(
                node, ("func", "aggfunc"), named=word in ("agg", "aggregate")
            ):
                self._judge_named(node, each)

    @staticmethod
    def _arguments(
        node: ast.Call, keys: tuple[str, ...], *, named: bool = False
    ) -> Iterator[ast.expr]:
        """The argument that counts: the first, or one by its name."""
        word = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if node.args and word not in ("pivot_table", "crosstab"):
            yield node.args[0]
        for each in node.keywords:
            if each.arg is None or each.arg in keys:
                yield each.value
            elif named and isinstance(each.value, ast.Tuple) and len(each.value.elts) == 2:
                yield each.value.elts[1]
            elif named and isinstance(each.value, ast.Constant) and each.arg != "axis":
                yield each.value

    def _readable(self, node: ast.AST, depth: int = 0) -> Iterator[ast.AST | None]:
        """What an expression may be, by the names it is bound to; None where it is not known."""
        if isinstance(node, ast.Name) and not self.names.resolved(node):
            values = self.names.values.get(node.id, [])
            if node.id in self.names.own and not values:
                yield node
            elif not values or depth > _DEEPEST or len(values) > _MOST or None in values:
                yield None
            else:
                for each in values:
                    yield from self._readable(each or node, depth + 1)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            for each in node.elts:
                yield from self._readable(each, depth)
        elif isinstance(node, ast.Dict):
            for each in node.values:
                yield from self._readable(each, depth)
        elif isinstance(node, ast.DictComp):
            yield from self._readable(node.value, depth)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            yield from self._readable(node.elt, depth)
        elif isinstance(node, ast.IfExp):
            yield from self._readable(node.body, depth)
            yield from self._readable(node.orelse, depth)
        else:
            yield node

    # ------------------------------------------------------------ names of functions

    def _judge_named(self, node: ast.Call, argument: ast.expr) -> None:
        for each in self._readable(argument):
            text = None if each is None else text_of(each)
            if text is not None:
                rule = self.names.policy.rule(f".{text}")
                if rule.action is Action.REFUSED or rule.role == "shows":
                    self.refuse(node, "text", rule.name, rule.reason)
                elif not rule.known:
                    self.review(node, "text", f"no rule for the function that a text names: {text}")
            elif each is None or not self._is_function(each):
                self.review(node, "text", "which function runs cannot be read from the program")

    def _is_function(self, node: ast.AST) -> bool:
        """Whether an expression is a function that is judged where it stands."""
        if isinstance(node, ast.Lambda | ast.Name | ast.Attribute):
            return True
        if isinstance(node, ast.Call):
            full = self.names.resolved(node.func)
            return bool(full) and full <= {"functools.partial"}
        return isinstance(node, ast.Constant)

    # ------------------------------------------------------------ code

    def _judge_code(self, node: ast.Call, argument: ast.expr) -> None:
        for each in self._readable(argument):
            text = None if each is None else self._code_of(each)
            if text is None:
                self.review(node, "text", "code in a text that cannot be read from the program")
            else:
                self._judge_text(node, text)

    def _code_of(self, node: ast.AST, depth: int = 0) -> str | None:
        """Code that is written out, perhaps in parts; None where a part cannot be read."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if depth > _DEEPEST:
            return None
        parts: list[ast.AST | None] = []
        joint = ""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [node.left, node.right]
        elif isinstance(node, ast.JoinedStr):
            parts = list(node.values)
        elif isinstance(node, ast.FormattedValue):
            parts = [node.value]
        elif isinstance(node, ast.Name | ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp):
            joint, parts = " ", list(self._readable(node))
            parts = [None] if parts == [node] else parts
        elif isinstance(node, ast.Call) and (found := attribute_of(node.func)) is not None:
            # Texts that are joined: what stands between them keeps names apart.
            between = text_of(found[0])
            if found[1] == "join" and between is not None and len(node.args) == 1:
                joint, parts = between, list(self._readable(node.args[0]))
        texts = [None if each is None else self._code_of(each, depth + 1) for each in parts]
        found_all = [each for each in texts if each is not None]
        return joint.join(found_all) if parts and len(found_all) == len(texts) else None

    def _judge_text(self, node: ast.Call, text: str) -> None:
        text = re.sub(r"`[^`]*`", "x", text)
        if _HIDDEN.search(text):
            self.review(node, "text", "code in a text calls what no name tells")
        for found in _CALLED.finditer(text):
            word = found.group(1).replace("@", "")
            parts = word.split(".")
            numpy = parts[0] not in self.names.bound or parts[0] in self.names.aliases
            if word in _PLAIN or (numpy and parts[0] in ("np", "numpy") and parts[-1] in _PLAIN):
                continue
            self._judge_word_of_text(node, word)

    def _judge_word_of_text(self, node: ast.Call, word: str) -> None:
        """Judge a function that a text calls."""
        try:
            function = ast.parse(word.strip("."), mode="eval").body
        except SyntaxError:
            self.review(node, "text", "code in a text calls what no name tells")
            return
        rules = self.names.rules(function)
        if word.startswith("."):
            rules = [self.names.policy.rule(f".{word.rpartition('.')[2]}")]
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is None or self.names.is_own(function):
            self.review(node, "text", "code in a text calls a function of this script")
        elif worst.action is Action.REFUSED or any(rule.role == "shows" for rule in rules):
            self.refuse(node, "text", worst.name, worst.reason)
        elif worst.action is Action.REVIEW:
            self.review(node, "text", f"no rule for a function that a text calls: {worst.name}")

    def judge_template(self, node: ast.AST) -> None:
        """Templates that reach into a result: ``"{0.evidence}".format(result)``."""
        text = text_of(node)
        if text is not None and _EVIDENCE.search(text):
            self.refuse(node, "text", "evidence", "true values stay inside the centre")
