"""What decides whether a Python script shows something, and how often.

In: statements and expressions that branch. Out: reviews where what runs depends on data.
"""

# ruff: noqa: N802, N815
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from discreet.output_checking.policy_rules import Action
from discreet.output_checking.scripts.python_bindings import attribute_of
from discreet.output_checking.scripts.python_flows import failing
from discreet.output_checking.scripts.python_picks import Picks
from discreet.output_checking.scripts.python_texts import Texts

__all__ = ["Control"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Control(Texts):
    """Visits what branches."""

    def prepare(self) -> None:
        """Find the functions of the script that show something, also by others they call."""
        self.picks = Picks(self.names)
        self.spreads: list[ast.AST] = []
        self.named: list[ast.AST] = []
        self.shows_figures = False
        shows: set[str] = set()
        calls: dict[str, set[str]] = {}
        for node in ast.walk(self.tree):
            if not isinstance(node, _FUNCTIONS):
                continue
            for each in ast.walk(node):
                if isinstance(each, ast.Call):
                    calls.setdefault(node.name, set()).add(_word(each.func))
                    rules = self.names.rules(each.func)
                    if any(rule.role == "shows" for rule in rules):
                        shows.add(node.name)
        size = -1
        while size != (size := len(shows)):
            shows |= {name for name, inside in calls.items() if inside & shows}
        self.speaking = shows

    def judge_speaking(self, node: ast.Call) -> None:
        """A function of the script that shows something, called as often as data say.

        Args:
            node: The call.
        """
        word = _word(node.func)
        if word in self.speaking and self.names.is_own(node.func):
            self.branching(node, word)

    def judge_safe(self, node: ast.Call) -> None:
        """Safe functions keep to the rules of the centre; names they get are constants.

        Args:
            node: The call of a safe function.
        """
        self.shows_figures = True
        if any(each.arg in (None, "limits") for each in node.keywords):
            what = "the rules are those of the centre, and options are written out"
            self.refuse(node, "limits", "limits", what)
        elif any(isinstance(each, ast.Starred) for each in node.args):
            self.refuse(node, "limits", "arguments", "arguments are written out")
        others = [*node.args[1:], *(each.value for each in node.keywords if each.arg != "frame")]
        if not all(map(self.names.clean, others)):
            self.review(node, "label", "what it is asked for derives from data, or may")
        if any(map(self.picks.picks, node.args)):
            self.spreads.append(node)

    def judge_columns(self, node: ast.Assign | ast.AugAssign | ast.Call) -> None:
        """Single values that become a column, and labels that are made of data.

        Args:
            node: An assignment or a call.
        """
        if self.picks.spreads(node):
            self.spreads.append(node)
        if self.picks.labels(node):
            self.review(node, "label", "a label derives from data, and safe functions show labels")
        if isinstance(node, ast.Call) and (attribute := attribute_of(node.func)) is not None:
            wrapped = any(r.action is Action.WRAPPED for r in self.names.rules(node.func))
            if wrapped and self.picks.picks(attribute[0]):
                self.spreads.append(node)
            if wrapped and any(map(self.picks.turns, [attribute[0], *node.args])):
                self.named.append(node)

    def judge_spreads(self) -> None:
        """Note single values that are handed to many records, and names, if they are shown."""
        if self.shows_figures or any(edit.rule == "command" for edit in self.notes.edits):
            for node in self.spreads:
                what = "a single value is handed to many records; a safe figure could show it"
                self.review(node, "single", what)
        shown = [(each.start, each.end) for each in self.notes.edits if each.rule == "command"]
        for node in self.named:
            start, end = self.spans.of(node)
            if any(first <= start and end <= last for first, last in shown):
                what = "columns are called by values of data, and safe functions show their names"
                self.review(node, "label", what)

    def branching(self, node: ast.AST, name: str) -> None:
        """Review what is shown under a condition on data.

        Args:
            node: What is shown.
            name: How it is called.
        """
        if self.deciding:
            self.review(node, "branch", f"{name}: whether or how often it runs depends on data")

    @contextmanager
    def under(self, *conditions: ast.AST | None) -> Iterator[None]:
        """Visit something that runs under conditions.

        Args:
            conditions: What decides; parts that are None do not.
        """
        depends = any(each is not None and not self.names.clean(each) for each in conditions)
        self.deciding += depends
        yield
        self.deciding -= depends

    def _all(self, nodes: Sequence[ast.AST]) -> None:
        for each in nodes:
            self.visit(each)

    def visit_If(self, node: ast.If) -> None:
        """What runs only under a condition tells that it holds."""
        self.visit(node.test)
        with self.under(node.test):
            self._all([*node.body, *node.orelse])

    def visit_While(self, node: ast.While) -> None:
        """As a condition; where it is left early counts too."""
        with self.under(*self.names.flows.jumps.get(node, ())):
            self.visit(node.test)
            with self.under(node.test):
                self._all([*node.body, *node.orelse])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        """How often it runs tells how many there are."""
        self.judge_target(node, node.target)
        self._all([node.target, node.iter])
        with self.under(node.iter, *self.names.flows.jumps.get(node, ())):
            self._all([*node.body, *node.orelse])

    visit_AsyncFor = visit_For

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        """What it names is assigned to."""
        for each in node.items:
            if each.optional_vars is not None:
                self.judge_target(node, each.optional_vars)
        self.generic_visit(node)

    visit_AsyncWith = visit_With

    def visit_Match(self, node: ast.Match) -> None:
        """As a chain of conditions."""
        self.visit(node.subject)
        for case in node.cases:
            self.in_pattern = True
            self.visit(case.pattern)
            self.in_pattern = False
            with self.under(node.subject, case.guard):
                if case.guard is not None:
                    self.visit(case.guard)
                self._all(case.body)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """As a condition."""
        self.visit(node.test)
        with self.under(node.test):
            self._all([node.body, node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """``a and b`` runs b only if a holds."""
        self.visit(node.values[0])
        with self.under(*node.values[:-1]):
            self._all(node.values[1:])

    def visit_ListComp(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        """As a loop."""
        conditions: list[ast.AST] = []
        for each in node.generators:
            if self.statement is not None:
                self.judge_target(self.statement, each.target)
            self._all([each.target, each.iter])
            conditions += [each.iter, *each.ifs]
            with self.under(*conditions):
                self._all(each.ifs)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        with self.under(*conditions):
            self._all(parts)

    visit_SetComp = visit_ListComp
    visit_GeneratorExp = visit_ListComp
    visit_DictComp = visit_ListComp

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """How often it runs is not known."""
        self._all([*node.args.defaults, *(each for each in node.args.kw_defaults if each)])
        self.deciding += 1
        self.visit(node.body)
        self.deciding -= 1

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        """Once something in its body may fail by data, all that follows is in question."""
        depends = False
        for each in node.body:
            self.deciding += depends
            self.visit(each)
            self.deciding -= depends
            one = ast.Try(body=[each], handlers=[], orelse=[], finalbody=[])
            depends = depends or not all(map(self.names.clean, failing(one)))
        self.deciding += depends
        self._all(node.orelse)
        self.deciding -= depends
        self._all([*node.handlers, *node.finalbody])

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """That an error occurred may tell of the data."""
        self.deciding += 1
        self.generic_visit(node)
        self.deciding -= 1


def _word(function: ast.AST) -> str:
    attribute = attribute_of(function)
    return str(attribute[1] if attribute else getattr(function, "id", ""))
