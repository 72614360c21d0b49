"""`QualityReport`: the pages and documents about the quality of a release.

In: a `QualityLog` (confidential). Out: a public version that leaves every parameter open,
and an internal one, CONFIDENTIAL, readable by its owner only.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from discreet._version import __version__
from discreet.assessment.release_quality import QualityLog
from discreet.assessment.words import number, percent
from discreet.errors import PublicationError
from discreet.files import check_writable, write_text
from discreet.publication.html_parts import page_head, page_tail
from discreet.release.quality.figures import internal_figures, public_figures
from discreet.release.quality.sections import (
    Document,
    facts,
    heading,
    internal_sections,
    shown_section,
    statement_list,
)
from discreet.release.quality.words import LANGUAGES, words

__all__ = ["QualityReport", "quality_files", "write_quality"]

_PUBLIC, _INTERNAL = "quality", "quality-internal"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class QualityReport:
    """What can be said about the quality of a release, in two versions.

    Args:
        log: What is known of its tables (confidential).
        title: language → name of the release.
    """

    log: QualityLog
    title: Mapping[str, str]

    @cached_property
    def public(self) -> Document:
        """What anyone may know."""
        return public_figures(self.log, dict(self.title))

    @cached_property
    def internal(self) -> Document:
        """Everything. CONFIDENTIAL."""
        return internal_figures(self.log, dict(self.title))

    def html(self, language: str = "en", *, internal: bool = False) -> str:
        """A page that stands on its own.

        Args:
            language: "en" or "de".
            internal: True for the CONFIDENTIAL version.
        """
        text = words(language)
        document = self.internal if internal else self.public
        name = self.title.get(language) or next(iter(self.title.values()), "")
        title = f"{text['quality']}: {name}" if name else text["quality"]
        warning = f'<p class="internal" role="note">{html.escape(text["confidential"])}</p>\n'
        lead = text["internal lead" if internal else "public lead"]
        css = resources.files("discreet.release.quality").joinpath("quality.css")
        return "".join(
            (
                page_head(title, language, css.read_text("utf-8")),
                warning if internal else "",
                f'<h1>{html.escape(title)}</h1>\n<p class="lead">{html.escape(lead)}</p>\n',
                facts(_at_a_glance(document, text, language), text["summary"]),
                heading(text["statements"], statement_list(document, text, language)),
                shown_section(document, text, language),
                internal_sections(document, text, language) if internal else "",
                f"<footer><p>{text['software']}: discreet {__version__}</p></footer>\n",
                page_tail(),
            )
        )

    def json(self, *, internal: bool = False) -> str:
        """The document for programs.

        Args:
            internal: True for the CONFIDENTIAL version.
        """
        document = self.internal if internal else self.public
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"

    def __repr__(self) -> str:
        return f"<QualityReport (confidential): {len(self.log)} tables>"


def _at_a_glance(
    document: Document, text: Mapping[str, str], language: str
) -> list[tuple[str, str]]:
    tables, shown = document["tables"], document["shown"]["complete"]
    found = [(text[name], number(document[name], language, 0)) for name in ("tables", "cells")]
    if tables:
        share = percent(shown / tables, language)
        found.append((text["complete"], f"{number(shown, language, 0)} ({share})"))
    return found


def quality_files(languages: Sequence[str], *, internal: bool = False) -> list[str]:
    """The names of the files that `write_quality` writes, the main language first.

    >>> quality_files(["en", "de"])
    ['quality.html', 'quality.de.html', 'quality.json']
    """
    stem = _INTERNAL if internal else _PUBLIC
    marks = ["" if language == languages[0] else f".{language}" for language in languages]
    return [*(f"{stem}{mark}.html" for mark in marks), f"{stem}.json"]


def write_quality(
    log: QualityLog,
    out: str | os.PathLike[str],
    *,
    title: str | Mapping[str, str],
    languages: Sequence[str] = ("en",),
    internal: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write the report on the quality of a release.

    Args:
        log: What is known of its tables (confidential).
        out: Folder of the release, for the public version.
        title: Name of the release, as text or language → text.
        languages: Languages of the pages, the main one first.
        internal: Another folder, for the internal version; none is written without it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_quality(QualityLog(), folder, title="Census")]
    ['quality.html', 'quality.json']
    """
    _check_languages(languages)
    check_writable(out)
    places = [(Path(out), False)]
    if internal is not None:
        places.append((_internal_folder(Path(internal), Path(out)), True))
        check_writable(internal)
    titles = dict.fromkeys(languages, title) if isinstance(title, str) else dict(title)
    report = QualityReport(log=log, title=titles)
    written = []
    for folder, secret in places:
        pages = [report.html(language, internal=secret) for language in languages]
        texts = [*pages, report.json(internal=secret)]
        for name, text in zip(quality_files(languages, internal=secret), texts, strict=True):
            write_text(folder / name, text, private=secret)
            written.append(folder / name)
    return written


def _check_languages(languages: Sequence[str]) -> None:
    if isinstance(languages, str) or not languages or len(set(languages)) < len(languages):
        raise PublicationError(
            "languages is a list of different languages",
            code="language",
            where="languages",
            hint=f"languages: {', '.join(LANGUAGES)}",
        )
    for language in languages:
        words(language)


def _internal_folder(internal: Path, out: Path) -> Path:
    """The folder of the internal version, made if there is none; never within the release."""
    inner, outer = internal.resolve(), out.resolve()
    if inner == outer or outer in inner.parents:
        raise PublicationError(
            "the internal report cannot stand in the release folder, which is published",
            code="internal-folder",
            where=str(internal),
            hint="choose a folder elsewhere",
        )
    try:
        internal.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise PublicationError(
            f"the folder cannot be made ({error.strerror})",
            code="output-folder",
            where=str(internal),
            hint="choose another place, or check the permissions",
        ) from None
    return internal
