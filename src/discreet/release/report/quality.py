"""`QualityReport`: the pages and documents about the quality of a release.

In: a `QualityLog` (confidential). Out: a public version, as pages and as plain numbers, that
leaves every parameter open, and an internal one, CONFIDENTIAL, readable by its owner only.
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.assessment import (
    DEVIATION_CLASSES,
    SIZE_CLASSES,
    Noise,
    Overall,
    QualityLog,
    statements,
)
from discreet.errors import PublicationError
from discreet.files import check_writable, json_text, make_folder, write_text
from discreet.publication import LANGUAGES, facts_html, page_head, page_tail
from discreet.release.report.sections import (
    Document,
    LevelLabels,
    QualitySections,
    heading,
    paragraphs,
    words,
)
from discreet.tables import ProtectedTable


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
    """Public figures on the quality of a release.

    Numbers of tables and cells, and which tables are shown completely, can be seen in the
    release itself; everything else is a bound.
    """
    overall = Overall(log)
    return {
        "format": "discreet-quality",
        "format_version": 1,
        "kind": "public",
        "software": f"discreet {__version__}",
        "title": title,
        "tables": len(log),
        "cells": overall.grid_cells,
        "shown": dict(overall.shown()),
        "shown_by_level": [
            {"variable": variable, "level": level, "tables": sum(shown.values()), **shown}
            for (variable, level), shown in overall.shown_by_level().items()
        ],
        "statements": [one.described() for one in statements(overall)],
    }


def internal_figures(log: QualityLog, title: dict[str, str]) -> dict[str, Any]:
    """Everything that is known about the quality of a release. CONFIDENTIAL."""
    overall = Overall(log)
    compared, differing, absolute, largest = overall.sums()
    return {
        **public_figures(log, title),
        "kind": "internal, confidential",
        "alarms": overall.alarms(),
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


def _noise(noise: Noise) -> dict[str, Any]:
    """Figures of some counts, with the noise itself."""
    cells = {str(value): number for value, number in sorted(noise.cells.items())}
    return {**noise.described(), "noise": cells}


def _table(log: QualityLog, name: str) -> dict[str, Any]:
    """One table: how it is shown, and its counts over all and by part."""
    table, alone = log.tables[name], Overall(log.only(name))
    return {
        "shown": table.shown,
        "cells": table.grid_cells,
        "suppressed_cells": alone.suppressed_cells,
        "counts": alone.noise().described(),
        "parts": [
            {
                "levels": dict(zip(table.variables, part.levels, strict=True)),
                "cells": part.cells,
                "suppressed": part.suppressed,
                "counts": table.counts.of_part(at).described(),
            }
            for at, part in enumerate(table.parts)
            if part is not None
        ],
        "reasons": dict(table.reasons),
        "closeness": {name: asdict(gate) for name, gate in table.gates.items()},
    }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class QualityReport:
    """Quality report of a release, public and internal."""

    log: QualityLog  # what is known of its tables (confidential)
    title: Mapping[str, str]  # language → name of the release
    #: What the internal version says besides, each as language → text
    remarks: Sequence[Mapping[str, str]] = ()
    #: The tables themselves, with or without cells: pages take their labels
    tables: Sequence[ProtectedTable] = ()
    attacked: bool = False  # whether attacks on them stayed below the limits of the programme
    #: Per table, how many of its areas are shown completely, level by level
    areas: Mapping[str, Sequence[Document]] = field(default_factory=dict)

    @cached_property
    def public(self) -> Document:
        """The public version."""
        areas = {name: list(each) for name, each in self.areas.items() if each}
        known = {**public_figures(self.log, dict(self.title)), "attacked": self.attacked}
        margins = [table.margin for table in self.tables if table.margin is not None]
        known |= {"margin": max(margins)} if margins else {}
        return {**known, "areas": areas} if areas else known

    @cached_property
    def internal(self) -> Document:
        """Everything. CONFIDENTIAL."""
        remarks = [dict(remark) for remark in self.remarks]
        known = internal_figures(self.log, dict(self.title))
        return {**known, **self.public, "kind": known["kind"], "remarks": remarks}

    def html(self, language: str = "en", *, internal: bool = False) -> str:
        """A page that stands on its own."""
        document = self.internal if internal else self.public
        sections = QualitySections(document, language, LevelLabels(self.tables, language))
        text, shown = sections.text, document["shown"]["complete"]
        name = self.title.get(language) or next(iter(self.title.values()), "")
        title = f"{text['quality']}: {name}" if name else text["quality"]
        facts = [(text[key], sections.number(document[key])) for key in ("tables", "cells")]
        if document["tables"]:
            share = sections.share(shown / document["tables"])
            facts.append((text["complete"], f"{sections.number(shown)} ({share})"))
        lead = text["internal lead" if internal else "public lead"]
        alarms = [text[f"alarm {code}"] for code in document["alarms"]] if internal else []
        css = resources.files("discreet.release.report").joinpath("quality.css")
        return "".join(
            (
                page_head(title, language, css.read_text("utf-8")),
                paragraphs([text["confidential"]] if internal else []),
                paragraphs(alarms, "alert"),
                f'<h1>{html.escape(title)}</h1>\n<p class="lead">{html.escape(lead)}</p>\n',
                facts_html(facts, text["summary"]),
                heading(text["statements"], sections.statements(Overall(self.log))),
                f"<p>{html.escape(text['attacked'])}</p>\n" if self.attacked else "",
                paragraphs(remark[language] for remark in document.get("remarks", ())),
                sections.margin(),
                sections.shown(),
                sections.areas(self.areas),
                sections.internal() if internal else "",
                f"<footer><p>{text['software']}: discreet {__version__}</p></footer>\n",
                page_tail(),
            )
        )

    def json(self, *, internal: bool = False) -> str:
        """The document for programs."""
        document = self.internal if internal else self.public
        return json_text(document) + "\n"

    def __repr__(self) -> str:
        return f"<QualityReport (confidential): {len(self.log)} tables>"


def quality_files(languages: Sequence[str], *, internal: bool = False) -> list[str]:
    """The names of the files that `write_quality` writes, the main language first.

    >>> quality_files(["en", "de"])
    ['quality.html', 'quality.de.html', 'quality.json']
    """
    stem = "quality-internal" if internal else "quality"
    marks = ["" if language == languages[0] else f".{language}" for language in languages]
    return [*(f"{stem}{mark}.html" for mark in marks), f"{stem}.json"]


def write_quality(
    log: QualityLog,
    out: str | os.PathLike[str],
    *,
    title: str | Mapping[str, str],
    languages: Sequence[str] = ("en",),
    internal: str | os.PathLike[str] | None = None,
    remarks: Sequence[Mapping[str, str]] = (),
    tables: Sequence[ProtectedTable] = (),
    attacked: bool = False,
    areas: Mapping[str, Sequence[Document]] | None = None,
) -> list[Path]:
    """Write the report on the quality of a release.

    Args:
        log: What is known of its tables (confidential).
        out: Folder of the release, for the public version.
        title: Name of the release, as text or language → text.
        languages: Languages of the pages, the main one first.
        internal: Another folder, for the internal version; none is written without it.
        remarks: What the internal version says besides, each as language → text.
        tables: The tables themselves, with or without cells: pages take their labels.
        attacked: Whether attacks on them stayed below the limits of the programme.
        areas: Per table, how many of its areas are shown completely, level by level.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_quality(QualityLog(), folder, title="Census")]
    ['quality.html', 'quality.json']
    """
    if isinstance(languages, str) or not languages or len(set(languages)) < len(languages):
        message = "languages must be a list of different languages"
        hint = f"languages: {', '.join(LANGUAGES)}"
        raise PublicationError(message, code="language", where="languages", hint=hint)
    for language in languages:
        words(language)
    check_writable(out)
    places = [(Path(out), False)]
    if internal is not None:
        if Path(internal).resolve().is_relative_to(Path(out).resolve()):
            what = "the internal report must not be in the release folder, which is published"
            where, hint = str(Path(internal)), "choose another folder"
            raise PublicationError(what, code="internal-folder", where=where, hint=hint)
        make_folder(Path(internal), mode=0o700)
        places.append((Path(internal), True))
        check_writable(internal)
    titles = dict.fromkeys(languages, title) if isinstance(title, str) else dict(title)
    report = QualityReport(
        log=log,
        title=titles,
        remarks=remarks,
        tables=tables,
        attacked=attacked,
        areas=areas or {},
    )
    written = []
    for folder, secret in places:
        pages = [report.html(language, internal=secret) for language in languages]
        texts = [*pages, report.json(internal=secret)]
        for name, text in zip(quality_files(languages, internal=secret), texts, strict=True):
            write_text(folder / name, text, private=secret)
            written.append(folder / name)
    return written
