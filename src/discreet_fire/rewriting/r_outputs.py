"""What each expression of an R script prints, calls and hands over.

In: the tree and what its names stand for. Out: edits and findings; code in texts, functions
given by name and single values are looked at within calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from discreet_fire.catalogue.script_policy import ScriptRule
from discreet_fire.catalogue.verdicts import Action
from discreet_fire.findings import Severity
from discreet_fire.flow.r_names import (
    OPERATORS,
    SYNTAX,
    RNames,
    arguments,
    conditions_of,
    is_assignment,
    root_of,
)
from discreet_fire.flow.r_single_values import RPicks
from discreet_fire.rewriting.do_files import Language, newline_of
from discreet_fire.rewriting.script_changes import SCRIPT_WORDING, ScriptNotes, comment_words
from discreet_fire.scripts.r_syntax import RNode, RSyntaxError, parse_r

__all__ = ["BODY", "PART", "WHOLE", "RCalls", "RWalker"]

#: Where a call stands: in an expression, as the body of `if`, or as a statement.
PART, BODY, WHOLE = 0, 1, 2
#: Functions that run another one, with its place among the arguments.
_RUNNING = {
    **dict.fromkeys(("Map", "Reduce", "Filter", "Position", "Find", "mapply", "Negate"), 0),
    **dict.fromkeys(("Vectorize", "integrate", "uniroot", "nlm"), 0),
    **dict.fromkeys(("sapply", "lapply", "vapply", "rapply", "map", "map_dbl", "map_chr"), 1),
    **dict.fromkeys(("map_df", "walk", "pmap", "across", "optim"), 1),
    **dict.fromkeys(("apply", "tapply", "outer", "aggregate", "by", "map2"), 2),
    "sweep": 3,
    "ave": 99,
}
_NAMED = ("FUN", "f", ".f", "fn", ".fns")
_MAKING = frozenset(("Negate", "Vectorize", "list", "c", "partial"))
_MODELS = frozenset(
    (
        *("lm", "glm", "nls", "aov", "loess", "gam", "lmer", "glmer", "plm", "ivreg", "feols"),
        *("feglm", "felm", "polr", "multinom", "coxph", "survfit", "rq", "model.matrix", "svyglm"),
        *("aggregate", "xtabs", "t.test", "wilcox.test", "as.formula", "formula", "reformulate"),
        *("update", "model.frame", "terms"),
    )
)
_PLAIN = frozenset(
    ("poly", "log", "exp", "sqrt", "I", "factor", "as.factor", "ns", "bs", "s", "te", "offset",
     "relevel", "scale", "as.numeric", "lag", "interaction", "ordered", "cut", "Surv", "abs",
     "log10", "log2", "cbind", "strata", "cluster")
)  # fmt: skip


class RCalls:
    """Judges one script.

    Args:
        names: What its names stand for.
        notes: Where edits and findings go.
        language: Of the wording.
    """

    def __init__(self, names: RNames, notes: ScriptNotes, language: Language) -> None:
        self.names, self.notes = names, notes
        self.wording = SCRIPT_WORDING[language]
        self.picks = RPicks(names)
        self.spreads: list[RNode] = []
        self.speaking = self._find_speaking()

    def _find_speaking(self) -> set[str]:
        """The functions of the script that show something, also by others they call."""
        shows: set[str] = set()
        calls: dict[str, set[str]] = {}
        for name, value in self.names.bindings:
            if value is None or value.kind != "function":
                continue
            inside = [each for each in value.walk() if each.kind == "call"]
            called = set[str]().union(*(self.names.called(each.parts[0]) for each in inside))
            called |= {each.parts[0].value for each in inside}
            calls.setdefault(name, set()).update(called)
            if any(self.names.policy.rule(each).role == "shows" for each in called):
                shows.add(name)
        size = -1
        while size != (size := len(shows)):
            shows |= {name for name, called in calls.items() if called & shows}
        return shows

    def review(self, node: RNode, rule: str, what: str) -> None:
        """Note what an officer looks at.

        Args:
            node: The place.
            rule: The name of the rule.
            what: What was found.
        """
        self.notes.find(rule, Severity.REVIEW, what, (node.start, node.end))

    def refuse(self, node: RNode, name: str, what: str, *, statement: int, hint: str = "") -> None:
        """Take a whole expression out, or put an error in place of a part of one.

        Args:
            node: The expression.
            name: What is refused.
            what: Why.
            statement: Where it stands.
            hint: What to do instead.
        """
        span = (node.start, node.end)
        self.notes.find("call", Severity.REFUSED, f"{name}: {what}", span, hint)
        text = self.notes.text
        after = f'stop("{self.wording}")'
        if statement:
            after = "invisible(NULL)"
            if statement == WHOLE and self.notes.last_on_line(node.end):
                after += f"  # {self.wording}: {comment_words(text[node.start : node.end])}"
        self.notes.replace(span, after, "call", name, Action.REFUSED, what)

    # ------------------------------------------------------------ names

    def judge_names(self, tree: list[RNode]) -> None:
        """Names that must keep their meaning, and functions that run without being called.

        Args:
            tree: The script.
        """
        for name in sorted(self.names.bound):
            what = ""
            if name.startswith(("fdz_", ".fdz")):
                what = f"the name {name} belongs to the safe functions"
            elif name in SYNTAX:
                what = f"the name {name} belongs to R itself, and to what is written in here"
            if what:
                place = next(each for top in tree for each in top.walk() if self._binds(each, name))
                span = (place.start, place.start)
                self.notes.find("own-name", Severity.ERROR, what, span, "choose another name")
        for top in tree:
            for node in top.walk():
                if node.kind == "name" and node.value.startswith(".fdz"):
                    what = f"the name {node.value} belongs to the safe functions"
                    self.notes.find("own-name", Severity.ERROR, what, (node.start, node.end))
                if is_assignment(node):
                    target = node.parts[1 if node.value[0] == "-" else 0]
                    if target.value in self.names.own_methods:
                        self.review(node, "special", f"{target.value} runs without being called")

    def _binds(self, node: RNode, name: str) -> bool:
        if is_assignment(node):
            target = node.parts[1 if node.value[0] == "-" else 0]
            return any(each.value == name for each in target.walk())
        return node.value == name or name in node.names

    # ------------------------------------------------------------ what is handed over

    def judge_given(self, node: RNode, place: RNode, piped: RNode | None, statement: int) -> None:
        """Functions that a call runs, and code that it takes as a text.

        Args:
            node: The call.
            place: The whole expression.
            piped: What a pipe puts in front of its arguments.
            statement: Where it stands.
        """
        called = {name.rpartition("::")[2] for name in self.names.called(node.parts[0])}
        own = self.names.is_own(node.parts[0])
        for name in sorted(called & set(_RUNNING)):
            if not own:
                self._judge_running(node, place, _RUNNING[name] - (piped is not None), statement)
        if called & _MODELS and not own:
            given = [piped] if piped is not None else []
            pairs = [(None, each) for each in given] + list(arguments(node))
            chosen = [each for name, each in pairs if name in ("formula", "object", "x")]
            free = [each for name, each in pairs if name is None]
            # A pipe may put something else first; what looks like code is judged anywhere.
            chosen += free[:1] + [each for each in free[1:] if re.search(r"[(~]", each.value)]
            for each in chosen:
                self._judge_formula(each, place, statement)
        if self.picks.spreads(node) or (self._is_wrapped(called) and self._picked(node, piped)):
            self.spreads.append(place)
        if self.picks.labels(node):
            self.review(place, "label", "a label derives from data, and safe functions show labels")

    def _is_wrapped(self, called: set[str]) -> bool:
        return any(self.names.policy.rule(name).action is Action.WRAPPED for name in called)

    def _picked(self, node: RNode, piped: RNode | None) -> bool:
        given = [*node.parts[1:], *([piped] if piped is not None else [])]
        return any(map(self.picks.picks, given))

    def _judge_running(self, node: RNode, place: RNode, position: int, statement: int) -> None:
        """The function that a call runs can be read."""
        named = [each for name, each in arguments(node) if name in _NAMED]
        free = [each for name, each in arguments(node) if name is None]
        found = named or (free[position : position + 1] if position >= 0 else [])
        for each in found:
            rule = self.names.policy.rule(each.value)
            named_so = each.kind == "string" and each.value not in self.names.functions
            if named_so and (rule.action is Action.REFUSED or rule.role == "shows"):
                self.refuse(place, rule.name, rule.reason, statement=statement)
            elif not self._readable(each):
                what = "which function runs cannot be read from the program"
                self.review(place, "text", what)

    def runs_others(self, function: RNode) -> bool:
        """Whether a call may run a function by its name.

        Args:
            function: What is called.
        """
        called = {name.rpartition("::")[2] for name in self.names.called(function)}
        known = all(self.names.policy.rule(name).known for name in called)
        return not called or not known or bool(called & set(_RUNNING))

    def _readable(self, node: RNode) -> bool:
        """Whether an expression is a function that is judged where it stands."""
        if node.kind == "function":
            return True
        if node.kind == "string":
            known = self.names.policy.rule(node.value).known or node.value in SYNTAX
            return known or node.value in self.names.functions
        if node.kind == "name":
            if node.value in self.names.functions or self.names.aliases.get(node.value):
                return True
            known = self.names.policy.rule(node.value).known or node.value[:1] == "%"
            return node.value not in self.names.bound and (known or node.value in SYNTAX)
        if node.kind in ("binary", "unary"):
            return node.value in ("::", ":::", "~")
        if node.kind == "paren":
            return self._readable(node.parts[0])
        return node.kind == "call" and bool(self.names.called(node.parts[0]) & _MAKING)

    # ------------------------------------------------------------ code in texts

    def _judge_formula(self, node: RNode, place: RNode, statement: int) -> None:
        """A formula that is given as a text is code."""
        if node.kind in ("name", "call", "paren", "if", "index") and not self.names.clean(node):
            holds = node.kind == "call" and self.names.called(node.parts[0]) & _MODELS
            texts = node.kind == "call" and self._is_text(node)
            if texts and not holds:
                self.review(place, "text", "code in a text that cannot be read from the program")
            return
        if node.kind == "string":
            self._judge_text(node.value, place, statement)
        elif node.kind == "call" and self._is_text(node):
            for each in self._texts(node):
                if "(" in each:
                    what = "code in a text that cannot be read from the program"
                    self.review(place, "text", what)
                    return
        elif node.kind == "name":
            for value in self.names.values.get(node.value, []):
                if value is not None and value.kind in ("string", "call"):
                    self._judge_formula(value, place, statement)

    def _is_text(self, node: RNode) -> bool:
        called = self.names.called(node.parts[0])
        return bool(called & {"paste", "paste0", "sprintf", "glue", "gsub", "sub", "toString"})

    def _texts(self, node: RNode, depth: int = 0) -> list[str]:
        """All texts that an expression is put together of."""
        found = []
        for each in node.walk():
            if each.kind == "string":
                found.append(each.value)
            elif each.kind == "name" and depth < 4:
                for value in self.names.values.get(each.value, []):
                    found += self._texts(value, depth + 1) if value is not None else []
        return found

    def _judge_text(self, text: str, place: RNode, statement: int) -> None:
        try:
            tree = parse_r(text)
        except RSyntaxError:
            self.review(place, "text", "code in a text that cannot be read")
            return
        for top in tree:
            for each in top.walk():
                if each.kind != "call":
                    continue
                rules = self.names.rules(each.parts[0])
                worst = max(rules, key=lambda rule: rule.action.rank, default=None)
                if (
                    worst is not None
                    and worst.name in _PLAIN
                    and worst.name not in self.names.bound
                ):
                    continue
                if worst is None or worst.action is Action.REVIEW:
                    self.review(place, "text", "code in a text calls what no rule names")
                elif worst.action is Action.REFUSED or worst.role == "shows":
                    self.refuse(place, worst.name, worst.reason, statement=statement)

    # ------------------------------------------------------------ at the end

    def judge_spreads(self) -> None:
        """Note single values that are handed to many records, if any figure is shown."""
        if any("fdz_" in edit.after for edit in self.notes.edits):
            for node in self.spreads:
                what = "a single value is handed to many records; a safe figure could show it"
                self.review(node, "single", what)


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


class RWalker(RCalls):
    """Visits one script.

    Args:
        names: What its names stand for.
        notes: Where edits and findings go.
        language: Of the wording.
    """

    def __init__(self, names: RNames, notes: ScriptNotes, language: Language) -> None:
        super().__init__(names, notes, language)
        self.deciding = 0

    def run(self, tree: list[RNode]) -> None:
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

    def printed(self, node: RNode) -> None:
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

    def silent(self, node: RNode) -> bool:
        """Whether the value of an expression is not printed, or tells nothing."""
        if node.kind == "if":
            return all(self.silent(each) for each in node.parts[1:])
        if node.kind == "block" and node.parts:
            return self.silent(node.parts[-1])
        if self._passes(node):
            return all(self.silent(each) for each in node.parts[1:])
        return self.quiet(node) or self.names.clean(node)

    def quiet(self, node: RNode) -> bool:
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

    def _passes(self, node: RNode) -> bool:
        return node.kind == "call" and bool(self.names.called(node.parts[0]) & _PASSING)

    def wrapped(self, node: RNode) -> str | None:
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

    def wrap(self, node: RNode, safe: str) -> None:
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

    def visit(self, node: RNode, *, statement: int = PART) -> None:
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

    def control(self, node: RNode) -> None:
        """What runs only under a condition tells that it holds."""
        first = () if node.kind == "repeat" else (node.parts[0],)
        for each in first:
            self.visit(each)
        with self.under(*first, *self.names.flows.jumps.get(id(node), ())):
            for each in node.parts[len(first) :]:
                self.visit(each, statement=BODY)

    @contextmanager
    def under(self, *conditions: RNode) -> Iterator[None]:
        """Visit something that runs under conditions."""
        depends = not all(map(self.names.clean, conditions))
        self.deciding += depends
        yield
        self.deciding -= depends

    def binary(self, node: RNode, statement: int) -> None:
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

    def assignment(self, node: RNode) -> None:
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

    def is_fit(self, value: RNode | None) -> bool:
        """Whether a value is a model of a kind that has a safe form."""
        called = value is not None and value.kind == "call"
        return called and value is not None and bool(
            self.names.called(value.parts[0]) & {"lm", "glm"}
        )  # fmt: skip

    def value(self, node: RNode, *, statement: int = PART, whole: RNode | None = None) -> None:
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
        node: RNode,
        *,
        statement: int = PART,
        piped: RNode | None = None,
        whole: RNode | None = None,
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
        self,
        node: RNode,
        given: list[RNode],
        rules: list[ScriptRule],
        worst: ScriptRule,
        *,
        statement: int,
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

    def package(self, node: RNode, given: list[RNode]) -> None:
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

    def text(self, node: RNode, place: RNode, given: list[RNode]) -> None:
        """The name of a function as a text: ``sapply(x, "print")``."""
        rule = self.names.policy.rule(node.value)
        if len(given) > 1 and (rule.action is Action.REFUSED or rule.role == "shows"):
            what = f"a text that is the name of a function: {node.value}"
            self.notes.find("text", Severity.REVIEW, what, (place.start, place.end))
