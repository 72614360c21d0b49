"""What each expression of a script tells of the data, for R and Python alike, and the names of R.

In: the tree of a script, and its names with what they are bound to. Out: marks: whether an
expression derives from data, holds single values, or records that a condition has chosen, is called
by values. A name has the marks of all that it is given anywhere; scopes are not told apart, and
nothing is run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.scripts import (
    LOOPS,
    Binding,
    Node,
)

#: It derives from data; it may be made of values, and not of names of columns only; it may be
#: something else than a choice of records.
DATA, VALUES, NO_CHOICE = 1, 2, 4
#: It holds single values.
SINGLE = 8
#: It holds records that a condition has chosen, also under the same name; under another one.
CUT, CHOSEN = 32, 64
#: It may be a frame whose columns are called by values.
TURNED = 128

_ANY = DATA | VALUES | NO_CHOICE
_WHOLE = SINGLE | CUT | TURNED
_COMPARED = ("==", "!=", "<", ">", "<=", ">=", "%in%")
_CHOICES = ("&", "|", "xor", ":", "+", "-")
_CLEAN = frozenset((
    "binary", "unary", "paren", "index", "missing", "if", "block", "holder", "dict", "format",
    "formatted", "comprehension", "slice", "call", "number", "string", "word", "name",
))  # fmt: skip
#: Parts of objects whose places are no records.
_NO_RECORDS = ("str", "shape")
_NAMING = ("name", "names", "columns", "keys", "schema", "**")
_SMALL = 10
_QUANTILES = (0.01, 0.99)
#: Names with the marks that they get from an expression.
_Edge = tuple[frozenset[str], Node, int]


class ScriptMarks(ABC):
    """The names of one script, and the marks of its expressions."""

    #: Whether a method of an object is called in the way of `object.method(…)`.
    methods_of_objects = False

    def __init__(self, tree: Node, policy: ScriptPolicy) -> None:
        self.tree, self.policy = tree, policy
        self.nodes = [*tree.walk()]
        #: What names or parts of them are given.
        self.bindings: list[Binding] = [b for node in self.nodes for b in self._bound_by(node)]
        #: What each name is given.
        self.values: dict[str, list[Node | None]] = defaultdict(list)
        for name, value, _ in self.bindings:
            self.values[name].append(value)
        #: The functions with rules that a name stands for.
        self.aliases: dict[str, set[str]] = {}
        #: Conditions under which a loop or function is left early, by the id of its node.
        self.jumps: dict[int, list[Node]] = {}
        self._memo: dict[int, int] = {}
        self._held: dict[str, int] = defaultdict(int)

    # ------------------------------------------------------------ what a language says

    @abstractmethod
    def rules(self, function: Node) -> list[CommandRule]:
        """The rules on what an expression may be as a function."""

    def facts(self, function: Node) -> list[CommandRule]:
        """The rules that state what a call may do with values, or it may do anything."""
        return self.rules(function)

    @abstractmethod
    def is_own(self, function: Node) -> bool:
        """Whether a function is one of this script."""

    @abstractmethod
    def _clean_name(self, node: Node, held: bool) -> bool:
        """Whether a name tells nothing, given whether it holds data anywhere."""

    @abstractmethod
    def _clean_call(self, node: Node) -> bool:
        """Whether what a call gives tells nothing."""

    @abstractmethod
    def _names_columns(self, call: Node) -> bool:
        """Whether what a call gives is made of names of columns only."""

    def has_trait(self, node: Node, trait: str) -> bool:
        """Whether a rule states this of a function or part."""
        return any(trait in rule.traits for rule in self.rules(node))

    def _effects(self, node: Node) -> Iterable[str]:
        """The names that a node changes without giving them a value."""
        return ()

    @abstractmethod
    def _loose(self) -> set[str]:
        """Names that are changed by functions of which it is not known how often they run."""

    @abstractmethod
    def _names_picking(self, function: Node, name: str | None, node: Node) -> bool:
        """Whether an argument is a function, or the name of one, that picks."""

    def is_place(self, node: Node) -> bool:
        """Whether single values stand in the brackets behind a part: ``df.iloc[17]``."""
        return False

    def is_label(self, part: Node) -> bool:
        """Whether a part of an object is a label."""
        return False

    def _bound_by(self, node: Node) -> Iterable[Binding]:
        return node.bindings()

    def _of_part(self, node: Node, marks: Sequence[int]) -> int:
        """The marks of a part of an object."""
        return (reduce(or_, marks) & (VALUES | CUT | CHOSEN)) | (marks[0] & ~TURNED) | NO_CHOICE

    def may(self, function: Node, *risks: str) -> bool:
        """Whether a call may do one of these with values; where nothing is stated it may."""
        return any(rule.may(*risks) for rule in self.facts(function))

    def does(self, function: Node, risk: str) -> bool:
        """Whether a rule states that a call does this; where nothing is stated it is reviewed."""
        return any(risk in (rule.risks or ()) for rule in self.facts(function))

    # ------------------------------------------------------------ names

    def follow_aliases(
        self, roots: Callable[[Node], Iterable[str]], meant: Callable[[Node], set[str]], most: int
    ) -> None:
        """Follow functions that are given other names, up to so many of these."""
        pairs = [(n, v) for n, v, whole in self.bindings if v is not None and whole]
        waiting: dict[str, list[int]] = defaultdict(list)
        for place, (_, value) in enumerate(pairs):
            for item in set(roots(value)):
                waiting[item].append(place)
        todo = list(range(len(pairs) - 1, -1, -1))
        while todo and most > 0:
            name, value = pairs[todo.pop()]
            if new := meant(value) - self.aliases.get(name, set()):
                self.aliases.setdefault(name, set()).update(new)
                most -= len(new)
                todo.extend(waiting.get(name, ()))

    def settle(self, more: Iterable[tuple[Iterable[str], Node]], targets: set[str]) -> None:
        """Find the marks of all names, with more expressions that make targets hold data."""
        whole = [(name, value) for name, value, all_ in self.bindings if value is not None and all_]
        roots = [(name, value.root) for name, value in whole]
        self._copied = {name for name, root in roots if root != name and root in self.values}
        edges: list[_Edge] = []
        for name, value, all_ in self.bindings:
            if value is None:
                self._held[name] |= _ANY
                continue
            edges.append((frozenset((name,)), value, _ANY | (_WHOLE if all_ else 0)))
        edges += [(frozenset((name,)), item, _WHOLE) for name, item in self._returned()]
        changed = {id(node): self._changed_by(node) for node in self.nodes}
        self.jumps.update((id(node), [*self._exits(node)]) for node in self.nodes)
        for node in self.nodes:
            conditions, free = node.conditions(self.decides(node))
            guards = self.jumps.get(id(node), ())
            if conditions or guards:
                edges += self._under(node, conditions, free, guards, changed, targets)
        edges += [(frozenset(names), node, DATA) for names, node in more]
        for name in self._loose() & targets:
            self._held[name] |= DATA
        for node in self.nodes:
            if target := self._column_of(node):
                edges.append((frozenset((target[0].root,)), node, TURNED))
        # What is single or chosen depends on what is no choice.
        self._spread_marks([(names, node, kept & _ANY) for names, node, kept in edges])
        self._spread_marks(edges)

    def _under(
        self, node: Node, conditions: Iterable[Node], free: Sequence[Node], guards: Iterable[Node],
        changed: dict[int, set[str]], targets: set[str],
    ) -> Iterator[_Edge]:  # fmt: skip
        parts = [part for part in node.parts if not any(part is one for one in free)]
        below = (changed[id(item)] for part in parts for item in part.walk())
        names = frozenset(set[str]().union(*below) & targets)
        yield from ((names, condition, DATA) for condition in conditions)
        if guards:
            inside = set[str]().union(*(changed[id(item)] for item in node.walk()))
            yield from ((frozenset(inside & targets), guard, DATA) for guard in guards)

    def _changed_by(self, node: Node) -> set[str]:
        return {name for name, _, _ in node.bindings() if node.kind != "function"}.union(
            self._effects(node)
        )

    def decides(self, node: Node) -> bool:
        """Whether the first argument of a call decides how often the others run."""
        return False

    def _returned(self) -> Iterator[tuple[str, Node]]:
        """Functions of the script with what they may give back."""
        for name, value, whole in self.bindings:
            if whole and value is not None and value.kind == "function":
                yield from ((name, item) for item in value.returned())

    def _exits(self, frame: Node) -> Iterator[Node]:
        """The conditions under which a loop or function is left early."""
        if frame.kind not in (*LOOPS, "function"):
            return
        caught = any(node.kind == "try" for node in frame.walk())
        for node in frame.walk():
            conditions, _ = node.conditions(self.decides(node))
            if conditions and any(_leaves(item, frame, caught) for item in node.walk()):
                yield from conditions

    def _spread_marks(self, edges: Sequence[_Edge]) -> None:
        mentions: dict[str, list[int]] = defaultdict(list)
        for place, (_, node, _) in enumerate(edges):
            for name in {item.value for item in node.walk() if item.kind in ("name", "string")}:
                mentions[name].append(place)
        todo, waiting = deque(range(len(edges))), set(range(len(edges)))
        while todo:
            place = todo.popleft()
            waiting.discard(place)
            names, node, kept = edges[place]
            self._memo.clear()
            marks = self._turned_by(node) if kept == TURNED else self.marks(node) & kept
            for name in names:
                if marks & ~self._held[name]:
                    self._held[name] |= marks
                    new = [one for one in mentions[name] if one not in waiting]
                    todo.extend(new)
                    waiting.update(new)
        self._memo.clear()

    def _turned_by(self, node: Node) -> int:
        target = self._column_of(node)
        place = self.marks(target[1]) if target is not None else 0
        return TURNED if place & VALUES and place & NO_CHOICE else 0

    def _column_of(self, node: Node) -> tuple[Node, Node] | None:
        """What gets a column, and how that is called: ``d[[max(d$x)]] <- 1``."""
        target = node.sides[0] if node.is_assignment else node
        if target is node or target.kind != "index" or len(target.parts) < 2:
            return None
        return None if target.parts[0].word == "iloc" else (target, target.parts[-1])

    # ------------------------------------------------------------ marks

    def clean(self, node: Node) -> bool:
        """Whether an expression tells nothing of the data."""
        return not self.marks(node) & DATA

    def has(self, node: Node, mark: int) -> bool:
        """Whether an expression may have a mark."""
        return bool(self.marks(node) & mark)

    def is_choice(self, node: Node) -> bool:
        """Whether an expression chooses records, as a comparison does."""
        return not self.marks(node) & NO_CHOICE

    def marks(self, node: Node) -> int:
        """What an expression may hold, by its parts."""
        known = self._memo.get(id(node))
        if known is None:
            known = self._by_parts(node)
            if not known & DATA:  # names of columns only
                known &= ~VALUES
            self._memo[id(node)] = known
        return known

    def _by_parts(self, node: Node) -> int:
        kind = node.kind
        if kind == "name":
            return self._of_name(node)
        if kind == "function":
            return self._of_function(node)
        part_marks = [self.marks(part) for part in node.parts]
        marks = reduce(or_, part_marks, 0)
        if kind == "missing":
            return 0
        if kind in ("unary", "paren"):
            return marks
        if kind == "call":
            return self._of_call(node, part_marks)
        if kind == "index":
            return self._of_place(node, part_marks)
        if kind == "binary":
            return self._of_operator(node, part_marks)
        if kind == "item":  # of a column it is a single value, of names of columns it is none
            return marks | NO_CHOICE | (SINGLE if marks & VALUES else 0)
        if kind == "dict" and any(one & VALUES for one in part_marks[::2]):
            marks |= TURNED
        return marks | NO_CHOICE | (0 if kind in _CLEAN else DATA)

    def _of_function(self, node: Node) -> int:
        return NO_CHOICE

    def _of_name(self, node: Node) -> int:
        held, known = self._held.get(node.value, 0), node.value in self.values
        marks = held & _WHOLE | (CHOSEN if held & CUT and node.value in self._copied else 0)
        if not self._clean_name(node, bool(held & DATA)):
            marks |= DATA | (VALUES if not known or held & VALUES else 0)
        return marks | (NO_CHOICE if not known or held & NO_CHOICE else 0)

    def _of_operator(self, node: Node, part_marks: Sequence[int]) -> int:
        sign, marks = node.value, reduce(or_, part_marks)
        if sign == "~":
            return NO_CHOICE
        if node.is_assignment:
            value = part_marks[0 if sign[0] == "-" else 1]
            return value | NO_CHOICE | (part_marks[0] & DATA if node.parts[0].stored else 0)
        if node.is_part:
            return self._of_part(node, part_marks)
        if sign in _COMPARED:
            # Comparisons of columns with single values hold none, those of single values alone do:
            # their answer is about one record.
            if not all(one & SINGLE or not one & DATA for one in part_marks):
                marks &= ~SINGLE
            return marks & ~(CUT | CHOSEN | TURNED | NO_CHOICE)
        chooses = all(not one & NO_CHOICE or not one & DATA for one in part_marks)
        marks = marks & ~NO_CHOICE if sign in _CHOICES and chooses else marks | NO_CHOICE
        if sign == "*" and any(self.is_choice(self._unwrapped(part)) for part in node.parts):
            marks |= CUT | CHOSEN
        return marks | (0 if self._knows_operator(sign) else DATA)

    def _knows_operator(self, sign: str) -> bool:
        return True

    def _unwrapped(self, node: Node) -> Node:
        """A condition without brackets and what makes it numbers: ``as.numeric(d$id == 17)``."""
        while node.kind in ("paren", "call") and node.parts:
            function = node.parts[0]
            method = function.word in ("astype", "cast") and function.is_part
            node = function.parts[0] if method else node.parts[-1]
        return node

    def _of_place(self, node: Node, part_marks: Sequence[int]) -> int:
        marks = (
            reduce(or_, part_marks) & (DATA | VALUES) | part_marks[0] & (CUT | CHOSEN) | NO_CHOICE
        )
        marks |= self._picks_place(node, part_marks)
        place = node.parts[1] if len(node.parts) > 1 else node
        if place is not node and place.kind not in ("index", "missing") and self.is_choice(place):
            marks |= CUT | CHOSEN
        return marks | (TURNED if part_marks[0] & TURNED and part_marks[-1] & DATA else 0)

    def _of_call(self, node: Node, part_marks: Sequence[int]) -> int:
        function, word = node.parts[0], node.parts[0].word
        on = self.operands(node)
        marks = reduce(or_, part_marks) & (SINGLE | CUT | CHOSEN)
        marks |= reduce(or_, (self.marks(one) for one in (*on, *node.parts[1:])), 0) & TURNED
        marks |= part_marks[0] & TURNED if function.kind == "name" else 0
        data = any(self.has(one, DATA) for one in (*on, *node.parts[1:]))
        reduces = word in self.policy.words["reduces"] and (
            marks & CHOSEN or any(map(self.is_choice, on))
        )
        if reduces or (data and self._picks_call(node)):
            marks |= SINGLE
        if word in self.policy.words["selects"]:
            marks |= CUT | CHOSEN
        if self._turns(node):
            marks |= TURNED
        if not self._clean_call(node):
            marks |= DATA | (0 if self._names_columns(node) else VALUES)
        return marks | (0 if self.has_trait(function, "chooses") else NO_CHOICE)

    def thing_of(self, function: Node) -> Sequence[Node]:
        """The object whose method a function is, if it is that of one."""
        return ()

    def operands(self, call: Node) -> Sequence[Node]:
        """What a call joins or reduces, the one whose records stay first."""
        return [*self.thing_of(call.parts[0]), *call.parts[1:]]

    def _picks_place(self, node: Node, marks: Sequence[int]) -> int:
        """The marks of a single value, where a place in brackets is one or is chosen by one."""
        base, place = node.parts[0], node.parts[min(1, len(node.parts) - 1)]
        if self.is_place(base):
            single = place.kind in ("number", "string", "unary", "name")
            single = single and bool(marks[0] & DATA) and not self.is_choice(place)
        else:
            inner = place.parts[0] if place.kind == "unary" else place
            single = inner.kind == "number" and inner.value[:1].isdigit()
            single = single and bool(marks[0] & VALUES) and base.word not in _NO_RECORDS
            single = single and not (node.value == "[[" and base.kind == "name")
        return reduce(or_, marks) & SINGLE | (SINGLE if single else 0)

    def _picks_call(self, node: Node) -> bool:
        """Whether a call picks by itself, or is given a function that does: ``FUN = max``."""
        function, *inputs = node.parts
        return (
            self.may(function, "picks")
            or (self.may(function, "ends") and not all(map(_inner_quantile, inputs)))
            or (self.may(function, "few") and any(map(_is_small, inputs)))
            or any(self._names_picking(function, name, one) for name, one in node.arguments())
            or any(
                self.has(result, SINGLE)
                for one in inputs if one.kind == "function" for result in one.returned()
            )
        )  # fmt: skip

    def _turns(self, call: Node) -> bool:
        """Whether a call makes a frame whose columns are called by values."""
        function = call.parts[0]
        if self.may(function, "turns"):
            return not all(map(self.clean, self.operands(call)))
        named = (value for name, value in call.arguments() if name in _NAMING)
        return self.may(function, "frames") and any(self.has(one, VALUES) for one in named)

    def _crosses(self, call: Node) -> bool:
        """Whether a call puts each record beside each, or carries values on."""
        word, named = call.parts[0].word, dict(call.arguments())
        if word in ("fillna", "fill_null") and {"method", "strategy"} & set(named):
            return True
        every = [named[name].value for name in ("how", "by") if name in named]
        joins = word in self.policy.words["joins"] and bool({"cross", "NULL"} & {*every})
        return joins or word in self.policy.words.get("crosses", ())

    def label_sources(self, node: Node) -> Sequence[Node]:
        """What is assigned to a label, or given to a function that makes labels."""
        if node.is_assignment:
            target, value = node.sides
            if target.kind == "unary" and target.value != "*":  # `!!name := value`
                return [target]
            inner = target.base
            label = inner.kind == "call" and self.does(inner.parts[0], "named")
            return [value] if label or (target.is_part and self.is_label(target)) else []
        if node.kind != "call" or not self.does(node.parts[0], "labels"):
            return []
        pairs = [*node.arguments()]  # what is labelled stands first
        first = bool(pairs) and pairs[0][0] in (None, "", "x", ".data")
        return [one for _, one in pairs[1 if first and not self.thing_of(node.parts[0]) else 0 :]]

    # ------------------------------------------------------------ what is done with marks

    def names_with(self, mark: int) -> set[str]:
        """The names that have a mark."""
        return {name for name, held in self._held.items() if held & mark}

    def spreads(self, node: Node) -> bool:
        """Whether an assignment or call puts single values into many records."""
        if node.is_assignment:
            target, value = node.sides
            part = target.kind == "index" or target.is_part
            return part and (self.has(value, SINGLE) or self._chosen_into(target, value))
        if node.kind != "call":
            return False
        function, word = node.parts[0], node.parts[0].word
        if word in self.policy.words["carries"]:
            return True
        if word in self.policy.words["joins"]:
            first, *others = self.operands(node) or [function]
            if self.has(first, CHOSEN) or any(self.has(one, CUT) for one in others):
                return True
        if self._crosses(node):
            return True
        return self.may(function, "spreads") and any(
            self.has(one, SINGLE) for one in node.parts[1:]
        )

    def _chosen_into(self, target: Node, value: Node) -> bool:
        return False

    def labels(self, node: Node) -> bool:
        """Whether an assignment or call makes labels of data."""
        return any(self.has(one, VALUES) for one in self.label_sources(node))


def _leaves(node: Node, frame: Node, caught: bool) -> bool:
    """Whether a node leaves a loop or function, by an error too if one is caught there."""
    if node.kind == "jump" or (node.kind == "name" and node.value in ("break", "next")):
        return frame.kind in LOOPS
    called = node.parts[0].value if node.kind == "call" else ""
    return (
        node.kind == "return"
        or called in ("return", "stop", "invokeRestart")
        or (node.kind == "raise" and caught)
    )


def _is_small(node: Node) -> bool:
    return node.kind == "number" and node.value.isdigit() and int(node.value) < _SMALL


def _inner_quantile(node: Node) -> bool:
    shares = node.parts if node.kind == "holder" else [node]
    return all(
        share.kind == "number" and "." in share.value
        and _QUANTILES[0] <= float(share.value) <= _QUANTILES[1]
        for share in shares
    )  # fmt: skip


_OUTWARD = ("<<-", "->>")
_FOLLOWED = ("name", "string", "paren", "block", "if", "binary")
_NAMED = ("FUN", "f", ".f", "fn")
_MOST = 10**9


class RMarks(ScriptMarks):
    """The names of one script, and the marks of its expressions.

    >>> from discreet_fire.scripts import read_r
    >>> tree = read_r("p <- print; n <- 3; d <- read.csv('a'); d$m <- max(d$x)")
    >>> marks = RMarks(tree, ScriptPolicy.default("r"))
    >>> sorted(marks.aliases["p"]), [marks.clean(one.parts[0]) for one in tree.parts[:3]]
    (['print'], [False, True, False])
    >>> marks.spreads(tree.parts[3])
    True
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
        self.follow_aliases(_followed, self._functions_in, _MOST)
        #: Methods, which run without being called by name.
        self.own_methods = {name for name in self.functions if self._generic(name)}
        self.settle((), self.bound)

    def _generic(self, name: str) -> bool:
        """Whether a function is a method of one that has a rule, of an operator or of a group."""
        parts = name.split(".")
        if self.policy.rule(name).known:
            return False
        stems = {".".join(parts[:place]) for place in range(1, len(parts))}
        own = self.listed["syntax"] | self.listed["groups"] | self.listed["texts"]
        return any(item in own or self.policy.rule(item).known for item in stems)

    def _functions_in(self, value: Node) -> set[str]:
        functions = self._meant(value)
        return functions if any(self.policy.rule(item).known for item in functions) else set()

    def _meant(self, value: Node) -> set[str]:
        """The functions that the value of an expression may be."""
        while value.kind in ("paren", "block") and value.parts:
            value = value.parts[-1]
        if value.kind == "if":
            return set[str]().union(*map(self._meant, value.parts[1:]))
        return self.called(value)

    def called(self, function: Node) -> set[str]:
        """Names of the functions that an expression may be."""
        if function.kind in ("name", "string"):
            names = set(self.aliases.get(function.value, ()))
            alias = bool(names) or function.value in self.functions
            if not alias or self.policy.rule(function.value).known:
                names.add(function.value)
            return names
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

    # ------------------------------------------------------------ what is clean

    def _clean_name(self, node: Node, held: bool) -> bool:
        return not held and (node.value in self.bound or node.value in self.listed["constants"])

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

    # ------------------------------------------------------------ what is changed

    def decides(self, node: Node) -> bool:
        """Whether the first argument of a call decides how often the others run."""
        return node.kind == "call" and self.policy.rule(node.parts[0].word).may("decides")

    def _loose(self) -> set[str]:
        functions = (node for node in self.nodes if node.kind == "function")
        return {
            name for function in functions for item in function.walk()
            if item.kind == "binary" and item.value in _OUTWARD
            for name, _, _ in item.bindings()
        }  # fmt: skip

    # ------------------------------------------------------------ single values and labels

    def _names_picking(self, function: Node, name: str | None, node: Node) -> bool:
        named = node.kind == "name" or (node.kind == "string" and name in _NAMED)
        return named and any(rule.known and rule.may("picks") for rule in self.rules(node))

    def _chosen_into(self, target: Node, value: Node) -> bool:
        """What is chosen from a vector: where it is one value, all records get it."""
        chosen = value.kind == "index" and self._selects(value)
        return chosen and not (target.kind == "index" and self._selects(target))

    def _selects(self, node: Node) -> bool:
        place = node.parts[1] if len(node.parts) > 1 else node
        return place.kind not in ("index", "missing") and self.is_choice(place)

    def _names_columns(self, call: Node) -> bool:
        rules = self.rules(call.parts[0])
        if any("schema" in rule.traits for rule in rules):
            return True
        plain = bool(rules) and all(rule.role == "clean" for rule in rules)
        return plain and not any(self.has(one, 2) for one in call.parts[1:])


def _followed(value: Node) -> Iterator[str]:
    if value.kind in _FOLLOWED:
        yield from (item.value for item in value.walk() if item.kind in ("name", "string"))
