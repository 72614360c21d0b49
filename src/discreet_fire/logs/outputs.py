"""The output of commands of Stata, judged: what is safe, what goes, what needs a person.

In: the lines of a log (CONFIDENTIAL). Out: `EchoBlock`s, commands that were echoed together with
what they printed; for each block cuts, lines that are withheld as a whole, and lines that nobody
knows. Counts that are large enough may tell of a small group together: a loop of counts is a table
without its checks, and two counts that differ by less than the minimum, or a whole and its parts,
give a small group by subtraction; where a number of cases tells, the ``count`` beside it goes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, pairwise, product

from discreet_fire.catalogue import SAFE, Forms, commands_with
from discreet_fire.logs.lines import (
    HIDDEN,
    LONGEST,
    WITHHELD,
    Claim,
    LogCut,
    LogLine,
    behind_blanks,
    has_digits,
    is_rule,
    numeric,
)
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.stata_tables import COMMAND_READERS, LEGENDS, READERS, read_safe
from discreet_fire.stata import DoFile, DoStatement, Kind, parse_do

_BLOCK_FORM = Forms(__package__, "blocks")

#: Commands that display results, which may be values of single records.
OF_RESULTS = commands_with("log", "results")
#: Commands that print texts which a program or somebody else has written.
_TELLING = frozenset(
    ("char", "ereturn", "error", "estadd", "estpost", "java", "label", "macro", "net", "notes",
     "plugin", "program", "python", "query", "shell", "viewsource", "window", "winexec")
)  # fmt: skip
#: Words that print nothing themselves.
_CONTROL = frozenset(("continue", "else", "foreach", "forvalues", "global", "if", "local", "while"))
#: Commands that make results of models, or change them; nobody knows unknown ones.
_OF_MODELS = (None, "ereturn", "estpost", "estadd")


def readings(statement: DoStatement) -> Iterator[DoStatement]:
    """A statement, and what else it can be read as."""
    yield statement
    for reading in statement.readings:
        yield from readings(reading.statement)


@dataclass(slots=True)
class EchoBlock:
    """Commands that were echoed together, and the output below them."""

    echo: list[int]  # places of the lines with commands
    start: int  # place of the first line of output
    end: int  # behind the last line of output
    statements: list[DoStatement] = field(default_factory=list)  # the commands
    mata: bool = False  # whether they belong to Mata
    own: frozenset[str] = frozenset()  # names of programs that the log defines
    changes: bool = False  # whether the log may change results of models, or add some
    posts: bool = False  # whether it makes results that no model gave

    @property
    def telling(self) -> bool:
        """Whether one of the commands can print any text, in any form."""
        return any(
            _tells(one, self.own)
            for one in self.statements
            if one.command is not None and one.command.canonical not in _CONTROL
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of the commands, as far as they are known; each once."""
        some = chain.from_iterable(map(readings, self.statements))
        words = (one.command for one in some if one.command is not None)
        return tuple(dict.fromkeys(word.name for word in words))


def _tells(statement: DoStatement, own: frozenset[str]) -> bool:
    """Whether a command can print any text: one that nobody knows, or one that displays more than
    the words it was given.
    """
    word = statement.command
    if word is None:
        return False
    if word.canonical is None or word.text in own or word.canonical in _TELLING:
        return True
    if word.canonical in OF_RESULTS:
        start = word.end - statement.start
        return bool(_BLOCK_FORM.display_words.sub("", statement.text[start:]).strip())
    return any(_tells(reading.statement, own) for reading in statement.readings)


