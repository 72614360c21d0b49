"""Sections of the pages about quality: a bar chart with the table of its numbers beside it.

In: the documents of `discreet.release.report.quality`. Out: HTML, with charts as SVG that
read without colours, take the colours of the page, light or dark, and tell screen readers
what they show. As confidential as what goes in.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.assessment import SUPPORT, Overall, number, percent
from discreet.errors import PublicationError
from discreet.files import texts_of
from discreet.publication import LANGUAGES, read_words
from discreet.release.report.labels import LevelLabels

_WIDTH = 640
#: Bars with their names fit on a telephone.
_NARROW = 440
_ROW = 26
_BAR = 16
_CHARACTER = 7.8
_MOST_LABEL = 30
_VALUE_ROOM = 90
_HEIGHT = 220
_FLOOR = 190
_TOP = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar."""

    label: str
    size: float
    value: str


def bar_chart(bars: Sequence[Bar], *, identifier: str, title: str, full: float = 0) -> str:
    """Bars one below another, for classes with names; a `full` one goes over the whole width."""
    left = 12 + _CHARACTER * max((len(_short(bar.label)) for bar in bars), default=0)
    room = _NARROW - left - _VALUE_ROOM
    longest = full or max((bar.size for bar in bars), default=0) or 1
    parts = []
    for place, bar in enumerate(bars):
        top = place * _ROW + 4
        width = room * bar.size / longest
        base = top + _BAR - 3
        parts.append(
            f'<text x="{left - 8:.1f}" y="{base}" text-anchor="end">{_text(bar.label)}</text>'
            f'<rect class="bar" x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}"/>'
            f'<text class="value" x="{left + width + 6:.1f}" y="{base}">{_text(bar.value)}</text>'
        )
    height = len(bars) * _ROW + 6
    axis = f'<line class="axis" x1="{left:.1f}" y1="0" x2="{left:.1f}" y2="{height}"/>'
    return _svg([*parts, axis], (_NARROW, height), bars, identifier, title)


def column_chart(bars: Sequence[Bar], *, identifier: str, title: str) -> str:
    """Columns side by side, for whole numbers in a row."""
    step = (_WIDTH - 20) / max(len(bars), 1)
    longest = max((bar.size for bar in bars), default=0) or 1
    parts = []
    for place, bar in enumerate(bars):
        height = (_FLOOR - _TOP) * bar.size / longest
        middle, top = 10 + (place + 0.5) * step, _FLOOR - height
        value = f'<text class="value" x="{middle:.1f}" y="{top - 5:.1f}" text-anchor="middle">'
        parts.append(
            f'<rect class="bar" x="{middle - 0.4 * step:.1f}" y="{top:.1f}" '
            f'width="{0.8 * step:.1f}" height="{height:.1f}"/>'
            + (f"{value}{_text(bar.value)}</text>" if len(bars) <= 13 else "")
            + f'<text x="{middle:.1f}" y="{_FLOOR + 18}" text-anchor="middle">'
            f"{_text(bar.label)}</text>"
        )
    axis = f'<line class="axis" x1="10" y1="{_FLOOR}" x2="{_WIDTH - 10}" y2="{_FLOOR}"/>'
    return _svg([*parts, axis], (_WIDTH, _HEIGHT), bars, identifier, title)


