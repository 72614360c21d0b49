"""`Picture`: a drawing that can be saved as SVG, PNG and HTML, without any network; and its frame.

In: the body of a picture as Vega-Lite data; noise values or probabilities; names of texts. Out: the
whole picture with title, notes and footer; a file, readable by its owner only if it is secret:
pictures of perturbation tables show their parameters, others which cells are sensitive. Colours
also work in grey print: lightness alone orders them, dark blue for the lowest noise, grey for none,
pale yellow for the highest. As secret as the body; the footer of a secret picture says so.
"""

from __future__ import annotations

import html
import json
import os
import struct
import tomllib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import PublicationError
from discreet.files import atomic_path, texts_of

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


LANGUAGES = ("en", "de")

_STYLE: Mapping[str, Any] = tomllib.loads(
    files("discreet.assessment.pictures").joinpath("style.toml").read_text("utf-8")
)

#: Text and lines.
INK: str = _STYLE["ink"]
MUTED: str = _STYLE["muted"]

#: Upper ends of the classes of probability, in per cent, and their colours.
SHARE_CLASSES: Sequence[tuple[int, str]] = _STYLE["shares"]

#: Lines that are compared: colour, dash and point shape all differ.
SERIES: Sequence[tuple[str, Sequence[int], str]] = _STYLE["series"]

_LOWEST, _BELOW = "#141f52", "#5f7dca"
_NONE = "#979797"
_ABOVE, _HIGHEST = "#f5a524", "#fdeea2"

_LINE = 110
_CONFIG = {**_STYLE["page"], "view": {"stroke": None}, **_STYLE["marks"]}


def words(language: str, section: str = "pictures") -> Mapping[str, str]:
    """All texts of one language: of all pictures, or of those of "hidden" cells.

    >>> words("de")["noise"]
    'Überlagerung'
    """
    if language not in LANGUAGES:
        message, hint = "unknown language of pictures", f"use {' or '.join(LANGUAGES)}"
        raise PublicationError(message, code="picture-language", where="language", hint=hint)
    return texts_of("discreet.assessment", section, language)


def number(value: Decimal | str, language: str) -> str:
    """A decimal number as the language writes it, with a true minus sign.

    >>> number("-0.25", "de")
    '−0,25'
    """
    text = str(value).replace("-", "−")
    return text.replace(".", ",") if language == "de" else text


def sign(value: float, language: str = "en") -> str:
    """A noise value with its sign.

    >>> sign(-2), sign(0), sign(1.5, "de")
    ('−2', '0', '+1,5')
    """
    text = f"{value:g}"
    return number(f"+{text}" if value > 0 else text, language)


def noise_colours(values: Iterable[float]) -> dict[float, str]:
    """A colour for each noise value; lighter means higher, grey means unchanged.

    >>> noise_colours([-1, 0, 1])
    {-1: '#5f7dca', 0: '#979797', 1: '#f5a524'}
    """
    ordered = sorted(set(values))
    colours = {value: _NONE for value in ordered if value == 0}
    below = [value for value in reversed(ordered) if value < 0]
    above = [value for value in ordered if value > 0]
    for side, near, far in ((below, _BELOW, _LOWEST), (above, _ABOVE, _HIGHEST)):
        pairs = list(zip(_channels(near), _channels(far), strict=True))
        steps = max(len(side) - 1, 1)
        for at, value in enumerate(side):  # from near zero to far from it, in equal steps
            channels = [start + (end - start) * at // steps for start, end in pairs]
            colours[value] = "#" + "".join(f"{channel:02x}" for channel in channels)
    return {value: colours[value] for value in ordered}


def share_class(share: float) -> int:
    """The class of a probability: its place in `SHARE_CLASSES`.

    >>> [share_class(share) for share in (0.01, 0.2, 1)]
    [0, 3, 6]
    """
    return next(at for at, (upper, _) in enumerate(SHARE_CLASSES) if share * 100 <= upper + 1e-9)


def luminance(colour: str) -> float:
    """Luminance of a colour, from 0 (black) to 1 (white).

    >>> luminance("#ffffff")
    1.0
    """
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)
        for share in (channel / 255 for channel in _channels(colour))
    )
    return round(0.2126 * red + 0.7152 * green + 0.0722 * blue, 9)


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour.

    >>> ink_on("#141f52"), ink_on("#fdeea2")
    ('#ffffff', '#1a1a1a')
    """
    return "#ffffff" if luminance(colour) < 0.2 else INK


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


@cache
def _specs() -> Mapping[str, Any]:
    specs: Mapping[str, Any] = json.loads(
        files("discreet.assessment.pictures").joinpath("specs.json").read_text("utf-8")
    )
    return specs


def spec(name: str, language: str = "en", **values: Any) -> Any:
    """A piece of Vega-Lite from `specs.json`, filled in.

    Args:
        name: Which piece.
        language: Language of what stands there as "@WORD".
        values: What stands there as "$NAME", or in lists as "$*NAME": each of several.

    >>> spec("limit", limit=5, text="often", width=90)["layer"][1]["mark"]["x"]
    90
    """
    known = {"ink": INK, "muted": MUTED, **values}

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(value) for key, value in part.items()}
        if isinstance(part, list):
            several = [isinstance(item, str) and item.startswith("$*") for item in part]
            return [
                value
                for item, splice in zip(part, several, strict=True)
                for value in (known[item[2:]] if splice else [filled(item)])
            ]
        if isinstance(part, str) and part.startswith(("$", "@")):
            return words(language)[part[1:]] if part[0] == "@" else known[part[1:]]
        return part

    return filled(_specs()[name])


def channel(field: str, type_: str = "nominal", **more: Any) -> dict[str, Any]:
    """A field as a channel of an encoding."""
    return {"field": field, "type": type_, **more}


def mark(type_: str, **more: Any) -> dict[str, Any]:
    """A mark."""
    return {"type": type_, **more}


def tooltip(shown: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Tooltip: fields with their titles."""
    return [{"field": field, "title": title} for field, title in shown]


def picture_of(
    name: str,
    title: str,
    body: Mapping[str, Any],
    notes: Iterable[str],
    language: str,
    *,
    warning: str = "confidential",
) -> Picture:
    """A whole picture: title and notes above, the body, and the footer below.

    The footer is the warning of this name; without one, the picture is public.

    >>> picture = picture_of("noise", "Noise", {"mark": "bar"}, ["example"], "de")
    >>> picture.description["vconcat"][1]["mark"]["text"].partition(" ")[0]
    'VERTRAULICH'
    """
    lines: list[str] = []  # the notes one after the other, in lines that fit above the picture
    for note in filter(None, notes):
        if lines and len(lines[-1]) + len(note) < _LINE:
            lines[-1] = f"{lines[-1]} · {note}"
        else:
            lines.append(note)
    footer = [spec("footer", text=words(language)[warning])] if warning else []
    description = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": title, **({"subtitle": lines} if lines else {})},
        "vconcat": [body, *footer],
        "spacing": 14,
        "config": _CONFIG,
    }
    return Picture(name, title, language, description, bool(warning))
