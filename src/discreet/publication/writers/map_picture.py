"""A choropleth as SVG: one figure of the areas of one level, with its legend.

In: `ProtectedTable`, and the boundaries of its areas unless they are squares. Out: a picture that
stands on its own, with title, classes and how many areas are in each, signs, notes and
provenance; every area says its name and its figure. Public. A hidden area is hatched and has
neither a class nor a number.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.publication.area_figures import MapLevel
from discreet.publication.choropleth import (
    BLANK,
    HIDDEN,
    INAPPLICABLE,
    ZERO,
    DrawnAreas,
    MapClasses,
    MapFigures,
    drawn,
    map_figures,
    pictured_level,
    shown_codes,
)
from discreet.publication.description import check_texts, provenance_lines, universe
from discreet.publication.formats import WriteOptions
from discreet.publication.notation import INTERVAL, OFFICIAL, legend, number_text
from discreet.publication.notes import printed_notes
from discreet.publication.vocabulary import figure_line, words
from discreet.tables import ProtectedTable

#: Above so many areas, those of a class are one shape without names.
_NAMED = 20_000
_WIDTH, _HIGHEST, _MARGIN, _LINE = 820, 900, 20, 18
_FONT = 'font-family="system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif"'
_INK, _SOFT, _BORDER = "#1a2530", "#4a5a69", "#5b6b78"

_FILLS = {ZERO: BLANK, HIDDEN: "hidden", INAPPLICABLE: "inapplicable"}
_LIMITED = "limited"


def _patterns(prefix: str, scale: float) -> str:
    """The patterns, in the size that they have on paper whatever the scale."""

    def pattern(name: str, side: int, content: str, turn: str = "") -> str:
        return (
            f'<pattern id="{prefix}{name}" width="{side}" height="{side}" '
            f'patternUnits="userSpaceOnUse" patternTransform="scale({1 / scale:.6f}){turn}">'
            f"{content}</pattern>"
        )

    blank = f'<rect width="7" height="7" fill="{BLANK}"/>'
    line, dot = '<rect width="2" height="7" fill="#6b7783"/>', '<circle cx="3" cy="3" r="1"/>'
    ring = f'<circle cx="4" cy="4" r="1.8" fill="{_INK}" stroke="#ffffff" stroke-width=".9"/>'
    return (
        pattern("hidden", 7, blank + line, " rotate(45)")
        + pattern("inapplicable", 7, blank + dot)
        + pattern(_LIMITED, 8, ring)
    )


def _fill(name: str, prefix: str = "") -> str:
    return name if name.startswith("#") else f"url(#{prefix}{name})"


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the picture piece by piece."""
    check_texts(table, options.language)
    level, language = pictured_level(table, options), options.language
    (figures,) = map_figures(level, language)
    classes = MapClasses.of(figures.counted, options.breaks, options.classes, figures.decimals)
    outlines = drawn(level)
    parts = _PicturedMap(level, figures, classes, figures.classes(classes), language)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_pieces(parts, outlines))


