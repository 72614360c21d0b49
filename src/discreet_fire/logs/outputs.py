"""The output of commands, judged: what is known to be safe, what goes, what needs a person.

In: the lines of a log (CONFIDENTIAL). Out: blocks, commands that were echoed together with what
they printed; for each block cuts, lines that are withheld as a whole, and lines that nobody
knows. Messages, paths and a centre's own list are known by their words wherever they stand.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise

from discreet.files import texts_of
from discreet_fire.catalogue import SAFE, commands_where
from discreet_fire.logs.claims import (
    HIDDEN,
    Claim,
    LogCut,
    OutputForms,
    Reader,
    Window,
    behind_blanks,
    is_rule,
    numeric,
)
from discreet_fire.logs.estimates import read_model
from discreet_fire.logs.frequencies import (
    read_correlations,
    read_count,
    read_crosstab,
    read_describe,
    read_group_heading,
    read_merge,
    read_one_way,
    read_reshape,
    read_stset,
)
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules, Message, Replacement
from discreet_fire.logs.safe_outputs import LEGENDS, read_safe
from discreet_fire.logs.statistics import (
    read_codebook,
    read_columns,
    read_compact,
    read_detail,
    read_statistics_down,
    read_xtdescribe,
    read_xtsum,
)
from discreet_fire.logs.summary_tables import (
    read_dtable,
    read_estimates_table,
    read_esttab,
    read_fre,
    read_frequency_table,
    read_utest,
)
from discreet_fire.stata import DoFile, DoStatement, Kind, parse_do
from discreet_fire.statistics import LANGUAGES

_FORM = OutputForms(
    "outputs",
    "prompt numbered mata mata_starts mata_ends qualifier loops quoted rule_start words "
    "record_values row_name legend table_option model_options posting observation_row label "
    "error_code string extreme given figure name display_words numbered_word folders",
)


#: Commands that load data and print their label.
_LOADING = commands_where(lambda row: row.log == "loads")
#: Commands that display results, which may be values of single records.
_OF_RESULTS = commands_where(lambda row: row.log == "results")
#: Commands that print texts which a program or somebody else has written.
_TELLING = frozenset(
    ("char", "ereturn", "error", "estadd", "estpost", "java", "label", "macro", "net", "notes",
     "plugin", "program", "python", "query", "shell", "viewsource", "window", "winexec")
)  # fmt: skip
#: Kinds of output that show results of a model.
_MODELS = frozenset(("model", "coefficients", "models"))
#: Words that print nothing themselves.
_CONTROL = frozenset(("continue", "else", "foreach", "forvalues", "global", "if", "local", "while"))


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
    def telling(self) -> list[bool]:
        """Of each command that may print: whether it can print any text, in any form."""
        return [
            _tells(one, self.own)
            for one in self.statements
            if one.command is not None and one.command.canonical not in _CONTROL
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of the commands, as far as they are known; each once."""
        names = (name for one in self.statements for name in _names(one))
        return tuple(dict.fromkeys(names))


def _tells(statement: DoStatement, own: frozenset[str]) -> bool:
    """Whether a command can print any text: one that nobody knows, or one that displays more than
    the words it was given.
    """
    word = statement.command
    if word is None:
        return False
    if word.canonical is None or word.text in own or word.canonical in _TELLING:
        return True
    if word.canonical in _OF_RESULTS:
        start = word.end - statement.start
        return bool(_FORM.display_words.sub("", statement.text[start:]).strip())
    return any(_tells(reading.statement, own) for reading in statement.readings)


def _names(statement: DoStatement) -> Iterator[str]:
    if statement.command is not None:
        yield statement.command.canonical or statement.command.text
    for reading in statement.readings:
        yield from _names(reading.statement)


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
        block = blocks[-1]
        follows = bool(block.echo) and block.end == at and block.start == at
        text = line.text
        prompt = _FORM.prompt.match(text) or (mata and _FORM.mata.match(text))
        if (prompt and text not in LEGENDS) or (follows and _FORM.numbered.match(text)):
            if not follows:
                block = EchoBlock([], at, at)
                blocks.append(block)
            block.echo.append(at)
            block.start = block.end = at + 1
            mata = (
                not _FORM.mata_ends.match(line.text)
                if mata
                else bool(_FORM.mata_starts.match(line.text))
            )
            block.mata = block.mata or mata
        else:
            block.end = at + 1
    _add_statements(lines, blocks)
    return [block for block in blocks if block.echo or block.end > block.start]


