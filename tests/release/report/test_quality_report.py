"""The report on the quality of a release: what is public, what is not, and how it looks."""

import json
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.assessment.release_quality import SUPPORT, Overall, QualityLog, statements
from discreet.errors import PublicationError
from discreet.protection.noise import PerturbationTable, perturb
from discreet.release.report import QualityReport, quality_files, write_quality
from discreet.release.report.sections import Bar, bar_chart
from discreet.tables import Dimension, ProtectedTable, Provenance, Table

TITLE = {"en": "Census <2026>", "de": "Zensus <2026>"}
AREA = dc.Classification.from_prefixes(
    "region", [f"{number:04}" for number in range(1200)], lengths=[3, 4]
)


@pytest.fixture(scope="module")
def table() -> Table:
    """Some 3,000 cells with counts of all sizes."""
    random = np.random.default_rng(2)
    share = random.exponential(size=1200)
    size = 20_000
    frame = pl.DataFrame(
        {
            "region": random.choice(AREA.leaves, size, p=share / share.sum()),
            "sex": random.choice(["m", "w"], size),
            "rk": random.integers(0, 10**15, size),
        }
    )
    return dc.tabulate(frame, [AREA, "sex"], record_key="rk")


def ptable(noise: dict[int, float]) -> PerturbationTable:
    """The same noise for all counts, as far as they stay above zero."""
    rows: dict[int, dict[int, float]] = {0: {0: 1.0}}
    most = max(noise)
    for count in range(1, most + 1):
        row = {v: p for v, p in noise.items() if v > -count}
        row[-count] = 1 - sum(row.values())
        rows[count] = row
    return PerturbationTable.from_rows(rows)


#: Maximum noise 3, 4 and 6; variances 1.14, 1.40 and 2.00; unchanged 50, 46 and 42 %.
DESIGNS = {
    "small": {-3: 0.01, -2: 0.06, -1: 0.18, 0: 0.5, 1: 0.18, 2: 0.06, 3: 0.01},
    "medium": {-4: 0.005, -3: 0.015, -2: 0.05, -1: 0.2, 0: 0.46,
               1: 0.2, 2: 0.05, 3: 0.015, 4: 0.005},
    "large": {-6: 0.004, -5: 0.003, -4: 0.004, -3: 0.009, -2: 0.05, -1: 0.22, 0: 0.42,
              1: 0.22, 2: 0.05, 3: 0.009, 4: 0.004, 5: 0.003, 6: 0.004},
}  # fmt: skip


def logged(table: Table, noise: dict[int, float]) -> QualityLog:
    log = QualityLog()
    log.add("T1", table, perturb(table, ptable(noise)))
    return log


@pytest.fixture(scope="module")
def log(table: Table) -> QualityLog:
    return logged(table, DESIGNS["medium"])


# -- what is public ----------------------------------------------------------------


def test_designs_of_the_same_coarse_quality_give_the_same_public_report(table: Table) -> None:
    reports = [QualityReport(log=logged(table, noise), title=TITLE) for noise in DESIGNS.values()]
    assert len({report.json() for report in reports}) == 1
    assert len({report.html("en") for report in reports}) == 1
    assert len({report.json(internal=True) for report in reports}) == len(DESIGNS)


def test_not_even_the_length_of_a_sealed_log_tells_a_design(table: Table) -> None:
    sealed = [logged(table, noise).sealed(b"k" * 32) for noise in DESIGNS.values()]
    assert len({len(one) for one in sealed}) == 1


def test_no_bound_says_never_or_always(table: Table) -> None:
    """That none are changed by 4 or more would tell that the maximum noise is below 4."""
    unchanged = statements(Overall(logged(table, {-1: 0.0001, 0: 0.9998, 1: 0.0001})))
    assert {one.code: one.value for one in unchanged} == {
        "mean-absolute-deviation": 0.5,
        "at-most-1": 95,
        "at-least-3": 5,
        "at-least-4": 5,
        "sums": 10,
    }


def test_the_public_version_has_no_other_content(log: QualityLog) -> None:
    document = QualityReport(log=log, title=TITLE).public
    assert set(document) == {
        "format", "format_version", "kind", "software", "title",
        "tables", "cells", "shown", "shown_by_level", "statements",
        "attacked",
    }  # fmt: skip
    for one in document["statements"]:
        assert set(one) == {"code", "bound", "value", "unit", "text"}
        assert one["value"] * 2 % 1 == 0
        assert one["unit"] != "%" or one["value"] % 5 == 0
    text = QualityReport(log=log, title=TITLE).html("en")
    for word in ("noise", "variance", "Noise", "CONFIDENTIAL", "size of the original"):
        assert word not in text


def test_few_cells_support_no_statement(table: Table) -> None:
    few = dc.tabulate(_records(300), ["region"], record_key="rk")
    log = logged(few, DESIGNS["medium"])
    assert Overall(log).noise().total < SUPPORT
    report = QualityReport(log=log, title=TITLE)
    assert report.public["statements"] == []
    assert "Too few cells" in report.html("en")


