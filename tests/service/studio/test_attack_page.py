"""Attacks on a table: the page, the endpoint and the client give what the function gives."""

import html
import io
import json
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.assessment import AttackSettings
from discreet.errors import DiscreetError
from discreet.operations import OPERATIONS, ReleaseSource
from discreet_service.cells import CellsCall
from discreet_service.studio.operations import example_form, role_fields
from tests.helpers.asgi_browser import form_of
from tests.service.studio.conftest import GERMAN, HTML

ROW = OPERATIONS["attack"]
FORM = example_form(ROW).texts
PTABLE = FORM["ptable"]
CELLS = pl.read_csv(io.StringIO(FORM["cells"]), schema_overrides={"state": str})
TREE = [line.split(",") for line in FORM["trees"].splitlines()]
#: Two cells of a sum of few, whose noise is known.
SUM = {"sex": ["Total", "m", "w", "d"], "value": [12, 7, 3, None], "n": [13, 7, 4, 2]}


def called(cells: Any, **said: Any) -> CellsCall:
    class Keys:
        def key_for(self, purpose: str) -> bytes:
            return purpose.encode()

    return CellsCall.of(Keys(), "paula", ROW, pl.DataFrame(cells), said)


def test_a_call_attacks_the_table_as_the_function_does() -> None:
    truth = dc.Table.from_cells(CELLS, ["branch", "state"], count="truth")
    assert CELLS["value"].to_list() != CELLS["truth"].to_list()
    said = {"by": ["branch", "state"], "truth": "truth", "attack": {"ptable": PTABLE}}
    flat = called(CELLS, **said)
    source = flat.source()
    assert isinstance(source, ReleaseSource)
    wanted = dc.attack(
        source.release,  # type: ignore[arg-type]
        truth={"": [truth]},
        ptable=dc.PerturbationTable.from_text(PTABLE),
    )
    report = json.loads(flat.output().content)
    assert report == json.loads(json.dumps(wanted.described()))
    assert flat.studied().described() == {"table": "table", **wanted.described()}
    codes = {"codes": {code: above[0] if above else None for _, code, *above in TREE}}
    tree = called(CELLS, **said, classifications={"branch": codes})
    deep = json.loads(tree.output().content)
    assert [layer["layer"] for layer in deep["universes"][0]["layers"]] != [
        layer["layer"] for layer in report["universes"][0]["layers"]
    ]


def test_gaps_are_hidden_cells_and_bounds_close_them() -> None:
    call = called(SUM, by=["sex"], truth="n", attack={"knows": "maximum", "max_noise": 1})
    source: Any = call.source()
    assert source.release.to_polars().rows() == [
        ("Total", 12, "published"),
        ("d", None, "suppressed"),
        ("m", 7, "published"),
        ("w", 3, "published"),
    ]
    report = json.loads(call.output().content)
    assert report["universes"][0]["bounds"]["cells"] == 4
    assert report["knows"] == "maximum"
    with pytest.raises(DiscreetError, match="below 0"):
        called({**SUM, "value": [-1, 0, 0, 0]}, by=["sex"]).source()


def test_page_shows_rates_what_helps_and_a_report(readers: Any) -> None:
    browser = readers.browser("paul")
    shown = browser.get("/attack?example=firms", headers=HTML).text
    sent = {**FORM, "csrf": form_of(shown, "/attack")["csrf"]}
    roles = [field.name for field in role_fields(ROW)]
    assert all(html.escape(text) in shown for name, text in FORM.items() if name not in roles)
    for name in roles:
        assert f'name="{name}" value="{FORM[name].split(", ")[0]}"' in shown
    settings = AttackSettings(ptable=PTABLE)
    source: Any = called(
        CELLS,
        by=["branch", "state"],
        truth="truth",
        attack={"ptable": PTABLE},
        classifications={
            "branch": {"codes": {code: above[0] if above else None for _, code, *above in TREE}}
        },
    ).source()
    assert ROW.study is not None
    study = ROW.study(source, settings, None)
    for head, language in ((HTML, "en"), (GERMAN, "de")):
        page = browser.post("/attack", data=sent, headers=head)
        assert page.status_code == 200, page.text
        for label, number in study.measures(language):
            assert label in page.text
            assert f"<td>{number}</td>" in page.text
    file = browser.post("/attack", data={**sent, "act": "download"}, headers=HTML)
    assert file.headers["content-disposition"] == 'attachment; filename="firms-attack.json"'
    described = {"table": study.table.name, **file.json()}
    assert described == json.loads(json.dumps(study.described()))


def test_remedies_name_what_was_found_in_both_languages() -> None:
    cells = {"sex": ["Total", "m", "w"], "age": ["Total"] * 3, "value": [9, 9, 0]}
    table = dc.Table.from_cells(pl.DataFrame(cells), ["sex", "age"], count="value")
    safe = dc.round_counts(table, 3, "conventional")
    source = ReleaseSource(release=safe, truth=None, beside=())
    assert ROW.study is not None
    study = ROW.study(source, AttackSettings(knows="maximum", max_noise=0), None)
    rates = study.facts["rates"]
    assert rates["groups"] > 0
    texts = [remark.text for remark in study.remarks]
    assert any(text["en"].startswith("Rows that show one category: ") for text in texts)
    assert any(text["de"].startswith("Zeilen mit nur einer Ausprägung: ") for text in texts)
