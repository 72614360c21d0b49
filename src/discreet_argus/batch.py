"""`Batch`: what a batch file (`.arb`) asks for, as a plan. It runs nothing.

In: a text of commands. Out: files, tables, rules, methods and outputs by name; commands
about windows, solvers and licences mean nothing here; problems are raised together.
SECRET: it holds rules.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from discreet.errors import SuppressionError
from discreet.protection.suppression import Cost
from discreet.rules import PQ, Dominance, MinimumFrequency, Per, PPercent, Rule, ZeroUnsafe
from discreet_argus.texts import (
    ArgusText,
    LineReader,
    open_text,
    parsed_number,
    refuse_lines,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchRule:
    """One rule as written: its name, its numbers, and whose contributions it is about."""

    name: str
    numbers: tuple[float, ...]
    per: Per = "record"

    def rule(self) -> Rule | None:
        """The rule of `discreet.rules`; None for settings and for rules off (all 0)."""
        numbers = self.numbers
        if not any(numbers):
            return None
        if self.name == "P" and len(numbers) < 3:
            return PPercent(numbers[0], n=int(numbers[1]) if len(numbers) > 1 else 1, per=self.per)
        if self.name == "P":
            return PQ(numbers[0], numbers[1], n=int(numbers[2]), per=self.per)
        if self.name == "NK":
            return Dominance(n=int(numbers[0]), k=numbers[1], per=self.per)
        if self.name == "FREQ":
            fewest = int(numbers[0]) if numbers[0].is_integer() else numbers[0]
            return MinimumFrequency(fewest, safety_range=numbers[1], per=self.per)
        if self.name == "ZERO":
            return ZeroUnsafe(numbers[0])
        return None


@dataclass(frozen=True, kw_only=True)
class BatchApriori:
    """A file of marks for a table."""

    path: str
    separator: str
    ignore_errors: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchTable:
    """One table of a batch."""

    variables: tuple[str, ...]  # the spanning variables
    response: str | None  # the value column; None for a frequency table
    shadow: str  # the column that rules look at; that of the value unless named
    cost: Cost  # what hiding a cell costs
    rules: tuple[BatchRule, ...] = ()  # the rules, as written
    apriori: tuple[BatchApriori, ...] = ()  # files of marks
    recodes: tuple[tuple[str, str], ...] = ()  # variable with a file or a level to recode it by

    @property
    def primary_rules(self) -> list[Rule]:
        """The rules for `primary`; settings (MAN, MIS, WGT) and requests are not among them."""
        rules = [rule.rule() for rule in self.rules]
        return [rule for rule in rules if rule is not None]

    def setting(self, name: str, default: float) -> float:
        """The number of a setting: MAN (safety range), MIS, WGT (0 or 1)."""
        for rule in self.rules:
            if rule.name == name and rule.numbers:
                return rule.numbers[0]
        return default

    @property
    def requests(self) -> tuple[BatchRule, ...]:
        """Request rules; they need the records of those who asked."""
        return tuple(rule for rule in self.rules if rule.name == "REQ" and any(rule.numbers))


@dataclass(frozen=True, kw_only=True)
class BatchMethod:
    """A method to be run on a table, from 1; on all tables together if 0."""

    method: str
    table: int
    numbers: tuple[float, ...] = ()

    @property
    def minutes(self) -> float | None:
        """The time limit of modular and optimal."""
        limited = self.method in ("modular", "optimal") and self.numbers
        return self.numbers[0] if limited and self.numbers[0] > 0 else None


@dataclass(frozen=True, kw_only=True)
class BatchOutput:
    """A table to be written."""

    table: int
    form: str
    options: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Content of a batch file."""

    data: str  # the file of records or cells
    of: Literal["records", "cells"]  # which of both it is
    metadata: str  # its description
    tables: tuple[BatchTable, ...]  # the tables; steps number them from 1
    #: For files of cells: "given" (must be additive), "add" or "unchecked"
    totals: Literal["given", "add", "unchecked"] = "given"
    protections: tuple[BatchMethod, ...] = ()  # methods to be run, in their order
    outputs: tuple[BatchOutput, ...] = ()  # files to be written
    #: Where the batch stands; its paths are meant from there
    folder: Path = field(default=Path(), compare=False)

    def file(self, name: str) -> Path:
        """A file of the batch."""
        return self.folder / name.replace("\\", "/")


