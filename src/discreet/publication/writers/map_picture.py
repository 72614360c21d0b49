"""A map as SVG: one figure of the areas of one level, by colour or symbols, with its legend.

In: `ProtectedTable`, and the boundaries of its areas unless they are squares. Out: a picture that
stands on its own, with title, classes and how many areas are in each, signs, notes and
provenance; every area says its name and its figure. Public. A hidden area is hatched and has
neither a class nor a number.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.publication.area_figures import (
    BLANK,
    HIDDEN,
    INAPPLICABLE,
    ZERO,
    DrawnAreas,
    MapClasses,
    MapFigures,
    MapLevel,
    drawn,
    map_figures,
    pictured_level,
    shown_codes,
)
from discreet.publication.description import (
    below_title,
    check_texts,
    printed_notes,
    provenance_lines,
)
from discreet.publication.formats import WriteOptions
from discreet.publication.notation import INTERVAL, OFFICIAL, legend, number_text
from discreet.publication.vocabulary import page_part, words
from discreet.tables import ProtectedTable

#: Above so many areas, those of a class are one shape without names.
_NAMED = 20_000
_WIDTH, _HIGHEST, _MARGIN, _LINE = 820, 900, 20, 18
_INK, _SOFT, _BORDER = "#1a2530", "#4a5a69", "#5b6b78"

_FILLS = {ZERO: BLANK, HIDDEN: "hidden", INAPPLICABLE: "inapplicable"}
_LIMITED = "limited"
#: The colour of symbols, whose size tells the class.
_SYMBOL = "#2f86a6"


def _fill(name: str, prefix: str = "") -> str:
    return name if name.startswith("#") else f"url(#{prefix}{name})"


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the picture piece by piece."""
    check_texts(table, options.language)
    level = pictured_level(table, options)
    outlines = drawn(level)
    (figures,) = map_figures(level, outlines, options.show, options.language)
    classes = MapClasses.of(figures.counted, options.breaks, options.classes, figures.decimals)
    picture = _picture(level, outlines, figures, classes, options)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(picture)


