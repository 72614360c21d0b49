"""HTML pages: complete, accessible, and nothing but text in the texts."""

import dataclasses
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication import write, write_report
from discreet.publication.examples import census_example
from discreet.tables import CellStatus, Dimension, Figure, ProtectedTable, Provenance

VOID = {"meta", "col", "br", "link"}


class Page(HTMLParser):
    """Reads a page and keeps what the tests ask about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.widths: list[int] = []
        self.texts: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        fields = dict(attrs)
        self.tags.append((tag, fields))
        if tag == "tr":
            self.widths.append(0)
        if tag in {"th", "td"}:
            self.widths[-1] += int(fields.get("colspan") or 1)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [fields for name, fields in self.tags if name == tag]


def read(path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_every_heading_has_a_scope_and_the_table_a_caption(mixed, tmp_path):
    page = read(write(mixed, tmp_path / "T7.html", language="de"))
    assert page.all("html") == [{"lang": "de"}]
    assert len(page.all("caption")) == 1
    assert {head["scope"] for head in page.all("th")} == {"col", "row"}
    assert page.all("div")[0]["aria-labelledby"] == page.all("caption")[0]["id"]
    assert "Personen <b> & mehr" in page.texts


def test_texts_are_escaped(mixed, tmp_path):
    raw = write(mixed, tmp_path / "T7.html").read_text()
    assert "<b>" not in raw
    assert "=1+1 &lt;b&gt;&amp;" in raw


def test_nothing_is_loaded_from_elsewhere(mixed, tmp_path):
    raw = write(mixed, tmp_path / "T7.html").read_text()
    for foreign in ("http:", "https:", "src=", "@import", "url(", "<script", "<link"):
        assert foreign not in raw


def test_signs_explain_themselves(mixed, tmp_path):
    raw = write(mixed, tmp_path / "T7.html").read_text()
    assert '<td><abbr title="exactly zero or changed to zero">–</abbr></td>' in raw
    assert '<td><abbr title="value unknown or secret">.</abbr></td>' in raw
    assert ">(880)</abbr></td>" in raw
    assert "12,345<sup>*</sup></abbr></td>" in raw
    assert "<td>11,450</td>" in raw


def test_hierarchy_is_seen_and_heard(mixed, tmp_path):
    raw = write(mixed, tmp_path / "T7.html").read_text()
    assert '<th scope="row" class="l2"><span class="vh">level 2: </span>N2</th>' in raw
    assert '<th scope="row" class="l1"><span class="vh">level 1: </span>North</th>' in raw


@pytest.mark.parametrize("rows", [["region"], ["sex"], ["region", "sex"], ["sex", "region"]])
def test_rows_have_one_width(mixed, tmp_path, rows):
    page = read(write(mixed, tmp_path / "T7.html", rows=rows))
    columns = 1 + 15 // {1: {"region": 5, "sex": 3}[rows[0]], 2: 15}[len(rows)]
    assert set(page.widths[-3:]) == {columns}
    groups = [head for head in page.all("th") if head["scope"] == "rowgroup"]
    assert len(groups) == (0 if len(rows) == 1 else {"region": 5, "sex": 3}[rows[0]])
    assert len(page.all("tbody")) == max(len(groups), 1)


def test_codes_instead_of_labels(mixed, tmp_path):
    page = read(write(mixed, tmp_path / "T7.html", labels=False))
    assert "N" in page.texts
    assert "North" not in page.texts


def test_a_report_shows_small_tables_whole_and_links_files(mixed, tmp_path):
    folder = tmp_path / "T 7"
    folder.mkdir()
    files = {"T7": [write(mixed, folder / "T7.csv"), write(mixed, tmp_path / "T7.xlsx")]}
    path = write_report(
        iter([census_example(), mixed]),
        tmp_path / "index.html",
        title={"en": "Census <1>", "de": "Zensus"},
        files=files,
        summary={"Tables": 2, "Share": 0.5, "Grid": "10^15"},
    )
    page = read(path)
    assert page.texts.count("Census <1>") == 2
    assert [link["href"] for link in page.all("a")] == [
        "#table-1",
        "#table-2",
        "T%207/T7.csv",
        "T7.xlsx",
    ]
    ids = [fields["id"] for _, fields in page.tags if "id" in fields]
    assert len(ids) == len(set(ids))
    assert len(page.all("table")) == 2
    assert "371" in page.texts
    assert "0.5" in page.texts
    assert "Protection of these figures" in page.texts
    assert any("its parts add up to 372 (Sex)" in text for text in page.texts)


def test_a_report_shows_the_top_of_large_tables(make_table, tmp_path):
    states = [f"s{k}" for k in range(5)]
    towns = [(f"s{k}t{j}", k) for k in range(5) for j in range(200)]
    order = [code for k in range(5) for code in (f"s{k}", *(t for t, s in towns if s == k))]
    parents = [-1, *(0 if c in states else 1 + order.index(c.split("t")[0]) for c in order)]
    tree = Classification(name="place", codes=("Total", *order), parents=tuple(parents))
    many = Classification.flat("job", [f"job {k}" for k in range(300)])
    cells = {
        ("Total", "Total"): (990, CellStatus.published),
        ("s1", "Total"): (440, CellStatus.published),
        ("s1t7", "job 3"): (77, CellStatus.published),
    }
    table = make_table([tree, many], cells)
    page = read(write_report([table], tmp_path / "index.html", title="Zensus", language="de"))
    assert "440" in page.texts
    assert "77" not in page.texts
    assert "s1t7" not in page.texts
    assert any(
        text.startswith("Diese Seite zeigt Summen und oberste Ebenen. Die Dateien")
        for text in page.texts
    )


def test_the_method_is_explained_only_where_it_was_used(tmp_path):
    table = census_example()
    other = dataclasses.replace(table.provenance, method="suppression")
    tables = [table, dataclasses.replace(table, provenance=other)]
    for number, explained in ((1, True), (2, False)):
        path = write_report(tables[:number], tmp_path / "index.html", title="x")
        assert ("Protection of these figures" in read(path).texts) is explained


def test_a_report_names_shared_provenance_once(tmp_path):
    table = census_example()
    tables = [
        dataclasses.replace(
            table,
            name=name,
            provenance=dataclasses.replace(table.provenance, key_grid="4096", time=f"2026-0{k}-01"),
        )
        for k, name in enumerate(("T1", "T2"), 1)
    ]
    text = write_report(tables, tmp_path / "index.html", title="x").read_text("utf-8")
    head, details = text[text.index("<footer") :].split("<details>")
    assert (head.count("4096"), details.count("4096")) == (1, 0)
    for month in ("January", "February"):
        assert (head.count(month), details.count(month)) == (0, 1)


def wide_table(columns: int) -> ProtectedTable:
    """A table with a long row of columns."""
    codes = ("Total", *(f"class {number:03}" for number in range(columns)))
    tree = Classification(name="c", codes=codes, parents=(-1, *[0] * columns))
    row = Classification(name="r", codes=("Total", "a"), parents=(-1, 0))
    index = np.repeat([0, 1], columns + 1), np.tile(np.arange(columns + 1), 2)
    value = np.arange(2 * (columns + 1)) + 1_000
    return ProtectedTable(
        dimensions=(Dimension(classifications=(row,)), Dimension(classifications=(tree,))),
        index=tuple(part.astype(np.int32) for part in index),
        value=value,
        status=np.full(len(value), CellStatus.published, dtype=np.int8),
        provenance=Provenance(version="1", method="test"),
    )


@pytest.mark.parametrize(("columns", "across", "parts"), [(3, 0, 0), (15, 1, 0), (60, 1, 3)])
def test_a_wide_table_is_printed_across_and_in_parts(columns, across, parts, tmp_path):
    table = wide_table(columns)
    text = write(table, tmp_path / "t.html").read_text("utf-8")
    read(tmp_path / "t.html")
    assert text.count('<main class="wide">') == across
    pieces = text.split('<div class="printed">')[1:]
    assert len(pieces) == parts
    for value in table.value.tolist() if parts else ():  # each figure in one part
        assert sum(f"<td>{value:,}<" in piece for piece in pieces) == 1
    assert all('<th class="stub"' in piece and "<caption" in piece for piece in pieces)


@pytest.mark.parametrize(("language", "word"), [("en", "means"), ("de", "Mittelwerte")])
def test_the_method_is_told_of_other_figures_than_counts_too(language, word, tmp_path):
    table = census_example()
    mean = Figure(name="rent", kind="mean", titles={}, unit={}, decimals=0)
    for figures in ((), (mean,)):
        one = dataclasses.replace(table, figures=figures)
        page = read(write_report([one], tmp_path / "i.html", title="x", language=language))
        told = next(text for text in page.texts if "ell-" in text and len(text) > 100)
        assert (word in told) is bool(figures)


def test_a_report_takes_protected_tables_only(tmp_path):
    with pytest.raises(PublicationError, match="only a ProtectedTable"):
        write_report([object()], tmp_path / "index.html", title="x")
    assert list(tmp_path.iterdir()) == []
