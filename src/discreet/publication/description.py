"""What a file says about a table besides its cells: its notes, how far it adds up, its source.

In: `ProtectedTable` and a language. Out: notes; plain values for JSON, Parquet metadata, legends
and footers. Public: every number is a published value or a sum of such; no parameters, keys,
originals or noise are known here.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import fields, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from discreet.arrays import BoolArray
from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication.layout import footnotes, whole_notes
from discreet.publication.notation import legend, number_text
from discreet.publication.vocabulary import (
    LANGUAGES,
    date_text,
    figure_line,
    figure_text,
    labels_of,
    only_total,
    title_in,
    words,
)
from discreet.tables import CellStatus, Dimension, Figure, Note, ProtectedTable, single_figure

#: Kind of the note that names the suppressed parts.
SUPPRESSED_PARTS = "suppressed-parts"
#: Kinds of the note with the figures that do not add up, and of the one that they need not.
FIGURES, _GENERAL = "non-additivity-figures", "non-additivity"

_FINEST, _TOTAL = 0, 1

#: Every file of a table prints the same note; it is forgotten with the table.
_KNOWN: MutableMapping[ProtectedTable, Note | None] = WeakKeyDictionary()

#: The name of a way to split a table, and which codes of each variable belong to it.
_Split = tuple[str, list[BoolArray]]


def printed_notes(table: ProtectedTable) -> tuple[Note, ...]:
    """The notes of a table; its suppressed parts; the figures that do not add up."""
    notes = [note for note in table.notes if note.kind != FIGURES]
    notes += whole_notes(table)
    if table.suppressed_parts and not any(n.kind == SUPPRESSED_PARTS for n in table.notes):
        texts = {
            one: words(one).suppressed_parts.format(parts="; ".join(part_names(table, one)))
            for one in LANGUAGES
        }
        notes.append(Note(SUPPRESSED_PARTS, texts))
    if table.margin is not None:
        margin = f"{table.margin:,}"
        notes.append(
            Note("margin", {one: words(one).margin.format(margin=margin) for one in LANGUAGES})
        )
    sums = non_additivity(table)
    return (*notes, *([] if sums is None else [sums]))


def part_names(table: ProtectedTable, language: str) -> list[str]:
    """The name of each suppressed part; with the figures concerned, if not all are."""
    spanning = table.spanning
    figures: dict[tuple[int, ...], set[int]] = {}
    for part in sorted(table.suppressed_parts):
        figures.setdefault(part[: len(spanning)], set()).update(part[len(spanning) :])
    names = []
    for part, numbers in figures.items():
        levels = [_level(*pair, language) for pair in zip(spanning, part, strict=True)]
        name = " × ".join(filter(None, levels)) or words(language).no_break
        if table.several_figures and not {_FINEST, _TOTAL} <= numbers:
            own = table.figures[:1] if _TOTAL in numbers else table.figures[1:]
            name += f" ({_titles(own, language)})"
        names.append(name)
    return names


def _level(dimension: Dimension, number: int, language: str) -> str:
    """The level of a variable in a part; empty for the total."""
    depth, title = int(dimension.levels.max()), dimension.title(language)
    if number == _TOTAL or depth == 0:
        return ""
    if depth == 1:
        return title
    level = depth if number == _FINEST else number - 1
    return _level_name(dimension.classifications[0], level, title, language)


def _level_name(tree: Classification, level: int, title: str, language: str) -> str:
    """A variable and one of its several levels."""
    text = words(language)
    named = tree.level_title(level, language) or text.level.format(level=level)
    return text.add_level.format(name=title, level=named)


def unlisted_text(table: ProtectedTable, language: str) -> str:
    """Text on cells that a sparse file does not list."""
    text = words(language)
    zeros = [figure for figure in table.figures if figure.summed]
    none = [figure for figure in table.figures if not figure.summed]
    kinds = [] if none else [text.unlisted_zero]
    if none:
        kinds += [f"{text.unlisted_zero} ({_titles(zeros, language)})"] if zeros else []
        kinds.append(f"{text.unlisted_none} ({_titles(none, language)})")
    if table.suppressed_parts:
        kinds.append(text.unlisted_suppressed)
    return text.unlisted.format(kinds="; ".join(kinds))


def _titles(figures: Iterable[Figure], language: str) -> str:
    return ", ".join(figure.title(language) for figure in figures)


def non_additivity(table: ProtectedTable) -> Note | None:
    """Note on the sum of the parts, if it differs from the grand total.

    For each spanning variable and level, the published values of that level are
    added with all other variables at their total; then the innermost cells. Parts
    with a suppressed cell have no sum. None if all sums agree, or some codes were chosen.

    Counts are looked at; sums and weighted counts only if the table carries a note of
    kind "non-additivity"; means, shares and other figures need not add up.
    """
    if table not in _KNOWN:
        texts: dict[str, list[str]] = {language: [] for language in LANGUAGES}
        whole = table.spanning and not any(item.chosen for item in table.spanning)
        # The figures whose parts should add up, each as a table of its own.
        noted = any(note.kind == _GENERAL for note in table.notes)
        parts: list[tuple[Figure | None, ProtectedTable]] = [
            (figure, _alone(table, at))
            for at, figure in enumerate(table.figures)
            if whole and (figure.kind == "count" or (noted and figure.kind == "sum"))
        ]
        if whole and not table.figures and (noted or table.value.dtype.kind == "i"):
            parts.append((None, table))
        for figure, part in parts:
            for language, text in _differences(part).items():
                named = f"{figure.title(language)}: " if figure and table.several_figures else ""
                texts[language].append(named + text)
        joined = {language: " ".join(lines) for language, lines in texts.items()}
        _KNOWN[table] = Note(FIGURES, joined) if texts[LANGUAGES[0]] else None
    return _KNOWN[table]


def _alone(table: ProtectedTable, at: int) -> ProtectedTable:
    """One figure of a table, without the dimension of the figures."""
    decimals = table.figures[at].decimals
    if not table.several_figures:
        return replace(table, figures=(), decimals=decimals, cell_notes=())
    own = single_figure(replace(table, suppressed_parts=frozenset()), at)
    value: Any = own.value
    if decimals == 0 and bool((value == np.rint(value)).all()):
        value = value.astype(np.int64)
    number = 1 if at == 0 else 0  # in the dimension of figures, the first stands as the total
    parts, suppressed = (
        None if known is None else frozenset(part[:-1] for part in known if part[-1] == number)
        for known in (table.parts, table.suppressed_parts)
    )
    return replace(
        own, value=value, parts=parts, suppressed_parts=suppressed or frozenset(), figures=()
    )


def _differences(table: ProtectedTable) -> dict[str, str]:
    """Language → each sum that differs from the grand total; nothing if there is no difference."""
    broken_down = np.zeros(table.stored, dtype=np.int8)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        broken_down += (dimension.levels > 0).astype(np.int8)[part]
    # The cells with all variables at their total, or all but one.
    margins = np.flatnonzero(broken_down <= 1)
    total = _sum(table, [only_total(dimension) for dimension in table.dimensions], margins)
    if total is None:
        return {}
    values = [_sum(table, codes, margins) for _, codes in _one_way(table, LANGUAGES[0])]
    values += [_sum(table, codes, slice(None)) for _, codes in _inner(table, LANGUAGES[0])]
    texts = {}
    for language in LANGUAGES:
        text, whole = words(language), number_text(total, table.decimals, language)
        sums = []
        splits = itertools.chain(_one_way(table, language), _inner(table, language))
        for (name, _), value in zip(splits, values, strict=True):
            if value is not None:
                shown = number_text(value, table.decimals, language)
                sums += [text.add_by.format(sum=shown, name=name)] if shown != whole else []
        if sums:
            texts[language] = text.add_up.format(total=whole, sums=", ".join(sums))
    return texts


def _one_way(table: ProtectedTable, language: str) -> Iterator[_Split]:
    """The ways to split the grand total by one variable at one level.

    Branches that end above a level are part of it with their last code.
    """
    at_total = [only_total(dimension) for dimension in table.dimensions]
    for at, dimension in enumerate(table.dimensions):
        several = len(dimension.classifications) > 1
        for tree, classification in enumerate(dimension.classifications):
            own = (dimension.breakdown == tree) & (dimension.levels > 0)
            title = classification.title(language) if several else dimension.title(language)
            for level in range(1, classification.depth + 1):
                short = dimension.is_leaf & (dimension.levels < level)
                codes = own & ((dimension.levels == level) | short)
                name = title
                if classification.depth > 1:
                    name = _level_name(classification, level, title, language)
                yield name, [*at_total[:at], codes, *at_total[at + 1 :]]


def _inner(table: ProtectedTable, language: str) -> Iterator[_Split]:
    """The innermost cells; once for each way to choose among breakdowns that do not nest.

    With one variable they are those of its finest level, which are looked at already.
    """
    if len(table.dimensions) < 2:
        return
    choices = [range(len(dimension.classifications)) for dimension in table.dimensions]
    for chosen in itertools.product(*choices):
        codes, names = [], [words(language).add_inner]
        for dimension, tree in zip(table.dimensions, chosen, strict=True):
            codes.append(dimension.is_leaf & (dimension.breakdown == tree))
            if len(dimension.classifications) > 1:
                names.append(dimension.classifications[tree].title(language))
        yield ", ".join(names), codes


def _sum(table: ProtectedTable, codes: Sequence[BoolArray], cells: Any) -> int | float | None:
    """The sum of published values; None if one of them is suppressed or unknown."""
    if table.parts is not None or table.suppressed_parts:
        # One code stands for all of its level: parts are made of levels.
        kinds = []
        for dimension, wanted in zip(table.dimensions, codes, strict=True):
            shown = np.flatnonzero(wanted)
            levels = np.where(dimension.is_leaf, -1, dimension.levels)[shown]
            kinds.append(shown[np.unique(levels, return_index=True)[1]])
        index = [part.ravel().astype(np.int32) for part in np.meshgrid(*kinds, indexing="ij")]
        suppressed = table.absent(index, len(index[0])) == CellStatus.suppressed
        if suppressed.any() or not table.known(index, len(index[0])).all():
            return None
    value = table.value[cells]
    mask = np.ones(len(value), dtype=np.bool_)
    for part, wanted in zip(table.index, codes, strict=True):
        mask &= wanted[part[cells]]
    if bool((table.status[cells][mask] == CellStatus.suppressed).any()):
        return None
    value = value[mask]
    # fsum is exact, so the order of the cells does not matter.
    return int(value.sum()) if value.dtype.kind == "i" else math.fsum(value.tolist())


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LONGEST = 32_767


def universe(table: ProtectedTable, language: str) -> str:
    """Counted units, in a language; empty if unstated."""
    return table.universe.get(language) or next(iter(table.universe.values()), "")


def below_title(table: ProtectedTable, language: str) -> list[str]:
    """Text below the title: the only figure, and the counted units."""
    return [line for line in (figure_line(table, language), universe(table, language)) if line]


def describe(table: ProtectedTable, language: str, *, but: str = "") -> dict[str, Any]:
    """Title, variables, figures, notes, legend and provenance as plain values.

    Figures, notes about some of the cells and suppressed parts are listed where there
    are any; codes of all variables but the one that is named.

    >>> from discreet.publication.examples import census_example
    >>> list(describe(census_example(), "en"))
    ['name', 'title', 'universe', 'language', 'variables', 'notes', 'legend', 'provenance']
    """
    variables: list[dict[str, Any]] = []
    for part in table.spanning:
        variables.append({"name": part.name, "label": part.title(language)})
        if part.name != but:
            codes = part.codes
            variables[-1] |= {
                "codes": list(codes),
                "labels": list(labels_of(part, language)),
                "levels": part.levels.tolist(),
                "parents": [None if at < 0 else codes[at] for at in part.parents.tolist()],
            }
    about = describe_cells(table, language)
    whole: dict[str, Any] = {
        "name": table.name,
        "title": table.title(language),
        "universe": about.pop("universe"),
        "language": language,
        "variables": variables,
    }
    for name in ("figures", "margin"):
        if name in about:
            whole[name] = about.pop(name)
    whole["notes"] = [{"kind": n.kind, "text": n.text(language)} for n in printed_notes(table)]
    for name in ("cell_notes", "suppressed_parts"):
        if name in about:
            whole[name] = about.pop(name)
    whole["legend"] = [
        {"symbol": sign.symbol, "meaning": sign.meaning} for sign in legend(table, language)
    ]
    return whole | about


def describe_cells(table: ProtectedTable, language: str) -> dict[str, Any]:
    """What is counted, how, by which method, and notes about some of the cells."""
    source, remarks = table.provenance, footnotes(table)
    about: dict[str, Any] = {"universe": universe(table, language)}
    if table.figures:
        about["figures"] = [
            {
                "name": figure.name,
                "kind": figure.kind,
                "label": figure.title(language),
                "unit": figure.unit_text(language),
                "decimals": figure.decimals,
            }
            for figure in table.figures
        ]
    if table.margin is not None:
        about["margin"] = table.margin
    if remarks.remarks:
        about["cell_notes"] = [
            {
                "kind": remarks.notes[remark.number - 1].kind,
                "codes": {
                    dimension.name: dimension.codes[code]
                    for dimension, code in zip(table.dimensions, remark.wanted, strict=True)
                    if code is not None
                },
                "text": remarks.notes[remark.number - 1].text(language),
            }
            for remark in remarks.remarks
        ]
    if table.suppressed_parts:
        about["suppressed_parts"] = part_names(table, language)
    if stated := imprint_texts(table, language):
        about["imprint"] = stated
    about["provenance"] = {
        "version": source.version,
        "method": source.method,
        "key_grid": source.key_grid,
        "digests": dict(sorted(source.digests.items())),
        "time": source.time,
    }
    return about


def imprint_texts(table: ProtectedTable, language: str) -> dict[str, str]:
    """Texts of the imprint of a table, in a language or the first available one."""
    if table.imprint is None:
        return {}
    stated = {item.name: getattr(table.imprint, item.name) for item in fields(table.imprint)}
    return {name: title_in(texts, language) for name, texts in stated.items() if texts}


def metadata_of(described: dict[str, Any]) -> dict[str, str]:
    """A description as metadata of a Parquet file."""
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in described.items()
    }


def provenance_lines(table: ProtectedTable, language: str) -> list[tuple[str, str]]:
    """Imprint and provenance of a table, as pairs of name and text; nothing that is empty.

    Digests are for programs: they stand in the metadata of files.
    """
    text, source = words(language), table.provenance
    stated = imprint_texts(table, language)
    lines = [
        *((getattr(text, name), date_text(value, language)) for name, value in stated.items()),
        (text.version, f"discreet {source.version}" if source.version else ""),
        (text.procedure, source.method),
        (text.key_grid, source.key_grid),
        (text.time, date_text(source.time, language)),
    ]
    return [(name, value) for name, value in lines if value]


def check_texts(table: ProtectedTable, language: str) -> None:
    """Raise an error for texts that a page or a sheet cannot hold."""
    places: dict[str, Sequence[str]] = {
        "title": [table.title(language)],
        "universe": [universe(table, language)],
        "notes": [note.text(language) for note in table.notes],
        "cell notes": [remark.note.text(language) for remark in table.cell_notes],
        "figures": [figure_text(figure, language) for figure in table.figures],
        "provenance": ["".join(pair) for pair in provenance_lines(table, language)],
    }
    for dimension in table.dimensions:
        texts = (*dimension.codes, *labels_of(dimension, language), dimension.title(language))
        places[f"variable {dimension.name}"] = texts
    bad = []
    for where, own in places.items():
        # One look at all texts tells if none is wrong.
        if max(map(len, own), default=0) > _LONGEST or _UNPRINTABLE.search("\n".join(own)):
            bad += [where for text in own if len(text) > _LONGEST or _UNPRINTABLE.search(text)]
    if bad:
        message = f"{len(bad):,} texts have control characters or more than {_LONGEST:,} characters"
        hint = "correct the labels"
        raise PublicationError(message, code="texts", where=f"{table.name}: {bad[0]}", hint=hint)
