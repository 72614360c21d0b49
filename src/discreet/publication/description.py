"""What a file says about a table besides its cells.

In: `ProtectedTable` and a language. Out: plain values for JSON, Parquet metadata,
legends and footers. Public: no parameters, keys, originals or noise are known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.errors import PublicationError
from discreet.publication.labels import labels_of
from discreet.publication.notation import legend
from discreet.publication.notes import printed_notes
from discreet.publication.words import words
from discreet.tables import Dimension, ProtectedTable

__all__ = ["check_texts", "describe", "describe_variable", "provenance_lines", "universe"]


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LONGEST = 32_767


def universe(table: ProtectedTable, language: str) -> str:
    """Who is counted, in a language; empty if nothing is said."""
    return table.universe.get(language) or next(iter(table.universe.values()), "")


def describe(table: ProtectedTable, language: str) -> dict[str, Any]:
    """Title, variables, notes, legend and provenance as plain values.

    >>> from discreet.publication.examples import census_example
    >>> list(describe(census_example(), "en"))
    ['name', 'title', 'universe', 'language', 'variables', 'notes', 'legend', 'provenance']
    """
    source = table.provenance
    return {
        "name": table.name,
        "title": table.title(language),
        "universe": universe(table, language),
        "language": language,
        "variables": [describe_variable(part, language) for part in table.dimensions],
        "notes": [{"kind": n.kind, "text": n.text(language)} for n in printed_notes(table)],
        "legend": [
            {"symbol": sign.symbol, "meaning": sign.meaning} for sign in legend(table, language)
        ],
        "provenance": {
            "version": source.version,
            "method": source.method,
            "key_grid": source.key_grid,
            "digests": dict(sorted(source.digests.items())),
            "time": source.time,
        },
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
        *((f"{text.digest} {name}", value) for name, value in sorted(source.digests.items())),
    ]
    return [(name, value) for name, value in lines if value]


def check_texts(table: ProtectedTable, language: str) -> None:
    """Raise an error for texts that a page or a sheet cannot hold."""
    bad = [where for where, texts in _texts(table, language) for _ in range(_unusable(texts))]
    if bad:
        raise PublicationError(
            f"{len(bad):,} texts have control characters or more than {_LONGEST:,} characters",
            code="texts",
            where=f"{table.name}: {bad[0]}",
            hint="correct the labels",
        )


def _texts(table: ProtectedTable, language: str) -> Iterator[tuple[str, Sequence[str]]]:
    yield "title", [table.title(language)]
    yield "universe", [universe(table, language)]
    yield "notes", [note.text(language) for note in table.notes]
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
