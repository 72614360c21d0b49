"""SPSS programs rewritten: procedures run on what safe macros let through, others are comments.

In: the text of a program and a policy. Out: a `Rewriting`. A procedure that shows figures of few
cases is preceded by a macro that marks the records it may show; commands that show single records,
lead results elsewhere, or run other programs become comments; what no rule knows goes to review.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from discreet_fire.catalogue import Action, CommandRule, PartRule
from discreet_fire.findings import Severity
from discreet_fire.rewriting.changes import SAID, PackageProgram
from discreet_fire.scripts import (
    PackageToken,
    SpssCommand,
    SpssPart,
    UnnamedVariablesError,
    crossings,
    names_spss,
    one_line,
    parse_spss,
    split_at,
    with_depths,
)

_CHOOSING = ("SELECT IF", "IF", "DO IF", "ELSE IF", "LOOP", "END LOOP", "RECODE", "COUNT")
#: A file of records in the folder, or below.
_RECORDS = re.compile(r"(?!.*\.\.)\w[\w ./\\-]*\.z?sav", re.I)
_BRACKETS = ("([", ")]")
#: Subcommands with what stays of their texts; the checks of a gate with the procedure.
_Kept = list[tuple[SpssPart, str]]
_Block = tuple[list[str], str]
_LINE = re.compile(r"(\r\n|\n|\r)(?=([A-Za-z-]+)(?:[ \t]+([A-Za-z]+))?)")


class _SpssProgram(PackageProgram):
    r"""Judges the commands of a program one by one.

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

    kind = "spss"

    def judge(self) -> None:
        statements = parse_spss(self.text)
        self.rules, self.words = self.policy.rules, self.policy.words
        self.starts: dict[str, list[CommandRule]] = {}
        for rule in self.rules.values():
            self.starts.setdefault(rule.name.split()[0][:3], []).append(rule)
        self.fitting: dict[tuple[str, ...], list[CommandRule]] = {}
        self.macros = frozenset(one.tokens[1].upper for one in statements if one.kind == "macro")
        self.bare = frozenset(name for name in self.macros if not name.startswith("!"))
        #: Whether figures may stand in the place of records.
        self.figures = any(
            _fits(word, name)
            for one in statements for word in one.words(1) for name in self.words["figures"]
            if not any(token.upper == "ADDVARIABLES" for token in one.tokens)
        )  # fmt: skip
        self.temporary = False
        self.split: list[str] | None = []
        self.filter = ""
        self.nested = 0
        for command in statements:
            self.check_reserved(command)
            if command.kind == "macro":
                self._macro(command)
            elif command.kind != "comment":
                self._judge(command)
            self._indent(command)

    def _fitting(self, words: Sequence[str]) -> list[CommandRule]:
        key = tuple(words)
        if key not in self.fitting:
            near = self.starts.get(words[0][:3], ()) if words else ()
            self.fitting[key] = [rule for rule in near if names_spss(words, rule.name)]
        return self.fitting[key]

    def _macro(self, command: SpssCommand) -> None:
        span = (command.start, command.tokens[-1].end)
        name = command.tokens[1].text
        whole = self.text[command.start : command.end]
        if not name.startswith("!"):
            body = re.split(r"!ENDDEFINE", whole[span[1] - span[0] :], flags=re.I)[0]
            if not re.fullmatch(r"\s*(?:'[^']*'|\"[^\"]*\"|[\d.]*)\s*", body):
                self.review("macro", span, name)
            if any(names_spss([name.upper()], full.split()[0]) for full in self.rules):
                self.find("macro", Severity.ERROR, SAID["macro"].format(name=name), span)
        makes = any(word in whole.upper() for word in self.words["texts"])
        if makes and re.search(r"'[^'\r\n]*\.[ \t]|!EVAL|!UNQ", whole.upper()):
            self.review("text", span, name)

    def _judge(self, command: SpssCommand) -> None:
        first, words = command.tokens[0], command.words()
        texts = [token.text for token in command.tokens if token.kind == "text"]
        if any(text.count(text[0]) % 2 for text in texts):
            self.review("unclosed", command, words[0] if words else first.text[:20])
        if command.kind == "block" and words[:2] == ["BEGIN", "DATA"]:
            return
        if first.kind == "macro" or first.upper in self.bare:
            self._call(command)
            return
        fitting = self._fitting(words)
        if not fitting:
            # In a body, a macro may stand for a text.
            if command.kind != "body" or first.kind not in ("text", "number"):
                name = words[0] if words else first.text[:20]
                self.review("unknown", command, name)
            return
        # The strictest of the rules with the longest name.
        length = max(len(rule.name.split()) for rule in fitting)
        longest = [rule for rule in fitting if len(rule.name.split()) == length]
        exact = [rule for rule in longest if rule.name == " ".join(words[:length])]
        rule = max(exact or longest, key=lambda one: one.action.rank)
        if rule.name in ("INCLUDE", "INSERT"):
            self._include(command, rule)
        elif rule.action is Action.REFUSED:
            self._refuse(command, rule)
        elif rule.action is Action.WRAPPED:
            self._gate(command, rule, length)
            self.temporary = False
        else:
            if rule.action is Action.REVIEW and not self._keeps_records(command, rule):
                self.review("reason", command, rule.name, reason=rule.reason)
            self._look(command, rule, length)

    def _keeps_records(self, command: SpssCommand, rule: CommandRule) -> bool:
        """Whether a command saves records in the folder, by a name that stands in the program."""
        if rule.name != "SAVE" or command.kind == "body" or self.figures:
            return False
        named = [token for token in command.tokens if token.kind in ("text", "macro")]
        return len(named) == 1 and _RECORDS.fullmatch(named[0].text.strip("'\"")) is not None

    def _call(self, command: SpssCommand) -> None:
        first = command.tokens[0]
        if first.upper not in self.macros:
            self.review("runtime", command, first.text)
            return
        for at, token in enumerate(command.tokens[1:], 1):
            words = [one.upper for one in command.tokens[at : at + 3] if one.kind == "word"]
            rules = self._fitting(words or [token.upper.strip("'\"")])
            named = token.kind in ("word", "text") and len(token.text) > 2
            if named and any(rule.action is not Action.ALLOWED for rule in rules):
                self.review("text", command, first.text)
                return

    def _include(self, command: SpssCommand, rule: CommandRule) -> None:
        """A program that is run: its rewritten form, if it is there, read as one is typed in."""
        texts = [token for token in command.tokens if token.kind == "text"]
        one = len(texts) == 1 and command.kind != "body"
        name = self.called(rule.name, (texts[0].start, texts[0].end)) if one else None
        if name is None:
            self._refuse(command, rule, "called")
            return
        after = f"INSERT FILE='{name}' SYNTAX=INTERACTIVE."
        self.change("call", command, after, rule)

    def _refuse(
        self, command: SpssCommand, rule: CommandRule, kind: str = "reason", **filled: str
    ) -> None:
        filled = {"reason": rule.reason} if kind == "reason" else filled
        self.say(kind, Action.REFUSED, command, rule.name, **filled)
        text, newline = self.text, self.newline
        after = f"* {self.comment((command.start, command.end), '!')}."
        if command.kind == "body" and text[command.start : command.end].rstrip()[-1:] != ".":
            after += newline
        before = text[: command.start].rstrip(" \t")[-1:]
        if self.lines.place(command.start)[1] > 1 and before not in "\r\n":
            after = newline + after
        if not self.last_on_line(command.end):
            after += newline
        self.change("command", command, after, rule, Action.REFUSED)

    def _look(self, command: SpssCommand, rule: CommandRule, length: int) -> None:
        """What a command that shows nothing by itself may do with values, and its places."""
        name, behind = rule.name, command.tokens[length:]
        if name == "TEMPORARY":
            self.temporary = True
        if name == "SPLIT FILE":
            self._split(command, length)
        if name == "FILTER":
            names = [t for t in behind if t.upper != "BY"]
            plain = command.kind != "body" and len(names) == 1 and self._is_name(names[0])
            self.filter = names[0].text if plain and names[0].upper != "OFF" else ""
        elif name.startswith(("GET", "DATASET", "NEW FILE")):
            self.filter = ""
        if rule.parts is not None:
            worst, part = self._worst(command, rule, length)
            if worst is Action.REFUSED:
                self._refuse(command, rule, "part", part=part)
                return
            if worst is Action.REVIEW:
                self.review("part-unknown", command, name, part=part)
        self.review_network(command, name, command.tokens)
        for kind in self._single_values(command, name):
            self.review(kind, command, name)
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
        numbered = name in _CHOOSING and any(t.upper == "$CASENUM" for t in tokens)
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
            added = (
                any(t.upper == "ADDVARIABLES" for t in tokens)
                and not {*functions} <= self.words["counts"]
            )
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

    def _worst(self, command: SpssCommand, rule: CommandRule, length: int) -> tuple[Action, str]:
        verdicts = [self._of_part(part, rule) for part in command.parts(length)]
        return max(verdicts, key=lambda one: one[0].rank, default=(Action.ALLOWED, ""))

    def _part_rule(self, part: SpssPart, rule: CommandRule) -> PartRule | None:
        """What a rule says of a subcommand; the strictest where several fit."""
        assert rule.parts is not None
        fitting = [one for name, one in rule.parts.items() if _fits(part.name, name)]
        strictest = max(fitting, key=lambda one: (one.action.rank, len(one.refused)), default=None)
        return rule.parts.get(part.name) or strictest

    def _of_part(self, part: SpssPart, rule: CommandRule) -> tuple[Action, str]:
        if (one := self._part_rule(part, rule)) is None:
            return Action.REVIEW, part.name
        words = [token.upper for token in part.tokens if token.kind in ("word", "macro")]
        action, word = one.verdict(words, _fits)
        return action, f"{part.name} {word}".rstrip()

    # ------------------------------------------------------------------ gates

    def _gate(self, command: SpssCommand, rule: CommandRule, length: int) -> None:
        dynamic = any(token.kind == "macro" or token.upper in self.bare for token in command.tokens)
        if dynamic or command.kind == "body":
            self.review("runtime", command, rule.name)
            worst, word = self._worst(command, rule, length)
            if worst is Action.REFUSED:
                self._refuse(command, rule, "part", part=word)
            return
        if self.split is None or self.temporary:
            self._refuse(command, rule, "split" if self.split is None else "temporary")
            return
        parts = [(part, *self._of_part(part, rule)) for part in command.parts(length)]
        for part, action, word in parts:
            if action is Action.REFUSED and part.name in ("MAIN", "TABLE"):
                self._refuse(command, rule, "part", part=word)
                return
        kept: list[tuple[SpssPart, str]] = []
        for part, action, word in parts:
            if action is not Action.REFUSED:
                kept.append((part, self._text(part, command)))
                continue
            self.say("part", Action.REFUSED, command, rule.name, part=word)
            one = self._part_rule(part, rule)
            if one is not None and one.known is not None:
                words = [token for token in part.tokens if token.kind == "word"]
                left = [t.text for t in words if one.verdict([t.upper], _fits)[0] is Action.ALLOWED]
                if left:
                    kept.append((part, f"/{part.name}={' '.join(left)}"))
        for _, action, word in parts:
            if action is Action.REVIEW:
                self.review("part-unknown", command, rule.name, part=word)
        name = self.text[command.start : command.tokens[length - 1].end]
        blocks: list[_Block] = []
        with suppress(UnnamedVariablesError):
            blocks = getattr(self, rule.gate)(name, kept)
        if blocks:
            self._write(command, rule, blocks)
        else:
            self._refuse(command, rule, "list")

    def _text(self, part: SpssPart, command: SpssCommand) -> str:
        """What a subcommand says, without comments, which would end at the end of a line."""
        text = self.text[part.start : part.end]
        if "/*" not in text:
            return text
        inside = [t for t in command.tokens if part.start <= t.start and t.end <= part.end]
        return " ".join(token.text for token in inside)

    def _is_name(self, token: PackageToken) -> bool:
        joint = token.upper in self.words["joints"]
        return token.kind == "word" and not joint and not token.text.startswith("$")

    def _names(self, tokens: Iterable[PackageToken]) -> list[str]:
        """Variables in a list, without what stands in parentheses."""
        names: dict[str, None] = {}
        for token, depth in with_depths(tokens):
            if depth or token.text in (")", ",", "*", "="):
                continue
            if token.upper in ("TO", "ALL") or token.kind != "word":
                raise UnnamedVariablesError
            names[token.text] = None
        return [*names]

    def _listed(self, lists: Sequence[SpssPart]) -> list[str]:
        """Variables in all of some lists, each of which has some."""
        names = [self._names(part.tokens) for part in lists]
        if not names or not all(names):
            raise UnnamedVariablesError
        return [*itertools.chain(*names)]

    def _check(self, values: Sequence[str], cells: Sequence[str], *, alone: bool = False) -> str:
        """The macro that checks groups: one by one if there is a single variable."""
        every = [*dict.fromkeys([*(self.split or ()), *cells])] or ["fire_one"]
        macro = "!fire_groups" if alone and len(every) == 1 else "!fire_table"
        return f"{macro} values={' '.join(values)} / cells={' '.join(every)}."

    def frequencies(self, name: str, kept: _Kept) -> list[_Block]:
        """Categories of too few are left out, variable by variable; statistics apart."""
        lists = _lists(kept, "VARIABLES")
        names = self._listed(lists)
        rest = [(part, text) for part, text in kept if part not in lists]
        statistics = [text for part, text in rest if _fits(part.name, "STATISTICS")]
        others = "".join(f" {text}" for _, text in rest if text not in statistics)
        shown = f"/FORMAT=NOTABLE {' '.join(statistics)}"
        blocks: list[_Block] = []
        if not any(t.upper.startswith("NOT") for part, _ in rest for t in part.tokens):
            checks = [(self._check(["fire_one"], [one], alone=True), one) for one in names]
            blocks += [([check], f"{name} VARIABLES={one}{others}") for check, one in checks]
        if statistics:
            checks = [(self._check([one], []), one) for one in names]
            blocks += [([check], f"{name} VARIABLES={one} {shown}") for check, one in checks]
        return blocks

    def cells(self, name: str, kept: _Kept) -> list[_Block]:
        """A table each, if all of its cells are of enough cases."""
        lists = _lists(kept, "TABLES")
        others = "".join(f" {text}" for part, text in kept if part not in lists)
        blocks: list[_Block] = []
        for part in lists:
            dimensions = [self._names(item) for item in split_at(part.tokens, "BY", *_BRACKETS)]
            if not all(dimensions):
                raise UnnamedVariablesError
            tables = list(itertools.product(*dimensions))
            single = len(lists) == len(tables) == 1 and part.name == "MAIN"
            for table in tables:
                text = f"{name} {'' if single else '/TABLES='}{' BY '.join(table)}{others}"
                blocks.append(([self._check(["fire_one"], table)], text))
        return blocks

    def table(self, name: str, kept: _Kept) -> list[_Block]:
        """Custom tables: all of what they cross, in every alternative, is of enough cases."""
        checks: dict[str, None] = {}
        for part, _ in kept:
            if part.name == "MAIN" or not _fits(part.name, "TABLE"):
                continue
            stacked = [
                crossings(item, ">", "+") if item else []
                for item in split_at(part.tokens, "BY", *_BRACKETS)
            ]
            alternatives = [[item for item in one if item] or [[]] for one in stacked]
            for crossed in itertools.product(*alternatives):
                if cells := [*itertools.chain(*crossed)]:
                    checks[self._check(["fire_one"], cells)] = None
        return [([*checks], _whole(name, kept))] if checks else []

    def groups(self, name: str, kept: _Kept) -> list[_Block]:
        """Groups of too few are left out; with several variables all groups, or none."""
        values: list[str] = []
        cells: list[str] = []
        for part, _ in kept:
            if part.name == "TEST" or not self._holds_variables(part):
                continue
            first, *rest = split_at(part.tokens, "BY", *_BRACKETS)
            behind = [split_at(one, "WITH", *_BRACKETS) for one in rest]
            by = [one[0] for one in behind]
            covariates = [item for one in behind for item in one[1:]]
            if part.name.startswith("GRO"):
                by, first = [first], []
            elif not rest:
                first = [token for token in first if token.upper not in ("WITH", "PAIRED")]
            values += itertools.chain(*map(self._names, [first, *covariates]))
            cells += itertools.chain(*map(self._names, by))
        check = self._check(values, cells, alone=bool(cells))
        return [([check], _whole(name, kept))] if values else []

    def values(self, name: str, kept: _Kept) -> list[_Block]:
        """Each variable has enough cases; minimum and maximum are not asked for."""
        names = self._listed(_lists(kept, "VARIABLES"))
        asks = any(_fits(part.name, "STATISTICS") for part, _ in kept)
        text = _whole(name, kept) + ("" if asks else " /STATISTICS=MEAN STDDEV")
        return [([self._check(names, [])], text)]

    def model(self, name: str, kept: _Kept) -> list[_Block]:
        """Enough cases for the parameters, and in each category of a dummy."""
        names: dict[str, None] = {}
        for part in (part for part, _ in kept if self._holds_variables(part)):
            joints = ("BY", "WITH", "VARIABLES") if part.name == "MAIN" else ("BY", "WITH")
            names |= dict.fromkeys(self._names(
                t for t in part.tokens if t.upper not in joints
                and not any(_fits(t.upper, method) for method in self.words["methods"])
            ))  # fmt: skip
        check = f"!fire_model values={' '.join(names)}."
        return [([check], _whole(name, kept))] if names and not self.split else []

    def _holds_variables(self, part: SpssPart) -> bool:
        return any(_fits(part.name, entry) for entry in self.words["variables"])

    def _write(self, command: SpssCommand, rule: CommandRule, blocks: Sequence[_Block]) -> None:
        lines: list[str] = []
        for checks, text in blocks:
            # A filter is set aside while its records are counted, since it may lose the others.
            begin = f"!fire_begin filter={self.filter}." if self.filter else "!fire_begin."
            lines += ["FILTER OFF."] * bool(self.filter)
            lines += [begin, *checks, "TEMPORARY.", "SELECT IF fire_show."]
            lines += [f"{one_line(text).rstrip(' .')}.", "!fire_end."]
            lines += [f"FILTER BY {self.filter}."] * bool(self.filter)
        after = self.newline.join(lines)
        if not self.last_on_line(command.end):
            after += self.newline
        self.change("command", command, after, rule)

    def _indent(self, command: SpssCommand) -> None:
        """A line of a command that batch mode would take for another command is moved in."""
        changed = (command.start, command.end) in self.spans
        if command.kind in ("block", "body", "macro") or changed:
            return
        for match in _LINE.finditer(self.text[command.start : command.end]):
            words = [group.upper() for group in match.groups()[1:] if group]
            if any(rule.action is not Action.ALLOWED for rule in self._fitting(words)):
                at = command.start + match.end()
                reason = SAID["runtime"].format(name=words[0])
                self.replace((at, at), " ", "line", words[0], Action.WRAPPED, reason)


def _fits(word: str, name: str) -> bool:
    return names_spss([word], name)


def _lists(kept: _Kept, name: str) -> list[SpssPart]:
    return [one for one, _ in kept if one.name == "MAIN" or _fits(one.name, name)]


def _whole(name: str, kept: _Kept) -> str:
    return " ".join([name, *(text for _, text in kept)])


rewrite_spss = _SpssProgram.rewrite
