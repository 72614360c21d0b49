"""The output of commands, judged: what is known to be safe, what goes, what needs a person.

In: the lines of a log (CONFIDENTIAL). Out: blocks, commands that were echoed together with what
they printed; for each block cuts, lines that are withheld as a whole, and lines that nobody
knows. Messages, paths and a centre's own list are known by their words wherever they stand.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, chain, pairwise

from discreet.files import texts_of
from discreet_fire.catalogue import SAFE, commands_with
from discreet_fire.logs.claims import (
    HIDDEN,
    Claim,
    LogCut,
    LogFigure,
    OutputForms,
    Reader,
    Window,
    behind_blanks,
    is_rule,
    numeric,
    withheld,
)
from discreet_fire.logs.estimates import read_estimates_table, read_esttab, read_model
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules, Message
from discreet_fire.logs.safe_outputs import LEGENDS, read_safe
from discreet_fire.logs.stata_tables import COMMAND_READERS, READERS
from discreet_fire.stata import DoFile, DoStatement, Kind, parse_do
from discreet_fire.statistics import LANGUAGES

_FORM = OutputForms("outputs")

#: Commands that load data and print their label.
_LOADING = commands_with("log", "loads")
#: Commands that display results, which may be values of single records.
_OF_RESULTS = commands_with("log", "results")
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
    def telling(self) -> bool:
        """Whether one of the commands can print any text, in any form."""
        printing = (
            one
            for one in self.statements
            if one.command is not None and one.command.canonical not in _CONTROL
        )
        return any(_tells(one, self.own) for one in printing)

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of the commands, as far as they are known; each once."""
        some = chain.from_iterable(map(_readings, self.statements))
        words = (one.command for one in some if one.command is not None)
        return tuple(dict.fromkeys(word.canonical or word.text for word in words))


def _readings(statement: DoStatement) -> Iterator[DoStatement]:
    """A statement, and what else it can be read as."""
    yield statement
    for reading in statement.readings:
        yield from _readings(reading.statement)


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
            ended = mata and _FORM.mata_ends.match(text)
            mata = not ended and (mata or bool(_FORM.mata_starts.match(text)))
            block.mata = block.mata or mata
        else:
            block.end = at + 1
    _add_statements(lines, blocks)
    return [block for block in blocks if block.echo or block.end > block.start]


def _add_statements(lines: Sequence[LogLine], blocks: list[EchoBlock]) -> None:
    """Parse all commands at once; block by block if together they are not balanced."""
    own = [block for block in blocks if block.echo]
    texts: list[str] = []
    for block in own:
        program = ""
        for line in (lines[at] for at in block.echo):
            # As it stood in the program, with the line ends that it had there.
            text, forms = line.text, (_FORM.prompt, _FORM.mata, _FORM.numbered)
            prompt = next(filter(None, (form.match(text) for form in forms)), None)
            start = prompt.end() if prompt else 0
            places = [start, *(place for place in line.echo_breaks if place > start), len(text)]
            program += "\n".join(text[a:b] for a, b in pairwise(places)) + "\n"
        texts.append(program)
    whole = parse_do("".join(texts))
    if whole.findings:
        for block, text in zip(own, texts, strict=True):
            block.statements = _commands(parse_do(text))
    else:
        starts = list(accumulate(map(len, texts), initial=0))
        for statement in _commands(whole):
            own[bisect_right(starts, statement.start) - 1].statements.append(statement)
    statements = [one for block in own for one in block.statements]
    programs = (one for one in statements if one.command and one.command.canonical == "program")
    defined = frozenset(name for one in programs for name in _FORM.name.findall(one.text))
    changes = bool(defined) or any(map(_changes_results, statements))
    posts = any(_FORM.posting.match(one.text) for one in statements)
    for block in own:
        block.own, block.changes, block.posts = defined, changes, posts


def _changes_results(statement: DoStatement) -> bool:
    """Whether a command may make results of models, or change them; nobody knows unknown ones."""
    word = statement.command
    made = word is not None and word.canonical in (None, "ereturn", "estpost", "estadd")
    readings = statement.readings if word is not None else ()
    return made or any(_changes_results(reading.statement) for reading in readings)