def _program(line: LogLine) -> str:
    """An echoed line as it stood in the program."""
    text = line.text
    prompt = _FORM.prompt.match(text) or _FORM.mata.match(text) or _FORM.numbered.match(text)
    start = prompt.end() if prompt else 0
    places = [start, *(place for place in line.echo_breaks if place > start), len(text)]
    return "\n".join(text[a:b] for a, b in pairwise(places))


def _add_statements(lines: Sequence[LogLine], blocks: list[EchoBlock]) -> None:
    """Parse all commands at once; block by block if together they are not balanced."""
    own = [block for block in blocks if block.echo]
    texts = ["".join(f"{_program(lines[at])}\n" for at in block.echo) for block in own]
    whole = parse_do("".join(texts))
    if whole.findings:
        for block, text in zip(own, texts, strict=True):
            block.statements = _commands(parse_do(text))
    else:
        starts = list(accumulate(map(len, texts), initial=0))
        for statement in _commands(whole):
            own[bisect_right(starts, statement.start) - 1].statements.append(statement)
    defined = frozenset(_defined(own))
    statements = [one for block in own for one in block.statements]
    changes = bool(defined) or any(map(_changes_results, statements))
    posts = any(_FORM.posting.match(one.text) for one in statements)
    for block in own:
        block.own, block.changes, block.posts = defined, changes, posts


def _changes_results(statement: DoStatement) -> bool:
    """Whether a command may make results of models, or change them; nobody knows unknown ones."""
    word = statement.command
    if word is None:
        return False
    known = word.canonical is not None and word.canonical not in ("ereturn", "estpost", "estadd")
    return not known or any(_changes_results(reading.statement) for reading in statement.readings)


def _defined(blocks: Iterable[EchoBlock]) -> Iterator[str]:
    """Names of programs that are defined."""
    for block in blocks:
        for one in block.statements:
            if one.command is not None and one.command.canonical == "program":
                yield from _FORM.name.findall(one.text)


def _commands(program: DoFile) -> list[DoStatement]:
    """Commands, and what can be read as one."""
    return [one for one in program.statements if one.kind is Kind.COMMAND or one.readings]


_DRIVE = r"[A-Za-z]:[\\/]|\\\\[\w.$-]{1,64}\\"
_PATH_END = r"""[^\\/"'`:*?<>|\r\n]{1,80}"""
_LONGEST = 2_000
_FEW_WORDS = 12
_MOST_LINES = 8
_UNRECOGNIZED = (" is unrecognized", "r(199);")