def test_small_releases_say_what_their_tables_show(table: Table) -> None:
    few = dc.tabulate(_records(300), ["region"], record_key="rk")
    safe = perturb(few, ptable(DESIGNS["medium"]))
    log = QualityLog()
    log.add("T1", few, safe)
    compared, differing, *_ = Overall(log).sums()
    page = QualityReport(log=log, title=TITLE).html("en")
    assert compared > 0
    said = f"{compared} totals appear with all of their parts; {differing} of them differ"
    assert said in page if differing else f"All {compared} totals" in page
    assert "Aussagen aus den veröffentlichten Tabellen" in QualityReport(log=log, title=TITLE).html(
        "de"
    )
    large = QualityReport(log=logged(table, DESIGNS["medium"]), title=TITLE).html("en")
    assert "Statements from the published tables" not in large


def test_pages_call_variables_levels_and_tables_by_their_labels() -> None:
    place = dc.Classification.from_prefixes(
        "place", ["11", "12", "21"], [1, 2], titles={"en": "Place", "de": "Ort"}
    )
    age = dc.Classification.from_prefixes(
        "age", ["1a", "1b"], [1, 2], titles={"en": "Age"}, level_names=("broad", "narrow")
    )
    other = dc.Classification.flat("home", ["1"], titles={"en": "Place", "de": "Ort"})
    cells = {"place": ["Total"], "age": ["Total"], "home": ["Total"], "n": [3], "key": [0.5]}
    table = Table.from_cells(pl.DataFrame(cells), by=[place, age, other], count="n", cell_key="key")
    safe = perturb(table, ptable(DESIGNS["small"]), titles={"en": "Who <lives> where"})
    log = QualityLog()
    log.add("table", table, safe)
    report = QualityReport(log=log, title=TITLE, tables=[safe])
    for text in ("Place, level 2<", "Age, narrow<", ">Place<"):
        assert text in report.html("en"), text
    assert "place: place 2" not in report.html("en")
    assert "Ort, Ebene 2" in report.html("de")
    assert "Who &lt;lives&gt; where (table)" in report.html("en", internal=True)
    assert "place: place 2" in QualityReport(log=log, title=TITLE).html("en")


def test_two_variables_of_one_title_are_told_apart() -> None:
    titles = {"en": "Age"}
    trees = [dc.Classification.flat(name, ["1"], titles=titles) for name in ("age", "age5")]
    cells = {"age": ["Total"], "age5": ["Total"], "n": [3], "key": [0.5]}
    table = Table.from_cells(pl.DataFrame(cells), by=trees, count="n", cell_key="key")
    safe = perturb(table, ptable(DESIGNS["small"]))
    log = QualityLog()
    log.add("table", table, safe)
    page = QualityReport(log=log, title=TITLE, tables=[safe]).html("en")
    assert "Age (age)" in page
    assert "Age (age5)" in page


def _records(size: int) -> pl.DataFrame:
    random = np.random.default_rng(2)
    regions = [str(code) for code in random.integers(0, 600, size)]
    return pl.DataFrame({"region": regions, "rk": random.integers(0, 10**15, size)})


@given(
    shares=st.lists(st.integers(0, 50), min_size=7, max_size=7).filter(any),
    size=st.integers(SUPPORT, 3 * SUPPORT),
    seed=st.integers(0, 99),
)
def test_every_statement_is_true(shares: list[int], size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = dc.Classification.flat("cell", [str(at) for at in range(size)])
    dimension = Dimension(classifications=(codes,))
    count = random.integers(10, 50, size)
    p = np.array(shares) / sum(shares)
    noise = random.choice(np.arange(-3, 4) * 2 - 1, size, p=p)
    index = (np.arange(1, size + 1, dtype=np.int32),)
    true = Table(dimensions=(dimension,), index=index, count=count)
    shown = ProtectedTable(
        dimensions=(dimension,),
        index=index,
        value=count + noise,
        status=np.zeros(size, dtype=np.int8),
        provenance=Provenance(version="0", method="cell-key"),
    )
    log = QualityLog()
    log.add("T", true, shown)
    found = {one.code: one.value for one in statements(Overall(log))}
    off = np.abs(noise)
    assert off.mean() < found["mean-absolute-deviation"] <= off.mean() + 0.5
    assert (off <= 1).mean() >= found.get("at-most-1", 0) / 100
    assert (off >= 3).mean() <= found.get("at-least-3", 100) / 100
    assert (off >= 4).mean() <= found.get("at-least-4", 100) / 100
    assert "sums" not in found  # one total only


def test_statements_of_a_census() -> None:
    """What an office has published: 65 % at most ±1, 20 % by 3 or more, 10 % by 4 or more."""
    from discreet.assessment.release_quality import QualityStatement

    assert QualityStatement("mean-absolute-deviation", "below", 1.0).text("en") == (
        "On average a count deviates by less than 1 from its original."
    )
    assert QualityStatement("at-least-3", "at most", 20, "%").text("de") == (
        "Höchstens 20 % der Fallzahlen sind um 3 oder mehr verändert."
    )


# -- files -------------------------------------------------------------------------


def test_the_files_of_both_versions(log: QualityLog, tmp_path: Path) -> None:
    out, internal = tmp_path / "release", tmp_path / "house"
    out.mkdir()
    written = write_quality(log, out, title=TITLE, languages=["en", "de"], internal=internal)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "release/quality.html",
        "release/quality.de.html",
        "release/quality.json",
        "house/quality-internal.html",
        "house/quality-internal.de.html",
        "house/quality-internal.json",
    ]
    assert sorted(quality_files(["en", "de"])) == sorted(path.name for path in out.iterdir())
    assert stat.S_IMODE(internal.stat().st_mode) == 0o700
    for path in internal.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = [path.read_bytes() for path in written]
    write_quality(log, out, title=TITLE, languages=["en", "de"], internal=internal)
    assert [path.read_bytes() for path in written] == before
    assert json.loads((internal / "quality-internal.json").read_text("utf-8"))["counts"]["cells"]


