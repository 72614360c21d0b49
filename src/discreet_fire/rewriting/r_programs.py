"""Scripts rewritten, in R and Python alike: what expressions tell, print and call; those in R.

In: the tree of a script and a policy. Out: edits and findings. An expression tells nothing of the
data if it is made of nothing but what stands in the program; a name is so if all that it is given
anywhere is; scopes are not told apart, and nothing is run. Whose values stand behind a figure, and
what decides which lines are shown, is found out where the script runs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterable

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.rewriting.changes import ScriptNotes, comment_words
from discreet_fire.scripts import Binding, Node, code_of, read_r

#: Kinds of expressions that tell no more than their parts.
_CLEAN = frozenset((
    "binary", "unary", "paren", "index", "missing", "if", "block", "holder", "dict", "format",
    "formatted", "list", "comprehension", "slice", "number", "string", "word",
))  # fmt: skip


class ScriptProgram(ScriptNotes):
    """A script in R or Python, with findings and edits as they are made."""

    def begin(self, tree: Node) -> None:
        """Take down what names of the script are given."""
        self.tree = self.statement = tree  # the whole, and the statement that is visited
        self.nodes = [*tree.walk()]
        #: What names or parts of them are given.
        self.bindings: list[Binding] = [b for node in self.nodes for b in self._bound_by(node)]
        #: What each name is given.
        self.values: dict[str, list[Node | None]] = defaultdict(list)
        for name, value, _ in self.bindings:
            self.values[name].append(value)
        self._memo: dict[int, bool] = {}
        self._data = {name for name, value, _ in self.bindings if value is None}

    # ------------------------------------------------------------ what a language says

    @abstractmethod
    def rules(self, function: Node) -> list[CommandRule]:
        """The rules on what an expression may be as a function."""

    @abstractmethod
    def is_own(self, function: Node) -> bool:
        """Whether a function is one of this script."""

    @abstractmethod
    def _judge(
        self, node: Node, inputs: list[Node], rules: list[CommandRule], worst: CommandRule
    ) -> None:
        """Judge a call by its rules."""

    @abstractmethod
    def _clean_name(self, node: Node) -> bool:
        """Whether a name that holds no data anywhere tells nothing."""

    @abstractmethod
    def _clean_call(self, node: Node) -> bool:
        """Whether what a call gives tells nothing."""

    def _clean_part(self, node: Node) -> bool:
        """Whether a part of an object tells nothing."""
        return all(map(self.clean, node.parts))

    def _bound_by(self, node: Node) -> Iterable[Binding]:
        return node.bindings()

    def _knows_operator(self, sign: str) -> bool:
        return True

    def _is_unnamed(self, function: Node) -> bool:
        """Whether nobody can tell which function without a rule this is."""
        return True

    def is_safe(self, node: Node) -> bool:
        """Whether a call is one of a safe function."""
        return False

    # ------------------------------------------------------------ what tells nothing

    def settle(self) -> None:
        """Find the names that hold data, from what they are given."""
        given = [(name, value) for name, value, _ in self.bindings if value is not None]
        mentions: dict[str, list[int]] = defaultdict(list)
        for place, (_, node) in enumerate(given):
            for name in {item.value for item in node.walk() if item.kind in ("name", "string")}:
                mentions[name].append(place)
        todo = deque(range(len(given)))
        while todo:
            name, node = given[todo.popleft()]
            self._memo.clear()
            if name not in self._data and not self.clean(node):
                self._data.add(name)
                todo.extend(mentions[name])
        self._memo.clear()

    def clean(self, node: Node) -> bool:
        """Whether an expression tells nothing of the data."""
        known = self._memo.get(id(node))
        if known is None:
            known = self._memo[id(node)] = self._is_clean_node(node)
        return known

    def _is_clean_node(self, node: Node) -> bool:
        if node.kind == "name":
            return node.value not in self._data and self._clean_name(node)
        if node.kind == "function":
            return node.value != "lambda"
        if node.kind == "call":
            return self._clean_call(node)
        if node.is_part:
            return self._clean_part(node)
        if node.is_assignment:
            return self.clean(node.sides[1])
        if node.kind == "binary" and node.value == "~":
            return True
        known = node.kind in _CLEAN and (node.kind != "binary" or self._knows_operator(node.value))
        return known and all(map(self.clean, node.parts))

    # ------------------------------------------------------------ all parts of the tree

    def visit(self, node: Node) -> None:
        """Visit a node as its kind says; in a block each part is a statement."""
        reader = getattr(self, f"_see_{node.kind}", None)
        (reader or self.see_parts)(node)

    def see_parts(self, node: Node) -> None:
        """Visit all parts."""
        for part in node.parts:
            self.visit(part)

    def _see_block(self, node: Node) -> None:
        outer = self.statement
        for part in node.parts:
            self.statement = part
            self.visit(part)
        self.statement = outer

    def _see_string(self, node: Node) -> None:
        if "://" in node.value:
            self.review(node, "address", "an address of the network")

    def _see_call(self, node: Node) -> None:
        """A call: of which functions, and with what."""
        function, *inputs = node.parts
        own = self.is_own(function)
        rules = [] if own else self.rules(function)
        if rules and not self.is_safe(node):
            self._judge(node, inputs, rules, max(rules, key=lambda rule: rule.action.rank))
        elif not (rules or own) and self._is_unnamed(function):
            self.review(node, "call", "calls a function that no name identifies")
        if function.kind != "name" and function.value not in ("::", ":::"):
            self.visit(function)
        for item in inputs:
            if self._hands_on(node, item):
                self.review(item, "handed-on", "hands over a function that shows")
            self.visit(item)

    def _hands_on(self, call: Node, item: Node) -> bool:
        """Whether a call with data is given a function that shows: ``map(print, df.x)``."""
        plain = item.kind in ("name", "string") or item.is_part
        if not plain or item.base.value in self.values or item.value == "__name__":
            return False
        rules = [rule for rule in self.rules(item) if rule.known]
        shows = any(rule.role == "shows" or rule.action is Action.REFUSED for rule in rules)
        function, *inputs = call.parts
        inputs += [function.parts[0]] if function.is_part else []
        return shows and not all(self.clean(one) for one in inputs if one is not item)

    # ------------------------------------------------------------ what is noted

    def review(self, node: Node, rule: str, what: str, hint: str = "") -> None:
        """Note what an officer looks at."""
        self.find(rule, Severity.REVIEW, what, node.span, hint)

    def wrap(self, span: tuple[int, int], text: str, name: str) -> None:
        """Put a safe call in place of an expression."""
        reason = "a safe function runs instead"
        self.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.replace(span, text, "command", name, Action.WRAPPED, reason)

    def load_safe_functions(self, start: int, line: str, name: str) -> None:
        """Put the line that loads the safe functions before the first statement."""
        after, reason = line + self.newline, "the safe functions are loaded"
        self.replace((start, start), after, "runtime", name, Action.WRAPPED, reason)

    def commented(self, before: str, span: tuple[int, int]) -> str:
        """Code in place of what is refused, with that as a comment if nothing else follows."""
        last = self.last_on_line(span[1])
        words = comment_words(self.text[slice(*span)]) if last else ""
        return f"{before}  # {self.wording}: {words}" if last else before


#: Without the variable R looks in the root folder, where no script can put a file of that name.
_RUNTIME = 'source(file.path(Sys.getenv("DISCREET_R"), "discreet_safe.R"))'
_HINT = "use summary, table, mean, sd, cor or quantile, which have safe forms"
#: Functions that call one they are given for each value; of others that do, only the run tells.
_APPLYING = (
    *("lapply", "sapply", "vapply", "mapply", "apply", "tapply", "rapply", "eapply", "outer"),
    *("do.call", "Map", "Reduce", "Filter", "map", "map2", "imap", "pmap", "walk", "walk2"),
    *("iwalk", "pwalk"),
)
_PIPES = ("%>%", "%T>%", "%<>%", "%$%")


class _RProgram(ScriptProgram):
    r"""Judges one script in R.

    >>> print(rewrite_r("d <- read.csv('a')\nsummary(d)\nd\n").text.split("\n", 1)[1], end="")
    d <- read.csv('a')
    fdz_summary(d)
    invisible(d)
    """

    kind = "r"
    unread = ("this R cannot be parsed: {what}", ScriptNotes.unread[1])

    def judge(self) -> None:
        tree = read_r(code_of(self.text, self.parts))
        self.begin(tree)
        #: Words by what is known of them.
        self.listed = self.policy.words
        self.functions = {
            name for name, value, whole in self.bindings
            if whole and value is not None and value.kind == "function"
        }  # fmt: skip
        #: Bodies of `if` and loops, which are whole expressions.
        self.bodies: set[int] = set()
        self.settle()
        for node in tree.parts:
            self.statement = node
            self.visit(node)
            self._printed(node)
        used = any("fdz_" in edit.after for edit in self.edits)
        if used or any(node.value.startswith("fdz_") for node in self.nodes):
            self.load_safe_functions(tree.parts[0].start, _RUNTIME, "fdz")

    # ------------------------------------------------------------ names and rules

    def called(self, function: Node) -> set[str]:
        """Names of the functions that an expression may be."""
        if function.kind in ("name", "string"):
            own = function.value in self.functions
            return {function.value} if not own or self.policy.rule(function.value).known else set()
        if function.kind == "binary" and function.value in ("::", ":::"):
            package, name = (part.value for part in function.parts)
            full = f"{package}::{name}"
            return {full} if self.policy.rule(full).known else {name}
        return self.called(function.parts[0]) if function.kind == "paren" else set()

    def rules(self, function: Node) -> list[CommandRule]:
        return [self.policy.rule(name) for name in sorted(self.called(function))]

    def is_own(self, function: Node) -> bool:
        known = function.kind == "name" and function.value in self.functions
        return known and not self.policy.rule(function.value).known

    def _is_unnamed(self, function: Node) -> bool:
        return function.kind not in ("name", "function")

    def _hands_on(self, call: Node, item: Node) -> bool:
        # Elsewhere the word may be that of a column.
        return call.parts[0].word in _APPLYING and super()._hands_on(call, item)

    def _is_model(self, node: Node) -> bool:
        """Whether a name holds models of least squares or generalised linear models only."""
        return node.kind == "name" and node.value in self.values and all(
            value is not None and value.kind == "call" and self._has(value, "model", every=True)
            for value in self.values[node.value]
        )  # fmt: skip

    def _has(self, node: Node, trait: str, *, every: bool = False) -> bool:
        rules = self.rules(node.parts[0]) if node.kind == "call" else []
        having = [rule for rule in rules if trait in rule.traits]
        return bool(having) and (not every or len(having) == len(rules))

    def _clean_name(self, node: Node) -> bool:
        return node.value in self.values or node.value in self.listed["constants"]

    def _knows_operator(self, sign: str) -> bool:
        if sign in ("::", ":::", "|>"):
            return False
        return sign[0] != "%" or (sign in self.listed["operators"] and sign not in _PIPES)

    def _clean_call(self, node: Node) -> bool:
        function, *inputs = node.parts
        rules = self.rules(function)
        gives = all(one.role == "clean" and one.action is Action.ALLOWED for one in rules)
        plain = bool(rules) and gives and function.value not in self.values and not node.value
        return plain and all(map(self.clean, inputs))

    # ------------------------------------------------------------ what R prints by itself

    def _printed(self, node: Node) -> None:
        if node.kind == "block" and node.parts:
            self._printed(node.parts[-1])
            return
        if node.span in self.spans or self._silent(node):
            return
        safe = self._wrapped(node)
        if safe is not None:
            self._put(node, safe)
            return
        message = "R prints the value of this line, which derives from data, or may"
        self.find("printed", Severity.REFUSED, message, node.span, _HINT)
        for at, text in ((node.start, "invisible("), (node.end, ")")):
            self.replace((at, at), text, "printed", "value", Action.REFUSED, message)

    def _silent(self, node: Node) -> bool:
        if node.kind == "if" or self._has(node, "passes"):
            return all(map(self._silent, node.parts[1:]))
        if node.kind == "block":
            return not node.parts or self._silent(node.parts[-1])
        loops = ("for", "while", "repeat", "function")
        if node.is_assignment or node.kind in loops or self.clean(node):
            return True
        if node.kind == "index":
            # Assignments of data.table within its brackets print nothing.
            return any(part.value == ":=" for part in node.parts[1:] if part.kind == "binary")
        if node.kind != "call":
            return False
        rules = self.rules(node.parts[0])
        if any(rule.name == "options" for rule in rules):
            # Without a value it shows what the option is.
            return len(node.parts) > 1 and None not in node.names
        acts = bool(rules) and all(rule.role in ("acts", "shows") for rule in rules)
        # What is refused is taken out anyway.
        return acts or any(rule.action is Action.REFUSED for rule in rules)

    def _wrapped(self, node: Node) -> str | None:
        if self._is_model(node):
            return f"fdz_summary({self.text[slice(*node.span)]})"
        if node.kind != "call":
            return None
        function = node.parts[0]
        if self._has(node, "around") and not node.value:
            dirty = [part for part in node.parts[1:] if not self.clean(part)]
            return self._wrapped(dirty[0]) if len(dirty) == 1 else None
        rules = self.rules(function)
        safe = {rule.safe for rule in rules}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        before, behind = self.text[node.start : function.start], self.text[function.end : node.end]
        return before + safe.pop() + behind

    def _put(self, node: Node, safe: str) -> None:
        self.wrap(node.span, safe, safe[safe.rindex("fdz_") :].partition("(")[0])

    # ------------------------------------------------------------ all parts of the tree

    def _see_if(self, node: Node) -> None:
        self.bodies |= {id(part) for part in node.parts[0 if node.kind == "repeat" else 1 :]}
        self.see_parts(node)

    _see_for = _see_while = _see_repeat = _see_if

    def _see_binary(self, node: Node) -> None:
        if node.value[0] == "%" and node.value not in self.listed["operators"]:
            self.review(node, "call", f"no rule for the operator {node.value}")
        self.see_parts(node)

    def _judge(
        self, node: Node, inputs: list[Node], rules: list[CommandRule], worst: CommandRule
    ) -> None:
        dirty = [item for item in inputs if not self.clean(item)]
        if worst.action is Action.REFUSED:
            self._refuse(node, worst.name, worst.reason)
        elif any(rule.role == "shows" for rule in rules):
            shown = [safe for item in dirty if (safe := self._wrapped(item)) is not None]
            plain = worst.name in ("print", "show", "cat") and self._is_whole(node)
            if dirty and len(shown) == len(dirty) and plain:
                self._put(node, shown[0] if len(shown) == 1 else f"{{ {'; '.join(shown)} }}")
            elif dirty:
                self._refuse(node, worst.name, "shows what derives from data, or may", _HINT)
        elif worst.action is Action.REVIEW:
            unknown = f"no rule for {worst.name}; it may show anything"
            self.review(node, "call", worst.reason if worst.known else unknown)
        elif worst.name in ("library", "require"):
            self._package(node, inputs)

    def _package(self, node: Node, inputs: list[Node]) -> None:
        name = inputs[0].value if inputs and inputs[0].kind in ("name", "string") else ""
        if len(inputs) > 1 or not name:
            self.review(node, "call", "the name of the package may derive from data")
        rule = self.policy.rule(f"{name}::*")
        if name and not rule.known and name not in self.listed["packages"]:
            message = f"no rule for the package {name}; what it does is not known"
            self.review(node, "package", message)
        if rule.known and rule.action is Action.REFUSED:
            self.bodies.add(id(node))
            self._refuse(node, name, rule.reason)

    def _is_whole(self, node: Node) -> bool:
        return node is self.statement or id(node) in self.bodies

    def _refuse(self, node: Node, name: str, message: str, hint: str = "") -> None:
        """Take a whole expression out, or put an error in place of a part of one."""
        self.find("call", Severity.REFUSED, f"{name}: {message}", node.span, hint)
        after = "invisible(NULL)" if self._is_whole(node) else f'stop("{self.wording}")'
        after = self.commented(after, node.span) if node is self.statement else after
        self.replace(node.span, after, "call", name, Action.REFUSED, message)


rewrite_r = _RProgram.rewrite
