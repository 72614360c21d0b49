"""`Picture`: a drawing that can be saved.

In: what to draw. Out: a PNG, SVG or HTML file, readable by its owner only.
SECRET: pictures of perturbation tables show their parameters.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.assessment.pictures.rendering import as_html, as_png, as_svg
from discreet.errors import PublicationError
from discreet.files import atomic_path

__all__ = ["Picture"]

_SUFFIXES = (".png", ".svg", ".html")


@dataclass(frozen=True, repr=False, eq=False)
class Picture:
    """A drawing. SECRET: it shows the noise of a perturbation table.

    Made by `tableau`, `transition_heatmap`, `row_distributions`, `quality_curve`
    and `risk_curve`.

    Args:
        name: What kind of drawing it is.
        title: Its title.
        language: Language of its words: "en" or "de".
        description: The drawing as Vega-Lite data.

    >>> from discreet.assessment.pictures import tableau
    >>> from discreet.perturbation import PerturbationTable
    >>> tableau(PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}))
    <Picture tableau: secret>
    """

    name: str
    title: str
    language: str
    description: Mapping[str, Any] = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture, readable by its owner only.

        Args:
            path: Where to. The suffix chooses the form: .png and .svg for documents,
                .html for a page that shows the numbers under the pointer and needs
                no network.
        """
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix not in _SUFFIXES:
            raise PublicationError(
                "the suffix names no form of picture",
                code="picture-format",
                where=target.name,
                hint=f"use {', '.join(_SUFFIXES)}",
            )
        if target.is_dir():
            raise PublicationError(
                "this is a folder, not a file", code="picture-format", where=str(target)
            )
        content = self.png() if suffix == ".png" else self._text(suffix).encode()
        with atomic_path(target, private=True) as temporary:
            temporary.write_bytes(content)
        return target

    def svg(self) -> str:
        """The picture as SVG text."""
        return as_svg(self.description, self.language)

    def png(self) -> bytes:
        """The picture as PNG bytes, fine enough for print."""
        return as_png(self.description, self.language)

    def html(self) -> str:
        """The picture as one HTML page that needs nothing else."""
        return as_html(self.description, self.language, self.title)

    def _text(self, suffix: str) -> str:
        return self.svg() if suffix == ".svg" else self.html()

    def __repr__(self) -> str:
        return f"<Picture {self.name}: secret>"

    def _repr_html_(self) -> None:
        """Notebooks show the plain text form."""
