"""The frame and the colours that all pictures share: title, notes, footer, fonts, sizes.

In: the body of a picture as Vega-Lite data; noise values or probabilities. Out: the whole
picture; colours as #rrggbb that also work in grey print: lightness alone orders them, dark
blue for the lowest noise, grey for none, pale yellow for the highest. As secret as the body;
the footer of a secret picture says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from discreet.assessment.pictures.words import words

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


def noise_colours(values: Iterable[float]) -> dict[float, str]:
    """A colour for each noise value; lighter means higher, grey means unchanged.

    >>> noise_colours([-1, 0, 1])
    {-1: '#5f7dca', 0: '#979797', 1: '#f5a524'}
    """
    ordered = sorted(set(values))
    below = [value for value in ordered if value < 0]
    above = [value for value in ordered if value > 0]
    colours = {value: _NONE for value in ordered if value == 0}
    colours |= _spread(below[::-1], _BELOW, _LOWEST) | _spread(above, _ABOVE, _HIGHEST)
    return {value: colours[value] for value in ordered}


def share_class(share: float) -> int:
    """The class of a probability: its place in `SHARE_CLASSES`.

    >>> [share_class(share) for share in (0.01, 0.2, 1)]
    [0, 3, 6]
    """
    return next(at for at, (upper, _) in enumerate(SHARE_CLASSES) if share * 100 <= upper + 1e-9)


def luminance(colour: str) -> float:
    """How light a colour is, from 0 (black) to 1 (white).

    >>> luminance("#ffffff")
    1.0
    """
    red, green, blue = (_linear(channel) for channel in _channels(colour))
    return round(0.2126 * red + 0.7152 * green + 0.0722 * blue, 9)


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour.

    >>> ink_on("#141f52"), ink_on("#fdeea2")
    ('#ffffff', '#1a1a1a')
    """
    return "#ffffff" if luminance(colour) < 0.2 else INK


def _spread(values: list[float], near: str, far: str) -> dict[float, str]:
    """Colours from near zero to far from it, in equal steps."""
    steps = max(len(values) - 1, 1)
    pairs = list(zip(_channels(near), _channels(far), strict=True))
    colours = {}
    for at, value in enumerate(values):
        channels = [start + (end - start) * at // steps for start, end in pairs]
        colours[value] = "#" + "".join(f"{channel:02x}" for channel in channels)
    return colours


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


_LINE = 110
_CONFIG = {**_STYLE["page"], "view": {"stroke": None}, **_STYLE["marks"]}


def composed(
    body: Mapping[str, Any],
    *,
    title: str,
    notes: Sequence[str],
    language: str,
    warning: str = "confidential",
) -> dict[str, Any]:
    """A whole picture: title and notes above, the body, and the footer below.

    >>> picture = composed({"mark": "bar"}, title="Noise", notes=["example"], language="de")
    >>> picture["vconcat"][1]["mark"]["text"].partition(" ")[0]
    'VERTRAULICH'
    """
    lines = _lines(notes)
    text = words(language)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": title, **({"subtitle": lines} if lines else {})},
        "vconcat": [body, *([_footer(text[warning])] if warning else [])],
        "spacing": 14,
        "config": _CONFIG,
    }


def _footer(text: str) -> dict[str, Any]:
    return {
        "width": 400,
        "height": 12,
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "text": text,
            "align": "left",
            "baseline": "middle",
            "x": 0,
            "fontSize": 11,
            "fontWeight": "bold",
            "color": "#8c1515",
        },
    }


def _lines(notes: Sequence[str]) -> list[str]:
    """The notes one after the other, in lines that fit above the picture.

    >>> _lines(["example", "", "rows 0–8 of 0–20"])
    ['example · rows 0–8 of 0–20']
    """
    lines: list[str] = []
    for note in notes:
        if note and lines and len(lines[-1]) + len(note) < _LINE:
            lines[-1] = f"{lines[-1]} · {note}"
        elif note:
            lines.append(note)
    return lines
