"""Recodes of batches (`.grc`, or a number of levels), applied to records. CONFIDENTIAL records.

In: a file of groups of codes, a file of codes whose parts are folded, or a number of levels;
records and their metadata. Out: the records with coarser codes, and the classification that
goes with them. Codes that a file does not mention stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.classifications import Classification
from discreet.classifications.coarser_trees import folded, levels_folded
from discreet.errors import Problem, SuppressionError
from discreet_argus.metadata import ArgusMetadata, ArgusVariable
from discreet_argus.texts import ArgusText, LineProblems, open_text, refuse_lines

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
        found = [new for new, ranges in self.groups if any(each.holds(code) for each in ranges)]
        if len(set(found)) > 1:
            what = f"code {code!r} falls into several groups: {', '.join(found)}"
            raise SuppressionError(what, code="recode", hint="let the ranges not overlap")
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
        reader.problems.append(Problem("there is no group of codes", str(path), "new:old,old-old"))
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
                self.wrong(f"{bare.split()[0]} is not known", "<MISSING>, <CODELIST>")
        else:
            self._group(bare)

    def _group(self, line: str) -> None:
        new, colon, rest = line.partition(":")
        parts = [part.strip() for part in rest.split(",")]
        if not colon or not new.strip() or not all(parts):
            self.wrong("this is no group of codes", "new:old,old-old")
            return
        self.groups.append((new.strip().strip('"'), tuple(map(_range, parts))))


def _range(text: str) -> CodeRange:
    low, dash, high = text.partition("-")
    ends = [end.strip().strip('"') or None for end in (low, high)]
    return CodeRange(low=ends[0], high=ends[1] if dash else ends[0])


def recoded(
    frame: pl.DataFrame,
    metadata: ArgusMetadata,
    name: str,
    recodes: Sequence[str],
    folder: Path,
) -> tuple[pl.DataFrame, Classification]:
    """The records with the recodes of one variable, and its classification.

    Args:
        frame: The records.
        metadata: Their description.
        name: The variable.
        recodes: Files of recodes, or numbers of levels, one after another.
        folder: Where the files are.
    """
    import polars as pl

    variable = metadata.variable(name)
    tree = metadata.classification(name, frame[name].unique())
    for text in recodes:
        how = int(text) if text.isdigit() else read_grc(folder / text.replace("\\", "/"))
        if isinstance(how, GroupRecode):
            new = {code: how.code_of(code) for code in frame[name].unique().to_list()}
            variable = _flat(variable, how)
            all_ = [variable if each.name == name else each for each in metadata.variables]
            metadata = replace(metadata, variables=tuple(all_))
            tree = metadata.classification(name, new.values())
        else:
            tree, found = _folded(tree, how, name)
            new = dict(found)
        frame = frame.with_columns(pl.col(name).replace(new))
    return frame, tree


def _flat(variable: ArgusVariable, how: GroupRecode) -> ArgusVariable:
    missing = how.missing or variable.missing
    return replace(variable, hierarchy="", levels=(), codelist="", missing=missing)


def _folded(
    tree: Classification, how: int | tuple[str, ...], name: str
) -> tuple[Classification, dict[str, str]]:
    """The tree folded at a level or at codes; blanks around codes do not matter."""
    if isinstance(how, int):
        if how < 1:
            what = "a recode keeps one level at least"
            raise SuppressionError(what, code="recode", where=name)
        coarser, code_of = levels_folded(tree, how) if how < tree.depth else (tree, {})
        return coarser, dict(code_of)
    bare = {code.strip(): code for code in tree.codes}
    coarser, code_of = folded(tree, [bare.get(code, code) for code in how])
    return coarser, dict(code_of)
