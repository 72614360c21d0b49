"""What the pages about quality say, as plain numbers and texts.

In: a `QualityLog` (confidential). Out: two documents: `public_figures`, which anyone may
see, and `internal_figures`, CONFIDENTIAL.
"""

from __future__ import annotations

from typing import Any

from discreet._version import __version__
from discreet.assessment.release_quality import (
    DEVIATION_CLASSES,
    SIZE_CLASSES,
    Noise,
    Overall,
    QualityLog,
    statements,
)

__all__ = ["deviation_labels", "internal_figures", "public_figures", "size_labels"]

_FORMAT = "discreet-quality"


def size_labels() -> list[str]:
    """The size classes of original counts in words.

    >>> size_labels()
    ['1–2', '3–9', '10–99', '100–999', '1000+']
    """
    ends = [bound - 1 for bound in SIZE_CLASSES[1:]]
    pairs = zip(SIZE_CLASSES, ends, strict=False)
    return [*(f"{first}–{last}" for first, last in pairs), f"{SIZE_CLASSES[-1]}+"]


def deviation_labels() -> list[str]:
    """The classes of relative deviation in words.

    >>> deviation_labels()
    ['≤ 1 %', '≤ 2 %', '≤ 5 %', '≤ 10 %', '≤ 15 %', '> 15 %']
    """
    bounds = [f"{100 * bound:.0f} %" for bound in DEVIATION_CLASSES]
    return [*(f"≤ {bound}" for bound in bounds), f"> {bounds[-1]}"]


def public_figures(log: QualityLog, title: dict[str, str]) -> dict[str, Any]:
    """What may be said about the quality of a release.

    Numbers of tables and cells, and which tables are shown completely, can be seen in the
    release itself; everything else is a bound.
    """
    overall = Overall(log)
    return {
        **_head("public", title),
        "tables": len(log),
        "cells": overall.grid_cells,
        "shown": dict(overall.shown()),
        "shown_by_level": _shown_by_level(overall),
        "statements": [one.described() for one in statements(overall)],
    }


def internal_figures(log: QualityLog, title: dict[str, str]) -> dict[str, Any]:
    """Everything that is known about the quality of a release. CONFIDENTIAL."""
    overall = Overall(log)
    compared, differing, absolute, largest = overall.sums()
    return {
        **public_figures(log, title),
        "kind": "internal, confidential",
        "counts": overall.noise().described(),
        "noise": {str(noise): cells for noise, cells in sorted(overall.noise().cells.items())},
        "by_size": [
            {"original": label, **_noise(overall.noise(size_class=at))}
            for at, label in zip(overall.size_classes, size_labels(), strict=True)
        ],
        "by_depth": [
            {"variables": depth, **_noise(overall.noise(depth=depth))} for depth in overall.depths
        ],
        "set_aside": overall.set_aside(),
        "suppressed_cells": overall.suppressed_cells,
        "deviations": {
            kind: dict(zip(deviation_labels(), cells, strict=True))
            for kind, cells in overall.deviations().items()
        },
        "brackets": {
            kind: {"bracketed": pair[0], "shown": pair[1]}
            for kind, pair in overall.brackets().items()
        },
        "sums": {
            "compared": compared,
            "differing": differing,
            "mean_difference": absolute / compared if compared else 0,
            "largest_difference": largest,
        },
        "reasons": overall.reasons(),
        "each_table": {name: _table(log, name) for name in log.tables},
    }


def _head(kind: str, title: dict[str, str]) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "format_version": 1,
        "kind": kind,
        "software": f"discreet {__version__}",
        "title": title,
    }


def _shown_by_level(overall: Overall) -> list[dict[str, Any]]:
    return [
        {"variable": variable, "level": level, "tables": sum(shown.values())}
        | {str(state): tables for state, tables in shown.items()}
        for (variable, level), shown in overall.shown_by_level().items()
    ]


def _noise(noise: Noise) -> dict[str, Any]:
    """Figures of some counts, with the noise itself."""
    cells = {str(value): number for value, number in sorted(noise.cells.items())}
    return {**noise.described(), "noise": cells}


def _table(log: QualityLog, name: str) -> dict[str, Any]:
    """One table: how it is shown, and its counts over all and by part."""
    table = log.tables[name]
    alone = Overall(log.only(name))
    parts = []
    for at, part in enumerate(table.parts):
        if part is not None:
            parts.append(
                {
                    "levels": dict(zip(table.variables, part.levels, strict=True)),
                    "cells": part.cells,
                    "suppressed": part.suppressed,
                    "counts": table.counts.of_part(at).described(),
                }
            )
    return {
        "shown": table.shown,
        "cells": table.grid_cells,
        "suppressed_cells": alone.suppressed_cells,
        "counts": alone.noise().described(),
        "parts": parts,
        "reasons": dict(table.reasons),
    }
