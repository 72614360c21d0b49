"""The tables of a batch with their sensitive cells. CONFIDENTIAL, rules SECRET.

In: the plan of a batch, its metadata, its records or cells. Out: one table for each that the
batch asks for, recoded, weighted and judged by its rules, those on holdings and requests
among them. What a batch asks for and is not done here is refused at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.classifications import Classification, folded, levels_folded
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.rules import Primary, Request, Rule, count_holdings, count_waivers, primary
from discreet.tables import Table
from discreet.tabulation import tabulate
from discreet_argus.apriori import read_hst
from discreet_argus.batch import Batch, BatchTable
from discreet_argus.cells import read_tab
from discreet_argus.metadata import ArgusMetadata, read_rda, read_records
from discreet_argus.texts import ArgusText, LineProblems, open_text, refuse_lines

if TYPE_CHECKING:
    import polars as pl

    from discreet.classifications import Classification
    from discreet.rules import Waivers

#: Contributions that rules may look at.
_CONTRIBUTIONS = 5
_WRITTEN = ("csv", "pivot", "codes", "sbs", "cells", "jj")


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchCells:
    """A table of a batch with its sensitive cells (confidential)."""

    table: Table
    primary: Primary
    decimals: int


def judged_tables(plan: Batch) -> list[BatchCells]:
    """The tables of a batch with their sensitive cells, or one error with all that is wrong."""
    metadata = read_rda(plan.file(plan.metadata), of=plan.of)
    raise_all(
        SuppressionError, _wrong(plan, metadata), code="batch", many="{} commands are not supported"
    )
    return _of_cells(plan, metadata) if plan.of == "cells" else _of_records(plan, metadata)


def _wrong(plan: Batch, metadata: ArgusMetadata) -> Iterator[Problem]:
    """Everything that is asked for and cannot be done."""
    for number, table in enumerate(plan.tables, 1):
        where = f"table {number}"
        rules = [rule for rule in table.rules if any(rule.numbers)]
        names = {rule.name for rule in rules}
        holdings = any(rule.per == "holding" for rule in rules)
        needs = {
            "holding": (holdings, "rules on holdings", "<HOLDING>"),
            "request": ("REQ" in names, "request rules", "<REQUEST>"),
            "weight": ("WGT" in names, "weights", "<WEIGHT>"),
        }
        for role, (wanted, what, mark) in needs.items():
            if wanted and plan.of == "cells":
                yield Problem(f"{what} are not available for files of cells", where)
            elif wanted and len(metadata.role(role)) != 1:
                hint = f"describe one variable with {mark}"
                yield Problem(f"{what} need a variable, which the metadata lack", where, hint)
        if holdings and "WGT" in names:
            yield Problem("holdings cannot be identified in a weighted table", where)
        if table.recodes and plan.of == "cells":
            yield Problem("files of cells cannot be recoded", where, "recode the records")
        for name, _ in table.recodes:
            if name not in table.variables:
                yield Problem(f"{name!r} is recoded but is not a spanning variable", where)
    protected = {step.table for step in plan.protections}
    for output in plan.outputs:
        if output.form not in _WRITTEN:
            hint = f"forms: {', '.join(_WRITTEN)}"
            yield Problem(f"unsupported form {output.form!r}", output.path, hint)
        if not {0, output.table} & protected:
            hint = f"add <SUPPRESS> MOD({output.table}) before <WRITETABLE>"
            yield Problem("the table is written, but not protected", output.path, hint)
    if any(step.table == 0 for step in plan.protections):
        yield from _wrong_links(plan)
    if plan.of == "cells" and len(plan.tables) != 1:
        yield Problem("a file of cells contains one table", plan.data)


def _wrong_links(plan: Batch) -> Iterator[Problem]:
    """Variables that linked tables group differently: that groups add up would not be known."""
    for variable in dict.fromkeys(name for table in plan.tables for name in table.variables):
        recodes = {
            tuple(text for own, text in table.recodes if own == variable)
            for table in plan.tables
            if variable in table.variables
        }
        grouped = any(
            not text.isdigit() and isinstance(read_grc(plan.file(text)), GroupRecode)
            for each in recodes
            for text in each
        )
        if len(recodes) > 1 and grouped:
            hint = "use one recode for all, or fold a hierarchy (<TREERECODE>, or levels)"
            yield Problem(f"linked tables have different groups of {variable!r}", "recodes", hint)


def _of_cells(plan: Batch, metadata: ArgusMetadata) -> list[BatchCells]:
    """The table of a file of cells: judged by rules, or by its own status without any."""
    table = plan.tables[0]
    again = plan.totals == "add"
    cells = read_tab(plan.file(plan.data), metadata, totals="add" if again else "given")
    names = tuple(dimension.name for dimension in cells.table.dimensions)
    if names != table.variables or table.response != cells.value:
        message = "the batch and the file of cells have different tables"
        hint = f"the file has {', '.join(names)} | {cells.value}"
        raise SuppressionError(message, code="batch", where=plan.data, hint=hint)
    found = cells.primary
    if table.primary_rules or table.apriori or found is None:
        found = _primary(plan, table, cells.table, table.primary_rules)
    return [BatchCells(table=cells.table, primary=found, decimals=cells.decimals)]


def _of_records(plan: Batch, metadata: ArgusMetadata) -> list[BatchCells]:
    frame = _with_answers(read_records(plan.file(plan.data), metadata), metadata)
    judged = []
    for number, asked in enumerate(plan.tables, 1):
        counted = _RecordCounter.of(plan, asked, metadata, frame, f"table-{number}")
        decimals = 0 if asked.response is None else metadata.variable(asked.response).decimals
        table = counted.table()
        rules = [*asked.primary_rules, *counted.requests(metadata)]
        own = {"holdings": counted.holdings(), "waivers": counted.waivers(metadata)}
        found = _primary(plan, asked, table, rules, **own)
        judged.append(BatchCells(table=table, primary=found, decimals=decimals))
    return judged


def _primary(
    plan: Batch, asked: BatchTable, table: Table, rules: Sequence[Rule], **own: Any
) -> Primary:
    marks = [
        replace(
            mark, cells={name: _spelled(table, name, code) for name, code in mark.cells.items()}
        )
        for file in asked.apriori
        for mark in read_hst(plan.file(file.path), asked.variables, separator=file.separator)
    ]
    ignore = any(file.ignore_errors for file in asked.apriori)
    shadow = asked.shadow if asked.shadow not in ("", asked.response) else None
    return primary(
        table,
        rules,
        value=asked.response,
        shadow=shadow if asked.response is not None else None,
        marks=marks,
        manual_range=asked.setting("MAN", 20.0),
        unmatched="ignore" if ignore else "refuse",
        **own,
    )


def _spelled(table: Table, name: str, code: str) -> str:
    """A code as the table spells it: blanks at its ends do not count, unless they tell codes apart.

    Codes of fixed width keep blanks, and people leave them out, or add some in quotes.
    """
    codes = next((own.codes for own in table.dimensions if own.name == name), ())
    alike = [own for own in codes if own.strip() == code.strip()]
    return alike[0] if len(alike) == 1 else code


#: Columns with what records say of requests and consent.
_ASKED, _CONSENT = "_asked_{}", "_consent"


def _with_answers(frame: pl.DataFrame, metadata: ArgusMetadata) -> pl.DataFrame:
    """The records, with whether their owners asked for protection or consented to be shown."""
    import polars as pl

    answers = {}
    for variable in metadata.role("request"):
        for number, code in enumerate(variable.request):
            said = frame[variable.name].str.strip_chars() == code.strip()
            answers[_ASKED.format(number)] = said.fill_null(value=False)
    for variable in metadata.role("waiver")[:1]:
        codes = [code.strip() for code in variable.request]
        answers[_CONSENT] = frame[variable.name].str.strip_chars().is_in(codes)
    return frame.with_columns(pl.Series(name, said) for name, said in answers.items())


@dataclass(frozen=True, kw_only=True, repr=False)
class _RecordCounter:
    """Counts the records of one table of a batch, or some of them (confidential)."""

    frame: pl.DataFrame
    asked: BatchTable
    by: Sequence[Classification]
    values: Sequence[str]
    weight: str | None
    holding: str | None
    name: str

    @classmethod
    def of(
        cls,
        plan: Batch,
        asked: BatchTable,
        metadata: ArgusMetadata,
        frame: pl.DataFrame,
        name: str,
    ) -> _RecordCounter:
        by = []
        for variable in asked.variables:
            texts = [text for own, text in asked.recodes if own == variable]
            frame, tree = recoded(frame, metadata, variable, texts, plan.folder)
            by.append(tree)
        values = (asked.response, asked.shadow, asked.cost.of)
        weighted = bool(asked.setting("WGT", 0))
        known = metadata.role("holding")
        stated = bool(known) and frame[known[0].name].str.strip_chars().ne("").all()
        per_holding = any(rule.per == "holding" for rule in asked.rules if any(rule.numbers))
        return cls(
            frame=frame,
            asked=asked,
            by=by,
            values=list(dict.fromkeys(str(value) for value in values if value in frame.columns)),
            weight=metadata.role("weight")[0].name if weighted else None,
            # Where all are known, the only holding of a cell is somebody who knows it.
            holding=known[0].name if per_holding or stated else None,
            name=name,
        )

    def table(self, where: str | None = None) -> Table:
        """The table of all records, or of some."""
        return tabulate(
            self.frame, self.by, weight=self.weight, where=where, name=self.name, **self._sums
        )

    def holdings(self, having: str | None = None) -> Table | None:
        """The same in holdings, where rules look at them."""
        if self.holding is None:
            return None
        how: dict[str, Any] = {**self._sums, "contributions": _CONTRIBUTIONS, "name": self.name}
        return count_holdings(self.frame, self.by, holding=self.holding, having=having, **how)

    def requests(self, metadata: ArgusMetadata) -> list[Request]:
        """A rule for each code of a request: its share, the fewest contributors, the range."""
        codes = [code for variable in metadata.role("request") for code in variable.request]
        found = []
        for rule in self.asked.requests:
            *shares, minimum, safety_range = rule.numbers
            for number, _ in enumerate(codes[: len(shares)]):
                where = f"{_ASKED.format(number)} == true"
                table = self.table(where) if rule.per == "record" else self.holdings(where)
                assert table is not None  # refused above
                found.append(
                    Request(
                        percent=shares[number],
                        asked=table,
                        minimum=int(minimum),
                        safety_range=safety_range,
                        per=rule.per,
                    )
                )
        return found

    def waivers(self, metadata: ArgusMetadata) -> Waivers | None:
        """Those who have not consented to be shown, where the metadata tell."""
        if not metadata.role("waiver"):
            return None
        how: dict[str, Any] = {**self._sums, "weight": self.weight, "holding": self.holding}
        return count_waivers(
            self.frame, self.by, consent=f"{_CONSENT} == true", name=self.name, **how
        )

    @property
    def _sums(self) -> Mapping[str, Any]:
        return {"values": self.values, "contributions": _CONTRIBUTIONS if self.values else 0}


if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class CodeRange:
    """Codes from one to another, both included; None for no end."""

    low: str | None
    high: str | None

    def holds(self, code: str) -> bool:
        """Whether a code lies in it: by number where all are whole numbers, else by text."""
        bare = code.strip()
        ends = [end for end in (self.low, self.high) if end is not None]
        numbers = all(text.isdecimal() for text in (bare, *ends))
        key: Callable[[str], Any] = int if numbers else str
        low = self.low is None or key(self.low) <= key(bare)
        return bool(low and (self.high is None or key(bare) <= key(self.high)))


@dataclass(frozen=True, kw_only=True)
class GroupRecode:
    """A file of groups: each new code with the codes that become it; new missing codes.

    >>> GroupRecode(groups=(("1", (CodeRange(low="1", high="5"),)),)).code_of(" 3")
    '1'
    """

    groups: tuple[tuple[str, tuple[CodeRange, ...]], ...] = ()
    missing: tuple[str, ...] = ()

    def code_of(self, code: str) -> str:
        """The new code; the old one where no group holds it."""
        found = [new for new, ranges in self.groups if any(item.holds(code) for item in ranges)]
        if len(set(found)) > 1:
            message = f"code {code!r} is in several groups: {', '.join(found)}"
            raise SuppressionError(message, code="recode", hint="use ranges that do not overlap")
        return found[0] if found else code


def read_grc(path: Path) -> GroupRecode | tuple[str, ...]:
    """Read a recode: groups of codes, or the codes whose parts are folded (`<TREERECODE>`)."""
    text = open_text(path, "utf-8")
    if text.lines and text.lines[0][1].strip().upper().startswith("<TREERECODE>"):
        codes = [line.strip().strip('"') for _, line in text.lines[1:]]
        return tuple(code for code in codes if code)
    reader = _RecodeReader(text)
    for line, words in text.lines:
        reader.line = line
        reader.read_line(words)
    if not reader.groups and not reader.problems:
        reader.problems.append(Problem("no group of codes given", str(path), "new:old,old-old"))
    refuse_lines(text, reader.problems)
    return GroupRecode(groups=tuple(reader.groups), missing=tuple(reader.missing))


class _RecodeReader(LineProblems):
    def __init__(self, text: ArgusText) -> None:
        super().__init__(text)
        self.groups: list[tuple[str, tuple[CodeRange, ...]]] = []
        self.missing: list[str] = []

    def read_line(self, line: str) -> None:
        """Take a line: a group, or the new missing codes; lists of labels say nothing here."""
        bare = line.strip()
        if bare.upper().startswith("<MISSING>"):
            self.missing += [word.strip('"') for word in bare.split()[1:]]
        elif bare.startswith("<") or not bare:
            if bare and not bare.upper().startswith("<CODELIST>"):
                self.wrong(f"unknown {bare.split()[0]}", "<MISSING>, <CODELIST>")
        else:
            new, colon, rest = bare.partition(":")
            parts = [part.strip() for part in rest.split(",")]
            if not colon or not new.strip() or not all(parts):
                self.wrong("not a group of codes", "new:old,old-old")
                return
            ranges = []
            for low, dash, high in (part.partition("-") for part in parts):
                first, last = (end.strip().strip('"') or None for end in (low, high))
                ranges.append(CodeRange(low=first, high=last if dash else first))
            self.groups.append((new.strip().strip('"'), tuple(ranges)))


def recoded(
    frame: pl.DataFrame,
    metadata: ArgusMetadata,
    name: str,
    recodes: Sequence[str],
    folder: Path,
) -> tuple[pl.DataFrame, Classification]:
    """The records with the recodes of one variable, and its classification."""
    import polars as pl

    variable = metadata.variable(name)
    tree = metadata.classification(name, frame[name].unique())
    for text in recodes:
        how = int(text) if text.isdigit() else read_grc(folder / text.replace("\\", "/"))
        if isinstance(how, GroupRecode):
            new = {code: how.code_of(code) for code in frame[name].unique().to_list()}
            missing = how.missing or variable.missing
            bare: dict[str, Any] = {"hierarchy": "", "levels": (), "codelist": ""}
            variable = replace(variable, missing=missing, **bare)
            all_ = [variable if item.name == name else item for item in metadata.variables]
            metadata = replace(metadata, variables=tuple(all_))
            tree = metadata.classification(name, new.values())
        elif isinstance(how, int):
            if how < 1:
                message = "a recode must keep at least one level"
                raise SuppressionError(message, code="recode", where=name)
            tree, found = levels_folded(tree, how) if how < tree.depth else (tree, {})
            new = dict(found)
        else:  # blanks around codes do not matter
            spelled = {code.strip(): code for code in tree.codes}
            tree, found = folded(tree, [spelled.get(code, code) for code in how])
            new = dict(found)
        frame = frame.with_columns(pl.col(name).replace(new))
    return frame, tree
