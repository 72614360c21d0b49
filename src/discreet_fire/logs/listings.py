"""Listings of SPSS and SAS, and logs of SAS, taken apart and judged.

In: the lines of a listing (CONFIDENTIAL). Out: blocks with their judgement, as for logs of Stata.
Nothing echoes which command printed what, so a table is known by its title, its headings and its
rows; what a page of SAS holds without the name of a procedure is a list of records and goes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import product, takewhile
from typing import NamedTuple

from discreet_fire.logs.lines import (
    HIDDEN,
    LONGEST,
    WITHHELD,
    FigureRow,
    LogCut,
    LogFigure,
    LogLine,
    behind_blanks,
    is_rule,
    withheld,
)
from discreet_fire.logs.listing_tables import (
    CLOSING,
    FORM,
    MODELS,
    UNKNOWN,
    ProcedureScope,
    TableJudgement,
    TextTable,
    between,
    columned_table,
    counts_by_two,
    drawn,
    figure_text,
    framed_end,
    framed_table,
    is_figure,
    is_framed,
    judged_table,
    opens,
    role_of,
    stretches,
    stub_of,
    writes_commas,
)
from discreet_fire.logs.outputs import BlockJudgement, EchoBlock
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import StatisticsRecord, statistics_claim

_MOST_HEADS = 12
_TEXT = "unknown_text"
_DIGIT = re.compile(r"\d")


class ListingKind(StrEnum):
    """Origin of a listing."""

    SPSS = "spss"
    SAS = "sas"
    SAS_LOG = "sas-log"


def listing_kind(text: str, suffix: str = "") -> ListingKind | None:
    r"""Origin of a listing; None if the text is none, such as a log of Stata.

    >>> listing_kind("  The FREQ Procedure\n"), listing_kind(". count\n  74\n")
    (<ListingKind.SAS: 'sas'>, None)
    """
    if FORM.prompt.search(text) or text.lstrip().startswith("{smcl}"):
        return None
    if any(map(FORM.procedure.fullmatch, text.splitlines())):
        return ListingKind.SAS
    if FORM.sas_note.search(text) and FORM.sas_source.search(text):
        return ListingKind.SAS_LOG
    if FORM.sas_listing.search(text):
        return ListingKind.SAS
    if FORM.spss_frame.search(text):
        return ListingKind.SPSS
    return ListingKind.SAS if suffix.lower() == ".lst" else None


def is_page(text: str) -> bool:
    """Whether a text is a page for browsers, such as ODS HTML makes."""
    return bool(FORM.html_page.search(text[:LONGEST]))


def listing_blocks(
    lines: Sequence[LogLine], kind: ListingKind, rules: CleaningRules
) -> list[tuple[EchoBlock, BlockJudgement]]:
    """The blocks of a listing in order, each judged."""
    return _ListingReader(lines, kind, rules).blocks()


class _ListingReader:
    """Goes through a listing from the top, table after table."""

    def __init__(self, lines: Sequence[LogLine], kind: ListingKind, rules: CleaningRules) -> None:
        self.lines, self.texts = lines, drawn([line.text for line in lines])
        self.pages = {at for at, line in enumerate(lines) if line.text.startswith("\f")}
        self.kind, self.rules = kind, rules
        self.safe = self.rules.safe[len(CleaningRules.default().safe) :]
        self.commas = writes_commas(self.texts)
        self.scope = ProcedureScope(rules)
        self.named = False  # whether the page names its procedure
        self.done: list[tuple[EchoBlock, BlockJudgement]] = []

    def blocks(self) -> list[tuple[EchoBlock, BlockJudgement]]:
        kinds = {ListingKind.SAS: self._sas, ListingKind.SPSS: self._words}
        line, framed = kinds.get(self.kind, self._log_line), self.kind in kinds
        at = 0
        while at < len(self.texts):
            at = self._blank(at) or (framed and self._framed(at)) or line(at)
        self._open(self.scope.line)
        return self.done

    def put(
        self,
        start: int,
        end: int,
        cuts: Sequence[LogCut] = (),
        *,
        review: str = "",
        gone: bool = False,
        echo: bool = False,
    ) -> int:
        block = EchoBlock(list(range(start, end)) if echo else [], end if echo else start, end)
        judged = BlockJudgement(
            cuts=list(cuts),
            withheld=[(start, end - 1)] if gone else [],
            reasons=[(start, review)] if review else [],
            tabled=set(range(start, end) if cuts or gone else ()),
        )
        self.done.append((block, judged))
        return end

    def _blank(self, at: int) -> int:
        text = self.texts[at].strip()
        known = not text or text in WITHHELD.values() or self._is_safe(self.texts[at])
        return self.put(at, at + 1) if known else 0

    def _is_safe(self, text: str) -> bool:
        return len(text) <= LONGEST and any(form.fullmatch(text) for form in self.safe)

    def _open(self, at: int) -> None:
        """Begin with a procedure; what hangs on the one above as a whole: tests and models."""
        cuts, reasons = self.scope.ended()
        if cuts or reasons:
            block = EchoBlock([], self.scope.line, self.scope.line)
            self.done.append((block, BlockJudgement(cuts=cuts, reasons=reasons)))
        self.scope = ProcedureScope(self.rules, at)

    def _title(self, at: int) -> str:
        above = self.texts[at - 1].strip() if at else ""
        if at > 1 and FORM.count_word.fullmatch(above):  # what stands in all cells
            above = f"{self.texts[at - 2].strip()} {above}"
        return "" if is_framed(above) else above

    def _cells(self, at: int) -> list[LogFigure]:
        return stretches(self.texts[at], at, commas=self.commas)

    # Frames ---------------------------------------------------------------------------------------

    def _judge(self, table: TextTable, *, whole: bool = False) -> int:
        if self.kind is ListingKind.SPSS and opens(table, self.scope):
            self._open(table.start)
        judged = judged_table(table, self.scope)
        gone = judged.whole and (whole or table.odd or table.doubtful or not judged.cuts)
        texts = self.texts[table.start : table.end]
        if gone and not any(map(_DIGIT.search, texts)):
            gone = any(HIDDEN not in text for text in texts)
        return self.put(table.start, table.end, judged.cuts, review=judged.review, gone=gone)

    def _box(self, at: int) -> BoxedCounts | None:
        return boxed_counts(self.texts, at, commas=self.commas) if "|" in self.texts[at] else None

    def _framed(self, at: int) -> int:
        if self.kind is ListingKind.SAS and (box := self._box(at)) is not None:
            judged = judged_box(box, self.scope)
            return self.put(at, box.end, judged.cuts, review=judged.review)
        end = framed_end(self.texts, at)
        if end == at:
            return 0
        table = framed_table(self.texts, at, end, self._title(at), commas=self.commas)
        while end + 1 < len(self.texts) and not self.texts[end].strip():
            more = framed_end(self.texts, end + 1)
            part = framed_table(self.texts, end + 1, more, "", commas=self.commas)
            if more == end + 1 or not table.join(part):
                break
            end = more
        if not self.named and self.kind is ListingKind.SAS:
            self._open(at)  # PROC TABULATE names no procedure
        return self._judge(table)

    # SPSS -----------------------------------------------------------------------------------------

    def _words(self, at: int) -> int:
        """A line of SPSS outside of frames; columns without a frame go as a whole."""
        text = self.texts[at]
        if FORM.echo.fullmatch(text) and (len(text.split()) > 1 or "." in text):
            end = at + 1
            while end < len(self.texts) and self.texts[end - 1].strip():
                above, below = self.texts[end - 1].rstrip(), self.texts[end]
                other = "\t" in below.strip() or not any(map(str.isalpha, below))
                if above.endswith(".") or is_framed(below) or other:
                    break
                end += 1
            return self.put(at, end, echo=True)
        if FORM.footnote.fullmatch(text):
            return self._footnote(at)
        if self._is_title(at):
            return self.put(at, at + 1)
        end = at
        while end < len(self.texts) and self._has_columns(end) and not self._is_title(end):
            end += 1
        if end > at:
            self.scope.close("unknown-table")
            return self.put(at, end, gone=True, review=UNKNOWN)
        return self.put(at, at + 1, review=_TEXT if _DIGIT.search(text) else "")

    def _has_columns(self, at: int) -> bool:
        text = self.texts[at]
        if is_framed(text) or not text.strip() or text.strip() in WITHHELD.values():
            return False
        words = [figure_text(word, commas=self.commas) for word in text.split()]
        figures = 2 * sum(word is not None for word in words) >= len(words)
        return figures or "\t" in text.strip() or len(self._cells(at)) > 1 or text.endswith(" ")

    def _is_title(self, at: int) -> bool:
        return at + 1 < len(self.texts) and is_framed(self.texts[at + 1])

    def _footnote(self, at: int) -> int:
        """A footnote; how few cases were expected in a cell of a table that is gone goes too."""
        text = self.texts[at]
        closed = self.scope.closed and FORM.expected_note.fullmatch(text)
        numbers = FORM.figure_in_note.finditer(text) if closed else ()
        cuts = [LogCut(at, *one.span(), "small-cells", align="none") for one in numbers]
        return self.put(at, at + 1, cuts)

    # SAS ------------------------------------------------------------------------------------------

    def _sas(self, at: int) -> int:
        """A line of a SAS listing that starts no frame."""
        text = self.texts[at]
        if FORM.procedure.fullmatch(text):
            self.named = True
            self._open(at)
            return self.put(at, at + 1)
        if self._is_page(at):
            self.named = False
            match = FORM.page.fullmatch(text)
            title = match["title"] or "" if match else FORM.page_number.sub("", text)
            odd = _DIGIT.search(title) and not FORM.system.fullmatch(text)
            return self.put(at, at + 1, review=_TEXT if odd else "")
        if not self.named:
            return self._records(at)
        if group := FORM.group_line.fullmatch(text):
            self._open(at)
        if group or FORM.label_line.fullmatch(text) or FORM.plain_words.fullmatch(text):
            return self.put(at, at + 1)
        if FORM.footnote.fullmatch(text):
            return self._footnote(at)
        counted = FORM.missing_line.fullmatch(text) or FORM.sample_line.fullmatch(text)
        if counted is not None:  # lines such as Frequency Missing = 2
            figure = LogFigure(counted["count"], at, *counted.span("count"))
            few = self.rules.few(figure.value)
            return self.put(at, at + 1, withheld([figure] if few else (), "few-cases", "none"))
        return self._pairs(at) or self._columns(at)

    def _records(self, at: int) -> int:
        """What stands on a page without the name of a procedure, up to the next page or name."""
        end = last = at
        while end < len(self.texts) and not self._heading(end):
            last = end if self.texts[end].strip() else last
            end += 1
        centred = self.texts[at].startswith(" " * 8) and len(self._cells(at)) == 1
        title = last == at and centred and not _DIGIT.search(self.texts[at])
        return self.put(at, last + 1, gone=not title)

    def _is_page(self, at: int) -> bool:
        text = self.texts[at]
        starts = at in self.pages and bool(text.strip())
        return bool(starts or FORM.page.fullmatch(text) or FORM.system.fullmatch(text))

    def _heading(self, at: int) -> bool:
        text = self.texts[at]
        known = FORM.procedure.fullmatch(text) or text.strip() in WITHHELD.values()
        return bool(known or self._is_page(at) or is_framed(text) or self._box(at))

    def _pairs(self, at: int) -> int:
        pairs: list[tuple[str, LogFigure]] = []
        end = at
        while end < len(self.texts) and (some := _pairs_of(self._cells(end))):
            pairs += some
            end = behind_blanks(self.lines, end + 1)
        last = pairs[-1][1].line if pairs else at
        return self.put(at, last + 1, _judged_pairs(pairs, self.scope)) if pairs else 0

    def _columns(self, at: int) -> int:
        """Headings and the rows below them, or a line of words."""
        heads, rows, last = self._gathered(at)
        # The title: the first lines of the headings that are one text each.
        titles = [self._title(at)]
        while len(heads) > 1 and len(self._cells(heads[0])) == 1:
            text = self.texts[heads[0]].strip()
            more = FORM.plain_words.fullmatch(text) or FORM.matrix_title.fullmatch(text)
            if heads[1] == heads[0] + 1 and not more:
                break
            titles.append(text)
            del heads[0]
        title = next((one for one in titles[::-1] if FORM.matrix_title.fullmatch(one)), titles[-1])
        if rows and not heads:
            return self.put(at, last + 1, gone=True, review=UNKNOWN)
        if rows:
            table = columned_table(self.texts, heads, rows, title, commas=self.commas)
            table.start, table.end = at, last + 1
            return self._judge(table, whole=True)
        follows = any(one.strip() in WITHHELD.values() for one in self.texts[at : at + 8])
        boxed = any(map(self._box, range(at + 1, min(at + 4, len(self.texts)))))
        after = behind_blanks(self.lines, at + 1)
        paired = after < len(self.texts) and bool(_pairs_of(self._cells(after)))
        if len(self._cells(at)) > 1 and not (follows or boxed or paired):
            return self.put(at, max(heads, default=at) + 1, gone=True, review=UNKNOWN)
        review = "" if self.rules.counts_only(self.texts[at]) else _TEXT
        return self.put(at, at + 1, review=review)

    def _gathered(self, at: int) -> tuple[list[int], list[int], int]:
        """The lines of headings from one on, the rows below, and the last line of all."""
        heads: list[int] = []
        rows: list[int] = []
        last = at
        for line in range(at, len(self.texts)):
            text = self.texts[line]
            ruled = FORM.ruled.fullmatch(text)
            if not text.strip() or ruled:
                last = line if ruled and (rows or heads) else last
                continue
            if len(heads) > _MOST_HEADS and not rows:
                break
            cells = self._cells(line)
            plain = FORM.plain_heads.fullmatch(" ".join(text.split()))
            is_row = not plain and any(map(is_figure, cells))
            width = len(self._cells(heads[-1])) if heads else 0
            paired = bool(_pairs_of(cells)) and len(cells) != width
            # A line may go on with the label of the row above.
            wraps = line == last + 1 and len(cells) == 1 and len(self._cells(last)) > 1
            if rows and (not is_row or paired) and not wraps:
                break
            named = not is_row and FORM.label_line.fullmatch(text)
            if line > at and (named or self._heading(line)):
                break
            if not rows and heads and (paired or (not is_row and line - heads[-1] > 2)):
                break
            (rows if is_row or rows else heads).append(line)
            last = line
        return heads, rows, last

    # Logs of SAS: program, notes, and what the program wrote ------------------------------------

    def _log_line(self, at: int) -> int:
        text = self.texts[at].replace("\x0c", "")
        if FORM.log_program.fullmatch(text):
            return self.put(at, at + 1, echo=True)
        if (match := FORM.log_symbol.fullmatch(text)) is not None:
            value = LogFigure(match["value"], at, *match.span("value"))
            return self.put(at, at + 1, withheld([value], "macro-value", "none"))
        end = at + 1
        if FORM.log_dump.fullmatch(text):  # the values of a record that a step has shown
            data = text.startswith("RULE:")  # lines of data have numbers like a program
            while end < len(self.texts) and self.texts[end].strip():
                program = not data and FORM.log_program.fullmatch(self.texts[end])
                if program or FORM.log_note_starts.match(self.texts[end]):
                    break
                end += 1
            return self.put(at, end, gone=True)
        note = FORM.log_note.fullmatch(text)
        while note and end < len(self.texts) and self.texts[end].startswith(" " * 6):
            if not self.texts[end].strip() or FORM.log_plain.fullmatch(self.texts[end]):
                break
            end += 1
        frame = " ".join(" ".join(self.texts[at:end]).split()) if end > at + 1 else text
        if end > at + 1 and any(True for _ in self.rules.in_output(frame, at)):
            return self.put(at, end, gone=True)  # a number may be parted from its word
        known = (
            FORM.log_plain.fullmatch(text) or self._is_safe(text) or self.rules.counts_only(frame)
        )
        return self.put(at, end, review="" if known else _TEXT)


def _pairs_of(cells: Sequence[LogFigure]) -> list[tuple[str, LogFigure]]:
    """Words and figures that take turns in a line without headings; none if they do not.

    >>> line = stretches("Root MSE     11.2    R-Square    0.77", 0, commas=False)
    >>> [(words, one.text) for words, one in _pairs_of(line)]
    [('Root MSE', '11.2'), ('R-Square', '0.77')]
    """
    pairs: list[tuple[str, LogFigure]] = []
    at = 0
    while at < len(cells):
        word, plain = cells[at].text, FORM.pair_plain.fullmatch(cells[at].text)
        value = cells[at + 1] if at + 1 < len(cells) else None
        empty = value is None or FORM.pair_plain.fullmatch(value.text)
        known = plain or role_of(word) or FORM.pair_test.fullmatch(word)
        known = known or FORM.pair_count.fullmatch(word)
        if not known or (not plain and (value is None or not is_figure(value))):
            return []
        if value is not None and not (plain and empty):
            pairs.append((word, value))
            at += 1
        at += 1
    return pairs


def _judged_pairs(pairs: Sequence[tuple[str, LogFigure]], scope: ProcedureScope) -> list[LogCut]:
    """Look at words and figures that take turns: numbers of cases, statistics of one variable."""
    rules = scope.rules
    record = StatisticsRecord("")
    cuts: list[LogCut] = []
    for word, figure in pairs:
        role = role_of(word)
        if FORM.pair_count.fullmatch(word):
            cuts += withheld([figure] if rules.few(figure.value) else (), "few-cases")
            if FORM.pair_cases.fullmatch(word):
                scope.count(figure)
        elif FORM.pair_plain.fullmatch(word):
            continue
        elif role is None or role.kind in MODELS:
            scope.hold(figure.line, [figure])
        else:
            record.add(role.kind, role.name, figure)
            if role.kind == "count":
                scope.count(figure)
    # The cases that are there go if they tell that few of them are left out.
    counted = [figure for word, figure in pairs if FORM.pair_count.fullmatch(word)]
    used = [figure for word, figure in pairs if FORM.pair_cases.fullmatch(word)]
    for one, other in product(counted, used):
        if one.value is not None and other.value is not None and one not in used:
            few = rules.few(one.value - other.value)
            cuts += withheld([one] if few else (), "few-cases")
    if not record.kinds:
        return cuts
    if scope.closed:
        return cuts + withheld(record.figures(), scope.closed)
    record.count = scope.cases if record.count is None else record.count
    scope.shared = True
    claim = statistics_claim(0, [record], rules)
    if any(cut.rule in CLOSING for cut in claim.cuts):
        scope.closed = "few-cases"
    return cuts + claim.cuts


class BoxedCounts(NamedTuple):
    """A two-way table of PROC FREQ: what its lines are, headings, and the lines themselves."""

    end: int
    kinds: list[str]
    heads: list[str]
    rows: list[tuple[str, list[LogFigure]]]


def boxed_counts(texts: Sequence[str], start: int, *, commas: bool) -> BoxedCounts | None:
    """The table that starts here: the box that names its lines, rows between rules, totals."""
    head = start
    while head < len(texts) and "|" in texts[head] and not is_rule(texts[head]):
        head += 1
    kinds = [kind for text in texts[start:head] if (kind := text.partition("|")[0].strip())]
    if not kinds or head >= len(texts) or not (is_rule(texts[head]) and "+" in texts[head]):
        return None
    heads = [name for part in texts[head - 1].split("|")[1:] if (name := part.strip())]
    edges = [at for at, letter in enumerate(texts[head]) if letter == "+"]
    rows, end = list[tuple[str, list[LogFigure]]](), head + 1
    for end, text in enumerate(takewhile(str.strip, texts[head + 1 :]), head + 2):
        if not is_rule(text):
            ends = [*edges, max(len(text), edges[-1] + 2)]
            cells = between(text.replace("|", " "), end - 1, ends, commas=commas)
            rows.append((text[: edges[0]].strip(), [one for one in cells if one.text]))
    return BoxedCounts(end, kinds, heads, rows)


def judged_box(box: BoxedCounts, scope: ProcedureScope) -> TableJudgement:
    """Look at a two-way table of PROC FREQ: rows with a label hold counts, others shares."""
    cells = [one for _, shown in box.rows for one in shown]
    rows = [FigureRow(stub_of(label), shown) for label, shown in box.rows if label]
    shares = [one for label, shown in box.rows if not label for one in shown]
    known = all(map(role_of, box.kinds)) and FORM.count_word.fullmatch(box.kinds[0])
    fits = {len(row.figures) for row in rows} == {len(box.heads)} and all(map(is_figure, cells))
    if not known or not cells or not fits:
        return TableJudgement(withheld(cells, "unknown-table"), UNKNOWN)
    return counts_by_two(rows, shares, box.heads[-1] if box.heads else "", scope)