def _picture(
    level: MapLevel,
    outlines: DrawnAreas,
    figures: MapFigures,
    classes: MapClasses,
    options: WriteOptions,
) -> str:
    table, language = level.layout.table, options.language
    text, which = words(language), figures.classes(classes.cuts)
    signs = {sign.symbol: sign.meaning for sign in legend(table, language)}
    # The entries of the legend: a fill, what it says, and which areas have it.
    fills = [_SYMBOL] * len(classes.colours) if figures.symbols else classes.colours
    entries = [
        (fill, meaning, which == k)
        for k, (fill, meaning) in enumerate(zip(fills, classes.texts(language), strict=True))
        if len(figures.counted)
    ]
    own = np.array([shown if shown in signs else INTERVAL for shown in figures.texts])
    for kind, fill in _FILLS.items():
        for sign in dict.fromkeys(own[which == kind].tolist()):
            meaning = f"{sign}  {signs.get(sign, '')}"
            entries.append((fill, meaning, (which == kind) & (own == sign)))
    entries.append((_LIMITED, f"( )  {signs.get('( )', '')}", figures.limited))
    keys = []
    for k, (fill, meaning, mask) in enumerate(entries):
        number = int(mask.sum())
        if k < len(fills) or number:
            areas = text.map_areas.format(number=number_text(number, 0, language))
            sentence = f"{meaning} ({text.map_one if number == 1 else areas})"
            keys.append((fill, textwrap.wrap(sentence, 100)))
    codes = shown_codes(level, 0, language)
    if options.show == "density":
        codes = [*codes, text.map_density]
    about = " · ".join(filter(None, [level.name, *codes, *below_title(table, language)]))
    # Below the map stand signs without a fill, notes and provenance.
    remarks = [f"{OFFICIAL}  {signs[OFFICIAL]}"] if OFFICIAL in signs else []
    remarks += [note.text(language) for note in printed_notes(table)]
    source = provenance_lines(table, language)
    remarks.append(" · ".join(f"{name}: {value}" for name, value in source))
    wide, high = _WIDTH - 2 * _MARGIN, _HIGHEST
    scale = min(wide / max(outlines.width, 1), high / max(outlines.height, 1))
    title = table.title(language)
    lines, below_lines = textwrap.wrap(title, 62), textwrap.wrap(about, 105)
    foot = [line for remark in remarks for line in textwrap.wrap(remark, 118)]
    start = _MARGIN + 28 * len(lines) + 12
    top = start + _LINE * len(below_lines)
    bar, bar_text = outlines.scale_bar(outlines.width / 4)
    radii: list[float] = []
    if figures.symbols:
        placed = max(1, int((outlines.square_km > 0).sum()))
        largest = max(4.0, min(22.0, math.sqrt(outlines.width * outlines.height / placed) * scale))
        radii = [largest * math.sqrt((k + 1) / len(fills)) for k in range(len(fills))]
    bar_line = top + outlines.height * scale + 18
    middle = bar_line + 34
    heights = [
        max(_LINE * len(entry) + 6, 2 * radii[k] + 6 if k < len(radii) else 0)
        for k, (_, entry) in enumerate(keys)
    ]
    below = middle + sum(heights) + 12
    described = ". ".join([about, *(" ".join(entry) for _, entry in keys)])
    listed = "; ".join(f"{name} {own}" for name, own in sorted(table.provenance.digests.items()))
    looks = {"blank": BLANK, "ink": _INK}
    patterns = [
        page_part("map-patterns.svg").format(prefix=prefix, scale=1 / size, **looks)
        for prefix, size in (("", 1), ("map-", scale))
    ]
    # The areas, those of a class together; then dots on those in parentheses, and symbols.
    areas, names = "", level.labels(language)
    colours = [BLANK] * len(fills) if figures.symbols else fills
    for kind, fill in {**_FILLS, **dict(enumerate(colours))}.items():
        mine = np.flatnonzero(which == kind).tolist()
        shapes = f'<path d="{"".join(outlines.paths[k] for k in mine)}"/>\n'
        if len(names) <= _NAMED:
            shapes = "".join(
                f'<path d="{outlines.paths[k]}">'
                f"<title>{_text(names[k])}: {_text(figures.texts[k])}</title></path>\n"
                for k in mine
            )
        areas += f'<g fill="{_fill(fill, "map-")}">\n{shapes}</g>\n' if mine else ""
    limited = "".join(outlines.paths[k] for k in np.flatnonzero(figures.limited).tolist())
    if limited:
        areas += f'<path d="{limited}" fill="{_fill(_LIMITED, "map-")}" pointer-events="none"/>\n'
    if outlines.borders:
        areas += (
            f'<path d="{outlines.borders}" fill="none" stroke="{_INK}" '
            f'stroke-width="{1.4 / scale:.3f}" pointer-events="none"/>\n'
        )
    if radii:
        areas += f'<g fill="{_SYMBOL}" stroke="#ffffff" stroke-width="{1 / scale:.3f}">\n'
        order = sorted(np.flatnonzero(which >= 0).tolist(), key=lambda k: -which[k])
        for k in order:  # small ones lie above large ones
            x, y = outlines.centres[k].tolist()
            named = f"<title>{_text(names[k])}: {_text(figures.texts[k])}</title>"
            areas += (
                f'<circle cx="{x}" cy="{y}" r="{radii[which[k]] / scale:.1f}">'
                f"{named if len(names) <= _NAMED else ''}</circle>\n"
            )
        areas += "</g>\n"
    below_map = (
        f'<path d="M{_MARGIN} {bar_line - 5:.1f}v5h{bar * scale:.1f}v-5" fill="none" '
        f'stroke="{_INK}" stroke-width="1.5"/>\n'
    )
    right, small = _MARGIN + round(bar * scale) + 8, f'font-size="12" fill="{_SOFT}"'
    below_map += _lines([bar_text], bar_line, _LINE, small, x=right)
    wide_key, look = max(26.0, 2 * max(radii, default=0.0)), f'font-size="14" fill="{_INK}"'
    for k, (fill, entry) in enumerate(keys):  # a box or symbol and a text for each class and sign
        line = middle + (heights[k] - _LINE * len(entry) - 6) / 2
        if k < len(radii):
            below_map += (
                f'<circle cx="{_MARGIN + wide_key / 2:.1f}" cy="{line - 5:.1f}" '
                f'r="{radii[k]:.1f}" fill="{fill}"/>\n'
            )
        else:
            below_map += (
                f'<rect x="{_MARGIN}" y="{line - 13:.1f}" width="26" height="16" '
                f'fill="{_fill(fill)}" stroke="{_BORDER}" stroke-width=".8"/>\n'
            )
        below_map += _lines(entry, line, _LINE, look, x=_MARGIN + round(wide_key) + 10)
        middle += heights[k]
    big = f'font-size="22" font-weight="600" fill="{_INK}"'
    return page_part("map.svg").format(
        width=_WIDTH,
        height=below + 16 * len(foot) + _MARGIN,
        language=language,
        title=_text(title),
        described=_text(described),
        metadata=f"<metadata>{_text(listed)}</metadata>\n" if listed else "",
        patterns="".join(patterns),
        heading=_lines(lines, _MARGIN + 18, 28, big)
        + _lines(below_lines, start, _LINE, f'font-size="14" fill="{_SOFT}"'),
        margin=_MARGIN,
        top=top,
        scale=scale,
        border=_BORDER,
        line=0.6 / scale,
        areas=areas,
        keys=below_map + _lines(foot, below, 16, small),
    )


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _lines(lines: Sequence[str], y: float, step: int, look: str, *, x: int = _MARGIN) -> str:
    spans = "".join(
        f'<tspan x="{x}" y="{y + step * k:.1f}">{_text(line)}</tspan>'
        for k, line in enumerate(lines)
    )
    return f"<text {look}>{spans}</text>\n" if lines else ""