@dataclass(frozen=True)
class Passages:
    """Looks for known passages in lines."""

    rules: CleaningRules  # what to look for

    @cached_property
    def own(self) -> Passages:
        """The passages of the centre's own rules, with paths and secret parameters."""
        package = CleaningRules.default()
        own = tuple(
            message
            for message in self.rules.messages
            if message.everywhere or message not in package.messages
        )
        withheld = self.rules.withheld - package.withheld
        return Passages(replace(self.rules, messages=own, withheld=withheld))

    def in_output(self, text: str, line: int) -> Iterator[LogCut]:
        """Passages in a line of output."""
        if self._near.search(text):
            yield from self._messages(text, line, self.rules.messages)
        yield from self.everywhere(text, line)

    def in_command(self, text: str, line: int) -> Iterator[LogCut]:
        """Passages in an echoed command."""
        if self._near.search(text):
            own = tuple(message for message in self.rules.messages if message.everywhere)
            yield from self._messages(text, line, own)
        yield from self.everywhere(text, line)

    def reviews(self, text: str) -> Iterator[tuple[str, str]]:
        """Names of rules by which a person must look at a line, with the reason."""
        for message in self._reviewing:
            if message.may_be_in(text) and message.find.search(text):
                yield message.name, message.review

    def knows(self, text: str) -> bool:
        """Whether a line consists of known messages and harmless words only."""
        if len(text) > _LONGEST:
            return False
        if self._safe.fullmatch(text) is not None:
            return True
        if not self._near.search(text):
            return False
        some = (message for message in self.rules.messages if message.may_be_in(text))
        spans = [match.span() for message in some for match in message.find.finditer(text)]
        if not spans:
            return False
        told = {at for start, end in spans for at in range(start, end)}
        left = "".join(letter for at, letter in enumerate(text) if at not in told)
        return not _digits(left) and len(left.split()) <= _FEW_WORDS

    @cached_property
    def _near(self) -> re.Pattern[str]:
        """One pattern for the words near any message; it finds the place to start looking."""
        if any(not message.near for message in self.rules.messages):
            return re.compile("")
        words = {word for message in self.rules.messages for word in message.near}
        return re.compile("|".join(map(re.escape, sorted(words))))

    @cached_property
    def _reviewing(self) -> tuple[Message, ...]:
        return tuple(message for message in self.rules.messages if message.review)

    @cached_property
    def _safe(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in self.rules.safe))

    @cached_property
    def _paths(self) -> re.Pattern[str]:
        roots = "|".join(re.escape(root) for root in self.rules.roots)
        return re.compile(
            rf"(?<![\w.])(?P<folder>(?:{_DRIVE}|(?:{roots}))(?:{_PATH_END}[\\/]){{0,30}})"
        )

    def everywhere(self, text: str, line: int) -> Iterator[LogCut]:
        """Texts of the centre's own list, and paths."""
        yield from self.own_texts(text, line)
        if "/" in text or "\\" in text:
            for match in self._paths.finditer(text):
                yield LogCut(line, *match.span("folder"), "path", put="<path>/", align="none")

    def own_texts(self, text: str, line: int) -> Iterator[LogCut]:
        """Texts of the centre's own list."""
        for replacement in self.rules.replacements:
            yield from _replaced(text, line, replacement)

    def _messages(self, text: str, line: int, some: tuple[Message, ...]) -> Iterator[LogCut]:
        for message in some:
            if not (message.put and message.may_be_in(text)):
                continue
            for match in message.find.finditer(text):
                put = self._put(message, match)
                if put is not None and put != match[0]:
                    yield LogCut(line, *match.span(), message.name, put=put, align="none")

    def _put(self, message: Message, found: re.Match[str]) -> str | None:
        """The message without its small numbers; None if it may stay."""
        words = {name: value or "" for name, value in found.groupdict().items()}
        counts = [name for name in words if name[0] == "n" and name[1:].isdecimal() | (name == "n")]
        few = [name for name in counts if self.rules.few(numeric(words[name]))]
        if not few and not message.always:
            return None
        return message.put.format(**(words | dict.fromkeys(few, HIDDEN)))


def _replaced(text: str, line: int, replacement: Replacement) -> Iterator[LogCut]:
    """Every place of a text; not where what is put there contains it and stands already."""
    find, put = replacement.find, replacement.put
    inside = put.find(find)
    at = text.find(find)
    while at >= 0:
        done = inside >= 0 and at >= inside and text.startswith(put, at - inside)
        if not done:
            rule = f"own-list-{replacement.line}"
            yield LogCut(line, at, at + len(find), rule, put=put, align="none")
        at = text.find(find, at + len(find))


def observation_numbers(text: str, line: int) -> Iterator[LogCut]:
    """Numbers of observations in a command: ``in 17``, ``in 5/9``.

    >>> [cut.rule for cut in observation_numbers("replace x = 5 in 17", 0)]
    ['observation-number']
    >>> list(observation_numbers('foreach n in 1 2 { // "in 2010"', 0))
    []
    """
    if " in " not in text or _FORM.loops.search(text):
        return
    strings = [item.span() for item in _FORM.quoted.finditer(text)]
    for match in _FORM.qualifier.finditer(text):
        if not any(start < match.start() < end for start, end in strings):
            yield LogCut(line, *match.span("range"), "observation-number", align="none")


