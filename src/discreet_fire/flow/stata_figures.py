"""Which names of a do-file hold figures that must not be shown, and which statements show them.

In: the statements of a do-file and a policy. Out: what macros, scalars, matrices and variables
hold, without regard to the order of statements and to programs they stand in: a name that holds
such a figure anywhere is taken to hold it everywhere. A macro of which all texts are known, as in
``scalar `m' = r(max)``, names one of these and nothing else. Then the statements that would show a
figure of single records, and which data they show; what `display` and lists of matrices show is
told apart: scalars, and what holds records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from discreet_fire.catalogue import Action, commands_with, known_commands, values_of
from discreet_fire.flow.stata_values import (
    BAD,
    CLEAN,
    DOUBT,
    FORM,
    GIVEN_BY_OPTION,
    LOOPS,
    RECORD,
    Held,
    HeldNames,
    StatementParts,
    Taints,
    among,
    bare_words,
    bodies_of,
    chosen_files,
    decided,
    expansions,
    file_named,
    name_ends,
    named,
    note,
    scans,
    statements_of,
    tests_of,
    without_macros,
)
from discreet_fire.stata import DoFile, DoStatement

#: Other languages, which may write anything.
_LANGUAGES = commands_with("body", "block")
#: Commands that give texts to macros, or may do so in a way that is not read.
_GIVE_TEXTS = commands_with("texts", "some")
#: What `syntax` gives texts to besides the names in it.
_BY_SYNTAX = frozenset((
    "varlist", "varname", "namelist", "anything", "using", "if", "in", "exp", "weight", "options",
))  # fmt: skip


def named_texts(
    parts: Iterable[StatementParts],
) -> tuple[Mapping[str, frozenset[str]], frozenset[str], frozenset[str]]:
    """The macros of which all texts are known, with the words they can hold; those that name files
    which go with the session, and nothing else; those that hold nothing else but numbers.

    No words stand for names made up by Stata. A macro that another command merely mentions is not
    among them, nor one that may be meant where a macro stands in the name; in a file that includes
    another none is.
    """
    texts: dict[str, set[str]] = {}
    files, changed, numbered, others = set[str](), set[str](), set[str](), set[str]()
    begun: list[tuple[str, str]] = []
    begun_numbers: list[tuple[str, str]] = []
    through: list[tuple[str, str]] = []
    for part in parts:
        name, code = part.name, part.code
        if name in commands_with("texts", "all") or (name == "macro" and "`" in code):
            return {}, frozenset(), frozenset()
        gives = name in _GIVE_TEXTS or part.by_macro
        words = set(FORM.identifier.findall(FORM.macro.sub(" ", code)))
        begins = name in _GIVE_TEXTS and FORM.macro_in_name.match(code)
        number = FORM.number.fullmatch(code)
        if name == "tempfile":
            files |= {*code.split()}
        elif gives or name == "tokenize" or "loc" in code:
            (numbered if number else changed).update(words)
        (begun_numbers if number else begun).extend([_ends(code)] if begins else [])
        if name in ("file", "gettoken") and FORM.macro_later.match(code) and not begins:
            changed |= files | {"*"}
        if "loc" in code:
            others.update(FORM.option.findall(code))
        if name in commands_with("texts", "names"):
            texts |= {word: texts.get(word, set()) for word in code.split()}
        elif name == "local" and begins:
            pass
        elif name == "local" and (plain := FORM.plain.fullmatch(code)):
            texts.setdefault(plain[1], set()).update((plain[2] or "").split())
        elif name == "foreach" and (listed := FORM.listed.fullmatch(code)):
            texts.setdefault(listed[1], set()).update(listed[2].split())
        elif name == "foreach" and (of_local := FORM.of_local.fullmatch(code)):
            through.append((of_local[1], of_local[2]))
        elif gives:
            others |= words | {word.lower() for word in words}
            others |= _BY_SYNTAX if name == "syntax" else set()

    def meant(ends: Sequence[tuple[str, str]]) -> set[str]:
        names = {*texts, *files}
        return {one for one in names for a, b in ends if one.startswith(a) and one.endswith(b)}

    known = _through_lists(texts, through, others | meant([*begun, *begun_numbers]))
    loose = filter(str.isidentifier, set() if "*" in changed else files - changed - meant(begun))
    temporary = frozenset(loose)
    return known, temporary - numbered - meant(begun_numbers), temporary


def _ends(text: str) -> tuple[str, str]:
    """The beginning and the end of a name with macros in it; they are empty where in doubt.

    >>> _ends(" mean`i'_top 5"), _ends("m`=1 + 2' 5")
    (('mean', '_top'), ('m', ''))
    """
    match = FORM.with_macros.match(text)
    return (match[1], match[2] or "") if match else ("", "")


def _saved_words(
    parts: Sequence[StatementParts], temporary: Set[str], programs: Set[str]
) -> set[str]:
    """All words of statements that may write data sets; a star where a macro or a command of
    users may name one.
    """
    saved_words: set[str] = set()
    known = known_commands() | programs
    for part in parts:
        stated = part.statement.text
        if part.by_macro or part.name not in known or part.name in _LANGUAGES:
            saved_words.add("*")
        if not FORM.saves.search(stated):
            continue
        saved_words.update(map(str.lower, FORM.identifier.findall(stated)))
        last = re.split(r"[/\\]", stated)[-1]
        if part.name in ("save", "saveold") and not part.code.partition(",")[0].strip():
            saved_words.add("*")  # it goes to the file it came from
        if any(name not in temporary for name in re.findall(r"[`$]\{?(\w*)", last)):
            saved_words.add("*")
    return saved_words


def _replacing(parts: Sequence[StatementParts], programs: Set[str]) -> set[str]:
    """The commands after which the data in memory may be no records: other languages and
    commands that are not known, too.
    """
    names = {"*" if part.by_macro else part.name for part in parts}
    names |= {name or "*" for part in parts for name in part.before}
    replacing = commands_with("data", "figures") | _LANGUAGES
    return (names & replacing) | (names - known_commands() - programs)


def _through_lists(
    held: dict[str, set[str]], through: list[tuple[str, str]], others: set[str]
) -> dict[str, frozenset[str]]:
    """With the macros of loops through lists; those that anything else may change are out."""
    unknown = others | {name for name, of in through if of in others or of not in held}
    for _ in through:
        for name, of in through:
            if of in unknown:
                unknown.add(name)
            else:
                held.setdefault(name, set()).update(held.get(of, ()))
    return {
        name: frozenset(words)
        for name, words in held.items()
        if name not in unknown and name.isidentifier()
    }


_MOST_ROUNDS = 40
_ONE_FOR_ALL = Held(DOUBT, "one figure for all, which may be that of one record")
#: What matrices hold that a second word of `matrix` makes of records, by its first letters.
_SUMS = Held(DOUBT, "sums over records whose number was not checked")
_OF_RECORDS = {
    **dict.fromkeys(("ac", "acc", "vec", "gls", "opa", "sco"), _SUMS),
    "dis": Held(DOUBT, "distances of records"),
}
#: How `display` writes what follows.
_STYLES = frozenset(("as", "text", "txt", "result", "res", "error", "err", "input", "inp"))
#: What names and labels of variables may tell.
MADE_OF_VALUES = Held(DOUBT, "names or labels made of values")
_AROUND = ("capture", "quietly", "noisily")
#: Commands whose words are coefficients; it is not sure that they never are scalars.
_COEFFICIENTS = commands_with("words", "coefficients")
_CONTROL = commands_with("control")
#: Commands that only give figures to names, which are followed.
_FOLLOWED = commands_with("gives") - commands_with(
    "gives", "variable", "columns", "collapsed", "filled"
)
#: Commands that take expressions.
_EXPRESSIONS = commands_with("gives", "variable", "scalar", "macro") | commands_with(
    "log", "results"
)
_POSITIONS = frozenset("123456789")
#: Commands that only go on elsewhere.
_LEAVING = frozenset(("continue", "error", "exit"))
#: Commands whose count or error tells how many records there are beyond a bound.
_COUNTING = commands_with("tests") - commands_with("gives")


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement that would show a figure."""

    statement: DoStatement
    action: Action  # whether it is refused or goes to review
    what: str = ""  # what it would show
    #: Places of bare names that can only be meant as scalars; they are safe once they are written
    #: ``scalar(name)``
    scalars: tuple[tuple[int, int], ...] = ()