def _svg(
    parts: Sequence[str], size: tuple[int, int], bars: Sequence[Bar], identifier: str, title: str
) -> str:
    frame = "; ".join(f"{bar.label}: {bar.value}" for bar in bars)
    wide = "wide" if size[0] == _WIDTH else "narrow"
    return (
        f'<svg role="img" viewBox="0 0 {size[0]} {size[1]}" class="{wide}" '
        f'aria-labelledby="{identifier}-title {identifier}-desc">\n'
        f'<title id="{identifier}-title">{html.escape(title)}</title>\n'
        f'<desc id="{identifier}-desc">{html.escape(frame)}</desc>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LABEL else text[: _MOST_LABEL - 1] + "…"


def _text(text: str) -> str:
    return html.escape(_short(text))


Document = Mapping[str, Any]
Words = Mapping[str, str]

_WORDS: Mapping[str, Words] = read_words("discreet.release.report")


def words(language: str) -> Words:
    """The words of a language, which stand in `words.toml`.

    >>> words("de")["tables"]
    'Tabellen'
    """
    if language not in _WORDS:
        message = f"there are no words about quality in language {language!r}"
        hint = f"languages: {', '.join(LANGUAGES)}"
        raise PublicationError(message, code="language", where="languages", hint=hint)
    return _WORDS[language]


#: Charts have at most so many bars; the table beside them has all rows.
_MOST_BARS = 25


def heading(text: str, content: str) -> str:
    """A section with its heading."""
    return f"<section>\n<h2>{html.escape(text)}</h2>\n{content}</section>\n"


def alarm_list(document: Document, text: Words) -> str:
    """What must not be published like this, one paragraph each."""
    said = [text[f"alarm {code}"] for code in document["alarms"]]
    return "".join(f'<p class="internal" role="alert">{html.escape(line)}</p>\n' for line in said)


def statement_list(document: Document, text: Words, language: str) -> str:
    """The statements, one per line."""
    lines = [one["text"][language] for one in document["statements"]]
    if not lines:
        few = text["no statements"].format(number(SUPPORT, language, 0))
        return f"<p>{html.escape(few)}</p>\n"
    items = "".join(f"<li>{html.escape(line)}</li>\n" for line in lines)
    return f'<ul class="statements">\n{items}</ul>\n'


def remark_list(document: Document, language: str) -> str:
    """What the internal version says besides, one paragraph each."""
    return "".join(
        f'<p class="internal" role="note">{html.escape(remark[language])}</p>\n'
        for remark in document.get("remarks", ())
    )


def seen_list(overall: Overall, text: Words, language: str) -> str:
    """What anyone can count in the tables, for releases too small for statements."""
    compared, differing, _, largest = overall.sums()
    lines = []
    if compared:
        told = [number(item, language, 0) for item in (compared, differing, largest)]
        lines.append(text["seen differing" if differing else "seen equal"].format(*told))
    pairs = list(overall.brackets().values())
    bracketed, shown = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    if bracketed:
        told = [number(item, language, 0) for item in (bracketed, shown)]
        lines.append(text["seen bracketed"].format(*told))
    if overall.suppressed_cells:
        told = [
            number(item, language, 0) for item in (overall.suppressed_cells, overall.grid_cells)
        ]
        lines.append(text["seen hidden"].format(*told))
    if not lines:
        return ""
    items = "".join(f"<li>{html.escape(line)}</li>\n" for line in lines)
    return f'<p>{html.escape(text["seen"])}</p>\n<ul class="statements">\n{items}</ul>\n'


def shown_section(document: Document, text: Words, language: str, labels: LevelLabels) -> str:
    """Which tables are shown completely."""
    states = ("complete", "thinned", "blocked")
    rows, bars = [], []
    entries = [(labels.level(e["variable"], e["level"]), e) for e in document["shown_by_level"]]
    for name, entry in sorted(entries, key=lambda one: one[0].casefold()):
        share = entry["complete"] / entry["tables"]
        bars.append(share_bar(name, share, language))
        rows.append([name, entry["tables"], *(entry[state] for state in states)])
    heads = [text["level"], text["tables"], *(text[state] for state in states)]
    return charted_section("shown", text["shown"], heads, rows, bars, language, full=1)


def area_section(
    areas: Mapping[str, Sequence[Document]], text: Words, language: str, labels: LevelLabels
) -> str:
    """How many areas are shown completely, per level and within each area of the coarsest."""
    found = ""
    for name, shares in areas.items():
        rows = [
            [
                " ".join(filter(None, (share["level"], labels.area(name, share["within"])))),
                share["areas"],
                percent(share["share_complete"], language),
                *(share[state] for state in ("complete", "thinned", "blocked")),
            ]
            for share in shares
        ]
        heads = [text["level"], text["areas"], text["share complete"]]
        heads += [text[state] for state in ("complete", "thinned", "blocked")]
        title = text["areas shown"].format(labels.table(name))
        found += listed_section(title, heads, rows, language) if rows else ""
    return found


def internal_sections(document: Document, text: Words, language: str, labels: LevelLabels) -> str:
    """Everything that only the office may see."""
    parts = [
        _noise_section(document, text, language),
        _classes(document["by_size"], "original", "mean_absolute_deviation",
                 ("by size", "original"), text, language),
        _relative(document, text, language),
        _classes(document["by_depth"], "variables", "mean_absolute_deviation",
                 ("by depth", "depth"), text, language),
        _deviations(document, text, language),
        _brackets(document, text, language),
        _sums(document, text, language),
        _aside(document, text, language),
        _reasons(document, text, language),
        _closeness(document, text, language),
        _each_table(document, text, language, labels),
    ]  # fmt: skip
    return "".join(parts)


def _closeness(document: Document, text: Words, language: str) -> str:
    """How near figures of values come to single contributions."""
    rows: list[list[Any]] = []
    for table, about in document["each_table"].items():
        for figure, gate in about["closeness"].items():
            row: list[Any] = [f"{table}: {figure}", number(gate["p_percent"], language, 1)]
            row += [gate[name] for name in ("cells", "failed", "beside", "shown")]
            row += [percent(gate[name], language) for name in ("near", "chance")]
            rows.append(row)
    names = ("figure", "p", "of few", "failed", "hidden with them", "still shown", "near", "chance")
    heads = [text[f"closeness {name}"] for name in names]
    return listed_section(text["closeness"], heads, rows, language) if rows else ""


def _noise_section(document: Document, text: Words, language: str) -> str:
    noise = document["noise"]
    total = sum(noise.values())
    if not total:
        return ""
    low, high = min(map(int, noise)), max(map(int, noise))
    bars, rows = [], []
    for value in range(low, high + 1):
        cells = noise.get(str(value), 0)
        bars.append(share_bar(_signed(value), cells / total, language))
        rows.append([bars[-1].label, cells, bars[-1].value])
    heads = [text["noise value"], text["cells"], text["share"]]
    chart = column_chart(bars, identifier="noise", title=text["noise"])
    return heading(text["noise"], _beside(chart, text["noise"], heads, rows, language))


def _classes(
    entries: Sequence[Document],
    key: str,
    measure: str,
    names: tuple[str, str],
    text: Words,
    language: str,
) -> str:
    """Noise by class: one measure as bars, all of them as a table."""
    there = [entry for entry in entries if entry["cells"]]
    bars = [
        Bar(str(entry[key]), entry[measure], number(entry[measure], language, 2)) for entry in there
    ]
    shares = ("unchanged", "at_most_1", "at_least_3", "at_least_4")
    rows = [
        [
            str(entry[key]),
            entry["cells"],
            number(entry["mean_absolute_deviation"], language, 3),
            number(entry["mean_deviation"], language, 3).replace("-", "−"),
            *(percent(entry[share], language) for share in shares),
        ]
        for entry in there
    ]
    heads = [text[names[1]], text["cells"], text["mad"], text["bias"]]
    heads += [text[share] for share in shares]
    return charted_section(names[0].replace(" ", "-"), text[names[0]], heads, rows, bars, language)


def _relative(document: Document, text: Words, language: str) -> str:
    there = [entry for entry in document["by_size"] if entry["cells"]]
    bars = [share_bar(one["original"], one["mean_relative_error"], language) for one in there]
    rows = [[bar.label, bar.value] for bar in bars]
    heads = [text["original"], text["relative"]]
    return charted_section("relative", text["relative by size"], heads, rows, bars, language)


def _deviations(document: Document, text: Words, language: str) -> str:
    content = ""
    for kind, cells in document["deviations"].items():
        total = sum(cells.values())
        if not total:
            continue
        bars = [share_bar(label, part / total, language) for label, part in cells.items()]
        rows = [
            [bar.label, part, bar.value] for bar, part in zip(bars, cells.values(), strict=True)
        ]
        name = text.get(f"kind {kind}", kind)
        heads = [text["deviation class"], text["cells"], text["share"]]
        chart = bar_chart(bars, identifier=f"deviation-{html.escape(kind)}", title=name, full=1)
        content += f"<h3>{html.escape(name)}</h3>\n"
        content += _beside(chart, name, heads, rows, language)
    return heading(text["deviation"], content) if content else ""


def _brackets(document: Document, text: Words, language: str) -> str:
    rows, bars = [], []
    for kind, pair in document["brackets"].items():
        share = pair["bracketed"] / pair["shown"]
        name = text.get(f"kind {kind}", kind)
        bars.append(share_bar(name, share, language))
        rows.append([name, pair["shown"], pair["bracketed"], bars[-1].value])
    heads = [text["kind"], text["shown figures"], text["bracketed"], text["share"]]
    return charted_section("brackets", text["brackets"], heads, rows, bars, language, full=1)


def _sums(document: Document, text: Words, language: str) -> str:
    sums = document["sums"]
    heads = [text["compared"], text["differing"], text["mean difference"], text["largest"]]
    mean = number(sums["mean_difference"], language, 3)
    row = [number(sums["compared"], language, 0), sums["differing"], mean]
    rows = [[*row, sums["largest_difference"]]]
    return listed_section(text["sums"], heads, rows, language)


def _aside(document: Document, text: Words, language: str) -> str:
    rows: list[list[Any]] = [[text[name], cells] for name, cells in document["set_aside"].items()]
    rows.append([text["suppressed cells"], document["suppressed_cells"]])
    return listed_section(text["aside"], [text["aside"], text["cells"]], rows, language)


def _reasons(document: Document, text: Words, language: str) -> str:
    texts = texts_of("discreet.protection.parts", "reasons", language)
    rows = [[texts.get(reason, reason), parts] for reason, parts in document["reasons"].items()]
    heads = [text["reason"], text["parts"]]
    return listed_section(text["reasons"], heads, rows, language) if rows else ""


def _each_table(document: Document, text: Words, language: str, labels: LevelLabels) -> str:
    rows = []
    for name, entry in document["each_table"].items():
        counts = entry["counts"]
        known = counts["cells"] > 0
        rows.append(
            [
                labels.table(name),
                text[entry["shown"]],
                entry["cells"],
                entry["suppressed_cells"],
                number(counts["mean_absolute_deviation"], language, 3) if known else "",
                percent(counts["at_most_1"], language) if known else "",
            ]
        )
    heads = [text["table"], text["state"], text["cells"], text["suppressed cells"], text["mad"]]
    heads.append(text["at_most_1"])
    return listed_section(text["each table"], heads, rows, language)


def listed_section(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], language: str
) -> str:
    """A section that is a table."""
    return heading(title, _table(title, heads, rows, language))


