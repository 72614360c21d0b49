"""What statements of a do-file show, once it is known what names hold.

In: statements, a policy and what names hold. Out: the statements that would show a figure
of single records. What `display` and lists of matrices show is told apart: scalars, and what
holds records. Statements of the same form that stand under the same conditions are judged once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from discreet_fire.catalogue import Action, Policy, commands_where
from discreet_fire.flow.engine import BAD, CLEAN, DOUBT, RECORD, Held
from discreet_fire.flow.stata_conditions import Condition, Surroundings, any_record, decided, scans
from discreet_fire.flow.stata_counts import related_counts
from discreet_fire.flow.stata_values import (
    CONDITION,
    FILES,
    StatementParts,
    Taints,
    among,
    bare_words,
    expansions,
    without_macros,
)
from discreet_fire.stata import DoStatement

_MACRO = re.compile(r"`(\w+)'")
#: A word that is nothing but a macro.
_MACRO_ONLY = re.compile(r"(?<!\w)`(\w+)'")
_GLOBAL_ONLY = re.compile(r"(?<!\w)\$\{?(\w+)")
#: Stored results that name variables.
_NAMING = re.compile(
    r"`[re]\((?:varlist|depvar|indepvars|varname|ivar|tvar|panelvar|timevar|clustvar|sortlist)\)'"
)
#: Brackets in which a name is no variable: of estimates, stored results and scalars.
_BRACKETED = re.compile(
    r"\b_(?:b|se|coef)\[[^\[\]]*\]|\b(?:[rsec]|[es]?return|scalar|el)\s*\([^()]*\)"
)
_NUMERIC = re.compile(r"[\s\d.,()+*/^<>=&|!-]*")
_LIST = re.compile(r"\s*(?:in|of\s+numlist)\b")
_STRING = re.compile(r"\"[^\"]*\"")
_COMPOSED = re.compile(r"(?<![\w`'(\[.])([A-Za-z_]\w*)(?:`\w+'\w*)+(?![\w(\[`'])")
_SCALAR = re.compile(r"\bscalar\(\s*([A-Za-z_]\w*)\s*\)")


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement that would show a figure."""

    statement: DoStatement
    action: Action  # whether it is refused or goes to review
    what: str = ""  # what it would show
    #: Places of bare names that can only be meant as scalars; they are safe once they are written
    #: ``scalar(name)``
    scalars: tuple[tuple[int, int], ...] = ()


def may_name(part: StatementParts, at: int, names: set[str]) -> bool:
    """Whether the text that a macro is given may be the name of a variable."""
    rest = part.outside[at:]
    if not rest.strip():  # all of it is one string, whose quotes Stata takes off
        texts = (
            part.statement.source[first:last]
            for kind, first, last in part.statement.spans
            if kind == "string" and first >= part.start + at
        )
        rest = _STRING.sub(" ", next(texts, "").strip("`\"'"))
    if named(rest, names):
        return True
    return not rest.lstrip().startswith(":") and bool(bare_words(without_macros(rest)))


def named(code: str, names: Set[str]) -> list[str]:
    """The macros in an expression whose text may be the name of a variable."""
    plain = _with_outer_macros(_BRACKETED.sub(" ", code))
    used = [*_MACRO_ONLY.findall(plain), *(f"${name}" for name in _GLOBAL_ONLY.findall(plain))]
    return [name for name in used if name in names] + _NAMING.findall(code)


def _with_outer_macros(code: str) -> str:
    """The code without macros that are part of the name of another, ```m_`a'`b''``."""
    if code.count("`") < 2:
        return code
    out, depth = [], 0
    for sign in code:
        closes = sign == "'" and depth > 0
        depth -= closes
        out.append(" " if depth and (sign == "`" or closes) else sign)
        depth += sign == "`"
    return "".join(out)


def all_numbers(part: StatementParts, at: int, known: Collection[str] | None) -> bool:
    """Whether a loop goes through numbers, which name no variable."""
    text = part.statement.source[part.start + at : part.statement.end]
    words = " ".join(known) if known else text
    kind = _LIST.match(words)
    if kind is not None and "numlist" in kind.group():
        return True
    numbers = words[kind.end() if kind else 0 :].rstrip().removesuffix("{").replace('"', "")
    return _NUMERIC.fullmatch(numbers) is not None