class FigureFlow:
    """Follows figures through one do-file."""

    def __init__(self, dofile: DoFile, taints: Taints) -> None:
        self.taints, self.policy, self._held = taints, taints.policy, taints.held
        parts = [StatementParts(one) for one in statements_of(dofile)]
        self.parts = parts
        #: Local macros that hold nothing but known names; those of files that go with the session.
        self.known, self.temporary_files, or_numbers = named_texts(parts)
        taints.saved |= _saved_words(parts, or_numbers, dofile.programs)
        taints.chosen |= chosen_files(parts)
        taints.replaced |= _replacing(parts, dofile.programs)
        #: Statements whose errors do not stop the program.
        self._caught = {
            id(one)
            for part, (body, _) in zip(parts, bodies_of(parts), strict=True)
            if "capture" in (part.name, *part.before)
            for one in (part, *body)
        }
        #: Macros that programs are given, whose texts are not known.
        self.arguments = {
            word for part in parts if part.name == "args" for word in part.outside.split()
        }
        #: Macros that name variables which the program does not name itself.
        self.listed = {
            match[1]
            for part in parts
            if part.name == "foreach" and (match := FORM.varlist.match(part.outside))
        } - self.known.keys()
        #: Variables with the same value throughout: a group by them is all records.
        self.constants = {
            match[1]
            for part in parts
            if (match := FORM.constant.fullmatch(part.outside))
            and part.name in commands_with("gives", "variable")
        }
        #: From which place on a variable holds a figure.
        self.since: dict[str, int] = {}
        #: Whether all that names hold was found out.
        self.settled = True

    def learn(self) -> None:
        """Find out what names hold, until nothing new turns up.

        Passes go forwards and backwards in turn, so that a chain of names in any order of
        lines takes few of them.
        """
        parts, before = list(self.parts), -1
        for _ in range(_MOST_ROUNDS):
            if before == (before := self.taints.size()):
                return
            for part in parts:
                self._learn(part)
            parts.reverse()
        self.settled = before == self.taints.size()

    def _learn(self, part: StatementParts) -> None:
        if id(part) in self._caught and part.name not in _AROUND:
            self._give_return_code(part)
        if part.name in commands_with("columns", "made") or (
            part.name in commands_with("columns", "by option")
            and FORM.generate.search(part.outside.partition(",")[2])
        ):
            self.taints.columns["values"] = MADE_OF_VALUES
        if (give := _GIVERS.get(part.name)) is not None:
            give(self, part)
        taint = GIVEN_BY_OPTION.get(part.name, CLEAN)
        for kind, name in FORM.giving_option.findall(part.outside) if taint.rank else ():
            if kind[0] in "lL":
                self.taints.local.give(name, taint)
            else:
                self._note(name, taint, "matrices", self.taints.known_matrices)
        for prefix in part.statement.prefixes:
            if prefix.canonical in commands_with("gathers") and prefix.arguments:
                text = part.statement.source[slice(*prefix.arguments)]
                for name, result in FORM.gathered.findall(text):
                    self._note_variable(part, name, self._held(result, ""))

    def _give_return_code(self, part: StatementParts) -> None:
        """``capture assert x[1] > 5`` makes ``_rc`` tell of a record."""
        taint = self.taints.held(part.outside, part.inside)
        # What fails in a do-file, or in a command that is not known, may be anything.
        tests = part.by_macro or part.name not in known_commands()
        tests = tests or part.name in commands_with("tests")
        if taint.rank < BAD and (tests or part.name in commands_with("calls")):
            taint = Held(BAD, "the records")
        if taint.rank >= BAD:
            message = f"whether {part.name} failed, which discloses {taint.what}"
            note(self.taints.results, ("c", "rc"), Held(DOUBT, message))

    # ------------------------------------------------------------ what names are given

    def _give_macro(self, part: StatementParts) -> None:
        """``local name = exp``, ``local name text``, ``local name : function``.

        ``macro define name`` is ``global name``, and ``macro define _name`` is ``local name``.
        """
        kind, text = part.name, part.outside
        if kind == "macro":
            defined = FORM.define.match(text)
            kind = "local" if defined and defined[1] else "global"
            text = text[defined.end() :] if defined else ""
        match = FORM.given_name.match(text)
        if match is None:
            return
        table = self.taints.local if kind == "local" else self.taints.globals
        name, rest = match.group(1), text[match.end() :]
        by_name = self.taints.within(name)
        if by_name.rank >= BAD:  # whether the macro is there tells the figure
            table.give(name, by_name.at_most(DOUBT))
        if FORM.counting.search(rest):
            # How many values there are tells none, but how long one is.
            length = max(self._held(rest, part.inside), self.taints.named(f"list {rest}"))
            table.give(
                name, Held(DOUBT, f"the length of {length.what}") if length.rank >= BAD else CLEAN
            )
            return
        taint = max(self._held(rest, part.inside), self._in_texts(part))
        if rest.lstrip().startswith(":"):
            taint = max(taint, self.taints.named(rest.lstrip()[1:]))
        expression = FORM.expression.match(rest)
        if expression is not None and self._unknown_words(rest[expression.end() :]):
            taint = max(taint, Held(DOUBT, "a name that may be a variable's first value"))
        table.give(name, taint)

    def _in_texts(self, part: StatementParts) -> Held:
        """The value of a record in a text that may be used as code: ``local c "x[1] > 5"``."""
        taint = self.taints.within(part.code, words=False)
        return taint if taint.rank >= RECORD else CLEAN

    def first_values(self, code: str) -> list[str]:
        """The macros in an expression that name variables: it takes their first values."""
        return [
            name for name in named(code)
            if FORM.naming.fullmatch(name) or any(
                word not in self.taints.known_scalars and word not in _STYLES
                for _, word in bare_words(" ".join(self.known.get(name, ())))
            )
        ]  # fmt: skip

    def _unknown_words(self, code: str) -> list[tuple[int, str]]:
        known = self.taints.known_scalars | self.taints.known_matrices
        plain = without_macros(code)
        return [(at, word) for at, word in bare_words(plain) if word not in known]

    def _give_scalar(self, part: StatementParts) -> None:
        left, equals, right = part.outside.partition("=")
        words = [word for word in left.split() if not "define".startswith(word)]
        if not equals or len(words) != 1:
            return
        taint = self._held(right, part.inside)
        if taint.rank < DOUBT and self._unknown_words(right):
            taint = Held(DOUBT, "a name that may be a variable's first value")
        self._note(words[0], taint, "scalars", self.taints.known_scalars)

    def _give_matrix(self, part: StatementParts) -> None:
        left, equals, right = part.outside.partition("=")
        words = left.split()
        if equals and words:
            name = re.split(r"[\[(]", left.strip())[0].split()[-1]
            taint = max(
                self._held(right, part.inside),
                _OF_RECORDS.get(words[0][:3], CLEAN) if words[1:] else CLEAN,
            )
            self._note(name, taint, "matrices", self.taints.known_matrices)
        elif words and words[0].startswith(("row", "col")) and len(words) > 1:
            self.taints.matrices.give(words[1], self._held(part.outside, part.inside))

    def _give_columns(self, part: StatementParts) -> None:
        """Without its option, ``mkmat`` names matrices as the variables."""
        listed_names, _, options = part.outside.partition("=")[0].partition(",")
        names = [] if "mat" in options else FORM.condition.sub(" ", listed_names).split()
        for name in filter(str.isidentifier, names):
            self.taints.matrices.give(name, GIVEN_BY_OPTION[part.name])

    def _note(self, name: str, held: Held, kind: str, known: set[str]) -> None:
        if macro := FORM.one_macro.fullmatch(name):
            self.taints.local.give(macro[1], held)
        known |= {name, *self._give(kind, name, held)}

    def _give(self, kind: str, name: str, held: Held) -> frozenset[str]:
        """Note what a name holds, or all names that a macro can stand for; these."""
        table: HeldNames = getattr(self.taints, kind)
        macro = FORM.one_macro.fullmatch(name)
        words = self.known.get(macro[1]) if macro is not None else None
        if words is None and name_ends(name) != ("", ""):
            table.give(name, held)
            return frozenset()
        if held.rank:
            note(table.held, name, held)
        if words is None and held.rank:
            doubt = held.at_most(DOUBT)
            self.taints.unnamed[kind] = max(self.taints.unnamed.get(kind, CLEAN), doubt)
        for word in words or ():
            table.give(word, held)
        return words or frozenset()

    def _give_variable(self, part: StatementParts) -> None:
        """A variable that is nothing but a figure shows it with any statistic."""
        left, equals, right = part.outside.partition("=")
        words = re.sub(r"\(.*", "", left).split()
        condition = FORM.condition.search(right)
        if "`" in left and self.taints.within(left).rank:
            self.taints.columns["values"] = MADE_OF_VALUES
        if equals and words and part.name.endswith("egen"):
            if FORM.one_of_many.match(right):
                taint = Held(DOUBT, "the smallest or largest values of groups")
                self._note_variable(part, words[-1], taint)
            elif FORM.overall.match(right) and not self._grouped(part, right.partition(",")[2]):
                self._note_variable(part, words[-1], _ONE_FOR_ALL)
            return
        if condition is not None and part.name == "replace":
            carried = FORM.carried.fullmatch(part.outside)
            if carried is not None and not self._grouped(part):
                self._note_variable(part, carried[1], Held(DOUBT, "the value of one record"))
            return  # the other values stay, and are many
        right = right[: condition.start()] if condition else right
        if words and FORM.running.search(right) and not self._grouped(part):
            self._note_variable(part, words[-1], _ONE_FOR_ALL)
        if part.name == "generate":  # `replace x = x[_n-1]` hands the first value to all
            right = FORM.shift.sub("", right)
        if equals and words and not self._unknown_words(re.sub(r"\b[rse]\(\w+\)", "0", right)):
            self._note_variable(part, words[-1], self._held(right, ""))

    def _grouped(self, part: StatementParts, options: str = "") -> bool:
        """Whether groups of records are told apart, by a prefix or an option."""
        by = FORM.by_option.search(options)
        return not (part.by_words() | set(by[1].split() if by else ())) <= self.constants

    def _give_filled(self, part: StatementParts) -> None:
        """Gaps filled with values of other records, or all values beyond a cut."""
        listed_names, _, options = part.outside.partition(",")
        cuts = part.name == "winsor2"
        if not FORM.unusual_cuts.search(options) if cuts else self._grouped(part, options):
            return
        made, end = FORM.generated.search(options), FORM.suffix.search(options)
        words = (made[1] if made else FORM.condition.sub(" ", listed_names)).split()
        for name in (*words, *(f"{word}{end[1] if end else '_w'}" for word in words if cuts)):
            self._note_variable(part, name, Held(DOUBT, "the value of one record"))

    def _note_variable(self, part: StatementParts, name: str, held: Held) -> None:
        """Note a variable; it holds the figure from here on, in loops and programs anywhere."""
        statement = part.statement
        start = -1 if statement.depth or statement.in_program else statement.start
        for word in (name, *self._give("variables", name, held.at_most(DOUBT))):
            self.since[word] = min(start, self.since.get(word, start))

    def _give_collapsed(self, part: StatementParts) -> None:
        taint = Held(DOUBT, "the smallest or largest values of groups")
        found = FORM.extremes.findall(part.outside)
        if part.name == "asrol":
            plain, _, options = part.outside.partition(",")
            made = FORM.generated.search(options)
            names = f"{plain} {made[1] if made else ''}"
            found = [(one, names) for one in re.findall(r"\b(max|min|first|last)\b", options)]
        for statistic, targets in found:
            for word in re.findall(r"(\w+)(?:\s*=\s*\w+)?", targets.partition(",")[0]):
                for name in (word, f"{word}_{statistic}", f"{statistic}_{word}"):
                    self._note_variable(part, name, taint)

    def _give_foreach(self, part: StatementParts) -> None:
        match = FORM.given_name.match(part.outside)
        if match is None:
            return
        rest = part.outside[match.end() :]
        taint = max(self._held(rest, part.inside), self.taints.named(rest), self._in_texts(part))
        if part.name == "forvalues":
            taint = taint.at_most(DOUBT)
        self.taints.local.give(match.group(1), taint)

    def _give_tokens(self, part: StatementParts) -> None:
        taint = self._held(part.outside, part.inside)
        for number in range(1, 10):
            self.taints.local.give(str(number), taint)

    def _give_first_token(self, part: StatementParts) -> None:
        left, _, right = part.outside.partition(":")
        taint = self.taints.named(f"list {right.partition(',')[0]}")
        for name in re.findall(r"\w+", left):
            self.taints.local.give(name, taint)

    def _give_result(self, part: StatementParts) -> None:
        """``return scalar x = …`` makes ``r(x)`` hold it, ``ereturn post B V`` makes ``e(b)``."""
        match = re.match(r"\s*(?:sca|loc|mat|glo)\w*\s+(\w+)\s*(.*)", part.outside, re.S)
        if part.word.startswith(("pos", "rep")):
            for name in ("b", "V"):
                note(self.taints.results, ("e", name), self._held(part.outside, ""))
        elif match is not None:
            taint = self._held(match[2], part.inside)
            note(self.taints.results, (part.name[0], match[1]), taint)
            self.taints.returned.add((part.name[0], match[1]))

    def _give_numbers(self, part: StatementParts) -> None:
        note(self.taints.results, ("r", part.name), self._held(part.outside, part.inside))

    def tells_nothing(self, part: StatementParts) -> bool:
        """Whether all that a statement names is known, and holds no figure of single records."""
        handle = FORM.given_name.match(part.outside)
        code = part.outside[handle.end() if handle else 0 :]
        taint = self.taints.held(code, part.inside)
        scalars = {name for item in FORM.named_scalar.findall(code) for name in item.split()}
        known = scalars <= self.taints.known_scalars
        named_here = self._unknown_words(code) or self.first_values(code) or "$" in code
        return taint.rank == 0 and known and not named_here

    # ------------------------------------------------------------ what statements show

    def shown(self) -> list[ShownStatement]:
        """The statements that would show a figure, in their order."""
        statements = []
        parts, reported = self.parts, set[tuple[str, Held]]()
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
            if in_loop and FORM.any_record.search(outside) and self._prints([part, *body]):
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
            code = FORM.condition.sub(" ", FORM.shift.sub(" ", part.outside))
            held = self._held(f"{word} {code}", part.inside)
        elif not self.policy.uses(part.name, part.word):
            held = self._in_other(part)
        verdict = self.policy.verdict(part.name, [part.word])
        if verdict.action.rank > 0 and verdict.inserted != "quietly ":  # it is looked at
            words = set(FORM.names.findall(FORM.condition.sub(" ", part.outside)))
            later = [one for one in words if self.since.get(one, -1) < statement.start]
            held = max([held, *map(self.taints.variables.of, later)])
            held = max(held, self.taints.unnamed.get("variables", CLEAN) if words else CLEAN)
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
        # A macro may name a function; where texts are given, only behind an equals sign.
        gives = part.name in commands_with("gives", "macro")
        code = part.outside.partition("=")[2] if gives else part.outside
        if FORM.files.search(part.code) or (part.name in _EXPRESSIONS and "'(" in code):
            return Held(DOUBT, "a file that a function reads or writes")
        if part.name in _FOLLOWED:
            target = FORM.target.match(outside)
            return self._joined(target.group() if target else "")
        used = self._held(outside, part.inside)
        if used.rank >= RECORD and not self._of_groups(part):
            return Held(DOUBT, f"what it makes of {used.what}")
        if (joined := self._joined(outside)).rank:
            return joined
        if part.name in commands_with("columns", "listed") and self.taints.columns:
            return self.taints.columns["values"]
        return CLEAN

    def _of_groups(self, part: StatementParts) -> bool:
        """Whether the records that are named are first or last ones of groups."""
        by = part.by_words()
        if not by or by <= self.constants or FORM.of_frame.search(part.outside):
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
            held = max(held, displayed(part, self, scalars))
            if held.rank == 0 and part.by_groups():
                held = Held(DOUBT, "something of each group")
            macros = set(FORM.one_macro.findall(part.outside + part.inside))
            if self.taints.columns and macros & self.listed:
                held = max(held, self.taints.columns["values"])
            arguments = self.arguments
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
        expression = "function" in outside  # a graph of one
        if held.rank == 0 or expression or name not in commands_with("words"):
            return held
        certain = max(
            self.taints.within(outside, words=False),
            self._held(expansions(outside), inside),
        )
        return max(certain, held.at_most(DOUBT)) if name in _COEFFICIENTS else certain

    def _in_other(self, part: StatementParts) -> Held:
        """Any other command: titles are shown, conditions are not, the rest is a doubt."""
        inside = part.inside_without(FORM.condition)
        held = self.taints.within(inside) if inside else CLEAN
        # Without conditions it can only be less.
        if held.rank == 0 and self.taints.within(expansions(part.outside)).rank:
            code = expansions(FORM.condition.sub(" ", part.outside))
            held = self.taints.within(code).at_most(DOUBT)
        return held


_GIVERS: dict[str, Callable[[FigureFlow, StatementParts], None]] = {
    name: getattr(FigureFlow, f"_give_{what}") for name, what in values_of("gives").items()
}


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


_JOINING = ("merge", "fmerge", "mmerge", "joinby", "rangejoin", "cross", "stack")


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