def share_bar(label: str, share: float, language: str) -> Bar:
    """A bar for a share, with the per cent beside it."""
    return Bar(label, share, percent(share, language))


def _beside(
    chart: str, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], language: str
) -> str:
    """A chart with its table beside it."""
    table = _table(title, heads, rows, language)
    return f'<div class="pair">\n{chart}{table}</div>\n'


def charted_section(
    identifier: str,
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Any]],
    bars: Sequence[Bar],
    language: str,
    *,
    full: float = 0,
) -> str:
    """A chart and its table; nothing where there are no numbers."""
    if not rows:
        return ""
    chart = bar_chart(bars[:_MOST_BARS], identifier=identifier, title=title, full=full)
    return heading(title, _beside(chart, title, heads, rows, language))


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], language: str) -> str:
    """Rows with a heading each; the caption is for screen readers."""
    columns = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{html.escape(str(row[0]))}</th>'
        + "".join(f"<td>{html.escape(_cell(value, language))}</td>" for value in row[1:])
        + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{html.escape(title)}">\n'
        f'<table>\n<caption class="vh">{html.escape(title)}</caption>\n'
        f"<thead>\n<tr>{columns}</tr>\n</thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def _cell(value: Any, language: str) -> str:
    return value if isinstance(value, str) else number(value, language, 0)


def _signed(value: int) -> str:
    return f"{value:+d}".replace("-", "−") if value else "0"
