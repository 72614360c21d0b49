"""Outputs that hold nothing of the data: constant texts, and files that go with the session.

In: a statement that writes to a document, a worksheet or a file, and what is known of macros. Out:
whether all that it writes stands in the program, or whether the file is gone when Stata ends. All
that is not seen to be so needs a look. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from discreet_fire.catalogue import Action, commands_where
from discreet_fire.flow import StatementParts
from discreet_fire.rewriting.called_files import written_place
from discreet_fire.stata import DoFile

_MACRO = re.compile(r"`(\w+)'")
_TEMPORARY = re.compile(r"\s*\"?`(\w+)'\"?\s*(?:,[\w\s()]*)?")
_POSTED = re.compile(r"[^,]*?\busing\s+\"?`(\w+)'\"?\s*(?:,[\w\s()]*)?")
_SAVING = re.compile(r"\bsav\w*\s*\(\s*\"?`(\w+)'\"?\s*(?:,[\w\s]*)?\)")
_OPTIONS = r"(?:,[\w\s(),.#%&/+-]*)?"
#: A cell, whose place may stand in macros: figures that these hold are followed.
_PLACE = r"(?:\d+|`\w+')"
_CELL = rf"\$?(?:[A-Za-z]{{1,3}}|`\w+')\$?{_PLACE}"
#: What stands around texts, which are blanks here, where nothing but texts is written.
_AROUND = {
    "putdocx": re.compile(
        rf"\s*(?:text\s*\(\s*\)|table\s+\w+\s*(?:=\s*\(\s*\d+\s*,\s*\d+\s*\)"
        rf"|\(\s*{_PLACE}\s*,\s*{_PLACE}\s*\)(?:\s*=\s*\(\s*\))?))\s*{_OPTIONS}"
    ),
    "putexcel": re.compile(
        rf"\s*+(?:(?>(?:{_CELL}\s*+=\s*+(?:\(\s*+\)\s*+)?)+)"
        rf"|{_CELL}(?:\s*+:\s*+{_CELL})?\s*+(?=,)){_OPTIONS}"
    ),
    "file": re.compile(
        r"\s*write\s+(?:\w+|`\w+')"
        r"(?>(?:\s++|_n(?:ew\w*)?(?:\(\d+\))?|_tab(?:\(\d+\))?|_(?:col\w*|s|skip)\(\d+\))*)"
    ),
}
_AROUND["putpdf"] = _AROUND["putdocx"]
#: What opens or names a file that gets its content elsewhere, with the word before its path. No
#: program is written by `file`, for it would run unread.
_PLACES = {
    "putdocx": (re.compile(r"\s*save\b.*", re.S), "save"),
    "putpdf": (re.compile(r"\s*save\b.*", re.S), "save"),
    "putexcel": (re.compile(r"\s*(?:set|save)\b.*", re.S), "(?:set|save)"),
    "file": (
        re.compile(
            r"\s*open\s+[\w`']+\s+using\s+\"?[\w ./-]+\.(?:txt|tex|csv|md|rtf)\"?\s*"
            r",(?>(?:\s++|write\b|append\b|replace\b|text\b)+)"
        ),
        "using",
    ),
}


#: A picture by points, of which no figure can be read but what the graph shows.
_PICTURE = re.compile(
    r"\s++ex\w*+\s++(?:\"[\w ./-]+\.{0}\"|[\w./-]+\.{0})\s*+"
    r"(?:,(?>(?:\s++|replace\b|(?:width|height|quality)\(\d+\))*))?".replace(
        "{0}", "(?:png|tiff?|jpe?g|gif)"
    )
)
_DRAWING = commands_where(lambda row: row.rewriting.data in ("drawn", "models"))
#: Commands that draw no graph.
_DRAWING_NONE = commands_where(lambda row: row.rewriting.data == "kept")
_NO_DRAWING = re.compile(r"\s+(?:ex|pr|save|des|dir|drop|ren|set|q|cl|co|use|di|rep|ed)")
_MODELS = commands_where(lambda row: row.rewriting.data == "models")
#: Stored models side by side, with options that lay the graph out.
_MODELS_ONLY = re.compile(
    r"(?>(?:[\s|]|[A-Za-z]\w*+\*?(?!\s*+\()"
    r"|\((?>(?:\s*+[A-Za-z]\w*+)+)\s*+(?:,(?>(?:\s++|label\(\s*+\))*))?\))*)"
    r"(?:,(?>(?:\s++|\b(?:vertical|horizontal|eform|noci|nokey|nolabels|nooffsets|baselevels|omitted"
    r"|drop|keep|order|xline|yline|title|xtitle|ytitle|subtitle|levels|scheme|msymbol|mcolor|msize"
    r"|color|ciopts|recast|headings|groups|coeflabels|legend|graphregion|plotregion|xlabel|ylabel"
    r"|note|name)\b(?:\((?:[^()]|\([^()]*\))*\))?)*))?"
)


def draws_judged(part: StatementParts, dofile: DoFile, earlier: bool) -> bool:
    """Whether a statement draws nothing but models that are stored, or files a graph that was
    judged where it was drawn.
    """
    statement = part.statement
    code = statement.source[part.start : statement.end]
    if part.name == "graph":
        picture = earlier and _PICTURE.fullmatch(code) is not None
        return picture and written_place(statement, dofile, r"ex\w*")[0] is Action.ALLOWED
    if part.name not in _MODELS or "$" in code or "`" in code:
        return False
    return _MODELS_ONLY.fullmatch(part.outside) is not None


def judged_graph(part: StatementParts, before: bool) -> bool:
    """Whether the last graph that was drawn, if any, is one that was judged where it was drawn."""
    if part.name == "graph" and (other := _NO_DRAWING.match(part.outside)) is not None:
        return before and other.group().strip() == "ex"
    if part.name in _DRAWING:
        return not part.by_macro
    return before and part.name in _DRAWING_NONE and not part.by_macro


def holds_no_data(
    part: StatementParts,
    dofile: DoFile,
    known: Mapping[str, frozenset[str]],
    temporary: Set[str],
) -> bool:
    """Whether a statement writes nothing but texts of the program, or to a temporary file."""
    statement = part.statement
    code = statement.source[part.start : statement.end]
    if part.name in ("save", "saveold"):
        saved = _TEMPORARY.fullmatch(code)
        return saved is not None and saved[1] in temporary
    if part.name == "postfile":
        posted = _POSTED.fullmatch(code)
        return posted is not None and posted[1] in temporary
    if (saving := [match[1] for match in _SAVING.finditer(_arguments(part))]) and part.name:
        return part.name not in _PLACES and all(name in temporary for name in saving)
    if part.name not in _PLACES:
        return False
    place, word = _PLACES[part.name]
    if place.fullmatch(code):
        return written_place(statement, dofile, word)[0] is Action.ALLOWED
    if "$" in part.inside or not all(name in known for name in _MACRO.findall(part.inside)):
        return False
    return not _MACRO.sub("", part.inside).strip() and bool(
        _AROUND[part.name].fullmatch(part.outside)
    )


def _arguments(part: StatementParts) -> str:
    """The options of a statement and of its prefixes."""
    statement = part.statement
    arguments_of = [slice(*prefix.arguments) for prefix in statement.prefixes if prefix.arguments]
    return " ".join(
        statement.source[one] for one in (*arguments_of, slice(part.start, statement.end))
    )
