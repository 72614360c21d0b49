"""Which data are in memory where a do-file draws: estimates that it posted, or anything else.

In: the statements of a do-file, what is known of its macros, and what names hold. Out: the graphs
that show nothing but figures posted from models. Any doubt is for records: a file that something
else may write to, a command that may load data, a loop, a program. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Set

from discreet_fire.catalogue import canonical, command_table, commands_where
from discreet_fire.flow.stata_conditions import file_named
from discreet_fire.flow.stata_names import FigureFlow
from discreet_fire.flow.stata_values import StatementParts
from discreet_fire.stata import DoFile, Kind, Why

_KEPT = commands_where(lambda row: row.rewriting.data in ("kept", "drawn"))
_DRAWN = commands_where(lambda row: row.rewriting.data == "drawn")
_POSTING = ("use", "tempfile", "post", "postfile", "postclose")
#: Other languages, which may give a macro any text.
_LANGUAGES = commands_where(lambda row: row.reading.body == "block")
_GRAPH = re.compile(r"\s+(?:tw\w*|bar|hbar|dot|line|sc\w*|pie|box|hbox)\b")
_SAVING = re.compile(r"\bsav\w*\s*\(")
_USE = re.compile(r"\s+\"?`(\w+)'\"?\s*,\s*clear\s*")
_POSTED = re.compile(
    r"\s++(?:\w++|`\w++')\s++(?:\w++\s++)+?using\s++\"?`(\w++)'\"?\s*+(?:,\s*+replace\s*+)?"
)
#: A macro named by another: which file it means is not known.
_COMPOSED = re.compile(r"`[^'`]*[`$]")
#: What names the file in memory without its macro, or data beside those in memory.
_OTHER_NAME = re.compile(r"\bfilename\b|\$\{?S_|\br\(\s*fn|\bst_|\$\{?`|\btempname\s*\(", re.I)
_UNNAMED = re.compile(r"\s*(?:,.*)?", re.S)
_MACRO = re.compile(r"`([^']*)'")
_WORD = re.compile(r"[A-Za-z_]\w*")
#: A name with a macro in it, first or anywhere, or in an option that gives one a text.
_NAMED = re.compile(r"\s*(?:\+\+|--)?\w*[`$]")
_EXPANDS = re.compile(r"[^`$]*[`$]")
_GIVEN_BY_MACRO = re.compile(r"\bloc\w*\s*\([^()]*[`$]")
_READS = re.compile(r"\s+(?!(?:o|w|c)\w*\s)")
_COUNTER = re.compile(r"\s+(\w+)\s*=")
_GIVE_TEXTS = commands_where(
    lambda row: row.flow.texts != "none" or row.flow.gives in ("macro", "tokens", "foreach")
)
#: What is no figure of a model: other results, scalars, elements of matrices, records elsewhere.
_NO_ESTIMATE = re.compile(r"\b(?:[rsc]|scalar|el|_?frval)\s*\(|\bfileread")
#: Kept commands that give the data no figure.
_GIVE_NONE = ("display", "local", "count", "preserve")
#: Prefixes that change nothing of the data that are meant.
_QUIET = ("quietly", "noisily")


def estimates_drawn(dofile: DoFile, following: FigureFlow, programs: Set[str]) -> frozenset[int]:
    """Where statements begin that draw nothing but estimates that the file has posted."""
    files = _posted_files(dofile, following)
    if not files or any(map(_replaces, programs)):
        return frozenset()
    drawn = set()
    known = False
    for part, around in following.placed:
        statement = part.statement
        alone = not (statement.depth or statement.in_program or statement.block or around.all)
        plain = alone and all(one.canonical in _QUIET for one in statement.prefixes)
        text = statement.source[part.start : statement.end]
        if part.by_macro or any(one.why is not Why.IN_STRING for one in statement.readings):
            known = False
        elif part.name == "use":
            loaded = _USE.fullmatch(text) if plain else None
            known = loaded is not None and loaded[1] in files
        elif part.name not in _KEPT or any(one.canonical == "frame" for one in statement.prefixes):
            known = False
        elif part.name not in _DRAWN:
            known = known and _is_clean(part, following)
        elif part.name == "graph" and _GRAPH.match(text) is None:
            known = False
        elif known and plain and _SAVING.search(text) is None and _is_clean(part, following):
            drawn.add(statement.start)
    return frozenset(drawn)


_LOADED = re.compile(
    r"\s++(?:(?:\w++\s++)+?using\s++)?\"?(?:[^\",\n]*[/\\])?([A-Za-z]\w*)(?:\.dta)?\"?\s*+(?:,\s*+clear\s*+)?"
)
#: Built into Stata, and without a new name or label for a variable.
_SAME_NAMES = ("sort", "keep", "drop", "format", "display", "count", "local")


def described_originals(following: FigureFlow) -> frozenset[int]:
    """Where `describe` lists the variables of a file that no program of the submission writes."""
    saved, found, known = following.taints.saved, set(), False
    for part, around in following.placed if "*" not in saved else ():
        statement = part.statement
        text = statement.source[part.start : statement.end]
        alone = not (statement.depth or statement.in_program or statement.block or around.all)
        plain = alone and not part.by_macro and not statement.readings
        plain = plain and all(one.canonical in _QUIET for one in statement.prefixes)
        if part.name == "use":
            loaded = _LOADED.fullmatch(text) if plain else None
            known = loaded is not None and loaded[1].lower() not in saved
        elif part.name == "describe":
            if known and plain and re.fullmatch(r"[\w\s*,]*", text) and "using" not in text:
                found.add(statement.start)
        elif part.name not in _SAME_NAMES or not plain:
            known = False
    return frozenset(found)


_JOINING = ("merge", "fmerge", "mmerge", "joinby", "cross", "stack")
_USING = re.compile(r"\busing\b\s*([^,]*)")
#: The file has one record for several, or nobody knows.
_COPYING = re.compile(r"\s*(?:m:1|m:m)\b|(?!.*:)", re.S)


def copies_of_chosen(following: FigureFlow) -> frozenset[int]:
    """Where values of chosen records are copied to many: they may be those of one person."""
    files, found = following.taints.chosen, set[int]()
    for part, _ in following.placed:
        if part.name not in _JOINING:
            continue
        text = part.statement.source[part.start : part.statement.end]
        using = _USING.search(text)
        several = part.name not in ("merge", "fmerge") or _COPYING.match(text) is not None
        if part.name in ("cross", "stack") or (several and using and file_named(using[1]) in files):
            found.add(part.statement.start)
    return frozenset(found)


def _replaces(program: str) -> bool:
    """Whether a program may run where a command is meant, or as a part of one."""
    meant = canonical(program) or program
    return meant in _KEPT or meant in _POSTING or program.startswith(("_", "twoway", "graph"))


def _is_clean(part: StatementParts, following: FigureFlow) -> bool:
    """Whether all macros in a statement are texts of the program, and no figure of it is one of
    single records.
    """
    if part.name in _GIVE_NONE:
        return True
    held = following.taints.held(part.outside, part.inside, following.policy)
    code = part.statement.source[part.start : part.statement.end]
    if held.rank or "$" in code or _NO_ESTIMATE.search(code):
        return False
    return following.known.keys() >= set(_MACRO.findall(code))


def _counters(following: FigureFlow) -> set[str]:
    """Macros that count loops, and hold nothing else."""
    counting, others = set[str](), set[str]()
    for part, _ in following.placed:
        text = part.statement.source[part.start : part.statement.end]
        counter = _COUNTER.match(text) if part.name == "forvalues" else None
        if counter is not None:
            counting.add(counter[1])
        elif part.name == "file" and _READS.match(text) is None:
            continue
        elif part.by_macro or part.name in _GIVE_TEXTS or "loc" in text:
            first = _NAMED if part.name in ("local", "global", "foreach") else _EXPANDS
            if first.match(text) or _GIVEN_BY_MACRO.search(text):
                return set()
            others |= set(_WORD.findall(text))
    return counting - others


def _posted_files(dofile: DoFile, following: FigureFlow) -> frozenset[str]:
    """Macros of temporary files that hold figures posted from models, and can hold nothing else."""
    unread = (Kind.OTHER, Kind.BLOCK_LINE, Kind.DATA)
    if any(one.kind in unread for one in dofile.statements) or dofile.findings:
        return frozenset()
    rows = command_table().rows
    counters = _counters(following)
    posted: set[str] = set()
    others = []
    for part, _ in following.placed:
        text = part.statement.source[part.start : part.statement.end]
        stated = part.statement.source[part.statement.start : part.statement.end]
        match = _POSTED.fullmatch(text) if part.name == "postfile" else None
        row = rows.get(part.name)
        if part.name not in dofile.programs and (row is None or row.rewriting.calls):
            return frozenset()  # it may post anything
        if part.name in _LANGUAGES or (part.name == "program" and _EXPANDS.match(text)):
            return frozenset()
        if part.name in ("save", "saveold") and _UNNAMED.fullmatch(text):
            return frozenset()  # what is in memory goes to the file it came from
        if _OTHER_NAME.search(stated) or (
            part.name == "post" and not _of_models(part, following, counters)
        ):
            return frozenset()
        if match is not None and not (part.statement.prefixes or part.statement.readings):
            posted.add(match[1])
        elif part.name not in ("tempfile", "use", "postfile") or part.statement.prefixes:
            others.append(stated)
        elif part.name == "postfile":
            return frozenset()
    whole = "\n".join(others)
    if _COMPOSED.search(whole):
        return frozenset()
    named = {name for name in posted if re.search(rf"(?<!\w){name}(?!\w)", whole)}
    return frozenset((posted - named) & following.temporary_files)


def _of_models(part: StatementParts, following: FigureFlow, counters: Set[str]) -> bool:
    """Whether all that is posted is figures of models and numbers of the program."""
    code = part.statement.source[part.start : part.statement.end]
    _, _, rest = code.lstrip().partition(" ")
    if part.statement.readings or '"' in rest or _NO_ESTIMATE.search(rest):
        return False
    named = set(_MACRO.findall(rest))
    return following.tells_nothing(part) and following.known.keys() | counters >= named
