"""Rounding in the studio: what a page rounds is what the library rounds; nothing is kept."""

import html
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet import Classification, Table, round_counts
from discreet.operations import OPERATIONS
from discreet.protection.rounding import Rounding, audit_rounding
from discreet_service.studio.operations import example_form
from tests.helpers.rows import for_all_rows
from tests.service.cells.test_rounded_cells import seed_of_table
from tests.service.studio.conftest import GERMAN, problems_of

MOST_TOGETHER = OPERATIONS["rounding"].at_once
#: The lecture's kind of table: small counts by two variables, all totals.
CELLS = pl.DataFrame(
    {
        "sex": ["Total"] * 4 + ["m"] * 4 + ["w"] * 4,
        "age": ["Total", "adult", "child", "old"] * 3,
        "n": [56, 31, 11, 14, 25, 16, 4, 5, 31, 15, 7, 9],
    }
)
FIELDS = {
    "cells": CELLS.write_csv(),
    "by": "sex, age",
    "method": "controlled",
    "base": "5",
    "name": "people",
    "act": "run",
}


def send(readers: Any, fields: dict[str, Any], **more: Any) -> Any:
    return readers.post("/rounding", fields, **more)


def library_table() -> Table:
    return Table.from_cells(CELLS, ["sex", "age"], count="n", name="people")


def shown_cells(page: str) -> list[tuple[int, int, int]]:
    """Published figure, true one and difference of each cell of a page."""
    part = page[page.index('class="numbers cells both"') :]
    part = part[: part.index("</table>")].replace("−", "-").replace("\N{NARROW NO-BREAK SPACE}", "")
    found = re.findall(r"<td>([\d,]+)<small>([\d,]+)(?: <b>([+-]\d+)</b>)?</small></td>", part)
    return [(int(a.replace(",", "")), int(b.replace(",", "")), int(c or 0)) for a, b, c in found]


@pytest.mark.parametrize("method", ["controlled", "small-counts", "conventional"])
def test_page_shows_true_and_rounded_counts_of_the_library(readers: Any, method: str) -> None:
    answer = send(readers, {**FIELDS, "method": method})
    assert answer.status_code == 200, answer.text
    table = library_table()
    safe = round_counts(table, 5, method)
    expected = [
        (value, true, value - true)
        for value, true in zip(safe.to_polars(complete=True)["value"], CELLS["n"], strict=True)
    ]
    assert shown_cells(answer.text) == expected
    audited = audit_rounding([safe], [table], Rounding(base=5, method=method))  # type: ignore[arg-type]
    told = re.findall(r"<li><code>([^<]+)</code></li>", answer.text)
    assert told == list(audited.unprotected)
    assert ("Proven:" in answer.text) == audited.safe
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "form"), [("controlled", "csv"), ("controlled", "xlsx"), ("random", "json-stat")]
)
def test_files_are_those_of_the_library(
    readers: Any, tmp_path: Path, method: str, form: str
) -> None:
    fields = {**FIELDS, "act": "download", "format": form, "method": method}
    answer = send(readers, fields)
    suffix = {"json-stat": ".json"}.get(form, f".{form}")
    assert answer.headers["content-disposition"] == f'attachment; filename="people{suffix}"'
    options: dict[str, Any] = {}
    if method == "random":
        options["seed"] = seed_of_table(readers.service.key_for("rounding"), "paul", "people")
    with pytest.warns() if options else nullcontext():
        safe = round_counts(library_table(), 5, method, **options)
    assert answer.content == safe.write(tmp_path / f"people{suffix}", format=form).read_bytes()


def test_counts_that_can_be_worked_out_are_named(readers: Any) -> None:
    """3 + 3 = 9 to base 3 can only be 4 + 4 = 8."""
    cells = "sex,n\nTotal,8\nm,4\nw,4\n"
    fields = {**FIELDS, "cells": cells, "by": "sex", "method": "conventional", "base": "3"}
    page = send(readers, fields).text
    assert "3 of 3 counts can be computed from sums" in page
    assert "<code>sex=m</code>" in page
    assert "1 of 1" in page
    wider = send(readers, {**fields, "base": "10"}).text
    assert "Proven:" in wider


def test_totals_that_are_no_sums_are_told(readers: Any) -> None:
    cells = FIELDS["cells"].replace("Total,Total,56", "Total,Total,99")
    page = send(readers, {**FIELDS, "cells": cells, "method": "conventional"}).text
    assert "the true totals are not additive" in page
    assert "Not examined: disclosure through sums." in page
    refused = send(readers, {**FIELDS, "cells": cells})
    assert refused.status_code == 422
    assert "the parts do not add up to the total" in problems_of(refused.text)