#: Methods of batches and what they are called here.
_METHODS = {
    "GH": "hypercube",
    "MOD": "modular",
    "OPT": "optimal",
    "NET": "fast",
    "RND": "rounding",
    "CTA": "adjustment",
    "CKM": "cell-key",
}
#: Methods of this part of the package.
_RUN = ("hypercube", "modular", "optimal", "fast")
#: Rules, with the fewest and the most numbers that belong to them.
_RULES = {
    "P": (1, 3),
    "NK": (2, 2),
    "FREQ": (2, 2),
    "REQ": (4, 4),
    "ZERO": (1, 1),
    "MIS": (1, 1),
    "WGT": (1, 1),
    "MAN": (1, 1),
}
_FORMS = {1: "csv", 2: "pivot", 3: "codes", 4: "sbs", 5: "cells", 6: "jj", 7: "cell-key"}
Totals = Literal["given", "add", "unchecked"]
_TOTALS: dict[str, Totals] = {"0": "given", "1": "add", "2": "unchecked"}
_NOT_NEEDED = ("<SOLVER>", "<LOGBOOK>", "<VERSIONINFO>", "<CLEAR>", "<SILENT>", "<GOINTERACTIVE>")
_COSTS = {"": "value", "-1": "count", "-2": "unity", "-3": "distance"}