def blocks_of(lines: Sequence[LogLine]) -> list[EchoBlock]:
    r"""The blocks of a log, in order.

    >>> from discreet_fire.logs.lines import log_lines
    >>> text = ". qui su x\n\n. count if x > 3\n   12\n\n. di 5\n5\n"
    >>> [(block.names, block.start, block.end) for block in blocks_of(log_lines(text, smcl=False))]
    [(('summarize',), 1, 2), (('count',), 3, 5), (('display',), 6, 7)]
    """
    blocks = [EchoBlock([], 0, 0)]
    mata = False
    for at, line in enumerate(lines):
        block, text = blocks[-1], line.text
        follows = bool(block.echo) and block.end == at and block.start == at
        prompt = _BLOCK_FORM.prompt.match(text) or (mata and _BLOCK_FORM.mata.match(text))
        if (prompt and text not in LEGENDS) or (follows and _BLOCK_FORM.numbered.match(text)):
            if not follows:
                block = EchoBlock([], at, at)
                blocks.append(block)
            block.echo.append(at)
            block.start = at + 1
            ended = mata and _BLOCK_FORM.mata_ends.match(text)
            mata = not ended and (mata or bool(_BLOCK_FORM.mata_starts.match(text)))
            block.mata = block.mata or mata
        block.end = at + 1
    _add_statements([block for block in blocks if block.echo], lines)
    return [block for block in blocks if block.echo or block.end > block.start]


def _add_statements(blocks: list[EchoBlock], lines: Sequence[LogLine]) -> None:
    """Parse all commands at once; block by block if together they are not balanced."""
    texts: list[str] = []
    for block in blocks:
        program = ""
        for line in (lines[at] for at in block.echo):
            # As it stood in the program, with the line ends that it had there.
            text, forms = line.text, (_BLOCK_FORM.prompt, _BLOCK_FORM.mata, _BLOCK_FORM.numbered)
            prompt = next(filter(None, (form.match(text) for form in forms)), None)
            start = prompt.end() if prompt else 0
            places = [start, *(place for place in line.echo_breaks if place > start), len(text)]
            program += "\n".join(text[a:b] for a, b in pairwise(places)) + "\n"
        texts.append(program)
    whole = parse_do("".join(texts))
    if whole.findings:
        for block, text in zip(blocks, texts, strict=True):
            block.statements = _commands(parse_do(text))
    else:
        starts = list(accumulate(map(len, texts), initial=0))
        for statement in _commands(whole):
            blocks[bisect_right(starts, statement.start) - 1].statements.append(statement)
    statements = [one for block in blocks for one in block.statements]
    words = [(one.command, one.text) for some in statements for one in readings(some)]
    programs = (text for word, text in words if word is not None and word.canonical == "program")
    defined = frozenset(name for text in programs for name in _BLOCK_FORM.name.findall(text))
    made = any(word is not None and word.canonical in _OF_MODELS for word, _ in words)
    posts = any(_BLOCK_FORM.posting.match(one.text) for one in statements)
    for block in blocks:
        block.own, block.changes, block.posts = defined, bool(defined) or made, posts


def _commands(program: DoFile) -> list[DoStatement]:
    return [one for one in program.statements if one.kind is Kind.COMMAND or one.readings]


_FORM = Forms(__package__, "outputs")

#: Commands that load data and print their label.
_LOADING = commands_with("log", "loads")
#: Kinds of output that show results of a model.
_MODELS = frozenset(("model", "coefficients", "models"))
_MOST_LINES = 8
_LONGEST_OUTPUT = 5_000
_UNRECOGNIZED = (" is unrecognized", "r(199);")


@dataclass(slots=True)
class BlockJudgement:
    """Judgement of one block."""

    #: Stretches that go; their lines are places in the whole log
    cuts: list[LogCut] = field(default_factory=list)
    #: First and last line of stretches that go as a whole
    withheld: list[tuple[int, int]] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)  # lines that nobody knows
    #: What else a person must look at: a line and why
    reasons: list[tuple[int, str]] = field(default_factory=list)
    #: Lines of tables that are known; no message can stand there
    tabled: set[int] = field(default_factory=set)
    counted: list[int] = field(default_factory=list)  # lines with the single number of ``count``
    cases: list[float] = field(default_factory=list)  # numbers of cases of other output


def judged(
    lines: Sequence[LogLine], block: EchoBlock, rules: CleaningRules, *, checked: bool
) -> BlockJudgement:
    """Look at the output of a block; if it was checked as it was made, only what commands of the
    centre's own list print goes.
    """
    if not checked:
        return _BlockReader(lines, block, rules).judged()
    listed = not rules.withheld.isdisjoint(block.names)
    return BlockJudgement(withheld=_whole(lines, block) if listed else [])


