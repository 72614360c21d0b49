"""Suppression in the studio: what a page hides is what the library hides; nothing is kept."""

import html
import io
import re
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet import Classification, Table, ValueColumns, audit, primary, suppress
from discreet.rules import Dominance, Mark, MinimumFrequency, PPercent
from tests.helpers.rows import for_all_rows
from tests.helpers.service_callers import example_body
from tests.service.studio.conftest import plain, problems_of

CELLS = pl.DataFrame(example_body("suppress_table_cells")["cells"])
FIELDS = {
    "cells": CELLS.write_csv(),
    "by": "branch",
    "value": "turnover",
    "largest": "first, second",
    "minimum_frequency": "3",
    "p_percent": "10",
    "method": "optimal",
    "act": "run",
}


def send(readers: Any, fields: dict[str, Any]) -> Any:
    return readers.post("/suppression", fields)


def hidden_rows(page: str) -> list[list[str]]:
    """Cell, reason and interval of the hidden cells of a page."""
    found = []
    for row in re.findall(r'<tr id="c\d+">(.*?)</tr>', page, re.DOTALL):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        found.append([plain(each) for each in cells[:3]])
    return found


def directly(rules: list[Any], marks: Any = None) -> tuple[Table, Any]:
    """The same cells by the library itself."""
    frame = CELLS.with_columns(key=pl.lit(0))
    columns = ValueColumns(total="turnover", largest=["first", "second"], count="n", cell_key="key")
    branch = Classification.flat("branch", ["A", "B", "C"])
    table = Table.from_cells(
        frame, by=[branch], count="n", cell_key="key", values={"turnover": columns}
    )
    return table, primary(table, rules, value="turnover", marks=marks)


def test_page_tells_what_the_library_finds(readers: Any) -> None:
    answer = send(readers, FIELDS)
    assert answer.status_code == 200, answer.text
    table, found = directly([MinimumFrequency(3), PPercent(10)])
    safe = suppress(table, found, method="optimal")
    told = audit(safe, table, found, intervals=True).intervals()
    expected = [
        [
            cell.removeprefix("branch="),
            "primary minimum frequency" if sensitive else "secondary",
            f"{low:,.0f} – {high:,.0f}",
        ]
        for cell, sensitive, _, low, high in told.iter_rows()
    ]
    assert hidden_rows(answer.text) == expected
    assert {row[1] for row in expected} == {"primary minimum frequency", "secondary"}
    assert "Proven for the 3 interior cells and the 1 totals below: a reader" in answer.text
    assert "Distance to the lowest cost: no cheaper suppression pattern is safe." in answer.text
    # Hovered, focused and read aloud: a link that is described by the reason beside it.
    assert 'aria-describedby="w1"' in answer.text
    assert re.search(r'role="tooltip" id="w1">[^<]*between 1 and 300', answer.text)


def test_missing_totals_are_computed_protected_and_named(readers: Any) -> None:
    """Two hidden cells beside a total that anyone can look up elsewhere tell each other."""
    whole = send(readers, FIELDS).text
    bare = CELLS.filter(pl.col("branch") != "Total").write_csv()
    page = send(readers, {**FIELDS, "cells": bare}).text
    assert hidden_rows(page) == hidden_rows(whole)
    assert "1 missing totals were computed. They are protected and part of" in page
    assert "missing totals were computed. They are protected and part of" not in whole
    file = send(readers, {**FIELDS, "cells": bare, "act": "download"})
    assert pl.read_csv(io.BytesIO(file.content))["branch"].to_list() == ["Total", "A", "B", "C"]


def test_a_code_that_is_the_sum_of_the_others_is_asked_about(readers: Any) -> None:
    named = FIELDS["cells"].replace("Total", "All")
    answer = send(readers, {**FIELDS, "cells": named})
    assert answer.status_code == 422
    assert "always the sum of the other codes" in answer.text


