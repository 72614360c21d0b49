"""Which Python expressions a safe function can stand in for, and how it is written.

In: an expression that would be shown. Out: the text of the safe call, or None.
"""

from __future__ import annotations

import ast
from collections import Counter

from discreet.output_checking.findings import Severity
from discreet.output_checking.policy_rules import Action
from discreet.output_checking.scripts.places import Notes
from discreet.output_checking.scripts.python_names import Names
from discreet.output_checking.scripts.python_spans import Spans

__all__ = ["Wrapper"]


_AROUND = frozenset(("builtins.round", "builtins.str", "builtins.float"))


class Wrapper:
    """Writes safe calls.

    Args:
        tree: The script.
        names: What its names stand for.
        notes: Where edits go.
        spans: Places of nodes.
    """

    def __init__(self, tree: ast.Module, names: Names, notes: Notes, spans: Spans) -> None:
        self.names, self.notes, self.spans = names, notes, spans
        inside = (n for n in ast.walk(tree) if isinstance(n, ast.JoinedStr))
        self._in_texts = {id(part) for text in inside for part in ast.walk(text)}
        loads = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
        self._loads = Counter(n.id for n in loads if isinstance(n.ctx, ast.Load))
        self._values: dict[str, list[ast.AST | None]] = {}
        for name, value in names.bindings:
            self._values.setdefault(name, []).append(value)
        self._simple = {
            node.targets[0].id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        }

    def wrapped(self, node: ast.AST) -> str | None:
        """The safe call for an expression, as text; for a name, the name itself."""
        if isinstance(node, ast.Name):
            return node.id if self._held(node) is not None else None
        if not isinstance(node, ast.Call):
            return None
        if (within := self._inner(node)) is not None:
            return None if isinstance(within, ast.Name) else self.wrapped(within)
        full = self.names.resolved(node.func)
        rules = self.names.rules(node.func)
        safe = {rule.safe for rule in rules if rule.action is Action.WRAPPED}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        if id(node) in self._in_texts:
            return self._written(node, safe.pop())
        start, end = self.spans.of(node)
        function = self.spans.of(node.func)[1]
        inner = self.notes.text[function:end].strip()
        if not inner.startswith("(") or "#" in inner:
            return None
        inner = inner[1:-1].strip()
        if full:
            return f"fdz_safe.{safe.pop()}({inner})"
        return self._method(node.func, start, function, safe.pop(), inner)

    def split(self, node: ast.expr) -> tuple[str, list[ast.Name]] | None:
        """The parts of a formatted text as arguments of `print`, with names whose values change.

        Args:
            node: What is printed; None comes back if a part of it has no safe form.
        """
        if not isinstance(node, ast.JoinedStr):
            return None
        parts: list[str] = []
        held: list[ast.Name] = []
        for each in node.values:
            inner = each.value if isinstance(each, ast.FormattedValue) else None
            if inner is None or self.names.clean(each):
                parts.append(ast.unparse(ast.JoinedStr(values=[each])))
            elif (safe := self.wrapped(inner)) is not None:
                parts.append(safe)
                held += [inner] if isinstance(inner, ast.Name) else []
            else:
                return None
        return ", ".join(parts), held

    def _inner(self, node: ast.Call) -> ast.expr | None:
        """What `round` and `str` are put around."""
        full = self.names.resolved(node.func)
        plain = bool(full) and full <= _AROUND and bool(node.args) and not node.keywords
        if not plain or not all(map(self.names.clean, node.args[1:])):
            return None
        return node.args[0]

    def _written(self, node: ast.Call, safe: str) -> str | None:
        """The safe call for a part of a formatted text, whose place in the text is not known."""
        given = [ast.unparse(each) for each in node.args]
        given += [ast.unparse(each) for each in node.keywords]
        if not self.names.resolved(node.func):
            if not isinstance(node.func, ast.Attribute):
                return None
            first = [ast.unparse(node.func.value)]
            given = [*first, *([repr(node.func.attr)] if safe == "statistic" else []), *given]
        return f"fdz_safe.{safe}({', '.join(given)})"

    def _method(
        self, function: ast.expr, start: int, end: int, safe: str, inner: str
    ) -> str | None:
        """The safe call for a method of an object."""
        if not isinstance(function, ast.Attribute):
            return None
        text = self.notes.text[start:end]
        before = text.removesuffix(function.attr).rstrip()
        if before + function.attr == text or "#" in text or not before.endswith("."):
            before = text[: -len(function.attr)].rstrip() if text.endswith(function.attr) else ""
        if not before.endswith(".") or "#" in text:
            return None
        parts = [before.removesuffix(".").rstrip()]
        if safe == "statistic":
            parts.append(repr(function.attr))
        return f"fdz_safe.{safe}({', '.join([*parts, *([inner] if inner else [])])})"

    def _held(self, node: ast.Name) -> ast.expr | None:
        """What a name holds, if it is bound once and used nowhere but here."""
        value = self._simple.get(node.id)
        once = len(self._values.get(node.id, ())) == 1 and self._loads[node.id] == 1
        if value is None or not once or isinstance(value, ast.Name):
            return None
        return value if self.wrapped(value) is not None else None

    def note(self, node: ast.AST, text: str) -> None:
        """Note the edit that puts a safe call in place of an expression."""
        target: ast.AST = node
        if isinstance(node, ast.Name):
            held = self._held(node)
            assert held is not None
            target, text = held, self.wrapped(held) or ""
        name = text.partition("fdz_safe.")[2].partition("(")[0]
        span = self.spans.of(target)
        reason = "a safe function runs instead"
        self.notes.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.notes.replace(span, text, "command", name, Action.WRAPPED, reason)
