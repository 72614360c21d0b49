"""What statements of a do-file show, once it is known what names hold, and which data they show.

In: statements, a policy and what names hold. Out: the statements that would show a figure of single
records. What `display` and lists of matrices show is told apart: scalars, and what holds records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from discreet_fire.catalogue import Action, commands_with
from discreet_fire.flow.stata_names import FigureFlow
from discreet_fire.flow.stata_values import (
    BAD,
    CLEAN,
    CONDITION,
    DOUBT,
    FILES,
    FORM,
    LOOPS,
    RECORD,
    Held,
    StatementParts,
    among,
    asks_for_any,
    bare_words,
    bodies_of,
    decided,
    expansions,
    file_named,
    named,
    scans,
    tests_of,
    without_macros,
)
from discreet_fire.stata import DoStatement


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement that would show a figure."""

    statement: DoStatement
    action: Action  # whether it is refused or goes to review
    what: str = ""  # what it would show
    #: Places of bare names that can only be meant as scalars; they are safe once they are written
    #: ``scalar(name)``
    scalars: tuple[tuple[int, int], ...] = ()


def displayed(part: StatementParts, following: FigureFlow, scalars: list[tuple[int, int]]) -> Held:
    """Names in an expression of `display`: scalars, or the first value of a variable."""
    held, code, taints = CLEAN, part.outside, following.taints
    if names := following.first_values(code):
        message = f"the macro {names[0]}, which may name a variable; its first value is shown"
        held = Held(BAD, message)
    for match in FORM.composed.finditer(code):
        if among(match.group(1), taints.known_scalars, begun=True):
            start, end = match.span()
            scalars.append((part.start + start, part.start + end))
            held = max(held, taints.scalars.of_begun(match.group(1)))
            code = code[:start] + " " * (end - start) + code[end:]
    for name in FORM.made_scalar.findall(code):
        if not among(name, taints.known_scalars):
            held = max(held, Held(DOUBT, f"the scalar {name}, which is not made here"))
    plain = without_macros(code)
    for start, word in bare_words(plain):
        if among(word, taints.known_scalars):
            scalars.append((part.start + start, part.start + start + len(word)))
        elif word not in taints.known_matrices:
            message = f"the first value of {word}; if it is a scalar, write scalar({word})"
            held = max(held, Held(BAD, message))
    scalars.sort()
    return held


def listed(part: StatementParts, known: set[str]) -> Held:
    """Matrices that are listed: made here, or results of models."""
    words = re.split(r"[,\[]", part.outside)[0].split()
    name = words[-1] if words else ""
    head = re.split("[`$]", name, maxsplit=1)[0]
    if not name or "(" in name or (head and among(head, known, begun=head != name)):
        return CLEAN
    return Held(DOUBT, "a matrix that is not made here")


#: Commands that show words as they stand, or take them for files, variables or names of graphs.
_FREE_WORDS = commands_with("words", "free")
#: Commands whose words are coefficients; it is not sure that they never are scalars.
_COEFFICIENTS = commands_with("words", "coefficients")
_CONTROL = commands_with("control")
#: Commands that only give figures to names, which are followed.
_FOLLOWED = commands_with("gives") - commands_with("gives", "variable", "columns", "collapsed")
#: Commands that take expressions.
_EXPRESSIONS = commands_with("gives", "variable", "scalar", "macro") | commands_with(
    "log", "results"
)
_MACROS = commands_with("gives", "macro")
_POSITIONS = frozenset("123456789")
#: Commands that only go on elsewhere.
_LEAVING = frozenset(("continue", "error", "exit"))
#: Commands whose count or error tells how many records there are beyond a bound.
_COUNTING = commands_with("tests") - commands_with("gives")
_LIST_COLUMNS = commands_with("columns", "listed")