def test_records_are_tabulated_and_judged(readers: Any) -> None:
    records = pl.DataFrame({"branch": [*"AAAABBBBCC"], "turnover": [9, 8, 7, 9, 9, 9, 8, 7, 90, 1]})
    fields = {**FIELDS, "cells": records.write_csv(), "records": "on", "largest": ""}
    page = send(readers, fields)
    assert page.status_code == 200, page.text
    table = dc.tabulate(records, ["branch"], values=["turnover"], contributions=2)
    found = primary(table, [MinimumFrequency(3), PPercent(10)], value="turnover")
    cells = suppress(table, found, method="optimal").to_polars()
    hidden = cells.filter(pl.col("status") == "suppressed")["branch"].to_list()
    assert [row[0] for row in hidden_rows(page.text)] == hidden
    assert "C" in hidden
    consent = send(readers, {**fields, "waived": ['["C"]']}).text
    assert hidden_rows(consent) == [["C", "not suppressed", ""]]


def test_file_is_that_of_the_library(readers: Any, tmp_path: Any) -> None:
    answer = send(readers, {**FIELDS, "act": "download", "name": "turnover"})
    assert answer.headers["content-disposition"] == 'attachment; filename="turnover.csv"'
    assert answer.headers["cache-control"] == "no-store"
    safe = suppress(*directly([MinimumFrequency(3), PPercent(10)]), method="optimal")
    written = safe.to_polars()
    sent = pl.read_csv(io.BytesIO(answer.content), infer_schema=False, separator=",")
    assert sent["branch"].to_list() == written["branch"].to_list()
    shown = [None if each is None else str(each) for each in written["value"].to_list()]
    assert sent["value"].to_list() == shown
    assert b"330" not in answer.content


def test_consent_and_costs_change_what_is_hidden(readers: Any) -> None:
    consent = send(readers, {**FIELDS, "waived": ['["C"]']}).text
    assert hidden_rows(consent) == [["C", "not suppressed", ""]]
    assert "Without your decisions" in consent
    rules = [MinimumFrequency(3), PPercent(10)]
    dear = {"priced": ['["B"]', '["C"]'], "prices": ["5000", ""]}
    hidden = [row[0] for row in hidden_rows(send(readers, {**FIELDS, **dear}).text) if row[2]]
    found = directly(rules, [Mark(cells={"branch": "B"}, cost=5_000.0)])
    cells = suppress(*found, method="optimal").to_polars()
    assert (
        hidden == cells.filter(pl.col("status") == "suppressed")["branch"].to_list() == ["A", "C"]
    )


def test_only_sensitive_cells_can_be_opened_by_consent(readers: Any) -> None:
    offered = re.findall(r'name="waived" value="([^"]+)"', send(readers, FIELDS).text)
    assert [html.unescape(each) for each in offered] == ['["C"]']


def test_both_rules_of_dominance(readers: Any) -> None:
    fields = {**FIELDS, "minimum_frequency": "", "p_percent": "", "dominance_2": "95"}
    rows = hidden_rows(send(readers, {**fields, "dominance_1": "99"}).text)
    cells = suppress(*directly([Dominance(1, 99), Dominance(2, 95)]), method="optimal").to_polars()
    assert [row[0] for row in rows] == cells.filter(pl.col("status") == "suppressed")[
        "branch"
    ].to_list()
    assert ["C", "primary dominance rule"] in [row[:2] for row in rows]


@for_all_rows(
    ("wrong", "told"),
    [
        ({"minimum_frequency": "", "p_percent": ""}, "no sensitivity rule"),
        ({"p_percent": "much"}, "must be a number"),
        ({"method": "magic"}, "suppression.method"),
        ({"waived": ["C"]}, "not a cell of the table"),
        ({"cells": "branch,n\nTotal,x\n"}, "largest"),
    ],
)
def test_what_is_wrong_is_said_beside_the_fields(
    readers: Any, wrong: dict[str, Any], told: str
) -> None:
    answer = send(readers, {**FIELDS, **wrong})
    assert answer.status_code == 422
    assert told in problems_of(answer.text)
    assert 'value="branch"' in answer.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"largest": "first," + "x" * 600}, "more than 500 characters"),
        ({"priced": ['["A"]', '["B"]'], "prices": ["5"]}, "cells and costs do not match"),
    ],
)
def test_nothing_that_was_sent_is_dropped(readers: Any, fields: dict[str, Any], said: str) -> None:
    """A column of contributions, or a cost, that is cut off would change what is hidden."""
    answer = send(readers, FIELDS | fields)
    assert answer.status_code == 422
    assert said in answer.text