def _whole(lines: Sequence[LogLine], block: EchoBlock) -> list[tuple[int, int]]:
    places = range(block.start, block.end)
    shown = [at for at in places if lines[at].text.strip() not in ("", *WITHHELD.values())]
    return [(shown[0], shown[-1])] if shown else []


class _BlockReader:
    """Goes through the output of a block from the top."""

    def __init__(self, lines: Sequence[LogLine], block: EchoBlock, rules: CleaningRules) -> None:
        self.lines, self.block, self.rules = lines, block, rules
        self.names = set(block.names)
        for one in chain.from_iterable(map(readings, block.statements)):
            if one.command is not None and _of_own_making(one, changes=block.changes):
                self.names.discard(one.command.canonical or "")
        # The words with digits in commands; none if a macro could have brought others.
        echoed = " ".join(lines[at].text for at in block.echo)
        macros = "`" in echoed or "$" in echoed
        self.numbered = frozenset() if macros else frozenset(_FORM.numbered_word.findall(echoed))
        named = set(block.names) or ({""} if not block.echo else set())
        notices = [one for one in self.rules.notices if named & {*one.commands}]
        self.notices = [(form, one.plain) for one in notices for form in one.forms]
        own = [COMMAND_READERS[name] for name in sorted(self.names & COMMAND_READERS.keys())]
        if any(name.startswith(SAFE) for name in self.names):
            own.append(partial(read_safe, names=self.names))
        self.readers = (*own, *READERS)
        self.judgement = BlockJudgement()

    def judged(self) -> BlockJudgement:
        lines, block, judgement = self.lines, self.block, self.judgement
        forbidden = self.names & self.rules.withheld
        if block.mata or (forbidden and len(self.names) == 1):
            judgement.withheld += _whole(lines, block)
            return judgement
        telling = block.telling
        cuts: list[LogCut] = []
        # No reader looks at very long lines.
        long = [at for at in range(block.start, block.end) if len(lines[at].text) > LONGEST]
        long.append(block.end)
        at = block.start
        while at < block.end:
            text = lines[at].text
            end = min(long[bisect_right(long, at)], at + _LONGEST_OUTPUT)
            claim = self._claim(lines[at : max(end, at + 1)]) if text.strip() else Claim(1, "")
            if claim is None:
                faked = telling and has_digits(text)
                known = is_rule(text) or text in LEGENDS or (self.rules.knows(text) and not faked)
                judgement.unknown += [] if known or self._is_error(at) else [at]
                at += 1
                continue
            judgement.cuts += [cut._replace(line=cut.line + at) for cut in claim.cuts]
            cuts += [cut._replace(line=cut.line + at) for cut in claim.held]
            if claim.kind in ("model", "coefficients"):
                judgement.cuts += cuts if claim.gone else []
                cuts = []
            judgement.counted += [at] if claim.kind == "count" else []
            judgement.cases += [one for one in claim.cases if one is not None]
            places = range(at, at + claim.count if claim.kind else at)
            judgement.tabled.update(place for place in places if "|" in lines[place].text)
            reason = claim.review
            if not reason and claim.kind and telling:
                reason = "any_text"
            elif not reason and claim.kind in _MODELS and block.posts:
                reason = "posted"
            judgement.reasons += [(at, reason)] if reason else []
            at += max(claim.count, 1)
        # A command may display a result that is the value of a single record.
        shows = any(
            one.command is not None
            and one.command.canonical in OF_RESULTS
            and _FORM.record_values.search(one.text)
            for one in block.statements
        )
        self._look_at_unknown(withhold=bool(forbidden) or shows)
        return judgement

    def _claim(self, window: Sequence[LogLine]) -> Claim | None:
        text = window[0].text
        notice = self._notice(window)
        if notice is not None or len(text) > LONGEST:
            return notice
        if "count" in self.names and (match := _FORM.count.fullmatch(text)) is not None:
            few = self.rules.few(numeric(match["count"]))
            return Claim(1, "count", [LogCut(0, *match.span("count"), "few-cases")] * few)
        return next(filter(None, (reader(window, self.rules) for reader in self.readers)), None)

    def _is_error(self, at: int) -> bool:
        """Whether a line is the words of an error: an error number follows, and it holds no figures
        but those of the command; or the number of a command that there is not.
        """
        text = self.lines[at].text
        if text == _UNRECOGNIZED[1]:
            return at > self.block.start and self.lines[at - 1].text.endswith(_UNRECOGNIZED[0])
        after = behind_blanks(self.lines, at + 1)
        known = self.numbered.issuperset(_FORM.numbered_word.findall(text))
        ends = known and after < self.block.end
        return ends and bool(_FORM.error_code.fullmatch(self.lines[after].text))

    def _notice(self, window: Sequence[LogLine]) -> Claim | None:
        """What a command says that tells nothing, in up to some lines; names it made up go."""
        frame, claim = "", None
        for count, line in enumerate(window[:_MOST_LINES] if self.notices else (), 1):
            if not line.text.strip() or len(frame) + len(line.text) > LONGEST:
                break
            frame = " ".join(f"{frame} {line.text}".split())
            matches = ((form.fullmatch(frame), plain) for form, plain in self.notices)
            match, plain = next((one for one in matches if one[0] is not None), (None, []))
            if match is not None:
                groups = match.groupdict()
                name = _FORM.folders.sub("", groups.get("told") or "")
                for form in plain:
                    name = form.sub(" ", name)
                few = self.rules.few(numeric(groups.get("n") or ""))
                whole = few or not self.numbered.issuperset(_FORM.numbered_word.findall(name))
                texts = enumerate(one.text for one in window[: count if whole else 0])
                cuts = [
                    LogCut(at, len(text) - len(text.lstrip()), len(text), "name", align="none")
                    for at, text in texts
                    if text.strip() != HIDDEN
                ]
                claim = Claim(count, "", cuts)
        return claim

    def _look_at_unknown(self, *, withhold: bool) -> None:
        """Lines that nobody knows: some go, some were written in the program, others stay."""
        block, judgement = self.block, self.judgement
        literals = {
            text.strip()
            for one in block.statements
            if one.command is not None and one.command.canonical == "display"
            for text in _FORM.string.findall(one.text)
        }
        loads = not _LOADING.isdisjoint(block.names)
        left: list[int] = []
        for at in judgement.unknown:
            text = self.lines[at].text
            if text.strip() in literals:
                continue
            label = _FORM.label.fullmatch(text) if loads else None
            if label is not None:
                cut = LogCut(at, *label.span(1), "data-label", align="none")
                judgement.cuts += [cut] if label[1] != HIDDEN else []
            elif not (withhold or _FORM.observation_row.fullmatch(text)):
                left.append(at)
            elif judgement.withheld and at == judgement.withheld[-1][1] + 1:
                judgement.withheld[-1] = judgement.withheld[-1][0], at
            else:
                judgement.withheld.append((at, at))
        judgement.unknown = left
        texts = {at: self.lines[at].text for at in range(block.start, block.end)}
        short = {at: text for at, text in texts.items() if len(text) <= LONGEST}
        # A word such as Min or Max stands somewhere, without a figure behind a sign.
        if any(
            _FORM.extreme.search(text) and not _FORM.given.search(text)
            for at, text in short.items()
            if at not in judgement.tabled
        ):
            for at in (at for at in left if at in short and not _FORM.legend.fullmatch(short[at])):
                # The figures of a row, but those in its name.
                text, row = short[at], _FORM.row_name.match(short[at])
                name = text.partition("|")[0] if "|" in text else row[0] if row else ""
                named = len(name) if any(map(str.isalpha, name)) else 0
                spans = (one.span() for one in _FORM.figure.finditer(text, named))
                judgement.cuts += [LogCut(at, *span, "extremes") for span in spans]


