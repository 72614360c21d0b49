"""SPSS programs rewritten: procedures run on what safe macros let through, others are comments.

In: the text of a program and a policy. Out: a `Rewriting`. A procedure that shows figures of few
cases is preceded by a macro that marks the records it may show; commands that show single records,
lead results elsewhere, or run other programs become comments; what no rule knows goes to review.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet_fire.catalogue import Action, PackagePolicy, PackageRule, PartRule
from discreet_fire.rewriting.changes import Language, Rewriting
from discreet_fire.rewriting.package_programs import SAID, PackageNotes, of_network
from discreet_fire.scripts import (
    PackageSyntaxError,
    PackageToken,
    SpssCommand,
    SpssPart,
    names_spss,
    parse_spss,
)
from discreet_fire.texts import words as names_of

#: Functions of AGGREGATE that may stand beside each record: they give nobody's value.
_COUNTS = {"N", "NU", "NMISS", "NUMISS"}
_CHOOSING = (
    "SELECT IF",
    "IF",
    "DO IF",
    "ELSE IF",
    "COMPUTE",
    "LOOP",
    "END LOOP",
    "RECODE",
    "COUNT",
)
_MAKES_TEXT = {"!UNQUOTE", "!EVAL", "!SUBSTR", "!HEAD", "!TAIL", "!NULL", "!BLANKS"}
#: Subcommands whose names are variables that a gate checks.
_VALUES = names_of(
    """MAIN VARIABLES DEPENDENT METHOD ENTER STEPWISE FORWARD BACKWARD TEST TABLES PAIRS GROUPS
    SCALE ANALYSIS CATEGORICAL REGWGT"""
)
_METHODS = names_of(
    "ENTER STEPWISE FORWARD BACKWARD REMOVE FSTEP BSTEP TEST ALL COND LR WALD PAIRED"
)
_LINE = re.compile(r"(\r\n|\n|\r)(?=([A-Za-z-]+)(?:[ \t]+([A-Za-z]+))?)")


def rewrite_spss(
    text: str,
    policy: PackagePolicy | None = None,
    *,
    language: Language = "en",
    folder: Path | None = None,
) -> Rewriting:
    r"""Rewrite the text of one SPSS program.

    >>> print(rewrite_spss("LIST wage.\nGET FILE='a.sav'.\n").text)
    * FDZ: not permitted in remote execution: LIST wage.
    GET FILE='a.sav'.
    >>> print(rewrite_spss("CROSSTABS a BY b.").text)
    !fire_begin.
    !fire_table values=fire_one / cells=a b.
    TEMPORARY.
    SELECT IF fire_show.
    CROSSTABS a BY b.
    !fire_end.
    """
    rules = policy or PackagePolicy.default("spss")
    notes = PackageNotes(text=text, policy=rules, language=language, folder=folder)
    try:
        commands = parse_spss(text)
    except PackageSyntaxError as error:
        notes.fail("syntax", (error.at, error.at), what=error.what)
        return notes.rewriting()
    _SpssWalker(notes, commands).run()
    return notes.rewriting()


@dataclass(frozen=True, kw_only=True)
class _Block:
    """A procedure with what its gate checks: values and cells for each macro."""

    checks: tuple[str, ...]
    text: str


class _SpssWalker:
    """Judges the commands of a program one by one."""

    def __init__(self, notes: PackageNotes, commands: Sequence[SpssCommand]) -> None:
        self.notes = notes
        self.rules = notes.policy.rules
        self.words = notes.policy.words
        self.commands = commands
        self.starts: dict[str, list[PackageRule]] = {}
        for rule in self.rules.values():
            self.starts.setdefault(rule.name.split()[0][:3], []).append(rule)
        self.fitting: dict[tuple[str, ...], list[PackageRule]] = {}
        heads = [one.tokens[1].upper for one in commands if one.kind == "macro"]
        self.macros = frozenset(heads)
        self.bare = frozenset(name for name in heads if not name.startswith("!"))
        self.temporary = False
        self.split: list[str] | None = []
        self.filter = ""
        self.nested = 0

    def run(self) -> None:
        """Judge all."""
        for command in self.commands:
            if any(self._reserved(token) for token in command.tokens):
                self.notes.fail("reserved", (command.start, command.end))
            if command.kind == "comment":
                pass
            elif command.kind == "macro":
                self._macro(command)
            else:
                self._judge(command)
            self._indent(command)

    @staticmethod
    def _reserved(token: PackageToken) -> bool:
        return token.kind != "text" and token.upper.lstrip("!").startswith("FIRE_")

    def _fitting(self, words: Sequence[str]) -> list[PackageRule]:
        """Rules whose names a command may begin with."""
        key = tuple(words)
        if key not in self.fitting:
            near = self.starts.get(words[0][:3], ()) if words else ()
            self.fitting[key] = [rule for rule in near if names_spss(words, rule.name)]
        return self.fitting[key]

    def _named(self, command: SpssCommand) -> tuple[PackageRule | None, int]:
        """The rule of a command, and how many words are its name; the strictest of the longest."""
        words = command.words()
        fitting = [(len(rule.name.split()), rule) for rule in self._fitting(words)]
        if not fitting:
            return None, 1
        most = max(length for length, _ in fitting)
        longest = [rule for length, rule in fitting if length == most]
        exact = [rule for rule in longest if rule.name == " ".join(words[:most])]
        return max(exact or longest, key=lambda rule: rule.action.rank), most

    def _macro(self, command: SpssCommand) -> None:
        """A definition: its name, and pieces of text in its body."""
        span = (command.start, command.tokens[-1].end)
        name = command.tokens[1].text
        if not name.startswith("!"):
            words = [name.upper()]
            grave = any(names_spss(words, full.split()[0]) for full in self.rules)
            if not re.fullmatch(r"\s*(?:'[^']*'|\"[^\"]*\"|[\d.]*)\s*", self._body(command)):
                self.notes.say("macro", Action.REVIEW, span, name=name)
            if grave:
                self.notes.fail("macro", span, name=name)
        body = self.notes.text[command.start : command.end].upper()
        if any(word in body for word in _MAKES_TEXT) and re.search(
            r"'[^'\r\n]*\.[ \t]|!EVAL|!UNQ", body
        ):
            self.notes.say("text", Action.REVIEW, span, name=name)

    def _body(self, command: SpssCommand) -> str:
        """What a macro stands for."""
        whole = self.notes.text[command.tokens[-1].end : command.end]
        return re.split(r"!ENDDEFINE", whole, flags=re.I)[0]

    def _judge(self, command: SpssCommand) -> None:
        first = command.tokens[0]
        span = (command.start, command.end)
        if command.kind == "block" and first.upper == "BEGIN" and command.words()[1:2] == ["DATA"]:
            return
        if first.kind == "macro" or first.upper in self.bare:
            self._call(command)
            return
        rule, length = self._named(command)
        if rule is None:
            if command.kind == "body" and first.kind in ("text", "number"):
                return  # a macro that stands for a text
            words = command.words(1) or [first.text[:20]]
            self.notes.say("unknown", Action.REVIEW, span, name=words[0])
            return
        if rule.name in ("INCLUDE", "INSERT"):
            self._include(command, rule)
            return
        if rule.action is Action.REFUSED:
            self._refuse(command, rule)
        elif rule.action is Action.WRAPPED:
            self._gate(command, rule, length)
            self.temporary = False
        else:
            if rule.action is Action.REVIEW:
                reason = rule.reason
                self.notes.say("reason", Action.REVIEW, span, name=rule.name, reason=reason)
            self._look(command, rule, length)

    def _call(self, command: SpssCommand) -> None:
        """A macro that is called: what it is given may be a command."""
        first = command.tokens[0]
        span = (command.start, command.end)
        if first.upper not in self.macros:
            self.notes.say("runtime", Action.REVIEW, span, name=first.text)
            return
        for at, token in enumerate(command.tokens[1:], 1):
            words = [one.upper for one in command.tokens[at : at + 3] if one.kind == "word"]
            rules = [
                rule
                for rule in self._fitting(words or [token.upper.strip("'\"")])
                if token.kind in ("word", "text") and rule.action is not Action.ALLOWED
            ]
            if rules and len(token.text) > 2:
                self.notes.say("text", Action.REVIEW, span, name=first.text)
                return

    def _include(self, command: SpssCommand, rule: PackageRule) -> None:
        """A program that is run: its rewritten form, if it is there, read as one is typed in."""
        texts = [token for token in command.tokens if token.kind == "text"]
        name = None
        if len(texts) == 1 and command.kind != "body":
            name = self.notes.called(rule.name, (texts[0].start, texts[0].end))
        if name is None:
            self._stop("called", command, rule)
            return
        after = f"INSERT FILE='{name}' SYNTAX=INTERACTIVE."
        span = (command.start, command.end)
        reason = rule.reason
        self.notes.notes.replace(span, after, "call", rule.name, Action.WRAPPED, reason)

    def _refuse(self, command: SpssCommand, rule: PackageRule, part: str = "") -> None:
        """Make a command a comment."""
        span = (command.start, command.end)
        reason = rule.reason
        if part:
            self.notes.say("part", Action.REFUSED, span, name=rule.name, part=part)
        else:
            self.notes.say("reason", Action.REFUSED, span, name=rule.name, reason=reason)
        self._take_out(command, rule.name, reason)

    def _take_out(self, command: SpssCommand, name: str, reason: str) -> None:
        span = (command.start, command.end)
        after = f"* {self.notes.comment(span, '!')}."
        inside = self.notes.text[command.start : command.end]
        if command.kind == "body" and not inside.rstrip().endswith("."):
            after += self.notes.newline
        start = self.notes.notes.lines.place(command.start)
        if (
            command.start
            and start[1] > 1
            and self.notes.text[: command.start].rstrip(" \t")[-1:] not in "\r\n"
        ):
            after = self.notes.newline + after
        if not self.notes.notes.last_on_line(command.end):
            after += self.notes.newline
        self.notes.notes.replace(span, after, "command", name, Action.REFUSED, reason)

    def _look(self, command: SpssCommand, rule: PackageRule, length: int) -> None:
        """What a command that shows nothing by itself may do with values, and its places."""
        span = (command.start, command.end)
        name = rule.name
        if name == "TEMPORARY":
            self.temporary = True
        if name == "SPLIT FILE":
            self._split(command, length)
        if name == "FILTER":
            names = [t for t in command.tokens[length:] if t.upper != "BY"]
            plain = command.kind != "body" and len(names) == 1 and self._is_name(names[0])
            self.filter = names[0].text if plain and names[0].upper != "OFF" else ""
        elif name.startswith(("GET", "DATASET", "NEW FILE")):
            self.filter = ""
        if rule.parts is not None:
            worst, part = self._worst(command, rule, length)
            if worst is Action.REFUSED:
                self._refuse(command, rule, part)
                return
            if worst is Action.REVIEW:
                self.notes.say("part-unknown", Action.REVIEW, span, name=name, part=part)
        if of_network(token.text for token in command.tokens if token.kind == "text"):
            self.notes.say("network", Action.REVIEW, span, name=name)
        for kind in self._single_values(command, name):
            self.notes.say(kind, Action.REVIEW, span, name=name)
        self.nested += {"DO IF": 1, "END IF": -1}.get(name, 0)

    def _split(self, command: SpssCommand, length: int) -> None:
        """The groups that statistics are shown for; None if they are not known."""
        names = [
            one for one in command.tokens[length:] if one.upper not in ("BY", "LAYERED", "SEPARATE")
        ]
        if [one.upper for one in names] == ["OFF"]:
            self.split = []
        elif command.kind != "body" and all(self._is_name(one) for one in names):
            self.split = [one.text for one in names]
        else:
            self.split = None

    def _single_values(self, command: SpssCommand, name: str) -> Iterator[str]:
        tokens = command.tokens
        calls = {a.upper for a, b in itertools.pairwise(tokens) if b.text == "("}
        numbered = name != "COMPUTE" and name in _CHOOSING
        numbered = numbered and any(t.upper == "$CASENUM" for t in tokens)
        if "LAG" in calls or numbered:
            yield "record"
        if name == "GET DATA" and any(t.upper in ("CONNECT", "SQL") for t in tokens):
            yield "network"
        table = name == "MATCH FILES" and any(t.upper == "TABLE" for t in tokens)
        if table or name in ("STAR JOIN", "UPDATE", "ADD FILES"):
            yield "picks"
        if "NUMBER" in calls:
            yield "tells"
        if name == "AGGREGATE":
            functions = [
                b.upper.split(".")[0]
                for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)
                if a.text == "=" and b.kind in ("word", "macro") and c.text == "("
            ]
            added = any(t.upper == "ADDVARIABLES" for t in tokens) and not {*functions} <= _COUNTS
            if added or any(function not in self.words["aggregates"] for function in functions):
                yield "picks"
        if name in ("COMPUTE", "IF") and self._carries(tokens, name):
            yield "carries"

    def _carries(self, tokens: Sequence[PackageToken], name: str) -> bool:
        """Whether a scratch variable, which keeps its value, is given one of some record."""
        for at, token in enumerate(tokens[:-1]):
            if token.text.startswith("#") and tokens[at + 1].text in ("=", "("):
                rest = [one for one in tokens[at + 1 :] if one.kind == "word"]
                conditional = name == "IF" or self.nested > 0
                itself = any(one.upper == token.upper for one in rest)
                return bool(rest) and (conditional or itself) and at < len(tokens) - 2
        return False

    def _worst(self, command: SpssCommand, rule: PackageRule, length: int) -> tuple[Action, str]:
        """The strictest of what the parts of a command say, and the first part that says it."""
        worst, name = Action.ALLOWED, ""
        for part in command.parts(length):
            action, word = self._of_part(part, rule)
            if action.rank > worst.rank:
                worst, name = action, word
        return worst, name

    def _of_part(self, part: SpssPart, rule: PackageRule) -> tuple[Action, str]:
        assert rule.parts is not None
        fitting = [one for name, one in rule.parts.items() if names_spss([part.name], name)]
        exact = rule.parts.get(part.name)
        if exact is not None:
            fitting = [exact]
        if not fitting:
            return Action.REVIEW, part.name
        one = max(fitting, key=lambda each: (each.action.rank, len(each.refused)))
        if one.action is not Action.ALLOWED:
            return one.action, part.name
        words = [token for token in part.tokens if token.kind in ("word", "macro")]
        if not words:
            return one.bare, part.name
        return max(
            (self._of_word(word, one, part.name) for word in words), key=lambda said: said[0].rank
        )

    @staticmethod
    def _of_word(word: PackageToken, part: PartRule, name: str) -> tuple[Action, str]:
        upper = word.upper
        if any(names_spss([upper.partition(".")[0]], item) for item in part.refused):
            return Action.REFUSED, f"{name} {upper}"
        if part.known is None or any(names_spss([upper], item) for item in part.known):
            return Action.ALLOWED, ""
        return Action.REVIEW, f"{name} {upper}"

    # ------------------------------------------------------------------ gates

    def _gate(self, command: SpssCommand, rule: PackageRule, length: int) -> None:
        """Put a safe macro before a procedure."""
        span = (command.start, command.end)
        dynamic = command.kind == "body" or any(
            token.kind == "macro" or token.upper in self.bare for token in command.tokens
        )
        if dynamic:
            self.notes.say("runtime", Action.REVIEW, span, name=rule.name)
            worst, part = self._worst(command, rule, length)
            if worst is Action.REFUSED:
                self._refuse(command, rule, part)
            return
        if self.split is None:
            self._stop("split", command, rule)
            return
        if self.temporary:
            self._stop("temporary", command, rule)
            return
        for item in command.parts(length):
            action, word = self._of_part(item, rule)
            if action is Action.REFUSED and item.name in ("MAIN", "TABLE"):
                self._refuse(command, rule, word)
                return
        kept, unknown = self._kept(command, rule, length)
        for part in unknown:
            self.notes.say("part-unknown", Action.REVIEW, span, name=rule.name, part=part)
        blocks = self._blocks(command, rule, kept, length)
        if blocks is None:
            self._stop("list", command, rule)
            return
        self._write(command, rule, blocks)

    def _stop(self, kind: str, command: SpssCommand, rule: PackageRule) -> None:
        """Make a procedure a comment that no safe macro can check."""
        self.notes.say(kind, Action.REFUSED, (command.start, command.end), name=rule.name)
        self._take_out(command, rule.name, rule.reason)

    def _kept(
        self, command: SpssCommand, rule: PackageRule, length: int
    ) -> tuple[list[tuple[SpssPart, str]], list[str]]:
        """Subcommands with what stays of their texts, and those that no rule knows."""
        kept, unknown = [], []
        for part in command.parts(length):
            action, word = self._of_part(part, rule)
            if action is Action.REVIEW:
                unknown.append(word)
            if action is not Action.REFUSED:
                kept.append((part, self._text(part, command)))
                continue
            span = (command.start, command.end)
            self.notes.say("part", Action.REFUSED, span, name=rule.name, part=word)
            assert rule.parts is not None
            one = next(
                (
                    part_rule
                    for name, part_rule in rule.parts.items()
                    if names_spss([part.name], name)
                ),
                None,
            )
            words = [token for token in part.tokens if token.kind == "word"]
            left = [
                token.text for token in words
                if one is not None and one.known is not None
                and self._of_word(token, one, "")[0] is Action.ALLOWED
            ]  # fmt: skip
            if left:
                kept.append((part, f"/{part.name}={' '.join(left)}"))
        return kept, unknown

    def _text(self, part: SpssPart, command: SpssCommand) -> str:
        """What a subcommand says, without comments, which would end at the end of a line."""
        text = self.notes.text[part.start : part.end]
        if "/*" not in text:
            return text
        inside = [t for t in command.tokens if part.start <= t.start and t.end <= part.end]
        return " ".join(token.text for token in inside)

    def _blocks(
        self,
        command: SpssCommand,
        rule: PackageRule,
        kept: list[tuple[SpssPart, str]],
        length: int,
    ) -> list[_Block] | None:
        """The procedure with its checks, a block a table; None if its variables are not known."""
        name = self.notes.text[command.start : command.tokens[length - 1].end]
        blocks = _GATES[rule.gate](self, name, kept)
        return blocks or None

    def _is_name(self, token: PackageToken) -> bool:
        joint = token.upper in self.words["joints"]
        return token.kind == "word" and not joint and not token.text.startswith("$")

    def _names(self, tokens: Iterable[PackageToken]) -> list[str] | None:
        """Variables in a list, without what stands in parentheses; None if one is not named."""
        names: list[str] = []
        depth = 0
        for token in tokens:
            depth += (token.text == "(") - (token.text == ")")
            if depth or token.text in (")", ",", "*"):
                continue
            if token.upper in ("TO", "ALL") or not (token.kind == "word" or token.text == "="):
                return None
            if token.kind == "word" and token.text not in names:
                names.append(token.text)
        return names

    def _check(self, values: Sequence[str], cells: Sequence[str], *, alone: bool) -> str:
        """The macro that checks groups: one by one if there is a single variable."""
        assert self.split is not None
        every = [*dict.fromkeys([*self.split, *cells])] or ["fire_one"]
        macro = "!fire_groups" if alone and len(every) == 1 else "!fire_table"
        return f"{macro} values={' '.join(values)} / cells={' '.join(every)}."

    def frequencies(self, name: str, kept: list[tuple[SpssPart, str]]) -> list[_Block] | None:
        """Categories of too few are left out, variable by variable; statistics apart."""
        lists = [
            part
            for part, _ in kept
            if part.name in ("MAIN",) or names_spss([part.name], "VARIABLES")
        ]
        names = [one for part in lists for one in self._names(part.tokens) or [""]]
        if not names or "" in names:
            return None
        rest = [(part, text) for part, text in kept if part not in lists]
        statistics = [text for part, text in rest if names_spss([part.name], "STATISTICS")]
        table = not any(t.upper.startswith("NOT") for part, _ in rest for t in part.tokens)
        others = "".join(f" {text}" for part, text in rest if text not in statistics)
        blocks = []
        if table:
            blocks = [
                _Block(
                    checks=(self._check(["fire_one"], [one], alone=True),),
                    text=f"{name} VARIABLES={one}{others}",
                )
                for one in names
            ]
        blocks += [
            _Block(
                checks=(self._check([one], [], alone=False),),
                text=f"{name} VARIABLES={one} /FORMAT=NOTABLE {' '.join(statistics)}",
            )
            for one in names
            if statistics
        ]
        return blocks

    def cells(self, name: str, kept: list[tuple[SpssPart, str]]) -> list[_Block] | None:
        """A table each, if all of its cells are of enough cases."""
        lists = [
            part for part, _ in kept if part.name == "MAIN" or names_spss([part.name], "TABLES")
        ]
        others = "".join(f" {text}" for part, text in kept if part not in lists)
        blocks = []
        for part in lists:
            dimensions = [self._names(item) for item in _split_at(part.tokens, "BY")]
            if any(not item for item in dimensions):
                return None
            tables: list[list[str]] = [[]]
            for dimension in dimensions:
                tables = [[*table, one] for table in tables for one in dimension or ()]
            single = len(lists) == 1 and len(tables) == 1 and part.name == "MAIN"
            for table in tables:
                joined = " BY ".join(table)
                written = f"{name} {joined}" if single else f"{name} /TABLES={joined}"
                check = self._check(["fire_one"], table, alone=False)
                blocks.append(_Block(checks=(check,), text=f"{written}{others}"))
        return blocks

    def table(self, name: str, kept: list[tuple[SpssPart, str]]) -> list[_Block] | None:
        """Custom tables: all of what they cross, in every alternative, is of enough cases."""
        checks = []
        for part, _ in kept:
            if part.name != "MAIN" and names_spss([part.name], "TABLE"):
                crossed: list[list[str]] = [[]]
                for dimension in _split_at(part.tokens, "BY"):
                    try:
                        stacked = _crossings(list(dimension))
                    except (IndexError, ValueError):
                        return None
                    more = [item for item in stacked if item] or [[]]
                    crossed = [[*one, *item] for one in crossed for item in more]
                checks += [self._check(["fire_one"], one, alone=False) for one in crossed if one]
        text = " ".join([name, *(text for _, text in kept)])
        return [_Block(checks=tuple(dict.fromkeys(checks)), text=text)] if checks else None

    def groups(self, name: str, kept: list[tuple[SpssPart, str]]) -> list[_Block] | None:
        """Groups of too few are left out; with several variables all groups, or none."""
        values: list[str] = []
        cells: list[str] = []
        for part, _ in kept:
            if not any(names_spss([part.name], entry) for entry in _VALUES) or part.name == "TEST":
                continue
            first, *rest = _split_at(part.tokens, "BY")
            covariates = [entry for one in rest for entry in _split_at(one, "WITH")[1:]]
            by = [entry for one in rest for entry in _split_at(one, "WITH")[:1]]
            if part.name.startswith("GRO"):
                by, first = [first], ()
            elif rest == []:
                first = tuple(token for token in first if token.upper not in ("WITH", "PAIRED"))
            for into, lists in ((values, [first, *covariates]), (cells, by)):
                for item in lists:
                    if (names := self._names(item)) is None:
                        return None
                    into += names
        if not values:
            return None
        check = (
            self._check(values, cells, alone=True)
            if cells
            else self._check(values, [], alone=False)
        )
        return [_Block(checks=(check,), text=" ".join([name, *(text for _, text in kept)]))]

    def values(self, name: str, kept: list[tuple[SpssPart, str]]) -> list[_Block] | None:
        """Each variable has enough cases; minimum and maximum are not asked for."""
        lists = [
            part for part, _ in kept if part.name == "MAIN" or names_spss([part.name], "VARIABLES")
        ]
        names = [one for part in lists for one in self._names(part.tokens) or [""]]
        if not names or "" in names:
            return None
        texts = [text for _, text in kept]
        if not any(names_spss([part.name], "STATISTICS") for part, _ in kept):
            texts.append("/STATISTICS=MEAN STDDEV")
        check = self._check(names, [], alone=False)
        return [_Block(checks=(check,), text=" ".join([name, *texts]))]

    def model(self, name: str, kept: list[tuple[SpssPart, str]]) -> list[_Block] | None:
        """Enough cases for the parameters, and in each category of a dummy."""
        names: list[str] = []
        for part, _ in kept:
            if not any(names_spss([part.name], item) for item in _VALUES):
                continue
            joints = ("BY", "WITH", "VARIABLES") if part.name == "MAIN" else ("BY", "WITH")
            tokens = [t for t in part.tokens if t.upper not in joints]
            tokens = [t for t in tokens if not any(names_spss([t.upper], m) for m in _METHODS)]
            variables = self._names(tokens)
            if variables is None:
                return None
            names += variables
        if not names or self.split:
            return None
        check = f"!fire_model values={' '.join(dict.fromkeys(names))}."
        return [_Block(checks=(check,), text=" ".join([name, *(text for _, text in kept)]))]

    def _write(self, command: SpssCommand, rule: PackageRule, blocks: Sequence[_Block]) -> None:
        lines: list[str] = []
        for block in blocks:
            # A filter is set aside while its records are counted, since it may lose the others.
            begin = f"!fire_begin filter={self.filter}." if self.filter else "!fire_begin."
            lines += ["FILTER OFF."] * bool(self.filter)
            lines += [begin, *block.checks, "TEMPORARY.", "SELECT IF fire_show."]
            lines += [f"{' '.join(block.text.split()).rstrip(' .')}.", "!fire_end."]
            lines += [f"FILTER BY {self.filter}."] * bool(self.filter)
        after = self.notes.newline.join(lines)
        if not self.notes.notes.last_on_line(command.end):
            after += self.notes.newline
        span = (command.start, command.end)
        reason = rule.reason
        self.notes.notes.replace(span, after, "command", rule.name, Action.WRAPPED, reason)

    def _indent(self, command: SpssCommand) -> None:
        """A line of a command that batch mode would take for another command is moved in."""
        text = self.notes.text[command.start : command.end]
        if (
            command.kind in ("block", "body", "macro")
            or (command.start, command.end) in self.notes.notes.spans
        ):
            return
        for match in _LINE.finditer(text):
            words = [group.upper() for group in match.groups()[1:] if group]
            if any(rule.action is not Action.ALLOWED for rule in self._fitting(words)):
                at = command.start + match.end()
                reason = SAID["runtime"].format(name=words[0])
                self.notes.notes.replace((at, at), " ", "line", words[0], Action.WRAPPED, reason)


_GATES = {
    "frequencies": _SpssWalker.frequencies,
    "cells": _SpssWalker.cells,
    "table": _SpssWalker.table,
    "groups": _SpssWalker.groups,
    "values": _SpssWalker.values,
    "model": _SpssWalker.model,
}


def _split_at(tokens: Sequence[PackageToken], word: str) -> list[Sequence[PackageToken]]:
    """Parts of a list between joints outside of parentheses and brackets."""
    parts: list[list[PackageToken]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "([") - (token.text in ")]")
        if depth == 0 and token.upper == word:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(item) for item in parts]


def _crossings(tokens: list[PackageToken]) -> list[list[str]]:
    """The alternatives of a dimension of a custom table, each with the variables it crosses.

    ``(a + b) > c`` has two: a with c, and b with c. Variables that are summed up are no categories.
    """
    crossings = _stacked(tokens)
    if tokens:
        raise ValueError
    return crossings


def _stacked(tokens: list[PackageToken]) -> list[list[str]]:
    crossings: list[list[str]] = []
    while True:
        crossed = _factor(tokens)
        while tokens and tokens[0].text == ">":
            tokens.pop(0)
            crossed = [[*one, *other] for one in crossed for other in _factor(tokens)]
        crossings += crossed
        if not tokens or tokens[0].text != "+":
            return crossings
        tokens.pop(0)


def _factor(tokens: list[PackageToken]) -> list[list[str]]:
    """One variable with what is in brackets behind it, or alternatives in parentheses."""
    first = tokens.pop(0)
    if first.text == "(":
        crossed = _stacked(tokens)
        if tokens.pop(0).text != ")":
            raise ValueError
    elif first.kind == "word" and first.upper not in ("TO", "ALL"):
        crossed = [[first.text]]
    else:
        raise ValueError
    while tokens and tokens[0].text == "[":
        inside = []
        while (token := tokens.pop(0)).text != "]":
            inside.append(token.upper)
        if inside == ["[", "S"]:
            crossed = [[]]
    return crossed
