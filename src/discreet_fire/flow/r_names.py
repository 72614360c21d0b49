"""What the names of an R script stand for, and which of them tell of the data.

In: the syntax tree. Out: for each call the function's name, for each expression whether it is
clean: made of constants only, and whether it picks single values that are handed to many records;
for each condition the names that are changed only if it holds, or as often as it holds:
``for (v in d$x) n <- n + 1`` counts the records, and reads none. Scopes are not told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.flow.engine import ControlFlow, Names, SingleValues, View, grown
from discreet_fire.scripts import RNode

ASSIGNS = ("<-", "<<-", "=", ":=", "->", "->>")
_OUTWARD = ("<<-", "->>")


class RFlows(ControlFlow[RNode]):
    r"""The flow of control through one script.

    >>> from discreet_fire.scripts.r_syntax import parse_r
    >>> flows = RFlows(parse_r("for (v in d) n <- n + 1"), {"switch"}.__contains__)
    >>> [sorted(names) for _, names in flows.under]
    [['n']]
    """

    def __init__(self, tree: list[RNode], decides: Callable[[str], bool]) -> None:
        super().__init__()
        self.decides = decides
        for top in tree:
            self.find_jumps(top)
        for top in tree:
            self.find_changes(top)
        functions = (node for top in tree for node in top.walk() if node.kind == "function")
        for node in (item for function in functions for item in function.walk()):
            if node.kind == "binary" and node.value in _OUTWARD:
                self.loose.update(name for name, _ in assigned(node))

    def parts(self, node: RNode) -> Iterator[tuple[RNode, list[RNode]]]:
        """The parts of a node, each with the conditions under which it runs."""
        conditions: list[RNode] = []
        first = node.parts[0] if node.parts else node
        if node.kind in ("if", "while", "for") or (
            node.kind == "binary" and node.value in ("&&", "||")
        ):
            conditions = [first]
        elif node.kind == "call" and len(node.parts) > 1 and self.decides(_word(first)):
            conditions, first = [node.parts[1]], node.parts[1]
        for child in node.parts:
            yield child, [] if child is first else conditions

    def leaves(self, node: RNode, within: set[str]) -> str:
        """Whether a node leaves a loop or function."""
        if node.kind == "name" and node.value in ("break", "next"):
            return "loop"
        function = node.kind == "call" and node.parts[0].value
        return "function" if function in ("return", "stop", "invokeRestart") else ""

    def frame(self, node: RNode) -> str:
        """Whether a node is a loop or a function."""
        if node.kind == "function":
            return "function"
        return "loop" if node.kind in ("for", "while", "repeat") else ""

    def changed_by(self, node: RNode) -> Iterator[str]:
        """The names that a node itself changes."""
        return (name for name, _ in assigned(node))


def _word(function: RNode) -> str:
    if function.kind == "binary" and function.value in ("::", ":::"):
        return function.parts[1].value
    return function.value if function.kind in ("name", "string") else ""


def is_assignment(node: RNode) -> bool:
    """Whether a node assigns."""
    return node.kind == "binary" and node.value in ASSIGNS


def sides(node: RNode) -> tuple[RNode, RNode]:
    """Target and value of an assignment."""
    left, right = node.parts
    return (right, left) if node.value[0] == "-" else (left, right)


def assigned(node: RNode) -> list[tuple[str, RNode | None]]:
    """The names that a node itself changes, with what is put into them; None if not known."""
    if is_assignment(node):
        target, value = sides(node)
        # `!!name := value` names a column by what `name` holds, which stays as it is.
        name = root_of(target) if target.kind != "unary" else ""
        # Where something is put tells as much as what: ``flags[max(d$x)] <- 1``.
        return [(name, value), *((name, place) for place in _places(target))] if name else []
    if node.kind == "for":
        return [(node.value, node.parts[0])]
    if node.kind == "function":
        return [(name, None) for name in node.names if name]
    if node.kind == "binary" and node.value == "%<>%" and (name := root_of(node.parts[0])):
        return [(name, None)]
    return []


def _places(node: RNode) -> list[RNode]:
    places: list[RNode] = []
    while node.kind in ("index", "call", "binary") and node.parts:
        if node.kind == "binary":
            node = node.parts[0]
            continue
        inner = 1 if node.kind == "call" and len(node.parts) > 1 else 0
        places += [part for part in node.parts[inner + 1 :] if part.kind != "missing"]
        node = node.parts[inner]
    return places


def root_of(node: RNode) -> str:
    """The name that an assignment changes: ``x`` in ``names(x)[1]$a <- …``."""
    while node.kind not in ("name", "string"):
        if node.kind == "call":
            if len(node.parts) < 2:
                return ""
            node = node.parts[1]
        elif node.parts:
            node = node.parts[0]
        else:
            return ""
    return node.value


_FOLLOWED = ("name", "string", "paren", "block", "if", "binary")
_CLEAN_KINDS = ("binary", "unary", "paren", "index", "missing", "if", "block")
_PIPES = ("|>", "%>%", "%T>%", "%<>%", "%$%")


class RNames(Names[RNode]):
    """The names of one script.

    >>> from discreet_fire.scripts.r_syntax import parse_r
    >>> tree = parse_r("p <- print; n <- 3; d <- read.csv('a')")
    >>> names = RNames(tree, ScriptPolicy.default("r"))
    >>> sorted(names.tainted), sorted(names.aliases["p"])
    (['d', 'p'], ['print'])
    """

    def __init__(self, tree: list[RNode], policy: ScriptPolicy) -> None:
        super().__init__(policy)
        #: Words by what is known of them.
        self.listed = policy.words
        self.functions: set[str] = set()
        self._models: dict[str, bool] = {}
        #: Assignments.
        self.changes: list[RNode] = []
        #: What a pipe gives its left side to, by the id of its node.
        self.piped: set[int] = set()
        self.flows = RFlows(tree, self._decides)
        for top in tree:
            for node in top.walk():
                self._bind(node)
                if node.kind == "binary" and node.value in _PIPES:
                    self.piped.add(id(node.parts[1]))
        self.bound = set(self.values)
        self.follow_aliases(self.bindings)
        #: Functions that a method of this script may stand in for.
        self.dispatched: set[str] = set()
        #: Methods, which run without being called by name.
        self.own_methods = {name for name in self.functions if self._generic(name)}
        self.tainted |= {name for name, value in self.bindings if value is None}
        self.tainted |= self.flows.loose
        units = [({name}, value) for name, value in self.bindings]
        units += [(changed, unit) for unit, changed in self.flows.under]
        grown(self.tainted, units, lambda node: not self.clean(node))

    def _decides(self, name: str) -> bool:
        return self.policy.rule(name).may("decides")

    def _bind(self, node: RNode) -> None:
        for name, value in assigned(node):
            self.bindings.append((name, value))
            self.values.setdefault(name, []).append(value)
            whole = not is_assignment(node)
            if is_assignment(node):
                self.changes.append(node)
                target, _ = sides(node)
                whole = target.kind in ("name", "string")
                if whole and value is not None and value.kind == "function":
                    self.functions.add(name)
            if whole:
                self.direct.append((name, value))

    def _generic(self, name: str) -> bool:
        """Whether a function is a method of one that has a rule, of an operator or of a group."""
        parts = name.split(".")
        if self.policy.rule(name).known:
            return False
        frames = {".".join(parts[:place]) for place in range(1, len(parts))}
        own = self.listed["syntax"] | self.listed["groups"] | self.listed["texts"]
        inner = {item for item in frames if item in own or self.policy.rule(item).known}
        self.dispatched |= inner
        return bool(inner)

    def _followed(self, value: RNode) -> Iterable[str]:
        followed = value.kind in _FOLLOWED
        return (n.value for n in value.walk() if n.kind in ("name", "string")) if followed else ()

    def _functions_in(self, value: RNode) -> set[str]:
        functions = self._meant(value)
        return functions if any(self.policy.rule(item).known for item in functions) else set()

    def _meant(self, value: RNode) -> set[str]:
        """The functions that the value of an expression may be."""
        while value.kind in ("paren", "block") and value.parts:
            value = value.parts[-1]
        if value.kind == "if":
            return set[str]().union(*(self._meant(part) for part in value.parts[1:]))
        return self.called(value)

    def called(self, function: RNode) -> set[str]:
        """Names of the functions that an expression may be."""
        if function.kind in ("name", "string"):
            names = set(self.aliases.get(function.value, ()))
            alias = bool(names) or function.value in self.functions
            if not alias or self.policy.rule(function.value).known:
                names.add(function.value)
            return names
        if function.kind == "binary" and function.value in ("::", ":::"):
            package, name = function.parts[0].value, function.parts[1].value
            full = f"{package}::{name}"
            return {full} if self.policy.rule(full).known else {name}
        if function.kind == "paren":
            return self.called(function.parts[0])
        return set()

    def rules(self, function: RNode) -> list[CommandRule]:
        """The rules on what an expression may be as a function."""
        return [self.policy.rule(name) for name in sorted(self.called(function))]

    def facts(self, function: RNode) -> list[CommandRule]:
        """The same: each rule states what a call may do with values, or it may do anything."""
        return self.rules(function)

    def has(self, function: RNode, trait: str) -> bool:
        """Whether a rule states this of a function."""
        return any(trait in rule.traits for rule in self.rules(function))

    def is_own(self, function: RNode) -> bool:
        """Whether it is a function of this script."""
        known = function.kind == "name" and function.value in self.functions
        return known and not self.policy.rule(function.value).known

    def clean(self, node: RNode) -> bool:
        """Whether an expression tells nothing of the data."""
        if self.dispatched and self._redirected(node):
            return False
        if node.kind in ("number", "string", "function"):
            return True
        if node.kind == "name":
            if node.value in self.tainted:
                return False
            return node.value in self.bound or node.value in self.listed["constants"]
        if node.kind == "binary":
            if node.value in ("::", ":::") or node.value in _PIPES:
                return False
            if node.value in ("$", "@"):
                return self.clean(node.parts[0])
            if node.value == "~":
                return True
            if node.value[0] == "%" and node.value not in self.listed["operators"]:
                return False
            if node.value in ASSIGNS:
                return self.clean(node.parts[0 if node.value[0] == "-" else 1])
        if node.kind == "call":
            rules = self.rules(node.parts[0])
            rebound = node.parts[0].value in self.bound
            gives = all(r.role == "clean" and r.action is Action.ALLOWED for r in rules)
            return bool(rules) and gives and not rebound and all(map(self.clean, node.parts[1:]))
        return node.kind in _CLEAN_KINDS and all(map(self.clean, node.parts))

    def _redirected(self, node: RNode) -> bool:
        """Whether a method of this script may run in place of what is written."""
        if node.kind in ("call", "binary", "unary", "index"):
            if self.dispatched & self.listed["groups"]:
                return True
            names = {"[[" if node.value == "[[" else "["} if node.kind == "index" else {node.value}
            if node.kind == "call":
                names = self.called(node.parts[0])
                # `paste` and `cat` take texts of objects by these.
                names |= self.listed["texts"]
            return bool(names & self.dispatched)
        return False

    def is_model(self, node: RNode) -> bool:
        """Whether a name holds models of least squares or generalised linear models only."""
        if node.kind != "name" or node.value not in self.values:
            return False
        if node.value not in self._models:
            self._models[node.value] = all(
                value is not None
                and value.kind == "call"
                and bool(rules := self.rules(value.parts[0]))
                and all("model" in rule.traits for rule in rules)
                for value in self.values[node.value]
            )
        return self._models[node.value]


def arguments(node: RNode) -> Iterator[tuple[str | None, RNode]]:
    """The arguments of a call with their names."""
    return zip(node.names, node.parts[1:], strict=True)


_COMPARED = ("==", "!=", "<", ">", "<=", ">=", "%in%")
_NAMED = ("FUN", "f", ".f", "fn")


class RPicks(SingleValues[RNode]):
    """Judges what is put into columns and labels.

    >>> from discreet_fire.catalogue.script_policy import ScriptPolicy
    >>> from discreet_fire.scripts.r_syntax import parse_r
    >>> tree = parse_r("d <- read.csv('a'); d$m <- max(d$x)")
    >>> RPicks(RNames(tree, ScriptPolicy.default("r"))).spreads(tree[1])
    True
    """

    def __init__(self, names: RNames) -> None:
        self.names = names
        bound = ((name, value) for name, value in names.direct if value is not None)
        pairs = [(name, item) for name, value in bound for item in _given(value)]
        super().__init__(names, pairs, names.changes)

    def view(self, node: RNode) -> View[RNode]:
        """What a node is."""
        if node.kind == "binary":
            plain = node.value == "~" or is_assignment(node)
            if node.value in ("$", "@"):
                return View("part", node.parts[:1])
            compared = "compared" if node.value in _COMPARED else "other"
            return View("plain" if plain else compared, node.parts)
        if node.kind == "call":
            function = node.parts[0]
            while function.kind == "binary" and function.value.startswith("::"):
                function = function.parts[-1]
            return View("call", node.parts, function.value)
        kinds = {"name": "name", "index": "place"}
        plain = not node.parts or node.kind == "function"
        return View(kinds.get(node.kind, "plain" if plain else "other"), node.parts, node.value)

    def _selects(self, node: RNode) -> bool:
        if node.kind == "index":
            place = node.parts[1] if len(node.parts) > 1 else node
            return place.kind not in ("index", "missing") and self._mask(place)
        if node.kind == "binary" and node.value == "*":
            return any(self._mask(_unwrapped(side)) for side in node.parts)
        return self._does(node, "selects")

    def _copies(self, name: str, value: RNode) -> bool:
        return any(
            node.kind == "name" and node.value != name and node.value in self.names.values
            for node in value.walk()
        )

    def _operands(self, node: RNode) -> Sequence[RNode]:
        return [
            each for name, each in arguments(node) if name in ("", None, "x", "y")
        ] or node.parts

    def _crosses(self, node: RNode) -> bool:
        crossed = any(name == "by" and each.value == "NULL" for name, each in arguments(node))
        return crossed or self._does(node, "crosses")

    def _picks_place(self, node: RNode) -> bool:
        base, *places = node.parts
        if any(map(self.picks, places)):
            return True
        first = bool(places) and places[0].kind in ("number", "unary")
        if first and not (node.value == "[[" and base.kind == "name"):
            return not self.names.clean(base)
        return self.picks(base)

    def _picks_call(self, node: RNode) -> bool:
        if self._picks_by(node):
            return not all(map(self.names.clean, node.parts[1:]))
        return any(map(self.picks, node.parts))

    def _picks_by(self, node: RNode) -> bool:
        """Whether a call is of a function that picks, or is given one: ``ave(x, k, FUN = max)``."""
        if self.names.may(node.parts[0], "picks"):
            return True
        for name, each in arguments(node):
            given = each.kind == "name" or (each.kind == "string" and name in _NAMED)
            rules = self.names.rules(each) if given else []
            if any(rule.known and rule.may("picks") for rule in rules):
                return True
            if each.kind == "function" and any(map(self.picks, _given(each))):
                return True
        return False

    def _part_that_gets(self, node: RNode) -> RNode | None:
        target, value = sides(node) if is_assignment(node) else (None, None)
        return value if target is not None and target.kind in ("binary", "index") else None

    def spreads(self, node: RNode) -> bool:
        """Also what is chosen from a vector: where it is one value, all records get it."""
        value = self._part_that_gets(node)
        if value is not None and value.kind == "index" and self._selects(value):
            target = sides(node)[0]
            return not (target.kind == "index" and self._selects(target))
        return super().spreads(node)

    def _label_from(self, node: RNode) -> Sequence[RNode]:
        if is_assignment(node):
            target, value = sides(node)
            if target.kind == "unary":  # `!!name := value`
                return [target]
            while target.kind in ("index", "binary") and target.parts:
                target = target.parts[0]
            label = target.kind == "call" and self.names.does(target.parts[0], "named")
            return [value] if label else []
        if node.kind != "call" or not self.names.does(node.parts[0], "labels"):
            return []
        # What is labelled stands first, or before a pipe.
        pairs = list(arguments(node))
        piped = (
            id(node) in self.names.piped or not pairs or pairs[0][0] not in (None, "", "x", ".data")
        )
        return [value for _, value in pairs[0 if piped else 1 :]]

    def _turns(self, node: RNode) -> bool:
        if node.kind != "call":
            return False
        if self.names.may(node.parts[0], "turns"):
            return not all(map(self.names.clean, node.parts[1:]))
        return any(map(self.turns, node.parts))

    def _names_column(self, node: RNode) -> str | None:
        target, _ = sides(node)
        if target.kind != "index" or len(target.parts) < 2:
            return None
        place = target.parts[-1]
        return None if self._schema(place) or self._mask(place) else root_of(target)

    def _mask(self, node: RNode) -> bool:
        if node.kind == "name":
            return node.value in self.masks
        if node.kind == "call":
            return self.names.has(node.parts[0], "chooses")
        if node.kind == "binary" and node.value in ("&", "|", ":", "+", "-"):
            return all(self._mask(part) or self.names.clean(part) for part in node.parts)
        if node.kind in ("unary", "paren"):
            return self._mask(node.parts[0])
        return node.kind == "missing" or (node.kind == "binary" and node.value in _COMPARED)

    def _schema_of(self, node: RNode) -> bool:
        if node.kind == "call":
            if self.names.has(node.parts[0], "schema"):
                return True
            rules = self.names.rules(node.parts[0])
            plain = all(rule.role == "clean" for rule in rules)
            return bool(rules) and plain and all(map(self._schema, node.parts[1:]))
        pieces = ("binary", "unary", "index", "paren")
        return node.kind == "function" or (
            node.kind in pieces and all(map(self._schema, node.parts))
        )


def _unwrapped(node: RNode) -> RNode:
    """A condition without brackets and what makes it numbers: ``as.numeric(d$id == 17)``."""
    while node.parts and (node.kind == "paren" or node.kind == "call"):
        node = node.parts[-1]
    return node


def _given(value: RNode) -> list[RNode]:
    """What a value is; for a function, what it may give back."""
    if value.kind != "function":
        return [value]
    last = value.parts[-1]
    while last.kind in ("block", "paren") and last.parts:
        last = last.parts[-1]
    calls = (node for node in value.walk() if node.kind == "call" and len(node.parts) > 1)
    return [last, *(call.parts[1] for call in calls if call.parts[0].value == "return")]