def displayed(
    part: StatementParts, names: set[str], taints: Taints, scalars: list[tuple[int, int]]
) -> Held:
    """Names in an expression of `display`: scalars, or the first value of a variable."""
    held = CLEAN
    code = part.outside
    for name in named(code, names):
        message = f"the macro {name}, which may name a variable; its first value is shown"
        held = max(held, Held(BAD, message))
    for match in _COMPOSED.finditer(code):
        if among(match.group(1), taints.known_scalars, begun=True):
            start, end = match.span()
            scalars.append((part.start + start, part.start + end))
            held = max(held, taints.scalars.of_begun(match.group(1)))
            code = code[:start] + " " * (end - start) + code[end:]
    for name in _SCALAR.findall(code):
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


_CHARACTERISTIC = re.compile(r"^\s*(?:def\w*\s+)?[\w`'$]+\[[^\]]*\]")
_NAMES = re.compile(r"`\w+'|[A-Za-z_]\w*")
#: Dimensions of collections, ``result[mean sd]``, and the option that tags them.
_DIMENSIONS = re.compile(r"\b\w+\[([^\[\]=]*)\]")
_TAG = re.compile(r"\btags?\s*\((?:[^()]|\([^()]*\))*\)")
#: Commands that show words as they stand, or take them for files, variables or names of graphs.
_FREE_WORDS = commands_where(lambda row: row.flow.words == "free")
#: Commands whose words are coefficients; it is not sure that they never are scalars.
_COEFFICIENTS = commands_where(lambda row: row.flow.words == "coefficients")
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
_CONTROL = commands_where(lambda row: row.flow.control)
#: Commands that only give figures to names, which are followed.
_FOLLOWED = commands_where(
    lambda row: row.flow.gives not in ("nothing", "variable", "columns", "collapsed")
)
#: Commands that take expressions.
_EXPRESSIONS = commands_where(
    lambda row: row.flow.gives in ("variable", "scalar", "macro") or row.log == "results"
)
_PLACES = re.compile(r"\[([^\[\]]*)\]")
#: The first two or last two of a group, or a record beside each; also weights and elements.
_OF_GROUP = re.compile(r"\s*(?:[12]|_N(?:\s*-\s*1)?|_n\s*(?:[-+]\s*\d+)?|.*[,=].*)\s*")
_MACROS = commands_where(lambda row: row.flow.gives == "macro")
_POSITIONS = frozenset("123456789")
#: Commands whose count or error tells how many records there are beyond a bound.
_COUNTING = commands_where(lambda row: row.flow.tests and row.flow.gives == "nothing")
_LIST_COLUMNS = commands_where(lambda row: row.flow.columns == "listed")
#: What such a command gives a figure to.
_TARGET = re.compile(r"\s*(?:de\w*\s+)?(?:`[^'\s]*'|[^\s=:`])*")
#: A macro that is part of a name, with what it is joined to.
_GLUED = re.compile(r"(?<=\w)`[^`']*'|`[^`']*'(?=\w)")