def read_batch(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> Batch:
    """Read a batch file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "some.arb"
    >>> _ = file.write_text('''<OPENMICRODATA> "firms.asc"
    ... <OPENMETADATA> "firms.rda"
    ... <SPECIFYTABLE> "Size""Region"|"Turnover"||
    ... <SAFETYRULE> P(10,1)|FREQ(3,30)
    ... <READMICRODATA>
    ... <SUPPRESS> MOD(1,5)''')
    >>> plan = read_batch(file)
    >>> plan.tables[0].variables, plan.protections[0].method, plan.protections[0].minutes
    (('Size', 'Region'), 'modular', 5.0)
    """
    text = open_text(path, encoding)
    reader = _BatchReader(text)
    reader.read()
    return reader.finished()


class _BatchReader(LineReader):
    def __init__(self, text: ArgusText) -> None:
        super().__init__(text)
        self.files: dict[str, str] = {}
        self.of: Literal["records", "cells"] = "records"
        self.tables: list[BatchTable] = []
        self.asked = ""
        self.protections: list[BatchMethod] = []
        self.outputs: list[BatchOutput] = []

    def take(self, words: list[str]) -> None:
        command, rest = words[0].upper(), words[1:]
        takers = {
            "<OPENMICRODATA>": self._open,
            "<OPENTABLEDATA>": self._open,
            "<OPENMETADATA>": self._open,
            "<SPECIFYTABLE>": self._table,
            "<SAFETYRULE>": self._rules,
            "<READMICRODATA>": self._read,
            "<READTABLE>": self._read,
            "<RECODE>": self._recode,
            "<APRIORY>": self._apriori,
            "<APRIORI>": self._apriori,
            "<SUPPRESS>": self._suppress,
            "<WRITETABLE>": self._write,
        }
        if command in takers:
            takers[command](command, rest)
        elif command not in _NOT_NEEDED:
            self.wrong(f"unknown command {words[0]}", f"known: {', '.join(takers)}")

    def _open(self, command: str, rest: list[str]) -> None:
        if not rest:
            self.wrong(f"{command} lacks a file")
            return
        if command != "<OPENMETADATA>":
            self.of = "records" if command == "<OPENMICRODATA>" else "cells"
            command = "data"
        if command in self.files:
            self.wrong("a batch needs one data file and one metadata file", "split the batch")
        self.files[command] = rest[0]

    def _table(self, _: str, rest: list[str]) -> None:
        parts = _cut(rest, "|")
        if len(parts) < 2 or not parts[0] or not parts[1]:
            hint = '<SPECIFYTABLE> "Size""Region"|"Turnover"|"Turnover"|"Turnover"'
            self.wrong("a table needs variables and a response", hint)
            return
        response = None if parts[1][0].upper() == "<FREQ>" else parts[1][0]
        shadow = parts[2][0] if len(parts) > 2 and parts[2] else response or ""
        words = [word for word in parts[3] if word != ","] if len(parts) > 3 else []
        name = words[0] if words else ""
        of = "value" if name == response else _COSTS.get(name, name)
        power = parsed_number(words[1]) if len(words) > 1 else 1.0
        if power is None or not 0 <= power <= 4:
            self.wrong("the exponent of costs must be between 0 and 4")
            power = 1.0
        if response is None and of == "value":
            of = "count"
        cost = Cost(of=of, power=power)
        self.tables.append(
            BatchTable(variables=tuple(parts[0]), response=response, shadow=shadow, cost=cost)
        )

    def _rules(self, _: str, rest: list[str]) -> None:
        if not self.tables:
            self.wrong("rules before any table")
            return
        rules: list[BatchRule] = []
        for part in _cut(rest, "|"):
            if not part:
                continue
            name, numbers = part[0].upper(), _arguments(part)
            if name not in _RULES or numbers is None:
                self.wrong(f"rule {part[0]} is unknown or incomplete", ", ".join(_RULES))
                continue
            fewest, most = _RULES[name]
            if not fewest <= len(numbers) <= most:
                wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
                self.wrong(f"rule {name} needs {wanted} numbers")
                continue
            before = sum(rule.name == name for rule in rules)
            per: Per = "holding" if before >= (2 if name in ("P", "NK") else 1) else "record"
            rules.append(BatchRule(name=name, numbers=tuple(numbers), per=per))
            self._check(rules[-1])
        self.tables[-1] = replace(self.tables[-1], rules=tuple(rules))

    def _check(self, rule: BatchRule) -> None:
        """Keep what is wrong with the parameters of a rule; they are not quoted."""
        try:
            rule.rule()
        except SuppressionError as error:
            for problem in error.problems:
                self.wrong(problem.what)

    def _read(self, command: str, rest: list[str]) -> None:
        fits = (command == "<READTABLE>") == (self.of == "cells")
        mode = "".join(rest).upper() or "0"
        if not fits or mode[0] not in "012" or mode[1:] not in ("", "T", "F"):
            self.wrong(f"{command} does not fit the data opened, or its option is not 0, 1 or 2")
            return
        self.asked = mode[0]

    def _recode(self, _: str, rest: list[str]) -> None:
        words = [word for word in rest if word != ","]
        at = self._numbered(words[0] if words else "")
        if at is None or len(words) != 3:
            self.wrong("a recode needs a table, a variable, and a file or level")
            return
        known = self.tables[at]
        self.tables[at] = replace(known, recodes=(*known.recodes, (words[1], words[2])))

    def _apriori(self, _: str, rest: list[str]) -> None:
        parts = _cut(rest, ",")
        words = [part[0] if part else "" for part in parts]
        if len(words) > 2 and not words[2] and len(parts) > 3:
            words = [*words[:2], ",", *words[4:]]
        at = self._numbered(words[1] if len(words) > 1 else "")
        if at is None or len(words) < 3:
            self.wrong("marks need a file, a table and a separator", '"f.hst",1,";"')
            return
        marks = BatchApriori(
            path=words[0],
            separator=words[2],
            ignore_errors=len(words) > 3 and words[3] == "1",
        )
        known = self.tables[at]
        self.tables[at] = replace(known, apriori=(*known.apriori, marks))

    def _suppress(self, _: str, rest: list[str]) -> None:
        method = _METHODS.get(rest[0].upper()) if rest else None
        numbers = _arguments(rest) if rest else None
        if method is None or not numbers:
            known = f"known: {', '.join(_METHODS)}"
            self.wrong("unknown method, or table missing", known)
            return
        if method not in _RUN:
            self.wrong(f"{rest[0]} is not a method of cell suppression")
            return
        table = int(numbers[0])
        if not 0 <= table <= len(self.tables):
            self.wrong(f"table {table} not found")
        self.protections.append(BatchMethod(method=method, table=table, numbers=tuple(numbers[1:])))

    def _write(self, _: str, rest: list[str]) -> None:
        parts = [part[0] if part else "" for part in _cut([w for w in rest if w not in "()"], ",")]
        at = self._numbered(parts[0] if parts else "")
        form = _FORMS.get(int(parts[1])) if len(parts) > 1 and parts[1].isdigit() else None
        if at is None or form is None or len(parts) != 4:
            self.wrong("an output needs a table, a form from 1 to 7, options and a file")
            return
        self.outputs.append(BatchOutput(table=at + 1, form=form, options=parts[2], path=parts[3]))

    def _numbered(self, text: str) -> int | None:
        at = int(text) - 1 if text.isdigit() else -1
        return at if 0 <= at < len(self.tables) else None

    def finished(self) -> Batch:
        self.line = self.text.lines[-1][0]
        for name, command in (("data", "<OPENMICRODATA>"), ("<OPENMETADATA>", "<OPENMETADATA>")):
            if name not in self.files:
                self.wrong(f"{command} is missing")
        if not self.tables:
            self.wrong("no table given", "<SPECIFYTABLE>")
        if not self.asked and not self.problems:
            self.wrong("the batch does not read the data", "<READMICRODATA> or <READTABLE>")
        refuse_lines(self.text, self.problems)
        return Batch(
            data=self.files["data"],
            of=self.of,
            metadata=self.files["<OPENMETADATA>"],
            tables=tuple(self.tables),
            totals=_TOTALS[self.asked],
            protections=tuple(self.protections),
            outputs=tuple(self.outputs),
            folder=self.text.path.parent,
        )


def _cut(words: Sequence[str], sign: str) -> list[list[str]]:
    """The words between signs."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == sign:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _arguments(words: Sequence[str]) -> list[float] | None:
    """The numbers in the parentheses after a name; None if something else stands there."""
    if len(words) < 3 or words[1] != "(" or words[-1] != ")":
        return None
    values = [parsed_number(part[0]) if len(part) == 1 else None for part in _cut(words[2:-1], ",")]
    found = [value for value in values if value is not None]
    return found if len(found) == len(values) else None