class StatementJudge:
    """Judges statements, once it is known what names hold."""

    def __init__(self, following: FigureFlow) -> None:
        self.following = following
        self.taints = following.taints
        self.policy = following.taints.policy

    def shown(self) -> list[ShownStatement]:
        """The statements that would show a figure, in their order."""
        statements = []
        parts, reported = self.following.parts, set[tuple[str, Held]]()
        for part, (body, in_loop) in zip(parts, bodies_of(parts), strict=True):
            one, held = self._judge(part), self._decided(part, body, in_loop)
            if held.rank and (one is None or one.action is Action.ALLOWED):
                # A condition that stands there several times is told of once.
                told = (part.outside if part.name == "if" else f"{part.statement.start}", held)
                scalars = () if one is None else one.scalars
                if told not in reported or scalars:
                    what = f"whether a condition on {held.what} holds"
                    one = ShownStatement(part.statement, Action.REVIEW, what, scalars)
                reported.add(told)
            statements += [one] if one is not None else []
        return statements

    def _decided(self, part: StatementParts, body: Sequence[StatementParts], in_loop: bool) -> Held:
        """What is known because a statement, or the block behind it, runs at all, or how often."""
        held = CLEAN
        below = [one for one in (part, *body) if one.name not in ("", "if", "while")]
        for outside, inside in tests_of(part) if below or part.name == "while" else ():
            compared = decided(outside, inside, self.taints)
            if compared.rank >= RECORD or not _LEAVING.issuperset(one.name for one in below):
                held = max(held, compared)
            if in_loop and asks_for_any(outside) and self._prints([part, *body]):
                held = max(held, Held(BAD, "whether there is any record"))
        if part.name in LOOPS:
            often = self.taints.within(part.outside, words=False)
            often = max(often, self.taints.within(part.inside))
            prints = often.rank == BAD and self._prints(body)
            held = max(held, often) if prints or often.rank >= RECORD else held
        if part.name in _COUNTING and (in_loop or part.statement.in_program) and scans(part):
            held = max(held, Held(BAD, "a bound that moves"))
        return held

    def _prints(self, parts: Sequence[StatementParts]) -> bool:
        return any(
            part.name in self.policy.shown or self.policy.verdict(part.name).action.rank > 0
            for part in parts if part.name and part.name not in _CONTROL
        )  # fmt: skip

    def _held(self, outside: str, inside: str) -> Held:
        return self.taints.held(outside, inside)

    def _judge(self, part: StatementParts) -> ShownStatement | None:
        statement = part.statement
        if (before := self._judge_prefixes(part)) is not None:
            return before
        if not part.name or part.name in _CONTROL:
            return None
        if self.policy.shows(part.name, part.word):
            return self._judge_showing(part)
        held = CLEAN
        if part.by_macro:  # where it shows something, `fdzrun` refuses it
            word = statement.command.text if statement.command is not None else ""
            code = CONDITION.sub(" ", FORM.shift.sub(" ", part.outside))
            held = self._held(f"{word} {code}", part.inside)
        elif not self.policy.uses(part.name, part.word):
            held = self._in_other(part)
        verdict = self.policy.verdict(part.name, [part.word])
        if verdict.action.rank > 0 and verdict.inserted != "quietly ":  # it is looked at
            held = max(held, self._in_variables(part))
        if held.rank == 0:
            held = self._hidden(part, part.outside)
        return ShownStatement(statement, held.action, held.what) if held.rank else None

    def _judge_prefixes(self, part: StatementParts) -> ShownStatement | None:
        """What prefixes gather, and figures in options; also ``bootstrap "su x" "r(max)"``."""
        statement = part.statement
        prefixes = [
            (prefix.canonical or "", "get", statement.source[slice(*prefix.arguments)])
            for prefix in statement.prefixes
            if prefix.arguments and prefix.canonical not in _CONTROL
        ]
        if part.name in self.policy.gather:
            prefixes.append((part.name, part.word, part.code))
        for name, word, code in prefixes:
            held = self._held(_gathered(name, word, code), "")
            if name not in self.policy.gather:
                by_name = self._joined(code)
                held = max(held.at_most(DOUBT), by_name) if held.rank >= RECORD else by_name
            if held.rank:
                return ShownStatement(statement, held.action, held.what)
        return None

    def _hidden(self, part: StatementParts, outside: str) -> Held:
        """What a command tells by comparing a figure, by running at all, or by a name."""
        if part.name == "ereturn" and part.word.startswith(("pos", "rep")):
            held = self._held(outside, "")
            return Held(DOUBT, f"{held.what} as estimates") if held.rank else CLEAN
        if FILES.search(part.code) or (part.name in _EXPRESSIONS and _calls_by_macro(part)):
            return Held(DOUBT, "a file that a function reads or writes")
        if part.name in _FOLLOWED:
            target = FORM.target.match(outside)
            return self._joined(target.group() if target else "")
        used = self._held(outside, part.inside)
        if used.rank >= RECORD and not self._of_groups(part):
            return Held(DOUBT, f"what it makes of {used.what}")
        if (joined := self._joined(outside)).rank:
            return joined
        if part.name in _LIST_COLUMNS and self.taints.columns:
            return self.taints.columns["values"]
        return CLEAN

    def _of_groups(self, part: StatementParts) -> bool:
        """Whether the records that are named are first or last ones of groups."""
        by = part.by_words()
        if not by or by <= self.following.constants:
            return False
        places = FORM.places.findall(part.outside)
        return all(FORM.of_group.fullmatch(place) for place in places)

    def _joined(self, code: str) -> Held:
        """What macros hold that are part of a name: ``generate v`top' = 1``."""
        parts = " ".join(match.group() for match in FORM.glued.finditer(code))
        held = self.taints.within(parts) if parts else CLEAN
        return Held(DOUBT, f"{held.what}, by a name") if held.rank >= BAD else CLEAN

    def _judge_showing(self, part: StatementParts) -> ShownStatement | None:
        statement = part.statement
        outside = _gathered(part.name, part.word, part.outside)
        held = self._written(part.name, outside, part.inside)
        scalars: list[tuple[int, int]] = []
        if part.name == "display":
            held = max(held, displayed(part, self.following, scalars))
            if held.rank == 0 and part.by_groups():
                held = Held(DOUBT, "something of each group")
            macros = set(FORM.one_macro.findall(part.outside + part.inside))
            if self.taints.columns and macros & self.following.listed:
                held = max(held, self.taints.columns["values"])
            arguments = self.following.arguments
            arguments = arguments | _POSITIONS if statement.in_program else arguments
            if held.rank == 0 and (words := arguments.intersection(named(part.outside))):
                held = Held(DOUBT, f"the first value of what {min(words)} names")
        elif part.name in ("matlist", "matrix"):
            held = max(held, listed(part, self.taints.known_matrices))
        elif part.name == "ereturn":
            held = max(held, self.taints.results.get(("e", "b"), CLEAN))
        elif part.name == "scalar" and not part.outside.split()[1:]:
            held = max([held, *self.taints.scalars.all()])
        if held.rank == 0:
            held = self._hidden(part, outside)
        if held.rank == 0 and not scalars:
            return None
        return ShownStatement(statement, held.action, held.what, tuple(scalars))

    def _written(self, name: str, outside: str, inside: str) -> Held:
        """What the words of a command hold, as far as it takes them for names of scalars."""
        held = self._held(outside, inside)
        if held.rank == 0 or (name not in _FREE_WORDS and name not in _COEFFICIENTS):
            return held
        if "function" in outside:  # a graph of an expression
            return held
        certain = max(
            self.taints.within(outside, words=False),
            self._held(expansions(outside), inside),
        )
        return max(certain, held.at_most(DOUBT)) if name in _COEFFICIENTS else certain

    def _in_other(self, part: StatementParts) -> Held:
        """Any other command: titles are shown, conditions are not, the rest is a doubt."""
        inside = part.inside_without(CONDITION)
        held = self.taints.within(inside) if inside else CLEAN
        # Without conditions it can only be less.
        if held.rank == 0 and self.taints.within(expansions(part.outside)).rank:
            code = expansions(CONDITION.sub(" ", part.outside))
            held = self.taints.within(code).at_most(DOUBT)
        return held

    def _in_variables(self, part: StatementParts) -> Held:
        words = set(FORM.names.findall(CONDITION.sub(" ", part.outside)))
        start = part.statement.start
        later = [word for word in words if self.following.since.get(word, -1) < start]
        known = (self.taints.variables.of(word) for word in later)
        return max([CLEAN, *known, self.taints.unnamed.get("variables", CLEAN) if words else CLEAN])