#: What stands in place of output that is withheld as a whole, by language.
WITHHELD = {
    language: texts_of("discreet_fire.logs", "lines", language)["withheld"]
    for language in LANGUAGES
}

#: Readers of output that starts with a drawn line, with a bar, with words.
_BELOW_RULES: tuple[Reader, ...] = (
    read_detail,
    read_codebook,
    read_model,
    read_crosstab,
    read_group_heading,
)
_WITH_BARS: tuple[Reader, ...] = (
    read_one_way,
    read_xtsum,
    read_model,
    read_columns,
    read_statistics_down,
    read_correlations,
    read_crosstab,
)
_WITH_WORDS: tuple[Reader, ...] = (
    read_detail,
    read_xtdescribe,
    read_merge,
    read_describe,
    read_reshape,
    read_model,
    read_statistics_down,
    read_correlations,
    read_group_heading,
    read_compact,
)


#: Readers of tables that only one command prints.
_OF_COMMANDS: dict[str, Reader] = {
    "fre": read_fre,
    "dtable": read_dtable,
    "table": read_frequency_table,
    "estimates": read_estimates_table,
    "stset": read_stset,
    "esttab": read_esttab,
    "estout": read_esttab,
    "utest": read_utest,
}


@dataclass(slots=True)
class BlockJudgement:
    """What becomes of one block."""

    #: Stretches that go; their lines are places in the whole log
    cuts: list[LogCut] = field(default_factory=list)
    #: First and last line of stretches that go as a whole
    withheld: list[tuple[int, int]] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)  # lines that nobody knows
    kinds: list[str] = field(default_factory=list)  # kinds of output that were known
    #: What else a person must look at: a line and why
    reasons: list[tuple[int, str]] = field(default_factory=list)
    #: Lines of tables that are known; no message can stand there
    tabled: set[int] = field(default_factory=set)
    counted: list[int] = field(default_factory=list)  # lines with the single number of ``count``
    cases: list[float] = field(default_factory=list)  # numbers of cases of other output


def judged(lines: Sequence[LogLine], block: EchoBlock, passages: Passages) -> BlockJudgement:
    """Look at the output of a block."""
    found = BlockJudgement()
    names = set(block.names)
    names -= {
        name for one in block.statements for name in _of_own_making(one, changes=block.changes)
    }
    telling = block.telling
    told = _told(lines, block)
    forbidden = names & passages.rules.withheld
    if block.mata or (forbidden and len(names) == 1):
        found.withheld += _whole(lines, block)
        return found
    held: list[LogCut] = []
    # No reader looks at very long lines, for which patterns could take long.
    long = [at for at in range(block.start, block.end) if len(lines[at].text) > _LONGEST]
    long.append(block.end)
    at = block.start
    while at < block.end:
        text = lines[at].text
        window = Window(lines, at, long[bisect_right(long, at)])
        claim = None if text.strip() else Claim(1, "")
        if claim is None:
            claim = _notice(window, passages.rules, block, told) or _claim(window, passages, names)
        if claim is None:
            faked = any(telling) and _digits(text)
            known = is_rule(text) or text in LEGENDS or (passages.knows(text) and not faked)
            if not known and not _is_error(lines, at, block, told):
                found.unknown.append(at)
            at += 1
            continue
        found.cuts += [cut._replace(line=cut.line + at) for cut in claim.cuts]
        held += [cut._replace(line=cut.line + at) for cut in claim.held]
        if claim.kind in ("model", "coefficients"):
            found.cuts += held if claim.gone else []
            held = []
        if claim.kind == "count":
            found.counted.append(at)
        found.cases += [one for one in claim.cases if one is not None]
        if claim.kind:
            found.kinds.append(claim.kind)
            found.tabled.update(
                place for place in range(at, at + claim.count) if "|" in lines[place].text
            )
        if claim.review:
            found.reasons.append((at, claim.review))
        elif claim.kind and any(telling):
            found.reasons.append((at, "output of a command that can print any text"))
        elif claim.kind in _MODELS and block.posts:
            found.reasons.append((at, "results that a program may have made itself"))
        at += max(claim.count, 1)
    _unknown(lines, block, found, withhold=bool(forbidden) or _shows_records(block))
    return found