@pytest.mark.parametrize("place", ["release", "release/inner", "other/../release"])
def test_the_internal_version_never_stands_in_the_release(
    log: QualityLog, tmp_path: Path, place: str
) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "other").mkdir()
    with pytest.raises(
        PublicationError, match="the internal report must not be in the release folder,"
    ):
        write_quality(log, tmp_path / "release", title="x", internal=tmp_path / place)
    assert list((tmp_path / "release").iterdir()) == []


@pytest.mark.parametrize("languages", [[], "en", ["en", "en"], ["fr"]])
def test_wrong_languages_are_refused(log: QualityLog, tmp_path: Path, languages: Any) -> None:
    with pytest.raises(PublicationError, match="language"):
        write_quality(log, tmp_path, title="x", languages=languages, internal=tmp_path / "house")
    assert list(tmp_path.iterdir()) == []


def test_wrong_folders_are_refused_before_anything_is_written(
    log: QualityLog, tmp_path: Path
) -> None:
    with pytest.raises(PublicationError, match="does not exist"):
        write_quality(log, tmp_path / "none", title="x", internal=tmp_path / "house")
    (tmp_path / "file").write_text("")
    (tmp_path / "out").mkdir()
    with pytest.raises(PublicationError, match="folder"):
        write_quality(log, tmp_path / "out", title="x", internal=tmp_path / "file")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "out"]


# -- pages -------------------------------------------------------------------------


class Page(HTMLParser):
    """Checks that elements close in turn and collects what matters to readers."""

    VOID = frozenset({"meta", "rect", "line", "col"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.identifiers: list[str] = []
        self.labels: list[str] = []
        self.charts = self.tables = 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert not {"src", "href", "onclick"} & set(given)
        if "id" in given:
            self.identifiers.append(given["id"] or "")
        self.labels += (given.get("aria-labelledby") or "").split()
        self.charts += tag == "svg"
        self.tables += tag == "table"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("internal", [False, True])
def test_a_page_is_sound_and_every_picture_has_a_text(
    log: QualityLog, language: str, internal: bool
) -> None:
    text = QualityReport(log=log, title=TITLE).html(language, internal=internal)
    page = Page(text)
    assert len(set(page.identifiers)) == len(page.identifiers)
    assert set(page.labels) <= set(page.identifiers)
    assert page.charts >= (4 if internal else 1)
    assert page.tables > page.charts - 1
    assert text.count("<desc") == text.count("<svg")
    assert "&lt;2026&gt;" in text
    assert f'lang="{language}"' in text


def test_the_internal_page_says_that_it_is(log: QualityLog) -> None:
    report = QualityReport(log=log, title=TITLE)
    for language, word in (("en", "CONFIDENTIAL"), ("de", "VERTRAULICH")):
        text = report.html(language, internal=True)
        assert re.search(rf'<p class="internal" role="note">{word}', text)
    assert "confidential" in json.loads(report.json(internal=True))["kind"]


def test_the_internal_report_has_the_noise_as_drawn(log: QualityLog, table: Table) -> None:
    document = QualityReport(log=log, title=TITLE).internal
    protected = perturb(table, ptable(DESIGNS["medium"]))
    both = table.to_polars().join(
        protected.to_polars(complete=True), on=["region", "sex"], how="left"
    )
    noise = (both["value"] - both["count"]).value_counts().rows()
    assert document["noise"] == {str(value): cells for value, cells in sorted(noise)}
    parts = document["each_table"]["T1"]["parts"]
    assert [part["levels"]["region"] for part in parts[::2]] == ["total", "region 1", "region 2"]
    assert sum(part["cells"] for part in parts) == document["cells"] == 1321 * 3
    assert sum(entry["cells"] for entry in document["by_depth"]) == len(table)


def test_a_release_without_tables_has_a_report(tmp_path: Path) -> None:
    write_quality(QualityLog(), tmp_path / ".", title="", internal=tmp_path.parent / "house")
    assert Page((tmp_path / "quality.html").read_text("utf-8")).tables == 0


def test_labels_of_charts_are_escaped_and_shortened() -> None:
    chart = bar_chart([Bar("<" + "x" * 40, 1, "1 %")], identifier="i", title="<t>")
    assert "&lt;" + "x" * 28 + "…<" in chart
    assert "<t>" not in chart