def _calls_by_macro(part: StatementParts) -> bool:
    """Whether a macro names a function; where texts are given, only behind an equals sign."""
    code = part.outside if part.name not in _MACROS else part.outside.partition("=")[2]
    return "'(" in code


def _gathered(name: str | None, word: str, code: str) -> str:
    if name == "char":
        return FORM.characteristic.sub(" ", code)
    if name != "collect":
        return code
    return FORM.tag.sub(" ", code) if word == "get" else FORM.dimensions.sub(r" \1 ", code)


#: Prefixes that change nothing of the data that are meant.
_QUIET = ("quietly", "noisily")


#: Built into Stata, and without a new name or label for a variable.
_SAME_NAMES = ("sort", "keep", "drop", "format", "display", "count", "local")


def described_originals(following: FigureFlow) -> frozenset[int]:
    """Places where `describe` lists the variables of a file that the submission does not write."""
    saved, found, known = following.taints.saved, set(), False
    for part in following.parts if "*" not in saved else ():
        statement = part.statement
        alone = not (statement.depth or statement.in_program or statement.block)
        plain = alone and not part.by_macro and not statement.readings
        plain = plain and all(one.canonical in _QUIET for one in statement.prefixes)
        if part.name == "use":
            loaded = FORM.loaded.fullmatch(part.code) if plain else None
            known = loaded is not None and loaded[1].lower() not in saved
        elif part.name == "describe":
            listed = re.fullmatch(r"(?!.*using)[\w\s*,]*", part.code, re.S)
            if known and plain and listed:
                found.add(statement.start)
        elif part.name not in _SAME_NAMES or not plain:
            known = False
    return frozenset(found)


_JOINING = ("merge", "fmerge", "mmerge", "joinby", "cross", "stack")


def copies_of_chosen(following: FigureFlow) -> frozenset[int]:
    """Places where values of chosen records, perhaps of one person, are copied to many."""
    files, found = following.taints.chosen, set[int]()
    for part in following.parts:
        if part.name not in _JOINING:
            continue
        using = FORM.using.search(part.code)
        several = part.name not in ("merge", "fmerge") or FORM.copying.match(part.code) is not None
        if part.name in ("cross", "stack") or (several and using and file_named(using[1]) in files):
            found.add(part.statement.start)
    return frozenset(found)