def _commands(program: DoFile) -> list[DoStatement]:
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
        known = {at for start, end in spans for at in range(start, end)}
        left = "".join(letter for at, letter in enumerate(text) if at not in known)
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
        """Texts of the centre's own list; not where what is put contains it and stands already."""
        for replacement in self.rules.replacements:
            find, put = replacement.find, replacement.put
            inside, at = put.find(find), text.find(find)
            while at >= 0:
                if not 0 <= inside <= at or not text.startswith(put, at - inside):
                    rule = f"own-list-{replacement.line}"
                    yield LogCut(line, at, at + len(find), rule, put=put, align="none")
                at = text.find(find, at + len(find))

    def _messages(self, text: str, line: int, some: tuple[Message, ...]) -> Iterator[LogCut]:
        for message in some:
            if not (message.put and message.may_be_in(text)):
                continue
            for match in message.find.finditer(text):
                words = {name: value or "" for name, value in match.groupdict().items()}
                counts = [name for name in words if re.fullmatch(r"n\d*", name)]
                few = [name for name in counts if self.rules.few(numeric(words[name]))]
                put = message.put.format(**(words | dict.fromkeys(few, HIDDEN)))
                if (few or message.always) and put != match[0]:
                    yield LogCut(line, *match.span(), message.name, put=put, align="none")


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
    for one in chain.from_iterable(map(_readings, block.statements)):
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
    # No reader looks at very long lines, for which patterns could take long.
    long = [at for at in range(block.start, block.end) if len(lines[at].text) > _LONGEST]
    long.append(block.end)
    at = block.start
    while at < block.end:
        text = lines[at].text
        window = Window(lines, at, long[bisect_right(long, at)])
        claim = _claim(window, rules, block, names, numbered) if text.strip() else Claim(1, "")
        if claim is None:
            faked = telling and _digits(text)
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
            reason = "output of a command that can print any text"
        elif not reason and claim.kind in _MODELS and block.posts:
            reason = "results that a program may have made itself"
        judgement.reasons += [(at, reason)] if reason else []
        at += max(claim.count, 1)
    # A command may display a result that is the value of a single record.
    shows = any(
        one.command is not None
        and one.command.canonical in _OF_RESULTS
        and _FORM.record_values.search(one.text)
        for one in block.statements
    )
    _unknown(lines, block, judgement, withhold=bool(forbidden) or shows)
    return judgement


def checked_block(lines: Sequence[LogLine], block: EchoBlock, passages: Passages) -> BlockJudgement:
    """Output that was checked as it was made: what commands of the centre's own list print goes."""
    listed = not passages.rules.withheld.isdisjoint(block.names)
    return BlockJudgement(withheld=_whole(lines, block) if listed else [])


def _claim(
    window: Window,
    rules: CleaningRules,
    block: EchoBlock,
    names: set[str],
    numbered: frozenset[str],
) -> Claim | None:
    notice = _notice(window, rules, block, numbered)
    if notice is not None or len(window[0].text) > _LONGEST:
        return notice
    if "count" in names and (match := _FORM.count.fullmatch(window[0].text)) is not None:
        few = rules.few(numeric(match["count"]))
        cuts = [LogCut(0, *match.span("count"), "few-cases")] if few else []
        return Claim(1, "count", cuts)
    readers: list[Reader] = []
    readers += [_OF_COMMANDS[name] for name in sorted(names & _OF_COMMANDS.keys())]
    if any(name.startswith(SAFE) for name in names):
        readers.append(partial(read_safe, names=names))
    claims = (reader(window, rules) for reader in (*readers, read_model, *READERS))
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
    if name in ("table", "dtable"):
        return bool(_FORM.table_option.search(rest))
    if name in ("esttab", "estout"):
        left = _FORM.model_options.sub("", rest.partition(",")[2])
        return changes or bool(left.strip()) or "`" in rest
    return changes and name == "estimates"


