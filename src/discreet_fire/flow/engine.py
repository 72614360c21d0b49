"""Where values go, for programs of any language.

In: from a front end, what names are bound to, what an expression mentions, and what is changed
under which conditions. Out: the names that hold something of interest, found round by round until
nothing changes, and the levels of what they hold. Nothing is run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Literal, NamedTuple, TypeVar

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy

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
    found: set[str],
    units: Iterable[tuple[Collection[str], _Node | None]],
    holds: Callable[[_Node], bool],
) -> None:
    """Add the names that are bound to what holds something.

    >>> found, units = set(), [("a", "b"), ("b", "max"), ("c", "d")]
    >>> grown(found, units, lambda x: x == "max" or x in found)
    >>> sorted(found)
    ['a', 'b']
    """

    def look(unit: tuple[Collection[str], _Node | None]) -> None:
        names, value = unit
        if value is not None and not found.issuperset(names) and holds(value):
            found.update(names)

    settled(reversed(list(units)), look, lambda: len(found))


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
    def rules(self, function: _Node) -> list[CommandRule]:
        """The rules on what an expression may be as a function."""

    @abstractmethod
    def facts(self, function: _Node) -> list[CommandRule]:
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


class View(NamedTuple, Generic[_Node]):
    """What a node of a tree is, in the words of any language."""

    #: ``name``, ``plain`` (tells no single value), ``compared``, ``part``, ``place``, ``call``, or
    #: ``other``
    kind: str
    pieces: Sequence[_Node]  # of a call the function first; of a place or part its object
    word: str = ""  # the name, or the last word of the function that is called


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
        bound = [({name}, value) for name, value in pairs]
        #: Names of names of columns, and of what chooses records.
        self.schemas, self.masks = set(names.values), set(names.values)
        for kept, holds in ((self.schemas, self._schema), (self.masks, self._mask)):
            before = -1
            while before != (before := len(kept)):
                for name in reversed(list(names.values)):
                    bound_to = names.values[name] if name in kept else ()
                    if not all(value is not None and holds(value) for value in bound_to):
                        kept.remove(name)
        #: Names of records that a condition has chosen; `cut` are also those that a script has
        #: only made fewer, under the same name.
        self.chosen, self.cut = set[str](), set[str]()
        grown(self.cut, bound, self.chooses)
        own = {name for name, value in pairs if value is not None and self._copies(name, value)}
        self.chosen |= self.cut & own
        grown(self.chosen, [({n}, value) for n, value in pairs if n in own], self.chooses)
        self.picked: set[str] = set()
        grown(self.picked, bound, self.picks)
        #: Names of frames whose columns are called by values.
        self.turned = {one for node in nodes if (one := self._names_column(node))}
        grown(self.turned, bound, self.turns)

    @abstractmethod
    def view(self, node: _Node) -> View[_Node]:
        """What a node is."""

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
    def _turns(self, node: _Node) -> bool:
        """Whether a call or a part of an object is a frame whose columns are called by values."""

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

    @abstractmethod
    def _selects(self, node: _Node) -> bool:
        """Whether an expression itself chooses records: ``df[df.id == 17]``."""

    @abstractmethod
    def _copies(self, name: str, value: _Node) -> bool:
        """Whether a name is bound to what comes from another name."""

    @abstractmethod
    def _operands(self, node: _Node) -> Sequence[_Node]:
        """What a call joins, the one whose records stay first."""

    @abstractmethod
    def _crosses(self, node: _Node) -> bool:
        """Whether a call puts each record beside each."""

    def picks(self, node: _Node) -> bool:
        """Whether an expression holds single values of data; comparisons of columns with them do
        not, those of single values alone do: their answer is about one record.
        """
        kind, pieces, word = self.view(node)
        if kind == "compared":
            single = [side for side in pieces if self.picks(side)]
            return bool(single) and all(
                side in single or self._names.clean(side) for side in pieces
            )
        if kind == "name":
            return word in self.picked
        if kind == "place":
            return self._picks_place(node)
        if kind == "call":
            return self._picks_call(node) or self._reduces(node)
        return kind != "plain" and any(map(self.picks, pieces))

    def _does(self, node: _Node, act: str) -> bool:
        kind, _, word = self.view(node)
        return kind == "call" and word in self._names.policy.words[act]

    def chooses(self, node: _Node) -> bool:
        """Whether an expression holds records that a condition has chosen."""
        kind, pieces, word = self.view(node)
        if kind == "name":
            return word in self.chosen or word in self.cut
        if kind in ("plain", "compared"):
            return False
        return self._selects(node) or any(
            map(self.chooses, pieces[: 1 if kind == "place" else None])
        )

    def _reduces(self, node: _Node) -> bool:
        """One figure of chosen records, or of a condition, may be that of one person."""
        if not self._does(node, "reduces"):
            return False
        return self._of_chosen(self.view(node).pieces) or any(map(self._mask, self._operands(node)))

    @contextmanager
    def forgotten(self, kind: Literal["picked", "cut"] = "picked") -> Iterator[None]:
        """Judge as if no name held a single value, or records that were only made fewer."""
        names = getattr(self, kind)
        setattr(self, kind, set())
        try:
            yield
        finally:
            setattr(self, kind, names)

    def _of_chosen(self, pieces: Iterable[_Node]) -> bool:
        with self.forgotten("cut"):
            return any(map(self.chooses, pieces))

    def turns(self, node: _Node) -> bool:
        """Whether an expression may be a frame whose columns are called by values."""
        kind, pieces, word = self.view(node)
        if kind == "name":
            return word in self.turned
        if kind == "place":
            return not self._names.clean(pieces[-1]) and self.turns(pieces[0])
        if kind in ("part", "call"):
            return self._turns(node)
        return kind == "other" and any(map(self.turns, pieces))

    def spreads(self, node: _Node) -> bool:
        """Whether an assignment or call puts single values into many records."""
        kind, pieces, _ = self.view(node)
        if kind != "call":
            value = self._part_that_gets(node)
            return value is not None and self.picks(value)
        if self._does(node, "carries"):
            return True
        if self._does(node, "joins"):
            first, *others = self._operands(node)
            if self._of_chosen([first]) or any(map(self.chooses, others)) or self._crosses(node):
                return True
        return self._names.may(pieces[0], "spreads") and any(map(self.picks, pieces[1:]))

    def labels(self, node: _Node) -> bool:
        """Whether an assignment or call makes labels of data."""
        return not all(map(self._schema, self._label_from(node)))

    def _schema(self, node: _Node) -> bool:
        """Whether an expression is made of names of columns only, and of constants."""
        if self._names.clean(node):
            return True
        kind, _, word = self.view(node)
        return word in self.schemas if kind == "name" else self._schema_of(node)
