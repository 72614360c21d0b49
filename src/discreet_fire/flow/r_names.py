"""What the names of an R script stand for, and which of them tell of the data.

In: the syntax tree. Out: for each call the function's name, for each expression whether it is
clean: made of constants only, and for each condition the names that are changed only if it
holds, or as often as it holds: ``for (v in d$x) n <- n + 1`` counts the records, and reads none.
Scopes are not told apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet_fire.catalogue.script_policy import ScriptPolicy, ScriptRule
from discreet_fire.catalogue.verdicts import Action
from discreet_fire.scripts.r_syntax import RNode

__all__ = [
    "ASSIGNS",
    "OPERATORS",
    "SYNTAX",
    "RFlows",
    "RNames",
    "arguments",
    "assigned",
    "conditions_of",
    "is_assignment",
    "root_of",
]

ASSIGNS = ("<-", "<<-", "=", ":=", "->", "->>")
_OUTWARD = ("<<-", "->>")
#: Functions whose first argument decides which of the others run.
_DECIDING = frozenset(
    (
        *("switch", "ifelse", "if_else", "tryCatch", "try", "withCallingHandlers"),
        *("sapply", "lapply", "vapply", "Map", "mapply", "Reduce", "Filter", "apply", "tapply"),
        *("map", "walk", "with", "within", "by", "aggregate", "purrr::walk", "purrr::map"),
    )
)


class RFlows:
    r"""The flow of control through one script.

    Args:
        tree: Its top-level expressions.

    >>> from discreet_fire.scripts.r_syntax import parse_r
    >>> [sorted(names) for _, names in RFlows(parse_r("for (v in d) n <- n + 1")).under]
    [['n']]
    """

    def __init__(self, tree: list[RNode]) -> None:
        #: Conditions under which a loop or function is left early, by the id of its node.
        self.jumps: dict[int, list[RNode]] = {}
        #: Conditions, and what is changed under them.
        self.under: list[tuple[RNode, set[str]]] = []
        #: What functions change outside of themselves: how often they run is not known.
        self.loose: set[str] = set()
        for top in tree:
            self._find_jumps(top, ())
        for top in tree:
            self._visit(top, (), inside=False)

    def _find_jumps(self, node: RNode, frames: tuple[tuple[str, RNode], ...]) -> None:
        """Note what guards each `break`, `next` and `return`."""
        kind = ""
        if node.kind == "name" and node.value in ("break", "next"):
            kind = "loop"
        elif node.kind == "call" and node.parts[0].value in ("return", "stop", "invokeRestart"):
            kind = "function"
        if kind:
            guards: list[RNode] = []
            for each, what in reversed(frames):
                if each == kind:
                    self.jumps.setdefault(id(what), []).extend(guards)
                    break
                if each == "condition":
                    guards.append(what)
        inner = frames
        if node.kind in ("for", "while", "repeat"):
            inner = (*inner, ("loop", node))
        elif node.kind == "function":
            inner = (*inner, ("function", node))
        for child, conditions in conditions_of(node):
            self._find_jumps(child, (*inner, *(("condition", each) for each in conditions)))

    def _visit(self, node: RNode, names: tuple[set[str], ...], *, inside: bool) -> None:
        found = assigned(node)
        for each in names:
            each.update(name for name, _ in found)
        if inside and node.kind == "binary" and node.value in _OUTWARD:
            self.loose.update(name for name, _ in found)
        names = (*names, *self._sets(self.jumps.get(id(node), [])))
        inner: tuple[set[str], ...] | None = None
        for child, conditions in conditions_of(node):
            if conditions and inner is None:
                inner = (*names, *self._sets(conditions))
            under = inner if conditions and inner is not None else names
            self._visit(child, under, inside=inside or node.kind == "function")

    def _sets(self, conditions: list[RNode]) -> tuple[set[str], ...]:
        made = [(each, set[str]()) for each in conditions]
        self.under.extend(made)
        return tuple(names for _, names in made)


def conditions_of(node: RNode) -> Iterator[tuple[RNode, list[RNode]]]:
    """The parts of a node, each with the conditions under which it runs.

    Args:
        node: The node.
    """
    conditions: list[RNode] = []
    first = node.parts[0] if node.parts else node
    if node.kind in ("if", "while", "for") or (
        node.kind == "binary" and node.value in ("&&", "||")
    ):
        conditions = [first]
    elif node.kind == "call" and len(node.parts) > 1 and _word(first) in _DECIDING:
        conditions, first = [node.parts[1]], node.parts[1]
    for child in node.parts:
        yield child, [] if child is first else conditions


def _word(function: RNode) -> str:
    if function.kind == "binary" and function.value in ("::", ":::"):
        return function.parts[1].value
    return function.value if function.kind in ("name", "string") else ""


def is_assignment(node: RNode) -> bool:
    """Whether a node assigns.

    Args:
        node: The node.
    """
    return node.kind == "binary" and node.value in ASSIGNS


def assigned(node: RNode) -> list[tuple[str, RNode | None]]:
    """The names that a node itself changes, with what is put into them; None if not known.

    Args:
        node: The node.
    """
    if is_assignment(node):
        target, value = node.parts if node.value[0] != "-" else reversed(node.parts)
        # `!!name := value` names a column by what `name` holds, which stays as it is.
        name = root_of(target) if target.kind != "unary" else ""
        # Where something is put tells as much as what: ``flags[max(d$x)] <- 1``.
        return [(name, value), *((name, each) for each in _places(target))] if name else []
    if node.kind == "for":
        return [(node.value, node.parts[0])]
    if node.kind == "function":
        return [(name, None) for name in node.names if name]
    if node.kind == "binary" and node.value == "%<>%" and (name := root_of(node.parts[0])):
        return [(name, None)]
    return []


def _places(node: RNode) -> list[RNode]:
    """The indexes of a target."""
    found: list[RNode] = []
    while node.kind in ("index", "call", "binary") and node.parts:
        if node.kind == "binary":
            node = node.parts[0]
            continue
        inner = 1 if node.kind == "call" and len(node.parts) > 1 else 0
        found += [each for each in node.parts[inner + 1 :] if each.kind != "missing"]
        node = node.parts[inner]
    return found


def root_of(node: RNode) -> str:
    """The name that an assignment changes: ``x`` in ``names(x)[1]$a <- …``.

    Args:
        node: What is assigned to.
    """
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


_CONSTANTS = frozenset(
    (
        "TRUE",
        "FALSE",
        "NULL",
        "NA",
        "NA_integer_",
        "NA_real_",
        "NA_character_",
        "Inf",
        "NaN",
        "pi",
        "T",
        "F",
        "letters",
        "LETTERS",
        "month.name",
        "month.abb",
        "version",
        "R.version.string",
    )
)
_FOLLOWED = ("name", "string", "paren", "block", "if", "binary")
_CLEAN_KINDS = ("binary", "unary", "paren", "index", "missing", "if", "block")
_PIPES = ("|>", "%>%", "%T>%", "%<>%", "%$%")
_MODELS = frozenset({"lm", "glm"})
#: What the syntax itself calls; giving one of them a meaning changes all that is read here.
SYNTAX = frozenset(
    (
        *("(", "{", "[", "[[", "$", "@", "if", "for", "while", "repeat", "function", "<-", "<<-"),
        *(
            "=",
            ":=",
            "::",
            ":::",
            "!",
            "~",
            "-",
            "+",
            "*",
            "/",
            "^",
            "==",
            "!=",
            "<",
            ">",
            "<=",
            ">=",
        ),
        *("&", "&&", "|", "||", ":", "%%", "%/%", "%in%", "%*%", "?", "|>", "[<-", "[[<-", "$<-"),
        *("invisible", "stop", "source", "file.path", "Sys.getenv", "return", "break", "next"),
    )
)
#: Operators in signs of per cent that are known to compute or to pipe.
OPERATORS = frozenset(
    ("%>%", "%in%", "%%", "%/%", "%o%", "%*%", "%x%", "%<>%", "%T>%", "%$%", "%||%", "%like%")
)
_GROUPS = frozenset(("Ops", "Math", "Summary", "Complex", "Arith", "Compare", "Logic"))


class RNames:
    """The names of one script.

    >>> from discreet_fire.scripts.r_syntax import parse_r
    >>> tree = parse_r("p <- print; n <- 3; d <- read.csv('a')")
    >>> names = RNames(tree, ScriptPolicy.default("r"))
    >>> sorted(names.tainted), sorted(names.aliases["p"])
    (['d', 'p'], ['print'])
    """

    def __init__(self, tree: list[RNode], policy: ScriptPolicy) -> None:
        self.policy = policy
        self.bindings: list[tuple[str, RNode | None]] = []
        self.functions: set[str] = set()
        self.aliases: dict[str, set[str]] = {}
        self.tainted: set[str] = set()
        self.values: dict[str, list[RNode | None]] = {}
        self._models: dict[str, bool] = {}
        #: Bindings of whole names only, not of ``name$part``.
        self.direct: list[tuple[str, RNode | None]] = []
        #: Assignments.
        self.changes: list[RNode] = []
        self.flows = RFlows(tree)
        for top in tree:
            for node in top.walk():
                self._bind(node)
        self.bound = set(self.values)
        self._alias()
        #: Functions that a method of this script may stand in for.
        self.dispatched: set[str] = set()
        #: Methods, which run without being called by name.
        self.own_methods = {name for name in self.functions if self._generic(name)}
        self._spread()

    def _bind(self, node: RNode) -> None:
        for name, value in assigned(node):
            self.bindings.append((name, value))
            self.values.setdefault(name, []).append(value)
            whole = not is_assignment(node)
            if is_assignment(node):
                self.changes.append(node)
                target = node.parts[1 if node.value[0] == "-" else 0]
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
        found = {".".join(parts[:place]) for place in range(1, len(parts))}
        inner = {each for each in found if each in SYNTAX | _GROUPS or self.policy.rule(each).known}
        self.dispatched |= inner
        return bool(inner)

    def _alias(self) -> None:
        """Follow functions that are given other names."""
        waiting: dict[str, list[int]] = {}
        for place, (_, value) in enumerate(self.bindings):
            if value is not None and value.kind in _FOLLOWED:
                for each in value.walk():
                    if each.kind in ("name", "string"):
                        waiting.setdefault(each.value, []).append(place)
        todo = list(range(len(self.bindings) - 1, -1, -1))
        while todo:
            name, value = self.bindings[todo.pop()]
            found = set[str]() if value is None else self._functions_in(value)
            new = found - self.aliases.get(name, set())
            if new and any(self.policy.rule(each).known for each in found):
                self.aliases.setdefault(name, set()).update(found)
                todo.extend(waiting.get(name, ()))

    def _functions_in(self, value: RNode) -> set[str]:
        """The functions that the value of an expression may be."""
        while value.kind in ("paren", "block") and value.parts:
            value = value.parts[-1]
        if value.kind == "if":
            return set[str]().union(*(self._functions_in(each) for each in value.parts[1:]))
        return self.called(value)

    def _spread(self) -> None:
        """Find all names that may hold data."""
        units = [(value, {name}) for name, value in self.bindings if value is not None]
        units += self.flows.under
        waiting = [name for name, value in self.bindings if value is None]
        waiting += sorted(self.flows.loose)
        mentioned: dict[str, list[int]] = {}
        done = [False] * len(units)
        for place, (value, targets) in enumerate(units):
            if not self.clean(value):
                done[place] = True
                waiting.extend(targets)
                continue
            for name in {each.value for each in value.walk() if each.kind == "name"}:
                mentioned.setdefault(name, []).append(place)
        while waiting:
            name = waiting.pop()
            if name in self.tainted:
                continue
            self.tainted.add(name)
            for place in mentioned.get(name, ()):
                value, targets = units[place]
                if not done[place] and not self.clean(value):
                    done[place] = True
                    waiting.extend(targets)

    def called(self, function: RNode) -> set[str]:
        """Names of the functions that an expression may be."""
        if function.kind in ("name", "string"):
            found = set(self.aliases.get(function.value, ()))
            alias = bool(found) or function.value in self.functions
            if not alias or self.policy.rule(function.value).known:
                found.add(function.value)
            return found
        if function.kind == "binary" and function.value in ("::", ":::"):
            package, name = function.parts[0].value, function.parts[1].value
            full = f"{package}::{name}"
            return {full} if self.policy.rule(full).known else {name}
        if function.kind == "paren":
            return self.called(function.parts[0])
        return set()

    def rules(self, function: RNode) -> list[ScriptRule]:
        """The rules on what an expression may be as a function."""
        return [self.policy.rule(name) for name in sorted(self.called(function))]

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
            return node.value in self.bound or node.value in _CONSTANTS
        if node.kind == "binary":
            if node.value in ("::", ":::") or node.value in _PIPES:
                return False
            if node.value in ("$", "@"):
                return self.clean(node.parts[0])
            if node.value == "~":
                return True
            if node.value[0] == "%" and node.value not in OPERATORS:
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
            if self.dispatched & _GROUPS:
                return True
            names = {"[[" if node.value == "[[" else "["} if node.kind == "index" else {node.value}
            if node.kind == "call":
                names = self.called(node.parts[0])
                # `paste` and `cat` take texts of objects by these.
                names |= {"as.character", "format", "toString", "length"}
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
                and bool(found := self.called(value.parts[0]))
                and found <= _MODELS
                for value in self.values[node.value]
            )
        return self._models[node.value]


def arguments(node: RNode) -> Iterator[tuple[str | None, RNode]]:
    """The arguments of a call with their names."""
    return zip(node.names, node.parts[1:], strict=True)