class StatementJudge:
    """Judges statements, once it is known what names hold."""

    def __init__(
        self,
        policy: Policy,
        taints: Taints,
        names: set[str],
        since: Mapping[str, int],
        *,
        arguments: Set[str],
        moving: Set[str],
        known: Set[str],
        constants: Set[str],
    ) -> None:
        self.policy = policy
        self.taints = taints
        self.names = names
        self.since = since
        self.arguments = arguments
        self.moving = moving
        self.known = known
        self.constants = constants
        self._places = sorted(since.values())
        self._forms: dict[tuple[str, Held, int], ShownStatement | None] = {}
        self._decided: dict[Condition, Held] = {}
        self._silence: dict[str, int] = {}
        named = [*taints.scalars.all(), *taints.matrices.all()]
        self._by_word = any(held.rank >= RECORD for held in named)
        self._by_variables = bool(taints.variables.any or taints.unnamed)

    def shown(self, placed: Sequence[tuple[StatementParts, Surroundings]]) -> list[ShownStatement]:
        """The statements that would show a figure, in their order."""
        statements = []
        counts = related_counts(placed, self.moving)
        for part, around in placed:
            one = self._by_form(part, self._decided_around(part, around.all))
            if one is None and (reason := counts.get(part.statement.start)) is not None:
                one = ShownStatement(part.statement, Action.REVIEW, reason)
            if one is not None:
                statements.append(one)
        return statements

    def _decided_around(self, part: StatementParts, conditions: Sequence[Condition]) -> Held:
        """What the conditions around a statement compare, if it must not be told of."""
        held = CLEAN
        for condition in conditions:
            known = self._decided.get(condition)
            if known is None:
                known = decided(condition, self.taints, self.policy)
                self._decided[condition] = known
            # How often a loop runs up to a largest value is told by what it prints.
            if condition.kind != "loop" or known.rank >= RECORD or self._prints(part.name):
                held = max(held, known)
        if held.rank == 0 and self.policy.may_show(part.name) and any_record(conditions):
            held = Held(BAD, "whether there is any record")
        if held.rank == 0 and part.name in _COUNTING and scans(part, conditions, self.moving):
            held = Held(BAD, "a bound that moves")
        return held

    def _prints(self, name: str) -> bool:
        return self.policy.may_show(name) or self.policy.verdict(name).action.rank > 0

    def _by_form(self, part: StatementParts, around: Held) -> ShownStatement | None:
        """The judgement of a statement, or of an earlier one that differs in nothing."""
        statement = part.statement
        if not (around.rank or statement.prefixes) and self._shows_nothing(part):
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

    def _shows_nothing(self, part: StatementParts) -> bool:
        """Whether a command has nothing in it that it could show."""
        name = part.name
        silence = self._silence.get(name)
        if silence is None:
            silence = self._silence[name] = self._silence_of(name)
        if silence == _LOUD or self._by_word or part.by_macro or part.expands() or part.reaches():
            return False
        return silence == _SILENT or self._without_figures(part)

    def _silence_of(self, name: str) -> int:
        """Whether a command shows nothing, or nothing but statistics of variables."""
        policy = self.policy
        if not name or name in _CONTROL:
            return _SILENT
        if name == "ereturn" or (name in _LIST_COLUMNS and self.taints.columns):
            return _LOUD
        if name in policy.gather or policy.may_show(name):
            return _LOUD
        acts = self._by_variables and policy.verdict(name).action.rank > 0
        return _OF_VARIABLES if acts else _SILENT

    def _without_figures(self, part: StatementParts) -> bool:
        """Whether no variable that holds a figure is named anywhere in a statement."""
        names = self.taints.variables
        if self.taints.without_name("variables").rank or names.begun or len(names.held) > _FEW:
            return False
        text, start, end = part.statement.source, part.start, part.statement.end
        return all(text.find(name, start, end) < 0 for name in names.held)

    def _held(self, outside: str, inside: str) -> Held:
        return self.taints.held(outside, inside, self.policy)

    def _judge(self, part: StatementParts, around: Held) -> ShownStatement | None:
        statement = part.statement
        if (before := self._judge_prefixes(part)) is not None:
            return before
        if not part.name or part.name in _CONTROL:
            return None
        if self.policy.may_show(part.name) and self.policy.shows(part.name, part.word):
            return self._judge_showing(part, around)
        held = CLEAN
        if part.by_macro:  # it may show all that stands behind it
            held = self._by_macro(part)
        elif part.expands() and not self.policy.uses(part.name, part.word):
            held = self._in_other(part)
        if self._by_variables and self._tells_of_variables(part):
            held = max(held, self._in_variables(part))
        if held.rank == 0:
            held = self._hidden(part, around, part.outside)
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
            prefixes.append((part.name, part.word, statement.source[part.start : statement.end]))
        for name, word, code in prefixes:
            held = self._held(_gathered(name, word, code), "")
            if name not in self.policy.gather:
                by_name = self._joined(code)
                held = max(held.at_most(DOUBT), by_name) if held.rank >= RECORD else by_name
            if held.rank:
                return ShownStatement(statement, held.action, held.what)
        return None

    def _hidden(self, part: StatementParts, around: Held, outside: str) -> Held:
        """What a command tells by comparing a figure, by running at all, or by a name."""
        if part.name == "ereturn" and part.word.startswith(("pos", "rep")):
            held = self._held(outside, "")
            return Held(DOUBT, f"{held.what} as estimates") if held.rank else CLEAN
        text = part.statement.source[part.start : part.statement.end]
        if FILES.search(text) or (part.name in _EXPRESSIONS and _calls_by_macro(part)):
            return Held(DOUBT, "a file that a function reads or writes")
        if part.name in _FOLLOWED:
            target = _TARGET.match(outside)
            return self._joined(target.group() if target else "")
        used = self._held(outside, part.inside) if self._may_use(part) else CLEAN
        if used.rank >= RECORD and not self._of_groups(part):
            return Held(DOUBT, f"what it makes of {used.what}")
        if (joined := self._joined(outside) if part.expands() else CLEAN).rank:
            return joined
        if part.name in _LIST_COLUMNS and self.taints.columns:
            return self.taints.columns["values"]
        if around.rank:
            return Held(DOUBT, f"whether a condition on {around.what} holds")
        return CLEAN

    def _of_groups(self, part: StatementParts) -> bool:
        """Whether the records that are named are first or last ones of groups."""
        by = part.by_words()
        if not by or by <= self.constants:
            return False
        places = _PLACES.findall(part.outside)
        return all(_OF_GROUP.fullmatch(place) for place in places)

    def _joined(self, code: str) -> Held:
        """What macros hold that are part of a name: ``generate v`top' = 1``."""
        parts = " ".join(match.group() for match in _GLUED.finditer(code))
        held = self.taints.within(parts, self.policy) if parts else CLEAN
        return Held(DOUBT, f"{held.what}, by a name") if held.rank >= BAD else CLEAN

    def _may_use(self, part: StatementParts) -> bool:
        return part.reaches() or part.expands() or self._by_word

    def _judge_showing(self, part: StatementParts, around: Held) -> ShownStatement | None:
        """A command that shows its arguments."""
        statement = part.statement
        outside = _CHARACTERISTIC.sub(" ", part.outside) if part.name == "char" else part.outside
        outside = _gathered(part.name, part.word, outside)
        held = self._written(part.name, outside, part.inside)
        scalars: list[tuple[int, int]] = []
        if part.name == "display":
            held = max(held, displayed(part, self.names, self.taints, scalars))
            if held.rank == 0 and part.by_groups():
                held = Held(DOUBT, "something of each group")
            if self.taints.columns and self._names_columns(part):
                held = max(held, self.taints.columns["values"])
            arguments = self.arguments | _POSITIONS if statement.in_program else self.arguments
            if held.rank == 0 and (words := named(part.outside, arguments)):
                held = Held(DOUBT, f"the first value of what {words[0]} names")
        elif part.name in ("matlist", "matrix"):
            held = max(held, listed(part, self.taints.known_matrices))
        elif part.name == "ereturn":
            held = max(held, self.taints.results.get(("e", "b"), CLEAN))
        elif part.name == "scalar" and not part.outside.split()[1:]:
            held = max([held, *self.taints.scalars.all()])
        if held.rank == 0:
            held = self._hidden(part, around, outside)
        if held.rank == 0 and not scalars:
            return None
        return ShownStatement(statement, held.action, held.what, tuple(scalars))

    def _names_columns(self, part: StatementParts) -> bool:
        """Whether a macro is shown whose text may be the name of a variable."""
        words = _MACRO.findall(part.outside + part.inside)
        return any(word in self.names and word not in self.known for word in words)

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

    def _by_macro(self, part: StatementParts) -> Held:
        """What a command whose word is known at run time only may show."""
        code = _SHIFT.sub(" ", CONDITION.sub(" ", _COLOUR.sub(" ", part.outside)))
        word = part.statement.command.text if part.statement.command is not None else ""
        held = max(self._held(code, part.inside), self._held(word, ""))  # an error names the word
        if held.rank == 0:  # it may be `display` all the same, and `_n` is 1 there
            held = self._held(_IF.sub(" ", part.outside), part.inside).at_most(DOUBT)
        return held

    def _in_other(self, part: StatementParts) -> Held:
        """Any other command: titles are shown, conditions are not, the rest is a doubt."""
        inside = part.inside_without(CONDITION)
        held = self.taints.within(inside, self.policy) if inside else CLEAN
        # Without conditions it can only be less.
        if held.rank == 0 and self.taints.within(expansions(part.outside), self.policy).rank:
            code = expansions(CONDITION.sub(" ", part.outside))
            held = self.taints.within(code, self.policy).at_most(DOUBT)
        return held

    def _tells_of_variables(self, part: StatementParts) -> bool:
        """Whether a command is looked at, and does not run quietly."""
        verdict = self.policy.verdict(part.name, [part.word])
        return verdict.action.rank > 0 and verdict.inserted != "quietly "

    def _in_variables(self, part: StatementParts) -> Held:
        """A command that shows statistics of a variable which is one figure throughout."""
        if self._without_figures(part):
            return CLEAN
        words = set(_NAMES.findall(CONDITION.sub(" ", part.outside)))
        start = part.statement.start
        later = [word for word in words if self.since.get(word, -1) < start]
        known = (self.taints.variables.of(word) for word in later)
        return max([CLEAN, *known, self.taints.without_name("variables") if words else CLEAN])


def _calls_by_macro(part: StatementParts) -> bool:
    """Whether a macro names a function; where texts are given, only behind an equals sign."""
    code = part.outside if part.name not in _MACROS else part.outside.partition("=")[2]
    return "'(" in code


def _gathered(name: str | None, word: str, code: str) -> str:
    """What is gathered or shown; the dimensions of a collection are no subscripts."""
    if name != "collect":
        return code
    return _TAG.sub(" ", code) if word == "get" else _DIMENSIONS.sub(r" \1 ", code)
