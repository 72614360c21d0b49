"""Where values go, for programs of any language.

In: from a front end, what names are bound to, what an expression mentions, and what is changed
under which conditions. Out: the names that hold something of interest, found round by round until
nothing changes, and the levels of what they hold. Nothing is run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from discreet_fire.catalogue import Action, ScriptPolicy, ScriptRule

_Node = TypeVar("_Node")
_Item = TypeVar("_Item")


class Held(NamedTuple):
    """What a piece of a program holds: how bad it is, and what it is."""

    rank: int
    what: str = ""

    @property
    def action(self) -> Action:
        """What becomes of a command that shows it."""
        return (Action.ALLOWED, Action.REVIEW, Action.REFUSED, Action.REFUSED)[self.rank]

    def at_most(self, rank: int) -> Held:
        """The same, but not worse than `rank`."""
        return self if self.rank <= rank else Held(rank, self.what)


CLEAN = Held(0)
DOUBT = 1
BAD = 2
#: The value of one certain record, which honest programs hardly ever name.
RECORD = 3


def settled(
    items: Iterable[_Item], look: Callable[[_Item], None], size: Callable[[], int], most: int = -1
) -> bool:
    """Look at items until nothing new turns up; whether that came to an end.

    Chains run either way, so each round turns round.

    >>> found = {"a"}
    >>> settled(["cb", "ba"], lambda x: found.update(x[0] * (x[1] in found)), lambda: len(found))
    True
    >>> sorted(found)
    ['a', 'b', 'c']
    """
    ordered, before = list(items), -1
    while before != (before := size()):
        if most == 0:
            return False
        most -= 1
        for item in ordered:
            look(item)
        ordered.reverse()
    return True


def grown(
    found: set[str], pairs: Iterable[tuple[str, _Node | None]], holds: Callable[[_Node], bool]
) -> None:
    """Add the names that are bound to what holds something.

    >>> found = set()
    >>> grown(found, [("a", "b"), ("b", "max"), ("c", "d")], lambda x: x == "max" or x in found)
    >>> sorted(found)
    ['a', 'b']
    """

    def look(pair: tuple[str, _Node | None]) -> None:
        name, value = pair
        if name not in found and value is not None and holds(value):
            found.add(name)

    settled(reversed(list(pairs)), look, lambda: len(found))


def kept(
    found: set[str],
    values: Mapping[str, Sequence[_Node | None]],
    holds: Callable[[_Node], bool],
) -> None:
    """Leave the names that are bound to nothing but what holds something.

    >>> found = {"a", "b", "c"}
    >>> kept(found, {"a": ["b"], "b": ["1"], "c": ["a", "x"]}, lambda x: x == "1" or x in found)
    >>> sorted(found)
    ['a', 'b']
    """

    def look(name: str) -> None:
        bound = values[name]
        if name in found and not all(item is not None and holds(item) for item in bound):
            found.remove(name)

    settled(reversed(list(values)), look, lambda: len(found))


def spread(
    found: set[str],
    units: Sequence[tuple[_Node, Iterable[str]]],
    clean: Callable[[_Node], bool],
    mentioned: Callable[[_Node], Iterable[str]],
    held: Mapping[str, Iterable[str]],
) -> None:
    """Add the names that get what is not clean, and those of objects that such names hold.

    >>> found = {"d"}
    >>> spread(found, [("b", "c"), ("d", "b")], lambda x: x not in found, set, {"c": ["e"]})
    >>> sorted(found)
    ['b', 'c', 'd', 'e']
    """
    waiting = sorted(found)
    places: dict[str, list[int]] = defaultdict(list)
    done = [False] * len(units)

    def look(place: int) -> None:
        value, targets = units[place]
        if not done[place] and not clean(value):
            done[place] = True
            add(targets)

    def add(names: Iterable[str]) -> None:
        new = set(names) - found
        found.update(new)
        waiting.extend(sorted(new))

    for place, (value, _) in enumerate(units):
        look(place)
        for name in () if done[place] else set(mentioned(value)):
            places[name].append(place)
    while waiting:
        name = waiting.pop()
        add(held.get(name, ()))
        for place in places.get(name, ()):
            look(place)


class ControlFlow(ABC, Generic[_Node]):
    """The flow of control through one script: what is changed only if a condition holds.

    What is changed as often as a loop runs counts as well: ``for v in df.x: n += 1`` counts the
    records, and reads none.
    """

    def __init__(self) -> None:
        #: Conditions under which a loop or function is left early, by the id of its node.
        self.jumps: dict[int, list[_Node]] = {}
        #: Conditions, and what is changed under them.
        self.under: list[tuple[_Node, set[str]]] = []
        #: Names that are changed by functions of which it is not known how often they run.
        self.loose: set[str] = set()

    @abstractmethod
    def parts(self, node: _Node) -> Iterator[tuple[_Node, list[_Node]]]:
        """The parts of a node, each with the conditions under which it runs."""

    @abstractmethod
    def leaves(self, node: _Node, within: set[str]) -> str:
        """Whether a node leaves a `loop` or a `function`."""

    @abstractmethod
    def frame(self, node: _Node) -> str:
        """Whether a node is a `loop`, a `function` or a `try`."""

    @abstractmethod
    def changed_by(self, node: _Node) -> Iterable[str]:
        """The names that a node itself changes."""

    def find_jumps(self, node: _Node, frames: tuple[tuple[str, _Node], ...] = ()) -> None:
        """Note what guards each exit of a loop or function."""
        kind = self.leaves(node, {each for each, _ in frames})
        guards: list[_Node] = []
        for each, what in reversed(frames) if kind else ():
            if each == kind:
                self.jumps.setdefault(id(what), []).extend(guards)
                break
            if each == "condition":
                guards.append(what)
        if own := self.frame(node):
            frames = (*frames, (own, node))
        for child, conditions in self.parts(node):
            self.find_jumps(
                child, (*frames, *(("condition", condition) for condition in conditions))
            )

    def find_changes(self, node: _Node, names: tuple[set[str], ...] = ()) -> None:
        """Note what is changed under conditions."""
        found = set(self.changed_by(node)) if names else ()
        for name in names:
            name.update(found)
        names = (*names, *self._sets(self.jumps.get(id(node), [])))
        inner: tuple[set[str], ...] | None = None
        for child, conditions in self.parts(node):
            if conditions and inner is None:
                inner = (*names, *self._sets(conditions))
            self.find_changes(child, inner if conditions and inner is not None else names)

    def _sets(self, conditions: list[_Node]) -> tuple[set[str], ...]:
        made = [(condition, set[str]()) for condition in conditions]
        self.under.extend(made)
        return tuple(names for _, names in made)


class Names(ABC, Generic[_Node]):
    """What the names of a script stand for, and which of them tell of the data."""

    def __init__(self, policy: ScriptPolicy) -> None:
        self.policy = policy
        #: What a name or a part of it is bound to; None if it cannot be known.
        self.bindings: list[tuple[str, _Node | None]] = []
        #: The same for whole names only, not for ``name.part = …``.
        self.direct: list[tuple[str, _Node | None]] = []
        #: What each name is bound to.
        self.values: dict[str, list[_Node | None]] = {}
        #: The functions that a name stands for.
        self.aliases: dict[str, set[str]] = {}
        self.tainted: set[str] = set()

    @abstractmethod
    def rules(self, function: _Node) -> list[ScriptRule]:
        """The rules on what an expression may be as a function."""

    @abstractmethod
    def facts(self, function: _Node) -> list[ScriptRule]:
        """The rules that state what a call may do with values."""

    @abstractmethod
    def clean(self, node: _Node) -> bool:
        """Whether an expression tells nothing of the data."""

    @abstractmethod
    def _followed(self, value: _Node) -> Iterable[str]:
        """The names that a value may only be another name for."""

    @abstractmethod
    def _functions_in(self, value: _Node) -> set[str]:
        """The functions with rules that the value of an expression may be."""

    def may(self, function: _Node, *risks: str) -> bool:
        """Whether a call may do one of these with values; where nothing is stated it may."""
        return any(rule.may(*risks) for rule in self.facts(function))

    def does(self, function: _Node, risk: str) -> bool:
        """Whether a rule states that a call does this; where nothing is stated it is reviewed."""
        return any(risk in (rule.risks or ()) for rule in self.facts(function))

    def follow_aliases(
        self, pairs: Sequence[tuple[str, _Node | None]], most: float = math.inf
    ) -> None:
        """Follow functions that are given other names, up to so many of these."""
        waiting: dict[str, list[int]] = defaultdict(list)
        for place, (_, value) in enumerate(pairs):
            for item in set(self._followed(value)) if value is not None else ():
                waiting[item].append(place)
        todo = list(range(len(pairs) - 1, -1, -1))
        while todo and most > 0:
            name, value = pairs[todo.pop()]
            functions = set[str]() if value is None else self._functions_in(value)
            if new := functions - self.aliases.get(name, set()):
                self.aliases.setdefault(name, set()).update(new)
                most -= len(new)
                todo.extend(waiting.get(name, ()))


class SingleValues(ABC, Generic[_Node]):
    """Judges single values that are put into columns and labels that are made of data.

    A mean of a hundred copies of the largest value is the largest value. So is one of copies of
    what a condition has chosen, where it chose one record.
    """

    def __init__(
        self,
        names: Names[_Node],
        pairs: Sequence[tuple[str, _Node | None]],
        nodes: Iterable[_Node],
    ) -> None:
        self._names = names
        #: Names of names of columns, and of what chooses records.
        self.schemas, self.masks = set(names.values), set(names.values)
        kept(self.schemas, names.values, self._schema)
        kept(self.masks, names.values, self._mask)
        #: Names of records that a condition has chosen; `cut` are also those that a script has
        #: only made fewer, under the same name.
        self.chosen, self.cut = set[str](), set[str]()
        grown(self.cut, pairs, self.chooses)
        own = {name for name, value in pairs if value is not None and self._copies(name, value)}
        self.chosen |= {name for name in self.cut if name in own}
        grown(self.chosen, [one for one in pairs if one[0] in own], self.chooses)
        self.picked: set[str] = set()
        grown(self.picked, pairs, self.picks)
        #: Names of frames whose columns are called by values.
        self.turned = {name for node in nodes if (name := self._names_column(node))}
        grown(self.turned, pairs, self.turns)

    @abstractmethod
    def _kind(self, node: _Node) -> str:
        """What it is: name, plain (tells no single value), part, place, call, set or other."""

    @abstractmethod
    def _pieces(self, node: _Node) -> Sequence[_Node]:
        """What it is made of: of a call the function first; of a place or part its object."""

    @abstractmethod
    def _name_of(self, node: _Node) -> str:
        """The name that a node is."""

    @abstractmethod
    def _names_column(self, node: _Node) -> str | None:
        """The name of what gets a column that is called by a value: ``d[[max(d$x)]] <- 1``."""

    @abstractmethod
    def _picks_place(self, node: _Node) -> bool:
        """Whether it is one place of data: ``df.x[17]``."""

    @abstractmethod
    def _picks_call(self, node: _Node) -> bool:
        """Whether a call gives single values, or is made of them."""

    @abstractmethod
    def _turns_part(self, node: _Node) -> bool:
        """Whether a part of an object is a frame whose columns are called by values."""

    @abstractmethod
    def _turns_call(self, node: _Node) -> bool:
        """Whether a call gives a frame whose columns are called by values."""

    @abstractmethod
    def _part_that_gets(self, node: _Node) -> _Node | None:
        """What an assignment puts into a part of an object that holds data."""

    @abstractmethod
    def _label_from(self, node: _Node) -> Iterable[_Node]:
        """What an assignment or call makes labels of."""

    @abstractmethod
    def _mask(self, node: _Node) -> bool:
        """Whether an expression chooses records, as a comparison does."""

    @abstractmethod
    def _schema_of(self, node: _Node) -> bool:
        """Whether an expression that is no name is made of names of columns."""

    def picks(self, node: _Node) -> bool:
        """Whether an expression holds single values of data; comparisons of columns with them do
        not, those of single values alone do: their answer is about one record.
        """
        if compared := self._compared(node):
            single = [side for side in compared if self.picks(side)]
            return bool(single) and all(
                side in single or self._names.clean(side) for side in compared
            )
        kind = self._kind(node)
        if kind == "name":
            return self._name_of(node) in self.picked
        if kind == "place":
            return self._picks_place(node)
        if kind == "call":
            return self._picks_call(node) or self._reduces(node)
        return kind != "plain" and any(map(self.picks, self._pieces(node)))

    @abstractmethod
    def _compared(self, node: _Node) -> Sequence[_Node]:
        """What a comparison compares; nothing of what is none."""

    @abstractmethod
    def _selects(self, node: _Node) -> bool:
        """Whether an expression itself chooses records: ``df[df.id == 17]``."""

    @abstractmethod
    def _copies(self, name: str, value: _Node) -> bool:
        """Whether a name is bound to what comes from another name."""

    @abstractmethod
    def _called(self, node: _Node) -> str:
        """The last word of the function of a call."""

    def _does(self, node: _Node, what: str) -> bool:
        """Whether the function of a call is one of the words of the policy that do this."""
        return self._called(node) in self._names.policy.words[what]

    def chooses(self, node: _Node) -> bool:
        """Whether an expression holds records that a condition has chosen."""
        kind = self._kind(node)
        if kind == "name":
            return self._name_of(node) in self.chosen | self.cut
        if kind == "plain":
            return False
        pieces = self._pieces(node)
        return self._selects(node) or any(
            map(self.chooses, pieces[: 1 if kind == "place" else None])
        )

    def _reduces(self, node: _Node) -> bool:
        """Whether a call gives one figure of chosen records, or of a condition: it may be that of
        one person.
        """
        if not self._does(node, "reduces"):
            return False
        return self._of_chosen(self._pieces(node)) or any(map(self._mask, self._operands(node)))

    def _of_chosen(self, pieces: Iterable[_Node]) -> bool:
        """Whether one of several expressions holds records chosen under another name."""
        whole, self.cut = self.cut, set()
        try:
            return any(map(self.chooses, pieces))
        finally:
            self.cut = whole

    def _joins(self, node: _Node) -> bool:
        """Whether a call puts chosen records beside all others, or each beside each."""
        if not self._does(node, "joins"):
            return False
        first, *others = self._operands(node)
        return self._of_chosen([first]) or any(map(self.chooses, others)) or self._crosses(node)

    def _carries(self, node: _Node) -> bool:
        """Whether a call carries values on to the records behind."""
        return self._does(node, "carries")

    @abstractmethod
    def _operands(self, node: _Node) -> Sequence[_Node]:
        """What a call joins, the one whose records stay first."""

    @abstractmethod
    def _crosses(self, node: _Node) -> bool:
        """Whether a call puts each record beside each."""

    def turns(self, node: _Node) -> bool:
        """Whether an expression may be a frame whose columns are called by values."""
        kind = self._kind(node)
        if kind == "name":
            return self._name_of(node) in self.turned
        if kind == "place":
            pieces = self._pieces(node)
            return not self._names.clean(pieces[-1]) and self.turns(pieces[0])
        if kind == "part":
            return self._turns_part(node)
        if kind == "call":
            return self._turns_call(node)
        return kind != "plain" and any(map(self.turns, self._pieces(node)))

    def spreads(self, node: _Node) -> bool:
        """Whether an assignment or call puts single values into many records."""
        if self._kind(node) == "call":
            if self._joins(node) or self._carries(node):
                return True
            function, *given = self._pieces(node)
            return self._names.may(function, "spreads") and any(map(self.picks, given))
        value = self._part_that_gets(node)
        return value is not None and self.picks(value)

    def labels(self, node: _Node) -> bool:
        """Whether an assignment or call makes labels of data."""
        return not all(map(self._schema, self._label_from(node)))

    def _schema(self, node: _Node) -> bool:
        """Whether an expression is made of names of columns only, and of constants."""
        if self._names.clean(node):
            return True
        if self._kind(node) == "name":
            return self._name_of(node) in self.schemas
        return self._schema_of(node)
