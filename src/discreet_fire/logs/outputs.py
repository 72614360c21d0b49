"""The output of commands of Stata, judged: what is safe, what goes, what needs a person.

In: blocks of a log (CONFIDENTIAL). Out: for each block cuts, lines that are withheld as a whole,
and lines that nobody knows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from discreet_fire.catalogue import SAFE, commands_with
from discreet_fire.logs.blocks import OF_RESULTS, EchoBlock, readings
from discreet_fire.logs.claims import (
    HIDDEN,
    Claim,
    LogCut,
    OutputForms,
    Reader,
    behind_blanks,
    is_rule,
    numeric,
)
from discreet_fire.logs.estimates import read_estimates_table, read_esttab, read_model
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.passages import LONGEST, WITHHELD, Passages, has_digits
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.safe_outputs import LEGENDS, read_safe
from discreet_fire.logs.stata_tables import COMMAND_READERS, READERS
from discreet_fire.stata import DoStatement

_FORM = OutputForms("outputs")

#: Commands that load data and print their label.
_LOADING = commands_with("log", "loads")
#: Kinds of output that show results of a model.
_MODELS = frozenset(("model", "coefficients", "models"))
_MOST_LINES = 8
_LONGEST_OUTPUT = 5_000
_UNRECOGNIZED = (" is unrecognized", "r(199);")
#: Readers of tables that only one command prints.
_OF_COMMANDS: dict[str, Reader] = {
    **COMMAND_READERS,
    "estimates": read_estimates_table,
    "esttab": read_esttab,
    "estout": read_esttab,
}


@dataclass(slots=True)
class BlockJudgement:
    """What becomes of one block."""

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


def judged(lines: Sequence[LogLine], block: EchoBlock, passages: Passages) -> BlockJudgement:
    """Look at the output of a block."""
    rules, judgement = passages.rules, BlockJudgement()
    names = set(block.names)
    for one in chain.from_iterable(map(readings, block.statements)):
        if one.command is not None and _of_own_making(one, changes=block.changes):
            names.discard(one.command.canonical or "")
    forbidden = names & rules.withheld
    if block.mata or (forbidden and len(names) == 1):
        judgement.withheld += _whole(lines, block)
        return judgement
    telling = block.telling
    # The words with digits in commands; none if a macro could have brought others.
    echoed = " ".join(lines[at].text for at in block.echo)
    macros = "`" in echoed or "$" in echoed
    numbered = frozenset() if macros else frozenset(_FORM.numbered_word.findall(echoed))
    held: list[LogCut] = []
    # No reader looks at very long lines.
    long = [at for at in range(block.start, block.end) if len(lines[at].text) > LONGEST]
    long.append(block.end)
    at = block.start
    while at < block.end:
        text = lines[at].text
        end = min(long[bisect_right(long, at)], at + _LONGEST_OUTPUT)
        window = lines[at : max(end, at + 1)]
        empty = Claim(1, "")
        claim = _claim(window, rules, block, names, numbered) if text.strip() else empty
        if claim is None:
            faked = telling and has_digits(text)
            known = is_rule(text) or text in LEGENDS or (passages.knows(text) and not faked)
            if not known and not _is_error(lines, at, block, numbered):
                judgement.unknown.append(at)
            at += 1
            continue
        judgement.cuts += [cut._replace(line=cut.line + at) for cut in claim.cuts]
        held += [cut._replace(line=cut.line + at) for cut in claim.held]
        if claim.kind in ("model", "coefficients"):
            judgement.cuts += held if claim.gone else []
            held = []
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
    _look_at_unknown(lines, block, judgement, withhold=bool(forbidden) or shows)
    return judgement


def checked_block(lines: Sequence[LogLine], block: EchoBlock, passages: Passages) -> BlockJudgement:
    """Output that was checked as it was made: what commands of the centre's own list print goes."""
    listed = not passages.rules.withheld.isdisjoint(block.names)
    return BlockJudgement(withheld=_whole(lines, block) if listed else [])


