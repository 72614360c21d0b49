"""`Picture`: a drawing that can be saved.

In: what to draw. Out: a PNG, SVG or HTML file, readable by its owner only if it is secret:
pictures of perturbation tables show their parameters, others which cells are sensitive.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.assessment.pictures.rendering import as_html, as_png, as_svg, check_drawing
from discreet.errors import PublicationError
from discreet.files import atomic_path

__all__ = ["Picture", "check_picture_place"]

_SUFFIXES = (".png", ".svg", ".html")


def check_picture_place(path: str | os.PathLike[str]) -> Path:
    """The place of a picture, once it is sure that something can be drawn there.

    Args:
        path: Where the picture is to go.

    >>> check_picture_place("noise.svg").name
    'noise.svg'
    """
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
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
    check_drawing()
    return target


@dataclass(frozen=True, repr=False, eq=False)
class Picture:
    """A drawing. SECRET unless it was made of nothing but a table to publish.

    Made by `tableau`, `transition_heatmap`, `row_distributions`, `quality_curve`,
    `risk_curve`, `hidden_cells`, `hidden_by_code` and `hidden_by_part`.

    Args:
        name: What kind of drawing it is.
        title: Its title.
        language: Language of its words: "en" or "de".
        description: The drawing as Vega-Lite data.
        secret: Whether it shows what must not be published.

    >>> from discreet.assessment.pictures import tableau
    >>> from discreet.perturbation import PerturbationTable
    >>> tableau(PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}))
    <Picture tableau: secret>
    """

    name: str
    title: str
    language: str
    description: Mapping[str, Any] = field(repr=False)
    secret: bool = True

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture; one that is secret can be read by its owner only.

        Args:
            path: Where to. The suffix chooses the form: .png and .svg for documents,
                .html for a page that shows the numbers under the pointer and needs
                no network.
        """
        target = check_picture_place(path)
        suffix = target.suffix.lower()
        content = self.png() if suffix == ".png" else self._text(suffix).encode()
        with atomic_path(target, private=self.secret) as temporary:
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
        return f"<Picture {self.name}{': secret' if self.secret else ''}>"

    def _repr_html_(self) -> None:
        """Notebooks show the plain text form."""
