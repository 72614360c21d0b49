"""An atlas: one page with a map of every figure, level and code, which stands on its own.

In: `ProtectedTable`s, and the boundaries of their areas unless they are squares. Out: an HTML page
that loads nothing and may run no script but its own. Public. The page holds figures as they
are printed, each with its class: a hidden one is a sign, and there is no number behind it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.publication.area_figures import (
    BLANK,
    DrawnAreas,
    MapClasses,
    MapLevel,
    areas_of,
    colours,
    drawn,
    map_figures,
)
from discreet.publication.description import below_title, check_texts, provenance_lines
from discreet.publication.formats import WriteOptions
from discreet.publication.notation import legend
from discreet.publication.vocabulary import labels_at, page_part, words
from discreet.publication.writers import html as page
from discreet.tables import ProtectedTable

#: More areas than these are not listed for browsers without scripts.
_PLAIN_ROWS = 12_000
#: Eight bounds make nine classes.
_MOST_CLASSES = 9


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the atlas of one table."""
    write_many([table], path, table.title(options.language), [options])


def write_many(
    tables: Sequence[ProtectedTable], path: Path, title: str, options: Sequence[WriteOptions]
) -> None:
    """Write one atlas of several tables, each with options of its own and all in one language."""
    language = options[0].language
    for table in tables:
        check_texts(table, language)
    data = _AtlasData(language)
    drawn_tables = [data.table(table, own) for table, own in zip(tables, options, strict=True)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_pieces(tables, title, data, drawn_tables, language))


@dataclass
class _AtlasData:
    """What the script draws: shapes once, however many tables have them."""

    language: str
    shapes: list[dict[str, Any]] = field(default_factory=list)
    known: dict[tuple[str, ...], tuple[int, DrawnAreas]] = field(default_factory=dict)

    def shape(self, level: MapLevel) -> tuple[int, DrawnAreas]:
        """The number of the shapes of a level, and the shapes."""
        codes = tuple(level.codes)
        if codes not in self.known:
            outlines, labels = drawn(level), level.labels(self.language)
            prefix = os.path.commonprefix(codes) if len(codes) > 1 else ""  # noqa: RUF071
            self.known[codes] = len(self.shapes), outlines
            self.shapes.append(
                {
                    "width": outlines.width,
                    "height": outlines.height,
                    "paths": outlines.paths,
                    "centres": outlines.centres.tolist(),
                    "metres": outlines.metres,
                    "borders": outlines.borders,
                    "prefix": prefix,
                    "codes": [code.removeprefix(prefix) for code in codes],
                    "labels": None if labels == list(codes) else labels,
                }
            )
        return self.known[codes]

    def table(self, table: ProtectedTable, options: WriteOptions) -> dict[str, Any]:
        """A table with its figures, each text once."""
        levels, language = areas_of(table, options), self.language
        figures: dict[tuple[str, int, bool], int] = {}
        layout = levels[0].layout
        drawn_levels = []
        for level in levels:
            columns = []
            shape, outlines = self.shape(level)
            for own in map_figures(level, outlines, options.show, language):
                classes = MapClasses.of(own.counted, options.breaks, options.classes, own.decimals)
                kinds, limited = own.classes(classes.cuts).tolist(), own.limited.tolist()
                # For each area the number of its text.
                keys = zip(own.texts.tolist(), kinds, limited, strict=True)
                areas = [figures.setdefault(key, len(figures)) for key in keys]
                columns.append(
                    {"texts": classes.texts(language), "areas": areas, "symbols": own.symbols}
                )
            drawn_levels.append({"name": level.name, "shape": shape, "columns": columns})
        variables = []
        for k, at in enumerate(layout.columns):
            codes, labels = layout.column_codes[:, k].tolist(), labels_at(table, at, language)
            shown = [labels[code] for code in dict.fromkeys(codes)]
            variables.append({"label": table.dimensions[at].title(language), "codes": shown})
        density = [words(language).map_density] if options.show == "density" else []
        return {
            "title": table.title(language),
            "about": " · ".join([*density, *below_title(table, language)]),
            "signs": {sign.symbol: sign.meaning for sign in legend(table, language)},
            "variables": variables,
            "levels": drawn_levels,
            "figures": [[text, kind, limited] for text, kind, limited in figures],
        }


def _pieces(
    tables: Sequence[ProtectedTable],
    title: str,
    data: _AtlasData,
    drawn_tables: Sequence[Mapping[str, Any]],
    language: str,
) -> Iterator[str]:
    script, style = page_part("atlas.js"), page_part("atlas.css")
    head = page.page_head(title, language, style)
    # The page may use its own style and its own script, and nothing else.
    whole_style = head.partition("<style>")[2].partition("</style>")[0]
    own, other = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (whole_style, script)
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{own}'; script-src 'sha256-{other}'; "
        "base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield head.replace('<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{meta}', 1)
    text = {name: html.escape(word) for name, word in vars(words(language)).items()}
    yield page_part("atlas.html").format(
        **text
        | {
            "heading": f'<p class="meta">{html.escape(title)}</p>\n' if len(tables) > 1 else "",
            "title": html.escape(str(drawn_tables[0]["title"])),
            "about": html.escape(str(drawn_tables[0]["about"])),
            "plain": _plain(drawn_tables[0], data, language),
        }
    )
    for number, table in enumerate(tables):
        yield f'<div id="notes-{number}"{" hidden" if number else ""}>\n'
        yield page.legend_html(legend(table, language), language)
        yield page.notes_html(table, language, identifier=f"notes-{number}-t")
        yield "</div>\n"
    yield page.provenance_html(
        [(item.name, provenance_lines(item, language)) for item in tables], language
    )
    spoken = ("table", "interval", "official")
    of_maps = ("none", "one", "areas", "level", "listed")
    content = {
        "language": language,
        "words": {name: getattr(words(language), name) for name in spoken}
        | {name: getattr(words(language), f"map_{name}") for name in of_maps},
        "blank": BLANK,
        "colours": {number: colours(number) for number in range(1, _MOST_CLASSES + 1)},
        "shapes": data.shapes,
        "tables": drawn_tables,
    }
    # What the script draws, as JSON that cannot end the element it stands in.
    drawn_data = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    drawn_data = drawn_data.replace("<", "\\u003c")
    yield f'<script type="application/json" id="atlas-data">{drawn_data}</script>\n'
    yield f"<script>{script}</script>\n"
    yield page.page_tail()


def _plain(drawn_table: Mapping[str, Any], data: _AtlasData, language: str) -> str:
    """The first figure of each area, for browsers without scripts."""
    text, level = words(language), drawn_table["levels"][-1]
    shape, areas = data.shapes[level["shape"]], level["columns"][0]["areas"]
    if len(areas) > _PLAIN_ROWS:
        return ""
    names = shape["labels"] or [shape["prefix"] + code for code in shape["codes"]]
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        f"<td>{html.escape(drawn_table['figures'][number][0])}</td></tr>\n"
        for name, number in zip(names, areas, strict=True)
    )
    return (
        f'<noscript>\n<table>\n<thead><tr><th scope="col">{text.map_area}</th>'
        f'<th scope="col">{text.value}</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n'
        "</noscript>\n"
    )