def checked_block(lines: Sequence[LogLine], block: EchoBlock, passages: Passages) -> BlockJudgement:
    """Output that was checked as it was made: what commands of the centre's own list print goes."""
    found = BlockJudgement()
    if not passages.rules.withheld.isdisjoint(block.names):
        found.withheld += _whole(lines, block)
    return found


def _claim(window: Window, passages: Passages, names: set[str]) -> Claim | None:
    """What a reader says about the first of some lines."""
    text = window[0].text
    if len(text) > _LONGEST:
        return None
    if "count" in names and (claim := read_count(window, passages.rules)) is not None:
        return claim
    for name in sorted(names & _OF_COMMANDS.keys()):
        if (claim := _OF_COMMANDS[name](window, passages.rules)) is not None:
            return claim
    if any(name.startswith(SAFE) for name in names):
        claim = read_safe(window, passages.rules, names)
        if claim is not None:
            return claim
    readers: tuple[Reader, ...] = ()
    if _FORM.rule_start.match(text):
        readers = _BELOW_RULES
    elif "|" in text:
        readers = _WITH_BARS
    elif _FORM.words.search(text):
        readers = _WITH_WORDS
    elif len(window) > 1 and _FORM.rule_start.match(window[1].text):
        readers = (read_detail,)  # the label of a variable stands above the line
    return next(filter(None, (reader(window, passages.rules) for reader in readers)), None)


def _whole(lines: Sequence[LogLine], block: EchoBlock) -> Iterator[tuple[int, int]]:
    places = range(block.start, block.end)
    shown = [at for at in places if lines[at].text.strip() not in ("", *WITHHELD.values())]
    if shown:
        yield shown[0], shown[-1]


def _of_own_making(statement: DoStatement, *, changes: bool) -> Iterator[str]:
    """The command, if by its options or by what came before its table can hold anything."""
    word = statement.command
    if word is not None and word.canonical in _OF_COMMANDS:
        rest = statement.text[word.end - statement.start :]
        if word.canonical in ("table", "dtable"):
            odd = bool(_FORM.table_option.search(rest))
        elif word.canonical in ("esttab", "estout"):
            left = _FORM.model_options.sub("", rest.partition(",")[2])
            odd = changes or bool(left.strip()) or "`" in rest
        else:
            odd = changes and word.canonical == "estimates"
        yield from [word.canonical] if odd else ()
    for reading in statement.readings:
        yield from _of_own_making(reading.statement, changes=changes)


def _shows_records(block: EchoBlock) -> bool:
    """Whether a command displays a result that is the value of a single record."""
    return any(
        one.command is not None
        and one.command.canonical in _OF_RESULTS
        and _FORM.record_values.search(one.text)
        for one in block.statements
    )


def _digits(text: str) -> bool:
    """Whether a text holds a digit, of any script."""
    return any(map(str.isdigit, text))


def _told(lines: Sequence[LogLine], block: EchoBlock) -> frozenset[str]:
    """The words with digits in commands; none if a macro could have brought others."""
    texts = [lines[at].text for at in block.echo]
    if any("`" in text or "$" in text for text in texts):
        return frozenset()
    return frozenset(word for text in texts for word in _numbered(text))


def _numbered(text: str) -> list[str]:
    """The words of a text that hold digits."""
    return _FORM.numbered_word.findall(text)


def _is_error(lines: Sequence[LogLine], at: int, block: EchoBlock, told: frozenset[str]) -> bool:
    """Whether a line is the words of an error: an error number follows, and it holds no figures
    but those of the command; or the number of a command that there is not.
    """
    text = lines[at].text
    if text == _UNRECOGNIZED[1]:
        return at > block.start and lines[at - 1].text.endswith(_UNRECOGNIZED[0])
    if not told.issuperset(_numbered(text)):
        return False
    after = behind_blanks(lines, at + 1)
    return after < block.end and bool(_FORM.error_code.fullmatch(lines[after].text))


