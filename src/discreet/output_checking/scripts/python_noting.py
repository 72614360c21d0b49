"""What a walk over a Python script notes: modules, refusals, places to review.

In: nodes of the tree. Out: edits and findings.
"""

from __future__ import annotations

import ast

from discreet.output_checking.findings import Severity
from discreet.output_checking.policy_rules import Action
from discreet.output_checking.rewriting import Language
from discreet.output_checking.scripts.places import WORDING, Notes, comment_words
from discreet.output_checking.scripts.python_names import Names
from discreet.output_checking.scripts.python_spans import Spans
from discreet.output_checking.scripts.python_wrapping import Wrapper

__all__ = ["Noting"]

_SAFE = "discreet.output_checking.safe"


class Noting(ast.NodeVisitor):
    """A visitor that notes.

    Args:
        tree: The script.
        names: What its names stand for.
        notes: Where edits and findings go.
        language: Of the wording.
        autoshow: Whether a bare expression is shown, as in notebooks.
    """

    def __init__(
        self, tree: ast.Module, names: Names, notes: Notes, *, language: Language, autoshow: bool
    ) -> None:
        self.tree, self.names, self.notes = tree, names, notes
        self.wording = WORDING[language]
        self.autoshow = autoshow
        self.spans = Spans(notes.text, notes.lines)
        self.wrapper = Wrapper(tree, names, notes, self.spans)
        self.deciding = 0
        self.statement: ast.stmt | None = None
        self.functions = 0
        self.in_pattern = False
        #: What is taken out already.
        self.taken: set[tuple[int, int]] = set()
        #: Statements of the bodies of classes.
        self.in_classes: set[int] = set()
        #: Functions of the script that show something.
        self.speaking: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        """Modules by their names."""
        for each in node.names:
            self._judge_module(node, each.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Names of modules."""
        module = "." * node.level + (node.module or "")
        for each in node.names:
            rule = self.names.policy.rule(f"{module}.{each.name}")
            if each.name == "*":
                self.refuse(node, "import", module, "a star import hides which names there are")
            elif rule.role == "shows" and id(node) in self.in_classes:
                self.refuse(node, "import", rule.name, "hands over a function that shows")
            else:
                self._judge_module(node, module, each.name)

    def _judge_module(self, node: ast.stmt, module: str, name: str = "") -> None:
        rules = self.names.of_name(f"{module}.{name}") if name else []
        rules.append(self.names.policy.rule(f"{module}.{name or '*'}"))
        inner = self.names.policy.rule(f"{name.strip('_')}.*")
        own = self.names.policy.rules.get(f"{module}.{name}.*")
        if inner.action is Action.REFUSED and own is None and name:
            # A module that another one has loaded: ``from platform import subprocess``.
            rules.append(inner)
        rule = max(rules, key=lambda each: (each.known, each.action.rank))
        if module.partition(".")[0] == "discreet":
            if f"{module}.{name}" != _SAFE and module != _SAFE:
                what = "only discreet.output_checking.safe may be used"
                self.refuse(node, "import", module, what)
            elif rule.action is Action.REFUSED:
                self.refuse(node, "import", f"{module}.{name}".rstrip("."), rule.reason)
        elif rule.action is Action.REFUSED and module != "builtins":
            self.refuse(node, "import", f"{module}.{name}".rstrip("."), rule.reason)
        elif not rule.known and not self._some(module):
            hint = "give its source to review, or add a rule for it"
            what = f"no rule for the module {module}; what it does is not known"
            self.notes.find("import", Severity.REVIEW, what, self.spans.of(node), hint)

    def _some(self, module: str) -> bool:
        """Whether rules name single functions of a module."""
        return any(name.startswith(f"{module}.") for name in self.names.policy.rules)

    # ------------------------------------------------------------ targets

    def judge_target(self, node: ast.stmt, target: ast.AST, value: ast.AST | None = None) -> None:
        """Modules and the environment must stay as they are, but for their settings.

        Args:
            node: The statement.
            target: What is assigned to.
            value: What is assigned, if it is written out.
        """
        if isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self.judge_target(node, each)
        elif isinstance(target, ast.Starred):
            self.judge_target(node, target.value)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            full = self.names.resolved(target.value)
            if not full & self._modules() and not any("." in name for name in full):
                return
            whole = self.names.resolved(target) or full
            settings = all(self.names.policy.rule(name).role == "acts" for name in whole)
            plain = value is not None and (
                isinstance(value, ast.Attribute | ast.Lambda) or self.names.clean(value)
            )
            if not settings or not plain:
                what = "changes a module, its functions or the environment"
                self.refuse(node, "monkeypatch", "assignment", what)

    def _modules(self) -> set[str]:
        return {name for found in self.names.aliases.values() for name in found} | {"builtins"}

    # ------------------------------------------------------------ what is noted

    def review(self, node: ast.AST, rule: str, what: str) -> None:
        """Note what an officer looks at."""
        self.notes.find(rule, Severity.REVIEW, what, self.spans.of(node))

    def withhold(self, node: ast.AST, rule: str, what: str, kind: str = "") -> None:
        """Put a text without figures in place of a message."""
        span = self.spans.of(node)
        self.notes.find(rule, Severity.REFUSED, f"{rule}: {what}", span)
        text = f'{kind}("{self.wording}")' if kind else f'"{self.wording}"'
        self.notes.replace(span, text, rule, rule, Action.REFUSED, what)

    def refuse(self, node: ast.AST, rule: str, name: str, what: str, hint: str = "") -> None:
        """Take a whole statement out, or put an error in place of a part of one."""
        self.notes.find(rule, Severity.REFUSED, f"{name}: {what}", self.spans.of(node), hint)
        statement = self.statement
        whole = isinstance(statement, ast.Expr | ast.Import | ast.ImportFrom | ast.Delete)
        whole |= node is statement
        # What is assigned to or matched cannot be a call, so the whole statement goes.
        whole |= self.in_pattern
        whole |= isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        place: ast.AST = statement if whole and statement is not None else node
        if not whole:
            place = self.spans.outside_texts(node, statement)
        span = self.spans.of(place)
        if span in self.taken:
            return
        self.taken.add(span)
        after = f"fdz_safe.refused({name!r})"
        if whole:
            after = "pass"
            if self.notes.last_on_line(span[1]):
                after = f"pass  # {self.wording}: {comment_words(self.notes.text[slice(*span)])}"
        self.notes.replace(span, after, rule, name, Action.REFUSED, what)
