"""Rewrite R scripts: safe functions in, code that may not run out.

In: the text of a script and a policy. Out: a `Rewriting`. A value that R would print by
itself is made invisible, unless it tells nothing of the data or has a safe form.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.output_checking.findings import Severity
from discreet.output_checking.policy_rules import Action
from discreet.output_checking.rewriting import Language, Rewriting, newline_of
from discreet.output_checking.scripts.places import WORDING, Notes, comment_words
from discreet.output_checking.scripts.policies import Rule, ScriptPolicy
from discreet.output_checking.scripts.r_names import RNames, arguments, is_assignment
from discreet.output_checking.scripts.r_tokens import RSyntaxError
from discreet.output_checking.scripts.r_tree import Node, parse_r
from discreet.output_checking.texts import Lines

__all__ = ["rewrite_r"]

#: Where a call stands: in an expression, as the body of `if`, or as a statement.
_PART, _BODY, _WHOLE = 0, 1, 2
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
_OPERATORS = frozenset(
    ("%>%", "%in%", "%%", "%/%", "%o%", "%*%", "%x%", "%<>%", "%T>%", "%$%", "%||%", "%like%")
)
_RUNTIME = 'source(file.path(Sys.getenv("DISCREET_R", "."), "discreet_safe.R"))'
_HINT = "use summary, table, mean, sd, cor or quantile, which have safe forms"
_CONTROL = ("if", "while", "for")


def rewrite_r(
    text: str,
    policy: ScriptPolicy | None = None,
    *,
    language: Language = "en",
    parts: Sequence[tuple[int, int]] | None = None,
) -> Rewriting:
    r"""Rewrite the text of one R script.

    Args:
        text: The program.
        policy: The rules; those that come with discreet if None.
        language: Of the wording for code that may not run.
        parts: Where the code is, if the text is a document with code chunks.

    >>> print(rewrite_r("d <- read.csv('a')\nsummary(d)\nd\n").text.split("\n", 1)[1], end="")
    d <- read.csv('a')
    fdz_summary(d)
    invisible(d)
    """
    notes = Notes(text=text, lines=Lines(text))
    code = text
    if parts is not None:
        kept = [" " if sign not in "\r\n" else sign for sign in text]
        for start, end in parts:
            kept[start:end] = text[start:end]
        code = "".join(kept)
    try:
        tree = parse_r(code)
        _Walker(RNames(tree, policy or ScriptPolicy.default("r")), notes, language).run(tree)
    except RSyntaxError as error:
        notes.edits.clear()
        hint = "correct the script; nothing was written"
        what = f"this R cannot be parsed: {error.what}"
        notes.find("syntax", Severity.ERROR, what, (error.at, error.at), hint)
    except RecursionError:
        notes.edits.clear()
        what = "the code is nested too deeply to be read"
        notes.find("too-deep", Severity.ERROR, what, (0, 0), "write it in smaller parts")
    return notes.rewriting()


class _Walker:
    """Visits one script."""

    def __init__(self, names: RNames, notes: Notes, language: Language) -> None:
        self.names, self.notes = names, notes
        self.wording = WORDING[language]
        self.deciding = 0

    def run(self, tree: list[Node]) -> None:
        for name in sorted(self.names.bound):
            if name.startswith("fdz_"):
                what = f"the name {name} belongs to the safe functions"
                self.notes.find("own-name", Severity.ERROR, what, (0, 0), "choose another name")
        for node in tree:
            self.visit(node, statement=_WHOLE)
            self.printed(node)
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
        if is_assignment(node) or node.kind in ("for", "while", "repeat", "function"):
            return True
        if node.kind == "block":
            return not node.parts or self.silent(node.parts[-1])
        if node.kind == "if":
            return all(self.silent(each) for each in node.parts[1:])
        if node.kind == "call":
            rules = self.names.rules(node.parts[0])
            if rules and all(rule.role in ("acts", "shows") for rule in rules):
                return True
            # It is taken out anyway.
            if rules and any(rule.action is Action.REFUSED for rule in rules):
                return True
        return self.names.clean(node)

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
        rules = self.names.rules(call.parts[0])
        safe = {rule.safe for rule in rules}
        if len(safe) != 1 or not rules or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        function = call.parts[0]
        return text[node.start : function.start] + safe.pop() + text[function.end : node.end]

    def wrap(self, node: Node, safe: str) -> None:
        reason = "a safe function runs instead"
        span = (node.start, node.end)
        name = safe[safe.rindex("fdz_") :].partition("(")[0]
        self.notes.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.notes.replace(span, safe, "command", name, Action.WRAPPED, reason)

    # ------------------------------------------------------------ all parts of the tree

    def visit(self, node: Node, *, statement: int = _PART) -> None:
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
                self.visit(each, statement=_WHOLE)
        elif node.kind in _CONTROL:
            depends = not self.names.clean(node.parts[0])
            self.visit(node.parts[0])
            self.deciding += depends
            for each in node.parts[1:]:
                self.visit(each, statement=_BODY)
            self.deciding -= depends
        elif node.kind == "binary":
            self.binary(node, statement)
        else:
            for each in node.parts:
                if each.kind != "name" or node.kind not in ("unary", "index"):
                    self.visit(each)

    def binary(self, node: Node, statement: int) -> None:
        left, right = node.parts
        if node.value in ("$", "@"):
            self.visit(left)
            return
        if node.value in ("::", ":::"):
            self.value(node, statement=statement)
            return
        if is_assignment(node):
            self.assignment(node)
            return
        if node.value[0] == "%" and node.value not in _OPERATORS:
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
        for each in node.parts:
            if each.kind != "name":
                self.visit(each)

    def assignment(self, node: Node) -> None:
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
        # A function that is only given another name is followed.
        if not (simple and value.kind in ("name", "binary") and self.names.called(value)):
            self.visit(value)

    def value(self, node: Node, *, statement: int = _PART, whole: Node | None = None) -> None:
        """A function that is handed over instead of called."""
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
        statement: int = _PART,
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
        if function.kind not in ("name", "string") and function.value not in ("::", ":::"):
            self.visit(function)
        for _, each in arguments(node):
            if each.kind == "string":
                self.text(each, place, given)
            self.visit(each)

    def judge(
        self, node: Node, given: list[Node], rules: list[Rule], worst: Rule, *, statement: int
    ) -> None:
        span = (node.start, node.end)
        if worst.action is Action.REFUSED:
            self.refuse(node, worst.name, worst.reason, statement=statement)
        elif any(rule.role == "shows" for rule in rules):
            dirty = [each for each in given if not self.names.clean(each)]
            safe = self.wrapped(dirty[0]) if len(dirty) == 1 and statement else None
            if dirty and safe is not None and worst.name in ("print", "show", "cat"):
                self.wrap(node, safe)
            elif dirty:
                what = "shows what derives from data, or may"
                self.refuse(node, worst.name, what, statement=statement, hint=_HINT)
            elif self.deciding:
                what = f"{worst.name}: whether or how often it runs depends on data"
                self.notes.find("branch", Severity.REVIEW, what, span)
        elif worst.action is Action.REVIEW:
            what = (
                worst.reason if worst.known else f"no rule for {worst.name}; it may show anything"
            )
            self.notes.find("call", Severity.REVIEW, what, span)
        elif worst.name in ("library", "require"):
            self.package(node, given)
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
        if rule.known and rule.action is Action.REFUSED:
            self.refuse(node, name, rule.reason, statement=_BODY)

    def text(self, node: Node, place: Node, given: list[Node]) -> None:
        """The name of a function as a text: ``sapply(x, "print")``."""
        rule = self.names.policy.rule(node.value)
        if len(given) > 1 and (rule.action is Action.REFUSED or rule.role == "shows"):
            what = f"a text that is the name of a function: {node.value}"
            self.notes.find("text", Severity.REVIEW, what, (place.start, place.end))

    def refuse(self, node: Node, name: str, what: str, *, statement: int, hint: str = "") -> None:
        """Take a whole expression out, or put an error in place of a part of one."""
        span = (node.start, node.end)
        self.notes.find("call", Severity.REFUSED, f"{name}: {what}", span, hint)
        text = self.notes.text
        after = f'stop("{self.wording}")'
        if statement:
            after = "invisible(NULL)"
            if statement == _WHOLE and self.notes.last_on_line(node.end):
                after += f"  # {self.wording}: {comment_words(text[node.start : node.end])}"
        self.notes.replace(span, after, "call", name, Action.REFUSED, what)