def _notice(
    window: Window, rules: CleaningRules, block: EchoBlock, told: frozenset[str]
) -> Claim | None:
    """What a command says that tells nothing, in up to some lines; names of its own making go."""
    names = set(block.names)
    if not names and not block.echo:
        names = {""}
    forms = [one.forms for one in rules.notices if not names.isdisjoint(one.commands)]
    frame, claim = "", None
    for count, line in enumerate(window[:_MOST_LINES] if forms else (), 1):
        if not line.text.strip() or len(frame) + len(line.text) > _LONGEST:
            break
        frame = " ".join(f"{frame} {line.text}".split())
        found = next(filter(None, (form.fullmatch(frame) for some in forms for form in some)), None)
        if found is not None:
            groups = found.groupdict()
            name = _FORM.folders.sub("", groups.get("told") or "")
            few = rules.few(numeric(groups.get("n") or ""))
            whole = few or not told.issuperset(_numbered(name))
            claim = Claim(count, "", _everything(window[:count]) if whole else [])
    return claim


def _everything(lines: Sequence[LogLine]) -> list[LogCut]:
    return [
        LogCut(at, len(line.text) - len(line.text.lstrip()), len(line.text), "name", align="none")
        for at, line in enumerate(lines)
        if line.text.strip() != HIDDEN
    ]


def _unknown(
    lines: Sequence[LogLine], block: EchoBlock, found: BlockJudgement, *, withhold: bool
) -> None:
    """Lines that nobody knows: some go, some were written in the program, others stay."""
    literals = {
        text.strip()
        for one in block.statements
        if one.command is not None and one.command.canonical == "display"
        for text in _FORM.string.findall(one.text)
    }
    loads = bool(_LOADING & set(block.names))
    left: list[int] = []
    for at in found.unknown:
        text = lines[at].text
        if text.strip() in literals:
            continue
        if loads and (label := _FORM.label.fullmatch(text)) is not None:
            if label[1] != HIDDEN:
                found.cuts.append(LogCut(at, *label.span(1), "data-label", align="none"))
            continue
        if withhold or _FORM.observation_row.fullmatch(text):
            found.withheld.append((at, at))
        else:
            left.append(at)
    found.unknown = left
    found.withheld = _joined(found.withheld)
    found.cuts += _below_extremes(lines, left)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of lines that follow each other as one."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and first == joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _below_extremes(lines: Sequence[LogLine], unknown: Sequence[int]) -> Iterator[LogCut]:
    """In tables that nobody knows, figures below the words Min and Max go all the same."""
    heads: list[tuple[int, int]] = []
    before = -2
    for at in unknown:
        text = lines[at].text
        if len(text) > _LONGEST:
            continue
        words = _extremes(text)
        if words:
            heads = words
            words = [word for word in words if word[1] <= _behind_name(text)]
        elif at != before + 1 and (above := _above(lines, at)) is not None:
            heads = above
        for figure in _FORM.figure.finditer(text, _behind_name(text)):
            if (words and figure.start() >= words[0][1]) or (
                not words
                and any(
                    figure.start() < end + 3 and start < figure.end() + 3 for start, end in heads
                )
            ):  # the words name the row
                yield LogCut(at, *figure.span(), "extremes")
        before = at


def _behind_name(text: str) -> int:
    """Where the figures of a row start, behind its name if it has one; of a legend, nowhere."""
    if _FORM.legend.fullmatch(text):
        return len(text)
    match = _FORM.row_name.match(text)
    name = text.partition("|")[0] if "|" in text else match[0] if match else ""
    return len(name) if any(map(str.isalpha, name)) else 0


def _above(lines: Sequence[LogLine], at: int) -> list[tuple[int, int]] | None:
    """The words of extremes in the heading above a line; None if only a rule is between."""
    if is_rule(lines[at - 1].text) and not any(
        _extremes(lines[place].text) for place in range(max(at - 4, 0), at)
    ):
        return None
    for place in range(at - 1, max(at - 5, -1), -1):
        text = lines[place].text
        if not text.strip():
            break
        if words := _extremes(text):
            return words
    return []


def _extremes(text: str) -> list[tuple[int, int]]:
    """Where words such as Min stand in a heading."""
    if len(text) > _LONGEST or _FORM.given.search(text):
        return []
    return [word.span() for word in _FORM.extreme.finditer(text)]
