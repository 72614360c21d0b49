"""Programmes from templates of tables: texts matched to variables and codes; which are linked.

In: the layouts of a file, code trees, and a look at the records (CONFIDENTIAL; of these only names
of columns and codes are used, and none is written but those the template itself shows). Out: a
programme as TOML, what could not be matched by cell, and which tables share cells.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.classifications import Classification
from discreet.confidential import without_values
from discreet.errors import Problem, PublicationError
from discreet.files import write_text
from discreet.microdata import read_microdata
from discreet.protection.protocol import DEFAULT
from discreet.record_batches import collected
from discreet.release.drafted_programmes import Draft, drafted
from discreet.release.first_programmes import check_saved, programme_text
from discreet.release.programme.checks import RESERVED
from discreet.release.table_templates import TableTemplate, TemplateText, read_templates

#: Words for the sum of all, and for numbers of records.
_TOTALS = ("total", "totals", "all", "insgesamt", "zusammen", "summe", "sum", "both sexes")
_COUNTS = ("number", "count", "persons", "cases", "anzahl", "personen", "fälle", "zahl")
_BETWEEN = re.compile(r"(\d+) ?(?:-|to|bis) ?(\d+)\b.*")
_BELOW = re.compile(r"(?:under|below|less than|unter|bis unter) (\d+)\b.*")
_ABOVE = re.compile(
    r"(\d+) ?(?:\+|(?:years )?and (?:over|more|older)|(?:jahre )?und (?:älter|mehr)).*"
)
_FOOTNOTE = re.compile(r"(?<=\S)\s*(?:\d\)|[¹²³⁴-⁹]+|\*+)$")
_MOST_CODES = 2_000
_LANGUAGES = ("en", "de")


def _normal(text: str) -> str:
    """A text without what layouts change: case, dashes, footnotes, colons.

    >>> _normal("Males  1)"), _normal("18–64 years:")
    ('males', '18-64 years')
    """
    plain = re.sub(r"\s+", " ", re.sub("[–—]", "-", text)).strip().strip(":").casefold()
    return _FOOTNOTE.sub("", plain).strip()


@dataclass(frozen=True, kw_only=True)
class MatchedVariable:
    """What a line of texts stands for.

    Args:
        name: Name of the variable.
        codes: The codes that the layout shows, in its order.
        levels: How deep these lie in the code tree, the total left out, and how deep it is.
        keys: The keys of its section.
    """

    name: str
    codes: tuple[str, ...]
    levels: tuple[int, int]
    keys: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TemplateTable:
    """A table that a layout asks for, by what spans it.

    Args:
        name: Its name in the programme.
        title: Its title; empty without one.
        variables: What spans it.
        values: The value columns that it shows; empty for numbers of records.
    """

    name: str
    title: str
    variables: tuple[MatchedVariable, ...]
    values: tuple[str, ...] = ()

    @property
    def by(self) -> tuple[str, ...]:
        """The names of what spans it."""
        return tuple(each.name for each in self.variables)

    def shared(self, other: TemplateTable) -> int:
        """Number of cells that both layouts have, totals of what only one is spanned by included.

        >>> sex = MatchedVariable(name="sex", codes=("m", "w"), levels=(1, 1), keys={})
        >>> age = MatchedVariable(name="age", codes=("0-17",), levels=(1, 1), keys={})
        >>> one = TemplateTable(name="a", title="", variables=(sex,))
        >>> one.shared(TemplateTable(name="b", title="", variables=(sex, age)))
        3
        """
        if set(self.values) != set(other.values) and not set(self.values) & set(other.values):
            return 0
        theirs = {each.name: each.codes for each in other.variables}
        cells = 1
        for each in self.variables:
            cells *= 1 + len(set(each.codes) & set(theirs.get(each.name, ())))
        return cells


@dataclass(frozen=True, kw_only=True)
class TemplateDraft:
    """What a template asks for, and what of it could not be matched.

    Args:
        tables: The tables.
        unmatched: Texts that stand for nothing known, each with its cell.
        remarks: What was guessed or left open, in words.
    """

    tables: tuple[TemplateTable, ...]
    unmatched: tuple[Problem, ...]
    remarks: tuple[str, ...] = ()

    def links(self) -> Iterator[str]:
        """Which tables share cells, in words."""
        for one, other in combinations(self.tables, 2):
            cells = one.shared(other)
            both = [name for name in one.by if name in other.by]
            if not cells:
                continue
            if not both:
                yield f"{one.name} and {other.name} share the grand total only"
            else:
                kind = "are over the same variables and" if set(one.by) == set(other.by) else ""
                yield (
                    f"{one.name} and {other.name} {kind} share {cells:,} cells, by "
                    f"{' and '.join(both)}".replace("  ", " ")
                )

    def matrix(self) -> str:
        """Numbers of shared cells of all pairs of tables, as text."""
        names = [each.name for each in self.tables]
        wide = max(map(len, names), default=0)
        rows = [[f"{one.shared(other):,}" for other in self.tables] for one in self.tables]
        widths = [max(len(str(at)), *(len(row[at - 1]) for row in rows)) for at in
                  range(1, len(names) + 1)]  # fmt: skip
        head = " ".join(str(at).rjust(each) for at, each in enumerate(widths, 1))
        numbered = [f"{at} {name}" for at, name in enumerate(names, 1)]
        wide = max(map(len, numbered), default=0)
        lines = [f"{'':<{wide}}  {head}".rstrip()]
        for label, row in zip(numbered, rows, strict=True):
            cells = " ".join(each.rjust(width) for each, width in zip(row, widths, strict=True))
            lines.append(f"{label:<{wide}}  {cells}")
        return "\n".join(lines)

    def text(self) -> str:
        """The draft for people: tables, links, and what is left to do."""
        lines = [f"{each.name}: {' × '.join(each.by)}" for each in self.tables]
        if len(self.tables) > 1:
            lines += ["", "Linked tables:", *(f"  {link}" for link in self.links()), self.matrix()]
        lines += ["", *self.remarks] if self.remarks else []
        if self.unmatched:
            lines += ["", f"Not matched ({len(self.unmatched)}):"]
            lines += [
                f"  {each.where}: {each.what}" + (f" ({each.hint})" if each.hint else "")
                for each in self.unmatched
            ]
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "tables": {each.name: {"by": list(each.by)} for each in self.tables},
            "links": list(self.links()),
            "remarks": list(self.remarks),
            "unmatched": [{"cell": each.where, "what": each.what} for each in self.unmatched],
        }


@dataclass
class _Vocabulary:
    """What texts can stand for: codes of variables, groups of a number, value columns."""

    texts: dict[str, dict[str, str]] = field(default_factory=dict)
    trees: dict[str, Classification] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def add(self, tree: Classification, column: str, keys: Mapping[str, Any]) -> None:
        """Add the codes of a variable, by code and by label in every language."""
        self.trees[column], self.keys[column] = tree, dict(keys)
        own = self.texts.setdefault(column, {})
        for language in _LANGUAGES:
            self.names.setdefault(_normal(tree.titles.get(language, column)), column)
            for code in tree.codes[1:]:
                own.setdefault(_normal(tree.label(code, language)), code)
        for code in tree.codes[1:]:
            own[_normal(code)] = code
        self.names[_normal(column)] = column

    def best(self, texts: Sequence[TemplateText], corner: Sequence[str]) -> str | None:
        """The variable that most of the texts are codes of; named in the corner before others."""
        found = {
            name: sum(_normal(each.text) in own for each in texts)
            for name, own in self.texts.items()
        }
        named = {self.names.get(text) for text in corner}
        order = sorted(found, key=lambda name: (-found[name], name not in named))
        return order[0] if order and found[order[0]] else None


@without_values
def template_draft(
    template: str | os.PathLike[str],
    records: str | os.PathLike[str],
    *,
    classifications: Mapping[str, str] | None = None,
    protect: str = DEFAULT,
    reading: Mapping[str, Any] | None = None,
) -> tuple[TemplateDraft, Draft]:
    """Match the layouts of a template to code trees and records.

    Args:
        template: The file of layouts.
        records: The file of records. CONFIDENTIAL.
        classifications: Variable → file of its code tree.
        protect: The method: that of counts, or one that hides cells, which value columns need.
        reading: How the records are read, as for `discreet.read_microdata`.

    Returns:
        What the template asks for; and what the records look like.

    Raises:
        PublicationError: If no layout can be matched.
    """
    layouts = read_templates(template)
    look = drafted(records, **(reading or {}))
    known = _vocabulary(look, records, classifications or {}, reading or {})
    tables: list[TemplateTable] = []
    unmatched: list[Problem] = []
    remarks: list[str] = []
    taken: set[str] = set()
    for layout in layouts:
        found, wrong = _matched(layout, known)
        unmatched += wrong
        for variables, values in found:
            if values and protect == DEFAULT:
                told = ", ".join(values)
                remarks.append(f"{layout.sheet}: values ({told}) are left out: --protect suppress")
                continue
            name = _name(layout, taken)
            made = TemplateTable(
                name=name, title=layout.title, variables=variables, values=tuple(values)
            )
            tables.append(made)
        if not found:
            remarks.append(f"{layout.sheet}: the layout {layout.title!r} was not matched at all")
    remarks += _open_questions(tables)
    if not tables:
        raise PublicationError(
            f"no layout of {len(layouts)} could be matched to variables",
            code="template",
            where=str(template),
            hint="name code trees with labels: --classification NAME=FILE",
            problems=unmatched[:20],
        )
    return TemplateDraft(
        tables=tuple(tables), unmatched=tuple(unmatched), remarks=tuple(dict.fromkeys(remarks))
    ), look


def _vocabulary(
    look: Draft, records: Any, classifications: Mapping[str, str], reading: Mapping[str, Any]
) -> _Vocabulary:
    """Code trees from files, and the codes of columns that have few."""
    known = _Vocabulary()
    for name, file in classifications.items():
        tree = Classification.read(file, name=name)
        column = tree.column if tree.column in look.columns else name
        if column not in look.columns:
            what = f"the records have no column {name!r}"
            hint = f"columns: {', '.join(look.columns)}"
            raise PublicationError(what, code="columns", where=file, hint=hint)
        keys = {"hierarchy": file} | ({} if column == name else {"column": column})
        known.add(tree, name, keys)
    frame = nw.from_native(read_microdata(records, **reading)).lazy()
    for name, seen in look.columns.items():
        if name in known.trees or name in (look.identifier, look.record_key):
            continue
        if seen.codes or (not seen.numeric and seen.distinct <= _MOST_CODES):
            found = collected(frame.select(nw.col(name).cast(nw.String)).unique())[name].to_list()
            codes = sorted(str(each) for each in found if each is not None)
            known.add(Classification.flat(name, codes), name, {})
            known.keys[name] = {"found": True}
        if seen.numeric:
            known.values[_normal(name)] = name
            known.numbers += [name] if seen.group else []
            known.names.setdefault(_normal(name), name)
    return known


_Found = list[tuple[tuple[MatchedVariable, ...], list[str]]]


def _matched(layout: TableTemplate, known: _Vocabulary) -> tuple[_Found, list[Problem]]:
    """The tables that a layout asks for: one for each kind of heading beside another."""
    corner = [_normal(each.text) for each in layout.corner]
    lines = (*layout.stubs, *layout.headings)
    grouped = any(_interval(each.text) for line in lines for each in line)
    # What heads its own classes, such as ages, is no value to be added up.
    ignored = known.numbers if grouped else []
    axes: list[list[tuple[MatchedVariable | None, list[str]]]] = []
    problems: list[Problem] = []
    for line in lines:
        groups, wrong = _groups(line, corner, known, ignored)
        problems += wrong
        axes += [groups] if groups else []
    found: _Found = [((), [])]
    for groups in axes:
        found = [
            ((*variables, *([one] if one else [])), [*values, *own])
            for variables, values in found
            for one, own in groups
            if one is None or one.name not in {each.name for each in variables}
        ]
    return [(variables, values) for variables, values in found if variables], problems


def _groups(
    line: Sequence[TemplateText],
    corner: Sequence[str],
    known: _Vocabulary,
    ignored: Sequence[str],
) -> tuple[list[tuple[MatchedVariable | None, list[str]]], list[Problem]]:
    """What stands beside each other in a line: codes of variables, groups of ages, values."""
    left = [each for each in line if _normal(each.text) not in (*_TOTALS, *_COUNTS)]
    counts = any(_normal(each.text) in _COUNTS for each in line)
    columns = {text: name for text, name in known.values.items() if name not in ignored}
    values = [each for each in left if _normal(each.text) in columns]
    found: list[tuple[MatchedVariable | None, list[str]]] = []
    classes = [each for each in left if _interval(each.text) is not None]
    bands = _intervals(classes, corner, known) if len(classes) > 1 else None
    if bands is not None:
        found.append((bands, []))
        left = [each for each in left if each not in classes]
    while (name := known.best(left, corner)) is not None:
        own = known.texts[name]
        here = [each for each in left if _normal(each.text) in own]
        codes = tuple(dict.fromkeys(own[_normal(each.text)] for each in here))
        found.append((_variable(name, codes, known), []))
        left = [each for each in left if each not in here]
    left = [each for each in left if _normal(each.text) not in known.names or each in values]
    summed = [columns[_normal(each.text)] for each in left if each in values]
    if summed or (counts and not found):
        found.append((None, summed))
    return found, [_problem(each, known) for each in left if each not in values]


def _variable(name: str, codes: tuple[str, ...], known: _Vocabulary) -> MatchedVariable:
    tree = known.trees[name]
    depths = [_depth(tree, code) for code in tree.codes]
    shown = [_depth(tree, code) for code in codes]
    keys = dict(known.keys[name])
    if keys.pop("found", False):
        keys = {"codes": list(codes)} if set(codes) >= set(tree.codes[1:]) else {}
    if name in RESERVED:  # what columns of files are called
        name, keys = f"{name}_", {"column": name, **keys}
    return MatchedVariable(
        name=name, codes=codes, levels=(max(shown, default=0), max(depths)), keys=keys
    )


def _depth(tree: Classification, code: str) -> int:
    at, depth = tree.codes.index(code), 0
    while tree.parents[at] >= 0:
        at, depth = tree.parents[at], depth + 1
    return depth


def _problem(text: TemplateText, known: _Vocabulary) -> Problem:
    """A text that stands for nothing, with what it may have been meant for."""
    # Only public codes are told: those that records alone have are not.
    public = {name: own for name, own in known.texts.items() if "found" not in known.keys[name]}
    every = {each: name for name, own in public.items() for each in own}
    near = get_close_matches(_normal(text.text), list(every), n=1)
    hint = f"meant as {near[0]!r} of {every[near[0]]}?" if near else ""
    return Problem(f"{text.text!r} is no code, label or column", text.place, hint)


def _interval(text: str) -> tuple[int | None, int | None] | None:
    """The first number of a class and the one behind its last; None where it is open.

    >>> _interval("0–17 years"), _interval("65 and over"), _interval("under 6"), _interval("x")
    ((0, 18), (65, None), (None, 6), None)
    """
    plain = _normal(text)
    if found := _BETWEEN.fullmatch(plain):
        return int(found[1]), int(found[2]) + 1
    if found := _BELOW.fullmatch(plain):
        return None, int(found[1])
    if found := _ABOVE.fullmatch(plain):
        return int(found[1]), None
    return None


def _intervals(
    line: Sequence[TemplateText], corner: Sequence[str], known: _Vocabulary
) -> MatchedVariable | None:
    """The groups of a number, if they follow each other without gaps; None otherwise."""
    named = [name for name in known.numbers if known.names.get(_normal(name)) == name]
    chosen = [name for name in named if _normal(name) in corner] or known.numbers[:1]
    classes = list(dict.fromkeys(_interval(each.text) for each in line))
    lows: list[int] = []
    for at, each in enumerate(classes):
        low, high = each or (None, None)
        begins = 0 if low is None and not at else low
        follows = classes[at + 1] if at + 1 < len(classes) else None
        if begins is None or (follows is not None and follows[0] != high):
            return None
        lows.append(begins)
    last = classes[-1]
    if not chosen or last is None:
        return None
    bounds = [*lows, *([] if last[1] is None else [last[1]])]
    tree = Classification.from_intervals(chosen[0], bounds)
    codes = tree.codes[1 : len(classes) + 1]
    return MatchedVariable(
        name=chosen[0], codes=codes, levels=(1, 1), keys={"intervals": list(bounds)}
    )


def _name(layout: TableTemplate, taken: set[str]) -> str:
    bare = re.sub(r"[^A-Za-z0-9_-]+", "-", layout.sheet).strip("-") or "table"
    name, number = bare, 1
    while name.lower() in taken:
        number += 1
        name = f"{bare}-{number}"
    taken.add(name.lower())
    return name


def _open_questions(tables: Sequence[TemplateTable]) -> Iterator[str]:
    """What the layouts leave open."""
    sections: dict[str, list[str]] = {}
    for table in tables:
        for each in table.variables:
            shown, deep = each.levels
            if shown < deep:
                yield (
                    f"{table.name}: the layout shows {shown} of {deep} levels of {each.name}; the "
                    "table has all of them, unless another code tree is named"
                )
            sections.setdefault(each.name, []).append(str(dict(each.keys)))
    for name, keys in sections.items():
        if len(set(keys)) > 1:
            yield f"{name}: layouts show different codes; the programme has those of the first"


def write_template_draft(
    draft: TemplateDraft,
    path: str | os.PathLike[str],
    *,
    data: Mapping[str, Any],
    keys: Mapping[str, Any],
    ptable: str,
    title: str,
    protect: str = DEFAULT,
) -> Path:
    """Write the programme; an existing file is never replaced.

    Args:
        draft: What the template asks for.
        path: The TOML file.
        data: The keys of [data].
        keys: The keys of [keys]; those of noise.
        ptable: The file of the perturbation table; of noise.
        title: The heading of the release.
        protect: How the tables are protected.
    """
    check_saved(path)
    variables: dict[str, dict[str, Any]] = {}
    for table in draft.tables:
        for each in table.variables:
            if each.keys:
                variables.setdefault(each.name, dict(each.keys))
    noise = protect == DEFAULT
    document: dict[str, Any] = {"title": title, "languages": ["en"], "data": dict(data)}
    if noise:
        document |= {"keys": dict(keys)}
        document |= {"perturbation": {"table": ptable, "found_codes": "hide"}}
    else:
        document |= {"rules": {"template": {"minimum_frequency": 3, "p_percent": 10}}}
    defaults: dict[str, Any] = {"formats": ["csv", "xlsx", "html"]}
    defaults |= {} if noise else {"protect": protect, "rules": "template"}
    document |= {
        "variables": variables,
        "defaults": defaults,
        "tables": {each.name: _entry(each, noise=noise) for each in draft.tables},
    }
    remarks = [] if noise else ["The rules are guessed: state those of your office."]
    lines = ["Drafted from a template.", *remarks, *draft.remarks, *draft.links()]
    comments = "".join(f"# {line}\n" for line in lines)
    # A draft of rules is for its owner only, as those of real programmes are.
    text = f"{comments}\n{programme_text(document, Path(path).parent)}"
    write_text(path, text, private=not noise)
    return Path(path)


def _entry(table: TemplateTable, *, noise: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"by": list(table.by)}
    if table.title:
        entry["title"] = table.title
    if not noise:
        entry["value"] = list(table.values) or "count"
    return entry
