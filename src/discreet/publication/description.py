"""What a file says about a table besides its cells.

In: `ProtectedTable` and a language. Out: plain values for JSON, Parquet metadata,
legends and footers. Public: no parameters, keys, originals or noise are known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.errors import PublicationError
from discreet.publication.layout import footnotes
from discreet.publication.notation import legend
from discreet.publication.notes import part_names, printed_notes
from discreet.publication.vocabulary import figure_text, labels_of, words
from discreet.tables import Dimension, Figure, ProtectedTable

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LONGEST = 32_767


def universe(table: ProtectedTable, language: str) -> str:
    """Who is counted, in a language; empty if nothing is said."""
    return table.universe.get(language) or next(iter(table.universe.values()), "")


def describe(table: ProtectedTable, language: str, *, but: str = "") -> dict[str, Any]:
    """Title, variables, figures, notes, legend and provenance as plain values.

    Figures, notes about some of the cells and suppressed parts are listed where there
    are any; codes of all variables but the one that is named.

    >>> from discreet.publication.examples import census_example
    >>> list(describe(census_example(), "en"))
    ['name', 'title', 'universe', 'language', 'variables', 'notes', 'legend', 'provenance']
    """
    source = table.provenance
    whole: dict[str, Any] = {
        "name": table.name,
        "title": table.title(language),
        "universe": universe(table, language),
        "language": language,
        "variables": [
            {"name": part.name, "label": part.title(language)}
            if part.name == but
            else describe_variable(part, language)
            for part in table.spanning
        ],
    }
    if table.figures:
        whole["figures"] = [describe_figure(figure, language) for figure in table.figures]
    whole["notes"] = [{"kind": n.kind, "text": n.text(language)} for n in printed_notes(table)]
    if footnotes(table).remarks:
        whole["cell_notes"] = _cell_notes(table, language)
    if table.suppressed_parts:
        whole["suppressed_parts"] = part_names(table, language)
    whole["legend"] = [
        {"symbol": sign.symbol, "meaning": sign.meaning} for sign in legend(table, language)
    ]
    whole["provenance"] = {
        "version": source.version,
        "method": source.method,
        "key_grid": source.key_grid,
        "digests": dict(sorted(source.digests.items())),
        "time": source.time,
    }
    return whole


def _cell_notes(table: ProtectedTable, language: str) -> list[dict[str, Any]]:
    """The notes about some of the cells, each with the codes it is about."""
    remarks = footnotes(table)
    return [
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


def describe_figure(figure: Figure, language: str) -> dict[str, Any]:
    """Name, kind, heading, unit and decimals of a figure."""
    return {
        "name": figure.name,
        "kind": figure.kind,
        "label": figure.title(language),
        "unit": figure.unit_text(language),
        "decimals": figure.decimals,
    }


def describe_variable(dimension: Dimension, language: str) -> dict[str, Any]:
    """Codes, labels, levels and parents of a spanning variable."""
    codes = dimension.codes
    return {
        "name": dimension.name,
        "label": dimension.title(language),
        "codes": list(codes),
        "labels": list(labels_of(dimension, language)),
        "levels": dimension.levels.tolist(),
        "parents": [None if at < 0 else codes[at] for at in dimension.parents.tolist()],
    }


def provenance_lines(table: ProtectedTable, language: str) -> list[tuple[str, str]]:
    """Where a table comes from, as pairs of name and text; nothing that is empty."""
    text, source = words(language), table.provenance
    lines = [
        (text.version, f"discreet {source.version}" if source.version else ""),
        (text.procedure, source.method),
        (text.key_grid, source.key_grid),
        (text.time, source.time),
        *((f"{text.digest} {names}", value) for names, value in _digests(source.digests)),
    ]
    return [(name, value) for name, value in lines if value]


def _digests(digests: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each digest once, with the names it goes by."""
    names: dict[str, list[str]] = {}
    for name, value in sorted(digests.items()):
        names.setdefault(value, []).append(name)
    return [(", ".join(every), value) for value, every in names.items()]


def check_texts(table: ProtectedTable, language: str) -> None:
    """Raise an error for texts that a page or a sheet cannot hold."""
    bad = [where for where, texts in _texts(table, language) for _ in range(_unusable(texts))]
    if bad:
        message = f"{len(bad):,} texts have control characters or more than {_LONGEST:,} characters"
        hint = "correct the labels"
        raise PublicationError(message, code="texts", where=f"{table.name}: {bad[0]}", hint=hint)


def _texts(table: ProtectedTable, language: str) -> Iterator[tuple[str, Sequence[str]]]:
    yield "title", [table.title(language)]
    yield "universe", [universe(table, language)]
    yield "notes", [note.text(language) for note in table.notes]
    yield "cell notes", [remark.note.text(language) for remark in table.cell_notes]
    yield "figures", [figure_text(figure, language) for figure in table.figures]
    yield "provenance", ["".join(pair) for pair in provenance_lines(table, language)]
    for dimension in table.dimensions:
        labels = labels_of(dimension, language)
        yield (
            f"variable {dimension.name}",
            (*dimension.codes, *labels, dimension.title(language)),
        )


def _unusable(texts: Sequence[str]) -> int:
    """Number of texts that cannot be printed; one look at all of them tells if there is none."""
    if max(map(len, texts), default=0) <= _LONGEST and not _UNPRINTABLE.search("\n".join(texts)):
        return 0
    return sum(len(text) > _LONGEST or bool(_UNPRINTABLE.search(text)) for text in texts)