def _digits(text: str) -> bool:
    """Whether a text holds a digit, of any script."""
    return any(map(str.isdigit, text))


def _is_error(
    lines: Sequence[LogLine], at: int, block: EchoBlock, numbered: frozenset[str]
) -> bool:
    """Whether a line is the words of an error: an error number follows, and it holds no figures
    but those of the command; or the number of a command that there is not.
    """
    text = lines[at].text
    if text == _UNRECOGNIZED[1]:
        return at > block.start and lines[at - 1].text.endswith(_UNRECOGNIZED[0])
    if not numbered.issuperset(_FORM.numbered_word.findall(text)):
        return False
    after = behind_blanks(lines, at + 1)
    return after < block.end and bool(_FORM.error_code.fullmatch(lines[after].text))


def _notice(
    window: Window, rules: CleaningRules, block: EchoBlock, numbered: frozenset[str]
) -> Claim | None:
    """What a command says that tells nothing, in up to some lines; names of its own making go."""
    names = set(block.names)
    if not names and not block.echo:
        names = {""}
    notices = [one for one in rules.notices if names & {*one.commands}]
    forms = [(form, one.plain) for one in notices for form in one.forms]
    frame, claim = "", None
    for count, line in enumerate(window[:_MOST_LINES] if forms else (), 1):
        if not line.text.strip() or len(frame) + len(line.text) > _LONGEST:
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


def _unknown(
    lines: Sequence[LogLine], block: EchoBlock, judgement: BlockJudgement, *, withhold: bool
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
    for at in judgement.unknown:
        text = lines[at].text
        if text.strip() in literals:
            continue
        label = _FORM.label.fullmatch(text) if loads else None
        if label is not None:
            figure = LogFigure(label[1], at, *label.span(1))
            judgement.cuts += withheld([figure], "data-label", "none")
        elif not (withhold or _FORM.observation_row.fullmatch(text)):
            left.append(at)
        elif judgement.withheld and at == judgement.withheld[-1][1] + 1:
            judgement.withheld[-1] = judgement.withheld[-1][0], at
        else:
            judgement.withheld.append((at, at))
    judgement.unknown = left
    judgement.cuts += _below_extremes(lines, left)


def _below_extremes(lines: Sequence[LogLine], unknown: Sequence[int]) -> Iterator[LogCut]:
    """In tables that nobody knows, figures below the words Min and Max go all the same."""
    heads: list[tuple[int, int]] = []
    before = -2
    for at in unknown:
        text = lines[at].text
        if len(text) > _LONGEST:
            continue
        # The figures of a row start behind its name if it has one; of a legend, nowhere.
        row = _FORM.row_name.match(text)
        name = text.partition("|")[0] if "|" in text else row[0] if row else ""
        start = len(name) if any(map(str.isalpha, name)) else 0
        start = len(text) if _FORM.legend.fullmatch(text) else start
        words = _extremes(text)
        if words:
            heads = words
        elif at != before + 1 and (above := _above(lines, at)) is not None:
            heads = above
        named = [word for word in words if word[1] <= start]  # the words name the row
        for figure in _FORM.figure.finditer(text, start):
            near = (a < figure.end() + 3 and figure.start() < b + 3 for a, b in heads)
            if (named and figure.start() >= named[0][1]) or (not named and any(near)):
                yield LogCut(at, *figure.span(), "extremes")
        before = at


def _above(lines: Sequence[LogLine], at: int) -> list[tuple[int, int]] | None:
    """The words of extremes in the heading above a line; None if only a rule is between."""
    words = [_extremes(lines[place].text) for place in range(max(at - 4, 0), at)]
    if is_rule(lines[at - 1].text) and not any(words):
        return None
    for place, some in zip(range(at - 1, -1, -1), reversed(words), strict=False):
        if some or not lines[place].text.strip():
            return some
    return []


def _extremes(text: str) -> list[tuple[int, int]]:
    if len(text) > _LONGEST or _FORM.given.search(text):
        return []
    return [word.span() for word in _FORM.extreme.finditer(text)]