def _claim(
    window: Sequence[LogLine],
    rules: CleaningRules,
    block: EchoBlock,
    names: set[str],
    numbered: frozenset[str],
) -> Claim | None:
    notice = _notice(window, rules, block, numbered)
    if notice is not None or len(window[0].text) > LONGEST:
        return notice
    if "count" in names and (match := _FORM.count.fullmatch(window[0].text)) is not None:
        few = rules.few(numeric(match["count"]))
        cuts = [LogCut(0, *match.span("count"), "few-cases")] if few else []
        return Claim(1, "count", cuts)
    own = [_OF_COMMANDS[name] for name in sorted(names & _OF_COMMANDS.keys())]
    if any(name.startswith(SAFE) for name in names):
        own.append(partial(read_safe, names=names))
    claims = (reader(window, rules) for reader in (*own, read_model, *READERS))
    return next(filter(None, claims), None)


def _whole(lines: Sequence[LogLine], block: EchoBlock) -> list[tuple[int, int]]:
    places = range(block.start, block.end)
    shown = [at for at in places if lines[at].text.strip() not in ("", *WITHHELD.values())]
    return [(shown[0], shown[-1])] if shown else []


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


def _is_error(
    lines: Sequence[LogLine], at: int, block: EchoBlock, numbered: frozenset[str]
) -> bool:
    """Whether a line is the words of an error: an error number follows, and it holds no figures
    but those of the command; or the number of a command that there is not.
    """
    text = lines[at].text
    if text == _UNRECOGNIZED[1]:
        return at > block.start and lines[at - 1].text.endswith(_UNRECOGNIZED[0])
    after = behind_blanks(lines, at + 1)
    known = numbered.issuperset(_FORM.numbered_word.findall(text))
    return known and after < block.end and bool(_FORM.error_code.fullmatch(lines[after].text))


def _notice(
    window: Sequence[LogLine], rules: CleaningRules, block: EchoBlock, numbered: frozenset[str]
) -> Claim | None:
    """What a command says that tells nothing, in up to some lines; names of its own making go."""
    names = set(block.names) or ({""} if not block.echo else set())
    notices = [one for one in rules.notices if names & {*one.commands}]
    forms = [(form, one.plain) for one in notices for form in one.forms]
    frame, claim = "", None
    for count, line in enumerate(window[:_MOST_LINES] if forms else (), 1):
        if not line.text.strip() or len(frame) + len(line.text) > LONGEST:
            break
        frame = " ".join(f"{frame} {line.text}".split())
        matches = ((form.fullmatch(frame), plain) for form, plain in forms)
        match, plain = next((one for one in matches if one[0] is not None), (None, []))
        if match is not None:
            groups = match.groupdict()
            name = _FORM.folders.sub("", groups.get("told") or "")
            for form in plain:
                name = form.sub(" ", name)
            few = rules.few(numeric(groups.get("n") or ""))
            whole = few or not numbered.issuperset(_FORM.numbered_word.findall(name))
            texts = enumerate(one.text for one in window[: count if whole else 0])
            cuts = [
                LogCut(at, len(text) - len(text.lstrip()), len(text), "name", align="none")
                for at, text in texts
                if text.strip() != HIDDEN
            ]
            claim = Claim(count, "", cuts)
    return claim


def _look_at_unknown(
    lines: Sequence[LogLine], block: EchoBlock, judgement: BlockJudgement, *, withhold: bool
) -> None:
    """Lines that nobody knows: some go, some were written in the program, others stay."""
    literals = {
        text.strip()
        for one in block.statements
        if one.command is not None and one.command.canonical == "display"
        for text in _FORM.string.findall(one.text)
    }
    loads = not _LOADING.isdisjoint(block.names)
    left: list[int] = []
    for at in judgement.unknown:
        text = lines[at].text
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
    heads = (lines[at].text for at in range(block.start, block.end) if at not in judgement.tabled)
    if any(map(_names_extremes, heads)):
        judgement.cuts += _figures_behind_names([(at, lines[at].text) for at in left])


def _names_extremes(text: str) -> bool:
    """Whether a line holds a word such as Min or Max, but no figure behind a sign."""
    short = len(text) <= LONGEST and not _FORM.given.search(text)
    return short and bool(_FORM.extreme.search(text))


def _figures_behind_names(rows: Sequence[tuple[int, str]]) -> Iterator[LogCut]:
    """The figures of rows, but those in their names; of legends, none."""
    for at, text in rows:
        if len(text) > LONGEST or _FORM.legend.fullmatch(text):
            continue
        row = _FORM.row_name.match(text)
        name = text.partition("|")[0] if "|" in text else row[0] if row else ""
        for figure in _FORM.figure.finditer(text, len(name) if any(map(str.isalpha, name)) else 0):
            yield LogCut(at, *figure.span(), "extremes")
