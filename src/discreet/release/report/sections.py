"""Sections of the pages about quality: a bar chart with the table of its numbers beside it.

In: the documents of `discreet.release.report.quality`. Out: HTML, with charts as SVG that
read without colours, take the colours of the page, light or dark, and tell screen readers
what they show. As confidential as what goes in.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.assessment import SUPPORT, Overall, finest_level, number, percent
from discreet.errors import PublicationError
from discreet.files import texts_of
from discreet.publication import LANGUAGES, CountMargin, read_words
from discreet.publication import words as table_words
from discreet.tables import Dimension, ProtectedTable

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
Rows = Sequence[Sequence[Any]]

_WORDS: Mapping[str, Words] = read_words("discreet.release.report")


def words(language: str) -> Words:
    """The words of a language, which stand in `words.toml`.

    >>> words("de")["tables"]
    'Tabellen'
    """
    if language not in _WORDS:
        message = f"unknown language {language!r}"
        hint = f"languages: {', '.join(LANGUAGES)}"
        raise PublicationError(message, code="language", where="languages", hint=hint)
    return _WORDS[language]


#: Charts have at most so many bars; the table beside them has all rows.
_MOST_BARS = 25


def heading(text: str, content: str) -> str:
    """A section with its heading; nothing without content."""
    return f"<section>\n<h2>{html.escape(text)}</h2>\n{content}</section>\n" if content else ""


def paragraphs(lines: Iterable[str], role: str = "note") -> str:
    """Lines for the office only, one paragraph each."""
    return "".join(f'<p class="internal" role="{role}">{html.escape(x)}</p>\n' for x in lines)


def bullets(lines: Iterable[str]) -> str:
    """Lines of a list; nothing without lines."""
    items = "".join(f"<li>{html.escape(line)}</li>\n" for line in lines)
    return f'<ul class="statements">\n{items}</ul>\n' if items else ""


class Sections:
    """The sections of a page in one language. Columns are named by words of that language."""

    def __init__(self, text: Words, language: str) -> None:
        self.text, self.language = text, language

    def number(self, value: float, digits: int = 0) -> str:
        """A number."""
        return number(value, self.language, digits)

    def share(self, share: float | None) -> str:
        """A share in per cent."""
        return "–" if share is None else percent(share, self.language)

    def share_bar(self, label: str, share: float) -> Bar:
        """A bar for a share, with the per cent beside it."""
        return Bar(label, share, self.share(share))

    def listed(self, title: str, names: Sequence[str], rows: Rows) -> str:
        """A section that is a table; nothing where there are no rows."""
        return heading(title, self._table(title, names, rows)) if rows else ""

    def charted(
        self,
        identifier: str,
        title: str,
        names: Sequence[str],
        rows: Rows,
        bars: Sequence[Bar],
        full: float = 0,
    ) -> str:
        """A chart and its table; nothing where there are no numbers."""
        if not rows:
            return ""
        chart = bar_chart(bars[:_MOST_BARS], identifier=identifier, title=title, full=full)
        return heading(title, self.beside(chart, title, names, rows))

    def beside(self, chart: str, title: str, names: Sequence[str], rows: Rows) -> str:
        """A chart with its table beside it."""
        return f'<div class="pair">\n{chart}{self._table(title, names, rows)}</div>\n'

    def _table(self, title: str, names: Sequence[str], rows: Rows) -> str:
        """Rows with a heading each; the caption is for screen readers."""
        columns = "".join(f'<th scope="col">{html.escape(self.text[n])}</th>' for n in names)
        body = ""
        for first, *others in rows:
            cells = [x if isinstance(x, str) else self.number(x) for x in others]
            cells = [f"<td>{html.escape(cell)}</td>" for cell in cells]
            row = f'<tr><th scope="row">{html.escape(str(first))}</th>'
            body += f"{row}{''.join(cells)}</tr>\n"
        return (
            f'<div class="scroll" role="region" tabindex="0" aria-label="{html.escape(title)}">\n'
            f'<table>\n<caption class="vh">{html.escape(title)}</caption>\n'
            f"<thead>\n<tr>{columns}</tr>\n</thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
        )


_STATES = ("complete", "thinned", "blocked")
_CHANGES = ("unchanged", "at_most_1", "at_least_3", "at_least_4")
_CLOSENESS = ("cells", "failed", "beside", "shown")


class QualitySections(Sections):
    """The sections of a page about quality."""

    def __init__(self, document: Document, language: str, labels: LevelLabels) -> None:
        super().__init__(words(language), language)
        self.document, self.labels = document, labels

    def statements(self, overall: Overall) -> str:
        """The statements, one per line; if there are none, what anyone can count."""
        lines = [statement["text"][self.language] for statement in self.document["statements"]]
        if lines:
            return bullets(lines)
        few = self.text["no statements"].format(self.number(SUPPORT))
        seen = bullets(self._seen(overall))
        seen = f"<p>{html.escape(self.text['seen'])}</p>\n{seen}" if seen else ""
        return f"<p>{html.escape(few)}</p>\n{seen}"

    def _seen(self, overall: Overall) -> Iterator[str]:
        """What anyone can count in the tables, for releases too small for statements."""
        compared, differing, _, largest = overall.sums()
        pairs = list(overall.brackets().values())
        bracketed, shown = (
            (sum(numbers) for numbers in zip(*pairs, strict=True)) if pairs else (0, 0)
        )
        hidden = overall.suppressed_cells
        for name, numbers in (
            ("seen differing" if differing else "seen equal", (compared, differing, largest)),
            ("seen bracketed", (bracketed, shown)),
            ("seen hidden", (hidden, overall.grid_cells)),
        ):
            if numbers[0]:
                yield self.text[name].format(*map(self.number, numbers))

    def shown(self) -> str:
        """Which tables are shown completely."""
        entries = [
            (self.labels.level(entry["variable"], entry["level"]), entry)
            for entry in self.document["shown_by_level"]
        ]
        entries.sort(key=lambda pair: pair[0].casefold())
        rows = [[name, entry["tables"], *map(entry.get, _STATES)] for name, entry in entries]
        bars = [self.share_bar(name, e["complete"] / e["tables"]) for name, e in entries]
        names = ("level", "tables", *_STATES)
        return self.charted("shown", self.text["shown"], names, rows, bars, 1)

    def areas(self, areas: Mapping[str, Sequence[Document]]) -> str:
        """Numbers of areas shown completely, per level and within each area of the coarsest."""
        sections = ""
        for name, shares in areas.items():
            rows = [
                [
                    " ".join(filter(None, (e["level"], self.labels.area(name, e["within"])))),
                    e["areas"],
                    self.share(e["share_complete"]),
                    *map(e.get, _STATES),
                ]
                for e in shares
            ]
            title = self.text["areas shown"].format(self.labels.table(name))
            sections += self.listed(title, ("level", "areas", "share complete", *_STATES), rows)
        return sections

    def margin(self) -> str:
        """Error of counts by size, and of figures derived from them."""
        if "margin" not in self.document:
            return ""
        margin = CountMargin(self.document["margin"])
        rows = [
            [
                self.number(size),
                f"±{self.number(margin.within)} ({self.share(share)})",
                f"±{self.number(math.ceil(margin.difference(size, size)[1]))}",
                f"±{self.number(math.ceil(1000 * margin.share(size, 2 * size)[1] - 500) / 10, 1)}",
            ]
            for size, share in margin.relative().items()
        ]
        names = ("count", "margin", "margin difference", "margin share")
        return self.listed(self.text["margins"], names, rows)

    def internal(self) -> str:
        """Everything that only the office may see."""
        document, text = self.document, self.text
        by_size, by_depth, sums = document["by_size"], document["by_depth"], document["sums"]
        sizes = [entry for entry in by_size if entry["cells"]]
        errors = [self.share_bar(e["original"], e["mean_relative_error"]) for e in sizes]
        relative = [[bar.label, bar.value] for bar in errors]
        brackets, bars = [], []
        for kind, pair in document["brackets"].items():
            name = text.get(f"kind {kind}", kind)
            bars.append(self.share_bar(name, pair["bracketed"] / pair["shown"]))
            brackets.append([name, pair["shown"], pair["bracketed"], bars[-1].value])
        compared, mean = self.number(sums["compared"]), self.number(sums["mean_difference"], 3)
        aside = [[text[name], cells] for name, cells in document["set_aside"].items()]
        aside.append([text["suppressed cells"], document["suppressed_cells"]])
        texts = texts_of("discreet.protection.parts", "reasons", self.language)
        reasons = [[texts.get(name, name), parts] for name, parts in document["reasons"].items()]
        return "".join(
            (
                self._noise(document["noise"]),
                self._classes(by_size, "by size", "original", "original"),
                self.charted(
                    "relative", text["relative by size"], ("original", "relative"), relative, errors
                ),
                self._classes(by_depth, "by depth", "variables", "depth"),
                self._deviations(document["deviations"]),
                self.charted(
                    "brackets",
                    text["brackets"],
                    ("kind", "shown figures", "bracketed", "share"),
                    brackets,
                    bars,
                    1,
                ),
                self.listed(
                    text["sums"],
                    ("compared", "differing", "mean difference", "largest"),
                    [[compared, sums["differing"], mean, sums["largest_difference"]]],
                ),
                self.listed(text["aside"], ("aside", "cells"), aside),
                self.listed(text["reasons"], ("reason", "parts"), reasons),
                self._closeness(document["each_table"]),
                self._each_table(document["each_table"]),
            )
        )

    def _noise(self, noise: Mapping[str, int]) -> str:
        total, title = sum(noise.values()), self.text["noise"]
        if not total:
            return ""
        values = range(min(map(int, noise)), max(map(int, noise)) + 1)
        cells = [noise.get(str(value), 0) for value in values]
        bars = [
            self.share_bar(f"{value:+d}".replace("-", "−") if value else "0", part / total)
            for value, part in zip(values, cells, strict=True)
        ]
        rows = [[bar.label, part, bar.value] for bar, part in zip(bars, cells, strict=True)]
        chart = column_chart(bars, identifier="noise", title=title)
        return heading(title, self.beside(chart, title, ("noise value", "cells", "share"), rows))

    def _classes(self, entries: Sequence[Document], name: str, key: str, head: str) -> str:
        """Noise by class: the mean deviation as bars, all measures as a table."""
        entries = [entry for entry in entries if entry["cells"]]
        bars, rows = [], []
        for entry in entries:
            mean, bias = entry["mean_absolute_deviation"], entry["mean_deviation"]
            bars.append(Bar(str(entry[key]), mean, self.number(mean, 2)))
            moved = [self.number(mean, 3), self.number(bias, 3).replace("-", "−")]
            shares = [self.share(entry[change]) for change in _CHANGES]
            rows.append([str(entry[key]), entry["cells"], *moved, *shares])
        names = (head, "cells", "mad", "bias", *_CHANGES)
        return self.charted(name.replace(" ", "-"), self.text[name], names, rows, bars)

    def _deviations(self, deviations: Mapping[str, Mapping[str, int]]) -> str:
        content = ""
        for kind, cells in deviations.items():
            total, name = sum(cells.values()), self.text.get(f"kind {kind}", kind)
            if total:
                bars = [self.share_bar(label, part / total) for label, part in cells.items()]
                parts = zip(bars, cells.values(), strict=True)
                rows = [[bar.label, part, bar.value] for bar, part in parts]
                key = f"deviation-{html.escape(kind)}"
                chart = bar_chart(bars, identifier=key, title=name, full=1)
                content += f"<h3>{html.escape(name)}</h3>\n"
                content += self.beside(chart, name, ("deviation class", "cells", "share"), rows)
        return heading(self.text["deviation"], content)

    def _closeness(self, tables: Mapping[str, Document]) -> str:
        """How near figures of values come to single contributions."""
        rows = [
            [
                f"{table}: {figure}",
                self.number(gate["p_percent"], 1),
                *map(gate.get, _CLOSENESS),
                self.share(gate["near"]),
                self.share(gate["chance"]),
            ]
            for table, about in tables.items()
            for figure, gate in about["closeness"].items()
        ]
        heads = ("figure", "p", "of few", "failed", "hidden with them", "still shown", "near")
        names = [f"closeness {head}" for head in (*heads, "chance")]
        return self.listed(self.text["closeness"], names, rows)

    def _each_table(self, tables: Mapping[str, Document]) -> str:
        rows = []
        for name, entry in tables.items():
            counts, moved = entry["counts"], ["", ""]
            if counts["cells"]:
                mean, near = counts["mean_absolute_deviation"], counts["at_most_1"]
                moved = [self.number(mean, 3), self.share(near)]
            state = self.text[entry["shown"]]
            cells = entry["cells"], entry["suppressed_cells"]
            rows.append([self.labels.table(name), state, *cells, *moved])
        names = ("table", "state", "cells", "suppressed cells", "mad", "at_most_1")
        return self.listed(self.text["each table"], names, rows)


class LevelLabels:
    """The labels that tables have for what a `QualityLog` knows by its name.

    >>> from discreet.publication.examples import census_example
    >>> labels = LevelLabels([census_example()], "de")
    >>> labels.level("age", "age"), labels.table("T1"), labels.level("size", "size 2")
    ('Altersklasse', 'Bevölkerung nach Geschlecht und Alter (T1)', 'size: size 2')
    """

    def __init__(self, tables: Sequence[ProtectedTable], language: str) -> None:
        self._tables = {
            table.name: table.titles.get(language, "") for table in tables if table.titles
        }
        found = {
            (dimension.name, finest_level(dimension)): _level(dimension, language)
            for table in tables
            for dimension in table.spanning
        }
        self._areas = {
            (table.name, code): label
            for table in tables
            for dimension in table.spanning
            for code, label in zip(dimension.codes, dimension.labels(language), strict=True)
        }
        often = Counter(found.values())
        self._levels: Mapping[tuple[str, str], str] = {
            pair: label if often[label] == 1 else f"{label} ({pair[0]})"
            for pair, label in found.items()
        }

    def table(self, name: str) -> str:
        """The title of a table, with the name of its files."""
        title = self._tables.get(name, "")
        return f"{title} ({name})" if title else name

    def area(self, table: str, code: str) -> str:
        """An area of a table, with its code."""
        label = self._areas.get((table, code), code)
        return f"{label} ({code})" if label != code else code

    def level(self, variable: str, level: str) -> str:
        """A variable and its finest level."""
        plain = variable if level == variable else f"{variable}: {level}"
        return self._levels.get((variable, level), plain)


def _level(dimension: Dimension, language: str) -> str:
    """The title of a variable, with the name or number of its finest level if it has several."""
    title, trees = dimension.title(language), dimension.classifications
    if len(trees) > 1:
        titles = dict.fromkeys(tree.title(language) for tree in trees)
        return title if list(titles) == [title] else f"{title}: {' / '.join(titles)}"
    depth, named = trees[0].depth, trees[0].level_names
    if depth <= 1:
        return title
    text = table_words(language)
    where = named[depth - 1] if depth <= len(named) else text.level.format(level=depth)
    return text.add_level.format(name=title, level=where)