class _PicturedMap:
    """What is drawn, and in which class each area is."""

    def __init__(
        self,
        level: MapLevel,
        figures: MapFigures,
        classes: MapClasses,
        which: IntArray,
        language: str,
    ) -> None:
        self.level, self.table = level, level.layout.table
        self.figures, self.classes, self.which = figures, classes, which
        self.language, self.words = language, words(language)

    @property
    def heading(self) -> list[str]:
        """Title; then level, codes, figure and universe."""
        table, language = self.table, self.language
        about = [
            self.level.name,
            *shown_codes(self.level, 0, language),
            figure_line(table, language),
            universe(table, language),
        ]
        return [table.title(language), " · ".join(filter(None, about))]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The entries of the legend: a fill, and what it says with the number of areas."""
        said = {sign.symbol: sign.meaning for sign in legend(self.table, self.language)}
        pairs = list(zip(self.classes.colours, self.classes.texts(self.language), strict=True))
        entries = [(fill, text, self.which == k) for k, (fill, text) in enumerate(pairs)]
        entries = entries if len(self.figures.counted) else []
        signs = np.array([text if text in said else INTERVAL for text in self.figures.texts])
        for kind, fill in _FILLS.items():
            for sign in dict.fromkeys(signs[self.which == kind].tolist()):
                mask = (self.which == kind) & (signs == sign)
                entries.append((fill, f"{sign}  {said.get(sign, '')}", mask))
        limited = f"( )  {said.get('( )', '')}"
        entries.append((_LIMITED, limited, self.figures.limited))
        return [
            (fill, f"{text} ({self._areas(mask)})")
            for k, (fill, text, mask) in enumerate(entries)
            if k < len(pairs) or mask.any()
        ]

    def _areas(self, mask: BoolArray) -> str:
        number = int(mask.sum())
        text = number_text(number, 0, self.language)
        return self.words.map_one if number == 1 else self.words.map_areas.format(number=text)

    @property
    def remarks(self) -> list[str]:
        """What stands below the map: signs without a fill, notes, provenance."""
        table, language = self.table, self.language
        signs = [
            f"{sign.symbol}  {sign.meaning}"
            for sign in legend(table, language)
            if sign.symbol == OFFICIAL
        ]
        notes = [note.text(language) for note in printed_notes(table)]
        source = [f"{name}: {value}" for name, value in provenance_lines(table, language)]
        return [*signs, *notes, " · ".join(source)]


def _pieces(parts: _PicturedMap, outlines: DrawnAreas) -> Iterator[str]:
    wide, high = _WIDTH - 2 * _MARGIN, _HIGHEST
    scale = min(wide / max(outlines.width, 1), high / max(outlines.height, 1))
    title, about = parts.heading
    lines, said = textwrap.wrap(title, 62), textwrap.wrap(about, 105)
    keys = [(fill, textwrap.wrap(text, 100)) for fill, text in parts.keys]
    remarks = [line for text in parts.remarks for line in textwrap.wrap(text, 118)]
    start = _MARGIN + 28 * len(lines) + 12
    top = start + _LINE * len(said)
    middle = top + outlines.height * scale + 30
    below = middle + sum(_LINE * len(each) + 6 for _, each in keys) + 12
    described = ". ".join([about, *(" ".join(each) for _, each in keys)])
    yield _opening(parts.language, title, described, below + 16 * len(remarks) + _MARGIN)
    yield f"<defs>{_patterns('', 1)}{_patterns('map-', scale)}</defs>\n"
    yield '<rect width="100%" height="100%" fill="#ffffff"/>\n'
    yield _lines(lines, _MARGIN + 18, 28, f'font-size="22" font-weight="600" fill="{_INK}"')
    yield _lines(said, start, _LINE, f'font-size="14" fill="{_SOFT}"')
    yield (
        f'<g transform="translate({_MARGIN} {top:.1f}) scale({scale:.6f})" fill-rule="evenodd" '
        f'stroke="{_BORDER}" stroke-width="{0.6 / scale:.3f}" stroke-linejoin="round">\n'
    )
    yield from _areas(parts, outlines)
    yield "</g>\n"
    yield from _keys(keys, middle)
    yield _lines(remarks, below, 16, f'font-size="12" fill="{_SOFT}"')
    yield "</svg>\n"


def _opening(language: str, title: str, described: str, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'width="{_WIDTH}" height="{height:.0f}" lang="{language}" xml:lang="{language}" '
        f'role="img" aria-labelledby="map-title map-about" {_FONT}>\n'
        f'<title id="map-title">{_text(title)}</title>\n'
        f'<desc id="map-about">{_text(described)}</desc>\n'
    )


def _keys(keys: Sequence[tuple[str, list[str]]], at: float) -> Iterator[str]:
    """The legend: a box and a text for each class and sign."""
    for fill, lines in keys:
        yield (
            f'<rect x="{_MARGIN}" y="{at - 13:.1f}" width="26" height="16" fill="{_fill(fill)}" '
            f'stroke="{_BORDER}" stroke-width=".8"/>\n'
        )
        yield _lines(lines, at, _LINE, f'font-size="14" fill="{_INK}"', x=_MARGIN + 36)
        at += _LINE * len(lines) + 6


def _areas(parts: _PicturedMap, outlines: DrawnAreas) -> Iterator[str]:
    """The areas, those of a class together; then dots on those in parentheses."""
    colours, texts = parts.classes.colours, parts.figures.texts
    names = parts.level.labels(parts.language)
    for kind in (*_FILLS, *range(len(colours))):
        mine = np.flatnonzero(parts.which == kind).tolist()
        fill = _fill(_FILLS[kind] if kind in _FILLS else colours[kind], "map-")
        if len(names) <= _NAMED:
            shapes = "".join(
                f'<path d="{outlines.paths[k]}">'
                f"<title>{_text(names[k])}: {_text(texts[k])}</title></path>\n"
                for k in mine
            )
        else:
            shapes = f'<path d="{"".join(outlines.paths[k] for k in mine)}"/>\n'
        if mine:
            yield f'<g fill="{fill}">\n{shapes}</g>\n'
    if limited := "".join(
        outlines.paths[k] for k in np.flatnonzero(parts.figures.limited).tolist()
    ):
        yield f'<path d="{limited}" fill="{_fill(_LIMITED, "map-")}" pointer-events="none"/>\n'


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _lines(lines: Sequence[str], y: float, step: int, look: str, *, x: int = _MARGIN) -> str:
    spans = "".join(
        f'<tspan x="{x}" y="{y + step * k:.1f}">{_text(line)}</tspan>'
        for k, line in enumerate(lines)
    )
    return f"<text {look}>{spans}</text>\n" if lines else ""