def test_hierarchies_and_levels(readers: Any) -> None:
    cells = "region,n\nTotal,40\nN,21\nn1,13\nn2,8\nS,19\n"
    trees = "region,N\nregion,n1,N\nregion,n2,N\nregion,S"
    answer = send(readers, {**FIELDS, "cells": cells, "by": "region", "trees": trees})
    tree = Classification.from_parents("region", {"N": None, "n1": "N", "n2": "N", "S": None})
    table = Table.from_cells(pl.read_csv(cells.encode()), [tree], count="n", name="people")
    safe = round_counts(table, 5, "controlled").to_polars(complete=True)
    assert [each[0] for each in shown_cells(answer.text)] == safe["value"].to_list()


def test_cells_come_as_a_file_or_from_a_spreadsheet(readers: Any) -> None:
    expected = shown_cells(send(readers, FIELDS).text)
    assert len(expected) == CELLS.height
    text = FIELDS["cells"].replace(",", "\t")
    assert shown_cells(send(readers, {**FIELDS, "cells": text}).text) == expected
    file = {"file": ("cells.csv", FIELDS["cells"].encode(), "text/csv")}
    assert shown_cells(send(readers, {**FIELDS, "cells": ""}, files=file).text) == expected


#: Words of what comes of an example.
OF_EXAMPLES = {
    "rounding": "0 of 55",
    "assess_records": "Re-identification risk by district, sex, age",
}


@pytest.mark.parametrize("name", [name for name, row in OPERATIONS.items() if row.page])
def test_examples_are_there_and_run(readers: Any, name: str) -> None:
    page, form = OPERATIONS[name].page, example_form(OPERATIONS[name])
    assert re.search(rf'href="/{page}\?example=\w+"', readers.page(f"/{page}", "paul"))
    fields = {**form.texts, "act": "run"}
    for at, (method, texts) in enumerate(form.steps):
        fields |= {f"step{at}": method, **{f"step{at}-{one}": text for one, text in texts.items()}}
    answer = readers.post(f"/{page}", fields)
    assert answer.status_code == 200, answer.text
    assert len(answer.content) < 100_000
    assert OF_EXAMPLES.get(name, "") in answer.text


def test_programs_get_the_same_figures(readers: Any, tmp_path: Path) -> None:
    """What the page says for curl is a call that gives its file."""
    page = html.unescape(send(readers, FIELDS).text)
    told = re.search(r"'(http[^']+/api/v1/protect/rounding\?request=[^']+)'", page)
    assert told
    assert FIELDS["cells"].splitlines()[1] not in told[1]
    base = readers.service.settings.base_url
    browser = readers.browser("paul")
    answer = browser.post(
        told[1].removeprefix(base),
        content=FIELDS["cells"].encode(),
        headers={"Content-Type": "text/csv", "Accept": "text/csv", "Origin": base},
    )
    assert answer.status_code == 200, answer.text
    assert answer.content == send(readers, {**FIELDS, "act": "download"}).content
    assert 'client.run(\n        "rounding",' in page
    assert 'dc_service_run(\n  "rounding",' in page
    python = re.search(r'<code id="code-python">(.*?)</code>', page, re.DOTALL)
    assert python
    compile(python[1], "page", "exec")


@for_all_rows(
    ("wrong", "told"),
    [
        ({"cells": ""}, "no cells"),
        ({"base": ""}, ""),
        ({"base": "1"}, "must be at least 2"),
        ({"base": "five"}, "must be a whole number"),
        ({"ties": "even"}, "ties needs conventional rounding"),
        ({"method": "magic"}, "rounding.method"),
        ({"method": "random", "cell_key": "n"}, "two purposes"),
        ({"by": "sex"}, ""),
        ({"by": "region"}, "column not found"),
        ({"count": "persons"}, "column not found"),
        ({"weight": "w"}, "column not found"),
        ({"trees": "sex"}, "line 1 has another form"),
        ({"cells": "sex,age,n\nTotal,Total,two\n"}, "expected whole numbers"),
        ({"cells": "sex,age,n\nTotal,Total,-3\n"}, "below 0"),
        ({"cells": "sex,age,n\nTotal,Total\nm,1,2,3\n"}, "2 fields instead of 3"),
        ({"cells": "sex,age,n\nTotal,Total,1.500\n"}, 'add decimal = "."'),
        ({"reading": "decimal"}, "not valid TOML"),
        ({"reading": 'metadata = "/etc/passwd"'}, "unknown option"),
        ({"format": "exe"}, "format not available"),
        ({"key_grid": "sand"}, ""),
        ({"name": "../../x"}, "name"),
        ({"by": "sex, age" + "x" * 600}, "more than 500 characters"),
    ],
)
def test_what_is_wrong_is_said_beside_the_fields(
    readers: Any, wrong: dict[str, Any], told: str
) -> None:
    answer = send(readers, {**FIELDS, **wrong})
    if wrong == {"base": ""}:  # the usual one
        assert shown_cells(answer.text)
        return
    assert answer.status_code == 422, answer.text
    assert told in problems_of(answer.text)
    if "by" not in wrong:
        if 'class="columns"' in answer.text:
            assert {"sex", "age"} == picked(answer.text, "by")
        else:
            assert 'value="sex, age"' in answer.text