def _of_own_making(statement: DoStatement, *, changes: bool) -> bool:
    """Whether by its options, or by what came before, the table of a command can hold anything."""
    word = statement.command
    rest = statement.text[word.end - statement.start :] if word is not None else ""
    name = word.canonical if word is not None else None
    if name == "table":
        return bool(_FORM.table_option.search(rest))
    if name in ("esttab", "estout"):
        left = _FORM.model_options.sub("", rest.partition(",")[2])
        return changes or bool(left.strip()) or "`" in rest
    return changes and name == "estimates"


#: Commands that leave the data as they are.
_COUNTING = frozenset(("count", "summarize", "tabulate"))
_READING = _COUNTING | {"display"}


def atoms(condition: str) -> frozenset[str]:
    """The single comparisons of a condition, without blanks and brackets around them.

    >>> sorted(atoms("(a == 1) & b==2"))
    ['a==1', 'b==2']
    """
    parts = re.split(r"[&|]", re.sub(r"\s", "", condition))
    return frozenset(part.strip("()") for part in parts if part.strip("()"))


def add_related_counts(
    lines: Sequence[LogLine],
    judgements: Sequence[tuple[EchoBlock, BlockJudgement]],
    rules: CleaningRules,
) -> None:
    """Withhold counts that tell of too few cases together with other counts of a log: those of a
    loop, those that differ by too few, and those of one value of a variable after the other if one
    is too small, or if a shown whole leaves too few for the values that are not shown.
    """
    gone: set[int | None] = set()
    # By figure the lines of ``count`` with what they compare; series of one value after the other.
    counts: dict[float, list[tuple[int | None, dict[tuple[int, str], str]]]] = defaultdict(list)
    series: dict[tuple[tuple[int, str], frozenset[str]], dict[str, tuple[int | None, float]]]
    series, data = defaultdict(dict), 0
    for block, judgement in judgements:
        data += not _READING.issuperset(block.names)
        # The condition; none where several commands have several.
        conditions = {
            match[1]
            if (match := _FORM.behind_if.search(one.text, one.command.end - one.start))
            else ""
            for one in block.statements
            if one.command is not None and one.command.canonical in _COUNTING
        }
        condition = conditions.pop() if len(conditions) == 1 else ""
        whole = atoms(condition)
        if len(judgement.counted) > 1:
            missing = bool(whole) and all(map(_FORM.of_missing.fullmatch, whole))
            gone |= set() if missing else {*judgement.counted}
            continue
        shown: list[tuple[int | None, float]] = [(None, one) for one in judgement.cases]
        for at in judgement.counted:  # what is withheld already was small
            figure = numeric(lines[at].text.strip())
            shown.append((at, 1.0 if figure is None else figure))
        equals = (
            () if _FORM.mixed.search(condition) else filter(None, map(_FORM.equal.fullmatch, whole))
        )
        values = {(data, one[1]): one[2] for one in equals}
        for line, figure in shown:
            counts[figure].append((line, values))
            for key, value in values.items():
                series[key, whole - {f"{key[1]}=={value}"}][value] = line, figure
    figures = sorted(counts)
    for at, figure in enumerate(figures, 1):
        for larger in figures[at:]:
            if not rules.few(larger - figure):
                break
            for (line, one), (below, other) in product(counts[figure], counts[larger]):
                # No record is in both if a variable has another value in each.
                apart = any(other.get(name, value) != value for name, value in one.items())
                gone |= set() if apart else {line, below}
    for parts in (list(some.values()) for some in series.values() if len(some) > 1):
        own = [figure for _, figure in parts]
        if any(map(rules.few, [*own, *(one - sum(own) for one in figures)])):
            gone |= {line for line, _ in parts}
    for _, judgement in judgements:
        for place in filter(gone.__contains__, judgement.counted):
            text = lines[place].text
            if numeric(text.strip()) is not None:
                start = len(text) - len(text.lstrip())
                judgement.cuts.append(LogCut(place, start, len(text.rstrip()), "related-counts"))
