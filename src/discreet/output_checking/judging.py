"""Judge what statements show, once it is known what names hold.

In: statements, a policy and what names hold. Out: the statements that would show a figure
of single records. Statements of the same form that stand under the same conditions are
judged once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace

from discreet.output_checking.displaying import Shown, displayed, listed
from discreet.output_checking.parts import CONDITION, Part
from discreet.output_checking.policy import Policy
from discreet.output_checking.stata.model import Statement
from discreet.output_checking.taints import BAD, CLEAN, DOUBT, Held, Taints, expansions

__all__ = ["Judge"]

_CHARACTERISTIC = re.compile(r"^\s*(?:def\w*\s+)?[\w`'$]+\[[^\]]*\]")
_NAMES = re.compile(r"`\w+'|[A-Za-z_]\w*")
#: Dimensions of collections, ``result[mean sd]``, and the option that tags them.
_DIMENSIONS = re.compile(r"\b\w+\[([^\[\]=]*)\]")
_TAG = re.compile(r"\btags?\s*\((?:[^()]|\([^()]*\))*\)")
#: Commands that show words as they stand, or take them for files, variables or names of graphs.
_FREE_WORDS = frozenset((
    "label", "note", "notes", "char", "rename", "graph", "twoway", "log", "cmdlog", "save",
    "saveold", "mkdir", "tempfile", "more", "pause", "outsheet", "export", "estimates", "frame",
    "program", "use", "cd", "datasignature",
))  # fmt: skip
#: Commands whose words are coefficients; it is not sure that they never are scalars.
_COEFFICIENTS = frozenset(("test", "lincom", "lincomest", "constraint"))
#: The colour of `display`, ``in red``; ranges start with a figure, a macro, `f` or `l`.
_COLOUR = re.compile(r"\bin\s+(?=[a-eg-km-z])")
#: Conditions without ranges of records.
_IF = re.compile(CONDITION.pattern.replace("(?:if|in)", "if"))
#: The record before or after.
_SHIFT = re.compile(r"\[\s*_n\s*(?:[-+]\s*\d+\s*)?\]")
#: As many names are looked for one by one before the words of a statement are.
_FEW = 50
#: How much a command shows: nothing, statistics of variables, or what it is given.
_SILENT, _OF_VARIABLES, _LOUD = range(3)
_CONTROL = ("foreach", "forvalues", "if", "while", "else")


class Judge:
    """Judges statements, once it is known what names hold.

    Args:
        policy: Says which stored results may be shown.
        taints: What names hold.
        names: Macros whose text may be the name of a variable; globals with ``$``.
        since: From which place on a variable holds a figure.
    """

    def __init__(
        self, policy: Policy, taints: Taints, names: set[str], since: Mapping[str, int]
    ) -> None:
        self.policy = policy
        self.taints = taints
        self.names = names
        self.since = since
        self._places = sorted(since.values())
        self._forms: dict[tuple[str, Held, int], Shown | None] = {}
        self._silence: dict[str, int] = {}
        self._by_variables = bool(taints.variables.any or taints.unnamed)

    def shown(self, parts: Iterable[Part]) -> list[Shown]:
        """The statements that would show a figure, in their order."""
        found = []
        guards: list[tuple[int, Held]] = []
        for part in parts:
            statement = part.statement
            while guards and statement.depth <= guards[-1][0]:
                guards.pop()
            condition = self._condition(statement, part)
            around = max(condition, guards[-1][1]) if guards else condition
            one = self._by_form(part, around)
            if one is not None:
                found.append(one)
            if statement.opens and condition.rank:
                guards.append((statement.depth, around))
        return found

    def _by_form(self, part: Part, around: Held) -> Shown | None:
        """The judgement of a statement, or of an earlier one that differs in nothing."""
        statement = part.statement
        if not statement.prefixes and self._shows_nothing(part):
            return None
        if statement.form is None:
            return self._judge(part, around)
        key = (statement.form, around, bisect_left(self._places, statement.start))
        if key not in self._forms:
            self._forms[key] = self._judge(part, around)
        known = self._forms[key]
        if known is None or known.statement is statement:
            return known
        by = statement.start - known.statement.start
        scalars = tuple((start + by, end + by) for start, end in known.scalars)
        return replace(known, statement=statement, scalars=scalars)

    def _shows_nothing(self, part: Part) -> bool:
        """Whether a command has nothing in it that it could show."""
        name = part.name
        silence = self._silence.get(name)
        if silence is None:
            silence = self._silence[name] = self._silence_of(name)
        if silence == _LOUD or part.by_macro or part.expands():
            return False
        return silence == _SILENT or self._without_figures(part)

    def _silence_of(self, name: str) -> int:
        """Whether a command shows nothing, or nothing but statistics of variables."""
        policy = self.policy
        if not name or name in _CONTROL:
            return _SILENT
        if name in policy.gather or policy.may_show(name):
            return _LOUD
        acts = self._by_variables and policy.verdict(name).action.rank > 0
        return _OF_VARIABLES if acts else _SILENT

    def _without_figures(self, part: Part) -> bool:
        """Whether no variable that holds a figure is named anywhere in a statement."""
        names = self.taints.variables
        if self.taints.without_name("variables").rank or names.begun or len(names.held) > _FEW:
            return False
        text, start, end = part.statement.source, part.start, part.statement.end
        return all(text.find(name, start, end) < 0 for name in names.held)

    def _held(self, outside: str, inside: str) -> Held:
        return self.taints.held(outside, inside, self.policy)

    def _condition(self, statement: Statement, part: Part) -> Held:
        """What an ``if`` or ``while`` around this statement looks at."""
        if not statement.prefixes and part.name not in ("if", "while"):
            return CLEAN
        held = CLEAN
        for prefix in statement.prefixes:
            if prefix.canonical in ("if", "while") and prefix.arguments:
                held = max(held, self._held(statement.source[slice(*prefix.arguments)], ""))
        if part.name in ("if", "while"):
            held = max(held, self._held(part.outside, part.inside))
        return held if held.rank == BAD else CLEAN

    def _judge(self, part: Part, around: Held) -> Shown | None:
        statement = part.statement
        for prefix in statement.prefixes:
            if prefix.canonical in self.policy.gather and prefix.arguments:
                code = statement.source[slice(*prefix.arguments)]
                held = self._held(_gathered(prefix.canonical, "get", code), "")
                if held.rank:
                    return Shown(statement=statement, action=held.action, what=held.what)
        if not part.name or part.name in _CONTROL:
            return None
        if part.name in self.policy.gather:  # the old form: ``bootstrap "su x" "r(max)"``
            code = statement.source[part.start : statement.end]
            held = self._held(_gathered(part.name, part.word, code), "")
            if held.rank:
                return Shown(statement=statement, action=held.action, what=held.what)
        if self.policy.may_show(part.name) and self.policy.shows(part.name, part.word):
            return self._judge_showing(part, around)
        held = CLEAN
        if part.by_macro:  # it may show all that stands behind it
            held = self._by_macro(part)
        elif part.expands() and not self.policy.uses(part.name, part.word):
            held = self._in_other(part)
        if self._by_variables and self.policy.verdict(part.name).action.rank > 0:
            held = max(held, self._in_variables(part))
        return Shown(statement=statement, action=held.action, what=held.what) if held.rank else None

    def _judge_showing(self, part: Part, around: Held) -> Shown | None:
        """A command that shows its arguments."""
        statement = part.statement
        outside = _CHARACTERISTIC.sub(" ", part.outside) if part.name == "char" else part.outside
        held = self._written(part.name, _gathered(part.name, part.word, outside), part.inside)
        scalars: list[tuple[int, int]] = []
        if part.name == "display":
            held = max(held, displayed(part, self.names, self.taints, scalars))
        elif part.name in ("matlist", "matrix"):
            held = max(held, listed(part, self.taints.known_matrices))
        elif part.name == "ereturn":
            held = max(held, self.taints.results.get(("e", "b"), CLEAN))
        elif part.name == "scalar" and not part.outside.split()[1:]:
            held = max([held, *self.taints.scalars.all()])
        if held.rank == 0 and around.rank and part.name == "display":
            held = Held(DOUBT, f"whether a condition on {around.what} holds")
        if held.rank == 0 and not scalars:
            return None
        return Shown(
            statement=statement, action=held.action, what=held.what, scalars=tuple(scalars)
        )

    def _written(self, name: str, outside: str, inside: str) -> Held:
        """What the words of a command hold, as far as it takes them for names of scalars."""
        held = self._held(outside, inside)
        if held.rank == 0 or (name not in _FREE_WORDS and name not in _COEFFICIENTS):
            return held
        if "function" in outside:  # a graph of an expression
            return held
        certain = max(
            self.taints.within(outside, self.policy, words=False),
            self._held(expansions(outside), inside),
        )
        return max(certain, held.at_most(DOUBT)) if name in _COEFFICIENTS else certain

    def _by_macro(self, part: Part) -> Held:
        """What a command whose word is known at run time only may show."""
        code = _SHIFT.sub(" ", CONDITION.sub(" ", _COLOUR.sub(" ", part.outside)))
        held = self._held(code, part.inside)
        if held.rank == 0:  # it may be `display` all the same, and `_n` is 1 there
            held = self._held(_IF.sub(" ", part.outside), part.inside).at_most(DOUBT)
        return held

    def _in_other(self, part: Part) -> Held:
        """Any other command: titles are shown, conditions are not, the rest is a doubt."""
        inside = part.inside_without(CONDITION)
        held = self.taints.within(inside, self.policy) if inside else CLEAN
        # Without conditions it can only be less.
        if held.rank == 0 and self.taints.within(expansions(part.outside), self.policy).rank:
            code = expansions(CONDITION.sub(" ", part.outside))
            held = self.taints.within(code, self.policy).at_most(DOUBT)
        return held

    def _in_variables(self, part: Part) -> Held:
        """A command that shows statistics of a variable which is one figure throughout."""
        if self._without_figures(part):
            return CLEAN
        words = set(_NAMES.findall(CONDITION.sub(" ", part.outside)))
        start = part.statement.start
        later = [word for word in words if self.since.get(word, -1) < start]
        known = (self.taints.variables.of(word) for word in later)
        return max([CLEAN, *known, self.taints.without_name("variables") if words else CLEAN])


def _gathered(name: str | None, word: str, code: str) -> str:
    """What is gathered or shown; the dimensions of a collection are no subscripts."""
    if name != "collect":
        return code
    return _TAG.sub(" ", code) if word == "get" else _DIMENSIONS.sub(r" \1 ", code)
