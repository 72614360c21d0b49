"""What calls of an R script hand over: functions by their names, code in texts, single values.

In: calls and assignments. Out: findings and refusals.
"""

from __future__ import annotations

import re

from discreet.output_checking.findings import Severity
from discreet.output_checking.policy_rules import Action
from discreet.output_checking.rewriting import Language
from discreet.output_checking.scripts.places import WORDING, Notes, comment_words
from discreet.output_checking.scripts.r_flows import is_assignment
from discreet.output_checking.scripts.r_names import SYNTAX, RNames, arguments
from discreet.output_checking.scripts.r_picks import RPicks
from discreet.output_checking.scripts.r_tokens import RSyntaxError
from discreet.output_checking.scripts.r_tree import Node, parse_r

__all__ = ["BODY", "PART", "WHOLE", "RJudging"]

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


class RJudging:
    """Judges one script.

    Args:
        names: What its names stand for.
        notes: Where edits and findings go.
        language: Of the wording.
    """

    def __init__(self, names: RNames, notes: Notes, language: Language) -> None:
        self.names, self.notes = names, notes
        self.wording = WORDING[language]
        self.picks = RPicks(names)
        self.spreads: list[Node] = []
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

    def review(self, node: Node, rule: str, what: str) -> None:
        """Note what an officer looks at.

        Args:
            node: The place.
            rule: The name of the rule.
            what: What was found.
        """
        self.notes.find(rule, Severity.REVIEW, what, (node.start, node.end))

    def refuse(self, node: Node, name: str, what: str, *, statement: int, hint: str = "") -> None:
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

    def judge_names(self, tree: list[Node]) -> None:
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

    def _binds(self, node: Node, name: str) -> bool:
        if is_assignment(node):
            target = node.parts[1 if node.value[0] == "-" else 0]
            return any(each.value == name for each in target.walk())
        return node.value == name or name in node.names

    # ------------------------------------------------------------ what is handed over

    def judge_given(self, node: Node, place: Node, piped: Node | None, statement: int) -> None:
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

    def _picked(self, node: Node, piped: Node | None) -> bool:
        given = [*node.parts[1:], *([piped] if piped is not None else [])]
        return any(map(self.picks.picks, given))

    def _judge_running(self, node: Node, place: Node, position: int, statement: int) -> None:
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

    def runs_others(self, function: Node) -> bool:
        """Whether a call may run a function by its name.

        Args:
            function: What is called.
        """
        called = {name.rpartition("::")[2] for name in self.names.called(function)}
        known = all(self.names.policy.rule(name).known for name in called)
        return not called or not known or bool(called & set(_RUNNING))

    def _readable(self, node: Node) -> bool:
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

    def _judge_formula(self, node: Node, place: Node, statement: int) -> None:
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

    def _is_text(self, node: Node) -> bool:
        called = self.names.called(node.parts[0])
        return bool(called & {"paste", "paste0", "sprintf", "glue", "gsub", "sub", "toString"})

    def _texts(self, node: Node, depth: int = 0) -> list[str]:
        """All texts that an expression is put together of."""
        found = []
        for each in node.walk():
            if each.kind == "string":
                found.append(each.value)
            elif each.kind == "name" and depth < 4:
                for value in self.names.values.get(each.value, []):
                    found += self._texts(value, depth + 1) if value is not None else []
        return found

    def _judge_text(self, text: str, place: Node, statement: int) -> None:
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
