"""The frame, the colours and the words that all pictures share: title, notes, footer, sizes.

In: the body of a picture as Vega-Lite data; noise values or probabilities; names of texts. Out:
the whole picture; colours as #rrggbb that also work in grey print: lightness alone orders them,
dark blue for the lowest noise, grey for none, pale yellow for the highest; texts in English and
German. As secret as the body; the footer of a secret picture says so.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from discreet.assessment.pictures.picture import Picture
from discreet.errors import PublicationError
from discreet.files import texts_of

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


def words(language: str) -> Mapping[str, str]:
    """All texts of one language.

    >>> words("de")["noise"]
    'Überlagerung'
    """
    if language not in LANGUAGES:
        message, hint = "unknown language of pictures", f"use {' or '.join(LANGUAGES)}"
        raise PublicationError(message, code="picture-language", where="language", hint=hint)
    return texts_of("discreet.assessment", "pictures", language)


def hidden_words(language: str) -> Mapping[str, str]:
    """All texts about hidden cells in one language, which has been checked before."""
    return texts_of("discreet.assessment", "hidden", language)


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
