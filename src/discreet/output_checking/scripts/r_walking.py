"""Walk over an R script: what each expression prints, calls and hands over.

In: the tree and what its names stand for. Out: notes of edits and findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.output_checking.findings import Severity
from discreet.output_checking.policy_rules import Action
from discreet.output_checking.rewriting import Language, newline_of
from discreet.output_checking.scripts.places import Notes
from discreet.output_checking.scripts.policies import Rule
from discreet.output_checking.scripts.r_flows import conditions_of, is_assignment, root_of
from discreet.output_checking.scripts.r_judging import BODY, PART, WHOLE, RJudging
from discreet.output_checking.scripts.r_names import OPERATORS, RNames, arguments
from discreet.output_checking.scripts.r_tree import Node

__all__ = ["Walker"]

_READS = frozenset(
    (
        "read.csv",
        "read.csv2",
        "read.table",
        "read.delim",
        "read_csv",
        "read_csv2",
        "read_tsv",
        "read_dta",
        "read_sav",
        "read_excel",
        "read_rds",
        "readRDS",
        "fread",
        "scan",
        "readLines",
    )
)
#: Without the variable R looks in the root folder, where no script can put a file of that name.
_RUNTIME = 'source(file.path(Sys.getenv("DISCREET_R"), "discreet_safe.R"))'
_HINT = "use summary, table, mean, sd, cor or quantile, which have safe forms"
_CONTROL = ("if", "while", "for", "repeat")
#: Packages whose functions have rules, or that only compute.
_PACKAGES = frozenset(
    (
        *("base", "stats", "utils", "datasets", "graphics", "grDevices", "splines", "stats4"),
        *("dplyr", "tidyr", "tibble", "readr", "purrr", "stringr", "forcats", "ggplot2", "haven"),
        *("lubridate", "tidyverse", "magrittr", "data.table", "readxl", "labelled", "broom"),
        *("foreign", "MASS", "Matrix", "survival", "survey", "sandwich", "lmtest", "car", "AER"),
        *("plm", "lme4", "nlme", "fixest", "lfe", "mgcv", "nnet", "quantreg", "estimatr", "zoo"),
        *("srvyr", "vctrs", "scales", "Hmisc", "psych", "janitor", "knitr", "ivreg", "boot"),
        *("arrow", "collapse", "matrixStats", "cluster", "rpart", "glmnet", "ranger", "xts"),
    )
)
#: What figures are put into to be shown: the figure is shown without it.
_AROUND = frozenset(("round", "signif", "format", "sprintf", "paste", "paste0", "as.character"))
#: They give back what they get, and R prints it as it would without them.
_PASSING = frozenset(("suppressWarnings", "suppressMessages", "suppressPackageStartupMessages"))


class Walker(RJudging):
    """Visits one script.

    Args:
        names: What its names stand for.
        notes: Where edits and findings go.
        language: Of the wording.
    """

    def __init__(self, names: RNames, notes: Notes, language: Language) -> None:
        super().__init__(names, notes, language)
        self.deciding = 0

    def run(self, tree: list[Node]) -> None:
        """Note all that is to be said and changed.

        Args:
            tree: The top-level expressions.
        """
        self.judge_names(tree)
        for node in tree:
            self.visit(node, statement=WHOLE)
            self.printed(node)
        self.judge_spreads()
        used = any(n.value.startswith("fdz_") for top in tree for n in top.walk())
        if tree and (used or any("fdz_" in edit.after for edit in self.notes.edits)):
            start = tree[0].start
            line = _RUNTIME + newline_of(self.notes.text)
            reason = "the safe functions are loaded"
            self.notes.replace((start, start), line, "runtime", "fdz", Action.WRAPPED, reason)

    # ------------------------------------------------------------ what R prints by itself

    def printed(self, node: Node) -> None:
        """A value at the top level, which R prints."""
        if node.kind == "block" and node.parts:
            self.printed(node.parts[-1])
            return
        if node.kind == "if" and not self.names.clean(node.parts[0]) and not self.quiet(node):
            self.review(node, "branch", "which value R prints depends on data")
        gone = (node.start, node.end) in self.notes.spans
        if gone or self.silent(node):
            return
        safe = self.wrapped(node)
        if safe is not None:
            self.wrap(node, safe)
            return
        span = (node.start, node.end)
        what = "R prints the value of this line, which derives from data, or may"
        self.notes.find("printed", Severity.REFUSED, what, span, _HINT)
        self.notes.replace((node.start, node.start), "invisible(", "printed", "value",
                           Action.REFUSED, what)  # fmt: skip
        self.notes.replace((node.end, node.end), ")", "printed", "value", Action.REFUSED, what)

    def silent(self, node: Node) -> bool:
        """Whether the value of an expression is not printed, or tells nothing."""
        if node.kind == "if":
            return all(self.silent(each) for each in node.parts[1:])
        if node.kind == "block" and node.parts:
            return self.silent(node.parts[-1])
        if self._passes(node):
            return all(self.silent(each) for each in node.parts[1:])
        return self.quiet(node) or self.names.clean(node)

    def quiet(self, node: Node) -> bool:
        """Whether R prints nothing after an expression."""
        if is_assignment(node) or node.kind in ("for", "while", "repeat", "function"):
            return True
        if node.kind == "block":
            return not node.parts or self.quiet(node.parts[-1])
        if node.kind == "if":
            return all(self.quiet(each) for each in node.parts[1:])
        if node.kind == "index":
            # Assignments of data.table within its brackets print nothing.
            return any(each.value == ":=" for each in node.parts[1:] if each.kind == "binary")
        if node.kind != "call":
            return False
        if self._passes(node):
            return all(self.quiet(each) for each in node.parts[1:])
        rules = self.names.rules(node.parts[0])
        if any(rule.name == "options" for rule in rules):
            # Without a value it shows what the option is.
            return len(node.parts) > 1 and None not in node.names
        acts = bool(rules) and all(rule.role in ("acts", "shows") for rule in rules)
        # What is refused is taken out anyway.
        return acts or any(rule.action is Action.REFUSED for rule in rules)

    def _passes(self, node: Node) -> bool:
        return node.kind == "call" and bool(self.names.called(node.parts[0]) & _PASSING)

    def wrapped(self, node: Node) -> str | None:
        """The safe form of an expression that would be shown."""
        text = self.notes.text
        if self.names.is_model(node):
            return f"fdz_summary({text[node.start : node.end]})"
        call = node
        if node.kind == "binary" and node.value in ("|>", "%>%"):
            call = node.parts[1]
        if call.kind != "call":
            return None
        if node is call and self.names.called(call.parts[0]) & _AROUND:
            dirty = [each for each in call.parts[1:] if not self.names.clean(each)]
            return self.wrapped(dirty[0]) if len(dirty) == 1 else None
        rules = self.names.rules(call.parts[0])
        safe = {rule.safe for rule in rules}
        if len(safe) != 1 or not rules or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        function = call.parts[0]
        return text[node.start : function.start] + safe.pop() + text[function.end : node.end]

    def wrap(self, node: Node, safe: str) -> None:
        """Note the edit that puts a safe call in place of an expression."""
        reason = "a safe function runs instead"
        span = (node.start, node.end)
        if any(map(self.picks.turns, node.parts if node.kind != "name" else [node])):
            what = "columns are called by values of data, and safe functions show their names"
            self.review(node, "label", what)
        name = safe[safe.rindex("fdz_") :].partition("(")[0]
        self.notes.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.notes.replace(span, safe, "command", name, Action.WRAPPED, reason)

    # ------------------------------------------------------------ all parts of the tree

    def visit(self, node: Node, *, statement: int = PART) -> None:
        """Visit a node and what is below it."""
        if node.kind == "call":
            self.call(node, statement=statement)
        elif node.kind == "name":
            self.value(node, statement=statement)
        elif node.kind == "string":
            if "://" in node.value:
                what = "an address of the network"
                self.notes.find("address", Severity.REVIEW, what, (node.start, node.end))
        elif node.kind == "block":
            for each in node.parts:
                self.visit(each, statement=WHOLE)
        elif node.kind in _CONTROL:
            self.control(node)
        elif node.kind == "binary":
            self.binary(node, statement)
        else:
            with self.under(*self.names.flows.jumps.get(id(node), ())):
                for each in node.parts:
                    if each.kind != "name" or node.kind not in ("unary", "index"):
                        self.visit(each)

    def control(self, node: Node) -> None:
        """What runs only under a condition tells that it holds."""
        first = () if node.kind == "repeat" else (node.parts[0],)
        for each in first:
            self.visit(each)
        with self.under(*first, *self.names.flows.jumps.get(id(node), ())):
            for each in node.parts[len(first) :]:
                self.visit(each, statement=BODY)

    @contextmanager
    def under(self, *conditions: Node) -> Iterator[None]:
        """Visit something that runs under conditions."""
        depends = not all(map(self.names.clean, conditions))
        self.deciding += depends
        yield
        self.deciding -= depends

    def binary(self, node: Node, statement: int) -> None:
        """Operators: assignments, pipes, parts of objects, and sums."""
        left, right = node.parts
        if node.value in ("$", "@"):
            self.visit(left)
            if right.kind not in ("name", "string"):
                self.visit(right)
            return
        if node.value in ("::", ":::"):
            self.value(node, statement=statement)
            return
        if is_assignment(node):
            self.assignment(node)
            return
        if node.value[0] == "%" and node.value not in OPERATORS:
            what = f"no rule for the operator {node.value}"
            self.notes.find("call", Severity.REVIEW, what, (node.start, node.end))
        if node.value in ("|>", "%>%", "%T>%", "%$%", "%<>%"):
            self.visit(left)
            if right.kind == "call":
                self.call(right, statement=statement, piped=left, whole=node)
            else:
                self.value(right, statement=statement, whole=node)
                if right.kind not in ("name", "string"):
                    self.visit(right)
            return
        # Names in formulas, sums and comparisons are columns, not functions.
        for each, conditions in conditions_of(node):
            if each.kind != "name":
                with self.under(*conditions):
                    self.visit(each)

    def assignment(self, node: Node) -> None:
        """What is assigned, and to what."""
        left, right = node.parts
        target, value = (right, left) if node.value[0] == "-" else (left, right)
        simple = target.kind in ("name", "string")
        known = self.names.policy.rule(target.value).known
        is_function = value.kind == "function" or any(r.known for r in self.names.rules(value))
        if simple and known and is_function:
            what = f"gives {target.value} a meaning of its own"
            self.notes.find("own-name", Severity.REVIEW, what, (target.start, target.end))
        if not simple:
            self.visit(target)
            if any(map(self.is_fit, self.names.values.get(root_of(target), []))):
                self.review(node, "model", "changes a fitted model, which is shown as if fitted")
        if self.picks.spreads(node):
            self.spreads.append(node)
        if self.picks.labels(node):
            self.review(node, "label", "a label derives from data, and safe functions show labels")
        # A function that is only given another name is followed.
        if not (simple and value.kind in ("name", "binary") and self.names.called(value)):
            self.visit(value)

    def is_fit(self, value: Node | None) -> bool:
        """Whether a value is a model of a kind that has a safe form."""
        called = value is not None and value.kind == "call"
        return called and value is not None and bool(
            self.names.called(value.parts[0]) & {"lm", "glm"}
        )  # fmt: skip

    def value(self, node: Node, *, statement: int = PART, whole: Node | None = None) -> None:
        """A function that is handed over instead of called."""
        if node.kind == "name" and node.value in self.speaking and not statement:
            self.review(whole or node, "value", "hands over a function that shows")
        for rule in self.names.rules(node):
            name = node.value if node.kind == "name" else rule.name
            if node.kind == "name" and name in self.names.bound and name not in self.names.aliases:
                continue
            if rule.action is Action.REFUSED or (rule.known and rule.role == "shows"):
                what = (
                    rule.reason
                    if rule.action is Action.REFUSED
                    else "hands over a function that shows"
                )
                self.refuse(whole or node, rule.name, what, statement=statement)

    def call(
        self,
        node: Node,
        *,
        statement: int = PART,
        piped: Node | None = None,
        whole: Node | None = None,
    ) -> None:
        """A call: of which function, and with what."""
        function = node.parts[0]
        place = whole or node
        given = [each for _, each in arguments(node)] + ([piped] if piped is not None else [])
        rules = [] if self.names.is_own(function) else self.names.rules(function)
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is not None:
            self.judge(place, given, rules, worst, statement=statement)
        elif function.kind not in ("name", "function") and not self.names.is_own(function):
            what = "calls what no name tells"
            self.notes.find("call", Severity.REVIEW, what, (place.start, place.end))
        self.judge_given(node, place, piped, statement)
        if self.deciding and self.names.is_own(function) and function.value in self.speaking:
            what = f"{function.value}: whether or how often it runs depends on data"
            self.review(place, "branch", what)
        if function.kind not in ("name", "string") and function.value not in ("::", ":::"):
            self.visit(function)
        for each, conditions in list(conditions_of(node))[1:]:
            if each.kind == "string" and self.runs_others(function):
                self.text(each, place, given)
            # How often a function that is handed over runs is not known.
            loose = each.kind == "function" or (each.kind == "unary" and each.value == "~")
            self.deciding += loose
            with self.under(*conditions):
                self.visit(each)
            self.deciding -= loose

    def judge(
        self, node: Node, given: list[Node], rules: list[Rule], worst: Rule, *, statement: int
    ) -> None:
        """Judge a call by the gravest rule on it."""
        span = (node.start, node.end)
        if worst.action is Action.REFUSED:
            self.refuse(node, worst.name, worst.reason, statement=statement)
        elif any(rule.role == "shows" for rule in rules):
            dirty = [each for each in given if not self.names.clean(each)]
            shown = [safe for each in dirty if (safe := self.wrapped(each)) is not None]
            plain = worst.name in ("print", "show", "cat") and bool(statement)
            if dirty and len(shown) == len(dirty) and plain:
                self.wrap(node, shown[0] if len(shown) == 1 else f"{{ {'; '.join(shown)} }}")
            elif dirty:
                what = "shows what derives from data, or may"
                self.refuse(node, worst.name, what, statement=statement, hint=_HINT)
                return
            if self.deciding:
                what = f"{worst.name}: whether or how often it runs depends on data"
                self.notes.find("branch", Severity.REVIEW, what, span)
        elif worst.action is Action.REVIEW:
            what = (
                worst.reason if worst.known else f"no rule for {worst.name}; it may show anything"
            )
            self.notes.find("call", Severity.REVIEW, what, span)
        elif worst.name in ("library", "require"):
            self.package(node, given)
        elif worst.name in ("UseMethod", "NextMethod") and given and given[0].kind == "string":
            rule = self.names.policy.rule(given[0].value)
            if rule.action is Action.REFUSED or rule.role == "shows":
                what = "hands its arguments to a function that shows"
                self.refuse(node, rule.name, what, statement=statement)
        elif worst.name == "options" and not all(map(self.names.clean, given)):
            self.review(node, "call", "options: a setting derives from data, or may")
        elif worst.name in _READS and not all(map(self.names.clean, given)):
            what = f"{worst.name}: the place it reads derives from data, or may"
            self.notes.find("place", Severity.REVIEW, what, span)

    def package(self, node: Node, given: list[Node]) -> None:
        """Packages that rules refuse as a whole."""
        name = given[0].value if given and given[0].kind in ("name", "string") else ""
        if len(given) > 1 or not name:
            what = "the name of the package may derive from data"
            self.notes.find("call", Severity.REVIEW, what, (node.start, node.end))
        rule = self.names.policy.rule(f"{name}::*")
        if name and not rule.known and name not in _PACKAGES:
            what = f"no rule for the package {name}; what it does is not known"
            self.review(node, "package", what)
        if rule.known and rule.action is Action.REFUSED:
            self.refuse(node, name, rule.reason, statement=BODY)

    def text(self, node: Node, place: Node, given: list[Node]) -> None:
        """The name of a function as a text: ``sapply(x, "print")``."""
        rule = self.names.policy.rule(node.value)
        if len(given) > 1 and (rule.action is Action.REFUSED or rule.role == "shows"):
            what = f"a text that is the name of a function: {node.value}"
            self.notes.find("text", Severity.REVIEW, what, (place.start, place.end))
