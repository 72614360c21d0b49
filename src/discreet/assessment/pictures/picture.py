"""`Picture`: a drawing that can be saved as SVG, PNG and HTML, without any network.

In: a Vega-Lite description, which is plain data. Out: a file, readable by its owner only if
it is secret: pictures of perturbation tables show their parameters, others which cells are
sensitive. SECRET: what comes out shows what went in.
"""

from __future__ import annotations

import html
import json
import os
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import PublicationError
from discreet.files import atomic_path

if TYPE_CHECKING:
    from types import ModuleType

_SCALE = 2.5

_NOTEBOOK_TYPE = "application/vnd.vegalite.v5+json"
_NOTEBOOK_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"

_NUMBERS: Mapping[str, Mapping[str, Any]] = {
    "de": {"decimal": ",", "thousands": "\u202f", "grouping": [3], "currency": ["", ""]},
    "en": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""]},
}
_SUFFIXES = (".png", ".svg", ".html")

# Nothing may leave the page: no network at all, no menu that takes the data elsewhere.
_PAGE = files("discreet.assessment.pictures").joinpath("page.html").read_text("utf-8")


def _library() -> ModuleType:
    try:
        import vl_convert
    except ImportError:
        raise PublicationError(
            "pictures need the package vl-convert-python",
            code="missing-package",
            hint="pip install 'discreet[pictures]'",
        ) from None
    return vl_convert


@cache
def _script_library() -> str:
    """The drawing library for browsers, put together once."""
    text: str = _library().javascript_bundle()
    return text


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _in_script(content: Mapping[str, Any]) -> str:
    """JSON that cannot end the script it stands in."""
    return _json(content).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def check_picture_place(path: str | os.PathLike[str]) -> Path:
    """The place of a picture, once it is sure that something can be drawn there.

    >>> check_picture_place("noise.svg").name
    'noise.svg'
    """
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
        message, hint = "unknown suffix of a picture", f"use {', '.join(_SUFFIXES)}"
        raise PublicationError(message, code="picture-format", where=target.name, hint=hint)
    if target.is_dir():
        message = "not a file but a folder"
        raise PublicationError(message, code="picture-format", where=str(target))
    _library()  # an error if what draws is not there
    return target


@dataclass(frozen=True, repr=False, eq=False)
class Picture:
    """A drawing. SECRET unless it was made of nothing but a table to publish.

    Made by `tableau`, `transition_heatmap`, `row_distributions`, `quality_curve`,
    `risk_curve`, `hidden_cells`, `hidden_by_code`, `hidden_by_part` and `plot`.
    Notebooks show one that is not secret.

    Args:
        name: What kind of drawing it is.
        title: Its title.
        language: Language of its words: "en" or "de".
        description: The drawing as Vega-Lite data.
        secret: Whether it shows what must not be published.

    >>> from discreet.assessment.pictures import tableau
    >>> from discreet.protection.noise import PerturbationTable
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
        if suffix == ".png":
            content = self.png()
        else:
            content = (self.svg() if suffix == ".svg" else self.html()).encode()
        with atomic_path(target, private=self.secret) as temporary:
            temporary.write_bytes(content)
        return target

    def svg(self) -> str:
        """The picture as SVG text; equal descriptions give equal text."""
        return f"{_library().vegalite_to_svg(_json(self.description), **self._locale)}\n"

    def png(self) -> bytes:
        """The picture as PNG bytes, fine enough for print."""
        png = _library().vegalite_to_png(_json(self.description), scale=_SCALE, **self._locale)
        # The same pixels in a fraction of the bytes: the library compresses in haste.
        chunks, at = [], 8
        while at < len(png):
            (length,) = struct.unpack_from(">I", png, at)
            chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
            at += 12 + length
        pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
        parts = [(kind, data) for kind, data in chunks if kind not in (b"IDAT", b"IEND")]
        parts += [(b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")]
        compact: bytes = png[:8]
        for kind, data in parts:
            checked = struct.pack(">I", zlib.crc32(kind + data))
            compact += struct.pack(">I", len(data)) + kind + data + checked
        return compact

    def html(self) -> str:
        """The picture as one HTML page that needs nothing else and asks nobody."""
        options = {
            "mode": "vega-lite",
            "renderer": "svg",
            "ast": True,
            "formatLocale": _NUMBERS[self.language],
            "actions": False,
        }
        return _PAGE.format(
            language=self.language,
            title=html.escape(self.title),
            library=_script_library(),
            description=_in_script(self.description),
            options=_in_script(options),
        )

    @property
    def _locale(self) -> dict[str, Any]:
        return {"format_locale": dict(_NUMBERS[self.language])}

    def __repr__(self) -> str:
        return f"<Picture {self.name}{': secret' if self.secret else ''}>"

    def _repr_html_(self) -> None:
        """A picture is no HTML in notebooks: either a drawing, or its name."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any] | None:
        """What notebooks show: the drawing, or the plain text form of one that is secret."""
        if self.secret:
            return None
        # Notebooks know the fifth version by name; nothing here needs a later one.
        drawing = {**self.description, "$schema": _NOTEBOOK_SCHEMA}
        locale = {"locale": {"number": _NUMBERS[self.language]}}
        shown: dict[str, Any] = {
            "text/plain": repr(self),
            _NOTEBOOK_TYPE: {**drawing, "config": {**self.description["config"], **locale}},
        }
        with suppress(PublicationError):  # without the package that draws, notebooks do
            shown["image/svg+xml"] = self.svg()
        return shown
