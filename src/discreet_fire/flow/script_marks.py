"""Which expressions of a script tell nothing of the data, for R and Python alike; names of R.

In: the tree of a script, and its names with what they are bound to. Out: for each expression
whether it is made of nothing but what stands in the program. A name is so if all that it is given
anywhere is; scopes are not told apart, and nothing is run. Whose values stand behind a figure, and
what decides which lines are shown, is found out where the script runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterable

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.scripts import Binding, Node

#: Kinds of expressions that tell no more than their parts.
_CLEAN = frozenset((
    "binary", "unary", "paren", "index", "missing", "if", "block", "holder", "dict", "format",
    "formatted", "comprehension", "slice", "number", "string", "word",
))  # fmt: skip


class ScriptMarks(ABC):
    """The names of one script, and what its expressions tell."""

    def __init__(self, tree: Node, policy: ScriptPolicy) -> None:
        self.tree, self.policy = tree, policy
        self.nodes = [*tree.walk()]
        #: What names or parts of them are given.
        self.bindings: list[Binding] = [b for node in self.nodes for b in self._bound_by(node)]
        #: What each name is given.
        self.values: dict[str, list[Node | None]] = defaultdict(list)
        for name, value, _ in self.bindings:
            self.values[name].append(value)
        self._memo: dict[int, bool] = {}
        self._data: set[str] = set()

    # ------------------------------------------------------------ what a language says

    @abstractmethod
    def rules(self, function: Node) -> list[CommandRule]:
        """The rules on what an expression may be as a function."""

    @abstractmethod
    def is_own(self, function: Node) -> bool:
        """Whether a function is one of this script."""

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

    # ------------------------------------------------------------ names

    def settle(self) -> None:
        """Find the names that hold data, from what they are given."""
        self._data |= {name for name, value, _ in self.bindings if value is None}
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

    # ------------------------------------------------------------ what tells nothing

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


class RMarks(ScriptMarks):
    """The names of one script, and what its expressions tell.

    >>> from discreet_fire.scripts import read_r
    >>> tree = read_r("n <- 3; d <- read.csv('a')")
    >>> marks = RMarks(tree, ScriptPolicy.default("r"))
    >>> [marks.clean(one.parts[0]) for one in tree.parts]
    [True, False]
    """

    def __init__(self, tree: Node, policy: ScriptPolicy) -> None:
        super().__init__(tree, policy)
        #: Words by what is known of them.
        self.listed = policy.words
        self.functions = {
            name for name, value, whole in self.bindings
            if whole and value is not None and value.kind == "function"
        }  # fmt: skip
        self._models: dict[str, bool] = {}
        self.bound = set(self.values)
        self.settle()

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
        """The rules on what an expression may be as a function."""
        return [self.policy.rule(name) for name in sorted(self.called(function))]

    def is_own(self, function: Node) -> bool:
        """Whether it is a function of this script."""
        known = function.kind == "name" and function.value in self.functions
        return known and not self.policy.rule(function.value).known

    def is_model(self, node: Node) -> bool:
        """Whether a name holds models of least squares or generalised linear models only."""
        if node.kind != "name" or node.value not in self.values:
            return False
        if node.value not in self._models:
            self._models[node.value] = all(
                value is not None and value.kind == "call"
                and bool(rules := self.rules(value.parts[0]))
                and all("model" in rule.traits for rule in rules)
                for value in self.values[node.value]
            )  # fmt: skip
        return self._models[node.value]

    # ------------------------------------------------------------ what tells nothing

    def _clean_name(self, node: Node) -> bool:
        return node.value in self.bound or node.value in self.listed["constants"]

    def _knows_operator(self, sign: str) -> bool:
        if sign in ("::", ":::", "|>"):
            return False
        return sign[0] != "%" or (sign in self.listed["operators"] and sign not in (
            "%>%", "%T>%", "%<>%", "%$%"))  # fmt: skip

    def _clean_call(self, node: Node) -> bool:
        function, *inputs = node.parts
        rules = self.rules(function)
        gives = all(one.role == "clean" and one.action is Action.ALLOWED for one in rules)
        plain = bool(rules) and gives and function.value not in self.bound and not node.value
        return plain and all(map(self.clean, inputs))