def picked(page: str, role: str) -> set[str]:
    """The columns that a page shows as picked for a role."""
    return set(re.findall(rf'name="{role}" value="([^"]+)" aria-label="[^"]*" checked', page))


def test_data_are_read_first_and_columns_picked_by_roles(readers: Any) -> None:
    """A file, what is in it, a role for each column, the method; nothing is written by hand."""
    file = {"file": ("cells.csv", FIELDS["cells"].replace(",", ";").encode("cp1252"), "text/csv")}
    first = send(readers, {"act": "read"}, files=file).text
    assert "12 cells, 3 columns" in first
    assert "Total · Total · Total · Total" in first
    assert (picked(first, "by"), picked(first, "count")) == ({"sex", "age"}, {"n"})
    known = re.search(r'name="known" value="(\w+)"', first)
    assert known
    boxes = {"by": ["sex", "age"], "count": "n", "cell_key": "", "weight": "", "picked": "1"}
    fields = {**FIELDS, **boxes, "known": known[1]}
    page = send(readers, fields).text
    assert shown_cells(page) == shown_cells(send(readers, FIELDS).text)
    assert "by" in problems_of(send(readers, {**fields, "by": ""}).text)


@pytest.mark.parametrize("records", [False, True])
def test_missing_totals_are_computed_and_records_counted(readers: Any, records: bool) -> None:
    inner = CELLS.filter(pl.col("sex") != "Total", pl.col("age") != "Total")
    rows = inner
    if records:
        rows = inner.select(pl.col("sex", "age").repeat_by("n").explode(), n=pl.lit(1))
    fields = {**FIELDS, "cells": rows.write_csv(), "add_totals": "on"}
    page = send(readers, fields | ({"records": "on"} if records else {})).text
    assert sorted(shown_cells(page)) == sorted(shown_cells(send(readers, FIELDS).text))
    assert ("computed and protected: 6." in page) == (not records)
    bare = send(readers, {**fields, "add_totals": ""}) if not records else None
    assert bare is None or len(shown_cells(bare.text)) == inner.height


def test_labels_of_strangers_are_escaped(readers: Any) -> None:
    cells = FIELDS["cells"].replace("m,", "<script>alert(1)</script>,")
    answer = send(readers, {**FIELDS, "cells": cells, "method": "conventional", "base": "2"})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert" in answer.text


def test_nothing_is_kept_and_a_job_is_sealed(readers: Any) -> None:
    service = readers.service
    folder = service.job_inputs.folder
    before = set(folder.iterdir())
    send(readers, FIELDS)
    assert set(folder.iterdir()) == before
    job = send(readers, {**FIELDS, "act": "job"})
    assert job.status_code == 303
    number = job.headers["location"].removeprefix("/jobs/")
    (sealed,) = set(folder.iterdir()) - before
    assert b"adult" not in sealed.read_bytes()
    assert service.jobs.job(number, "paul").kind == "round"
    assert "Rounding" in readers.page(f"/jobs/{number}", "paul")
    readers.page(f"/jobs/{number}", "rita", 404)
    service.jobs.cancel(number, "paul")


def test_large_tables_become_jobs_and_files_of_single_figures_do_not(readers: Any) -> None:
    codes = [f"c{at}" for at in range(MOST_TOGETHER)]
    cells = pl.DataFrame({"code": ["Total", *codes], "n": [MOST_TOGETHER * 6, *[6] * len(codes)]})
    fields = {**FIELDS, "cells": cells.write_csv(), "by": "code"}
    answer = send(readers, fields)
    assert answer.status_code == 303, answer.text
    readers.service.jobs.cancel(answer.headers["location"].removeprefix("/jobs/"), "paul")
    file = send(readers, {**fields, "method": "conventional", "act": "download"})
    assert file.status_code == 200
    assert pl.read_csv(file.content)["value"].to_list()[1:] == [5] * MOST_TOGETHER


def test_page_in_german(readers: Any) -> None:
    text = readers.page("/rounding?example=firms", "paul", **GERMAN)
    for word in ("Rundungsbasis", "kontrolliert", "Fallzahlen"):
        assert word in text
    page = send(readers, FIELDS, headers=GERMAN).text
    assert "Summen, die nicht aufgehen" in page
    assert "Bewiesen" in page
