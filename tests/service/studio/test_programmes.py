"""Programmes in the studio: what a page says and does is what interface and library say and do."""

import html
import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from discreet.release.run.release import carry_out
from discreet_service.permissions import ROLES, Grant, Permission, Principal, Role
from discreet_service.problems import ServiceError
from discreet_service.releases import ALLOWED_KEYS, told_problems
from discreet_service.releases.drafts import read_draft, shelf_of
from discreet_service.releases.programmes import opened_inputs, parsed
from discreet_service.studio import drafts
from discreet_service.studio.design_wishes import changed_share, published_counts
from discreet_service.studio.drafts import shown_changes, tally
from discreet_service.web import programmes as api
from discreet_service.web.programmes import (
    PublicationRequest,
    check_text,
    compare_draft,
    publish_programme,
)
from tests.helpers.asgi_browser import filled_form, form_of
from tests.helpers.rows import for_all_rows
from tests.helpers.served_studio import _is_told, planted
from tests.helpers.service_callers import visit_as
from tests.helpers.studio_programmes import (
    LATER,
    PAUL,
    PEOPLE,
    WRONG,
    hand_in,
    publish,
    work,
)
from tests.service.studio.conftest import HTML, StudioReaders, plain, text_of


class Office(StudioReaders):
    """A demonstration of its own, in which programmes were run and published."""

    def __init__(self, folder: Any) -> None:
        super().__init__(folder)
        self.add("olga", Grant("producer", "labour"))
        self.add("petra", Grant("producer", "census"))
        service = self.service
        self.first = hand_in(service, PEOPLE)
        self.first_draft = self.made(self.first)
        publish(service, self.first, self.first_draft, "people")
        self.later = hand_in(service, LATER)
        self.draft = self.made(self.later)
        self.wrong = hand_in(service, WRONG)

    @property
    def pages(self) -> list[str]:
        """All pages of programmes."""
        here = f"/programmes/{self.later}"
        return [
            *("/programmes", "/programmes/new", f"/programmes/new?of={self.later}", here),
            f"/programmes/{self.wrong}",
            f"{here}/drafts/{self.draft}",
            f"{here}/drafts/{self.draft}?release=people",
            f"{here}/drafts/{self.draft}/tables/homes",
        ]

    def made(self, programme: str) -> str:
        """The number of a draft that a job has made."""
        place = self.send(f"/programmes/{programme}/run", page=f"/programmes/{programme}")
        assert place.status_code == 303, place.text
        number = work(self.service)
        assert place.headers["location"] == f"/programmes/{programme}/drafts/{number}"
        return number

    def agree(self, name: str) -> None:
        """Agree, as the second person, to what waits."""
        path = self.proposal(name)
        fields = form_of(self.page(path, name), path) | {"act": "approve"}
        done = self.browser(name).post(path, data=fields, headers=HTML)
        assert done.status_code == 303, done.text

    def send(self, path: str, page: str = "", name: str = "paul", **fields: Any) -> Any:
        """Fill in a form of a page, and send it."""
        if path == "/programmes/new":  # a page that is checked whenever it is shown
            hidden = {"csrf": self.csrf(name)}
        else:
            hidden = form_of(self.page(page or path, name), path)
        files = {"file": fields.pop("file")} if "file" in fields else None
        return self.browser(name).post(path, data={**hidden, **fields}, files=files, headers=HTML)


@pytest.fixture(scope="module")
def office(readers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("programmes") / "demo"
    shutil.copytree(readers.folder, folder)
    found = Office(folder)
    yield found
    found.close()


def written(page: str) -> str:
    """The text in the editor."""
    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert found
    return html.unescape(found[1])


def listed_problems(page: str) -> list[str]:
    part = re.search(r'<ol class="problems">(.*?)</ol>', page, re.DOTALL)
    return [] if part is None else [plain(each) for each in part[1].split("<li>")[1:]]


# -- writing, and what is wrong ----------------------------------------------------------


def _edited(office: Office, text: str, act: str, *changes: tuple[str, str], **fields: str) -> Any:
    """The editor after a form was sent: with the fields that it had, and some changed or added."""
    page = office.send("/programmes/new", text=text, act=act).text
    form = filled_form(page, "/programmes/new") | fields
    pairs = [(name, value) for name, value in form.items() if name not in ("act", "by", "measures")]
    for each in ("by", "measures"):
        pairs += [(each, value) for value in re.findall(
            rf'<input type="checkbox" name="{each}" value="([^"]*)" checked', page)]  # fmt: skip
    pairs += [("act", "check"), *changes]
    data: dict[str, Any] = {}
    for name, value in pairs:
        data.setdefault(name, []).append(value)
    answer = office.browser("paul").post("/programmes/new", data=data, headers=HTML)
    assert answer.status_code == 200, answer.text
    return answer.text


REMARKED = PEOPLE.replace("[tables.workers]", "# Those who work\n[tables.workers]")


def test_a_table_is_changed_by_its_form(office: Office) -> None:
    """The text changes where the form does; remarks and other tables stay."""
    same = written(_edited(office, REMARKED, "edit:workers"))
    assert same == REMARKED
    page = _edited(office, REMARKED, "edit:workers", ("by", "education"), ("pick.sex", "w"))
    text = written(page)
    changed = parsed(text.encode())["tables"]["workers"]
    assert changed["by"] == ["state", "sex", "education"]
    assert "sex == 'w'" in changed["where"]
    assert "marital_status == 'single'" in changed["where"]
    assert changed["universe"] == {"en": "Single persons", "de": "Ledige"}
    assert "# Those who work\n[tables.workers]" in text
    before, after = parsed(REMARKED.encode()), parsed(text.encode())
    assert before["tables"]["population"] == after["tables"]["population"]
    # What the form made can be run, and is shown by the form.
    assert check_text(visit_as(office.service, PAUL), text.encode())["valid"]
    assert filled_form(page, "/programmes/new")["pick.sex"] == "w"


def test_a_changed_text_fills_in_the_form(office: Office) -> None:
    text = REMARKED.replace("'single'", "'married'")
    page = office.send("/programmes/new", text=text, known=REMARKED, table="workers",
                       by="region", act="check").text  # fmt: skip
    assert written(page) == text
    assert filled_form(page, "/programmes/new")["pick.marital_status"] == "married"


def test_method_and_rules_are_chosen_where_the_data_set_admits_them(office: Office) -> None:
    page = office.send("/programmes/new", text=PEOPLE, act="edit:population").text
    radios = re.findall(r'name="method" value="([^"]*)"([^>]*)>', page)
    assert [name for name, state in radios if "disabled" not in state] == ["noise"]
    assert ("noise", " checked") in radios
    assert "true values would disclose the noise" in page
    text = written(_edited(office, PEOPLE, "edit:population", ("parts", "on"), round_to="5"))
    table = parsed(text.encode())["tables"]["population"]
    assert (table["parts"], table["round_to"]) == ({"enabled": True}, 5)
    assert check_text(visit_as(office.service, PAUL), text.encode())["valid"]
    back = parsed(written(_edited(office, text, "edit:population", round_to="")).encode())
    assert back["tables"]["population"].keys() & {"parts", "round_to"} == {"parts"}
    rounded = text.replace("round_to = 5", 'protect = "rounding"')
    refused = text_of(office.send("/programmes/new", text=rounded, act="check").text, "check")
    assert "perturbed values narrow down the rounded values" in refused


def test_tables_are_added_named_and_removed(office: Office) -> None:
    page = office.send("/programmes/new", text=LATER, act="new").text
    text = written(page)
    assert list(parsed(text.encode())["tables"]) == ["population", "workers", "homes", "person"]
    renamed = written(_edited(office, text, "edit:person", name="totals"))
    assert list(parsed(renamed.encode())["tables"])[-1] == "totals"
    # A name that another table has is not taken.
    taken = written(_edited(office, text, "edit:person", name="homes"))
    assert parsed(taken.encode()) == parsed(text.encode())
    dropped = written(office.send("/programmes/new", text=renamed, act="drop:homes").text)
    assert list(parsed(dropped.encode())["tables"]) == ["population", "workers", "totals"]
    assert "figures" not in dropped


def test_figures_and_units_are_chosen(office: Office) -> None:
    """Titles and units of figures that are written stay; other units have other figures."""
    same = written(_edited(office, LATER, "edit:homes"))
    assert parsed(same.encode()) == parsed(LATER.encode())
    page = _edited(office, LATER, "edit:homes", ("measures", "sum:rent"))
    figures = parsed(written(page).encode())["tables"]["homes"]["figures"]
    assert figures["rent"] == parsed(LATER.encode())["tables"]["homes"]["figures"]["rent"]
    assert figures["sum_rent"]["kind"] == "sum"
    other = parsed(written(_edited(office, LATER, "edit:homes", unit="person")).encode())
    assert "from" not in other["tables"]["homes"]
    assert "figures" not in other["tables"]["homes"]


def test_prices_are_told_and_what_policies_refuse(office: Office) -> None:
    deep = PEOPLE.replace(
        'by = ["region", "sex"]', 'by = ["region", "sex", "marital_status", "education"]'
    )
    verdict = check_text(visit_as(office.service, PAUL), deep.encode())
    allowed = {price["table"]: price["allowed"] for price in verdict["prices"]}
    assert allowed == {"population": False, "workers": True}
    page = office.send("/programmes/new", text=deep, act="check").text
    assert "The table has too many variables for its geographic level." in text_of(page, "check")
    # What the method costs, and by which rules it was judged, stands at each table.
    by_name = {price["table"]: price for price in verdict["prices"]}
    inputs = office.service.datasets.version("census").inputs
    margin = inputs.parameters.perturbation_table.margin(1)
    assert {price["method"] for price in verdict["prices"]} == {"noise"}
    assert {price["margin"] for price in verdict["prices"]} == {margin}
    assert by_name["population"]["exposure"] > by_name["workers"]["exposure"] >= 1
    assert f"95 of 100 counts within ±{margin}" in text_of(page, "check")
    assert "Refusing rules: number of variables." in text_of(page, "check")


def test_keys_are_offered_as_they_are_declared(office: Office) -> None:
    """What the page offers is all that a programme may say, with the names of the data set."""
    page = office.page("/programmes/new", "paul")
    offered = json.loads(html.unescape(re.findall(r"data-may='([^']+)'", page)[0]))
    assert set(offered["keys"]) == set(ALLOWED_KEYS)
    version = office.service.datasets.version("census")
    assert set(offered["values"]["tables.*.by"]) == {
        name for unit in version.units.values() for name in unit.variables
    }
    assert set(offered["values"]) <= set(ALLOWED_KEYS)
    listed = page[page.index('<dl class="keys">') :]
    for key in ALLOWED_KEYS:
        if not key.endswith("*"):
            assert f"<code>{key.rpartition('.')[2]}</code>" in listed


@for_all_rows(
    "filter_", ["not (occupation is nul)", "age == 'x'", "sex > 5", "sex in ['m'", "none == 1", 3]
)
def test_filters_that_cannot_be_read_stay_as_they_are(office: Office, filter_: Any) -> None:
    text = PEOPLE.replace("\"marital_status == 'single'\"", json.dumps(filter_))
    page = office.send("/programmes/new", text=text, act="edit:workers")
    assert page.status_code == 200, page.text
    assert written(page.text) == text
    assert filled_form(page.text, "/programmes/new")["where"] == str(filter_)


def test_a_programme_is_saved_and_run_at_once(office: Office) -> None:
    answer = office.send("/programmes/new", text=PEOPLE, act="run")
    assert answer.status_code == 303
    assert re.fullmatch(r"/programmes/[0-9a-f]{32}/drafts/[0-9a-f]{32}", answer.headers["location"])
    work(office.service)
    # What the data refuse is told beside the text.
    deep = PEOPLE.replace('by = ["region", "sex"]', 'by = ["region", "sex", "age5"]')
    refused = office.send("/programmes/new", text=deep, act="run")
    assert refused.status_code == 403
    assert 'role="alert"' in refused.text
    assert written(refused.text) == deep


def test_first_programme_is_written_already_and_can_be_run(office: Office) -> None:
    page = office.page("/programmes/new", "paul")
    text = written(page)
    verdict = check_text(visit_as(office.service, PAUL), text.encode())
    assert verdict["valid"]
    assert text_of(page, "check-title") == f"Tables ({len(verdict['tables'])})"
    saved = office.send("/programmes/new", text=text, act="save")
    assert saved.status_code == 303
    number = saved.headers["location"].rpartition("/")[2]
    assert shelf_of(office.service).text(number) == text
    assert "No errors" in text_of(office.page(f"/programmes/{number}", "paul"), "verdict")


def test_every_mistake_is_told_with_its_line_as_the_interface_tells_it(office: Office) -> None:
    told = office.browser("paul").post(
        "/api/v1/programmes:validate",
        content=WRONG.encode(),
        headers={"Content-Type": "application/toml"},
    )
    problems = told.json()["problems"]
    assert [each["where"].partition(",")[0] for each in problems] == [
        "line 10",
        "line 15",
        "line 16",
    ]
    for page in (
        office.send("/programmes/new", text=WRONG, act="check").text,
        office.page(f"/programmes/{office.wrong}", "paul"),
    ):
        shown = listed_problems(page)
        assert len(shown) == len(problems)
        for each, problem in zip(shown, problems, strict=True):
            line = problem["where"].removeprefix("line ").partition(",")[0]
            assert f"Line {line} :" in each
            assert problem["message"] in each
            assert problem["hint"] in each
            assert WRONG.split("\n")[int(line) - 1].strip() in each
    page = office.page(f"/programmes/{office.wrong}", "paul")
    assert [*map(int, re.findall(r'<li id="L(\d+)" class="wrong">', page))] == [10, 15, 16]
    assert "Make a draft" not in page


def test_places_above_all_sections_have_lines_too() -> None:
    lines = ['title = "x"', 'dataset = "labour"', "[tables.a]", 'version = "1"']
    told = [{"where": where, "message": "", "hint": ""} for where in ("version", "dataset", "")]
    found = told_problems({"problems": told}, lines)
    assert [(each["line"], each["text"]) for each in found] == [
        (0, ""),
        (0, ""),
        (2, 'dataset = "labour"'),
    ]


@for_all_rows(
    ("text", "said"),
    [
        ("", "Write a programme, or choose a file."),
        ("dataset = ", "not valid TOML"),
        ("[" * 3_000, "no"),
        ("tables = 7", "the programme lacks a data set"),
        ('dataset = "census"', "has no tables"),
        ('dataset = "nothing"\n[tables.a]\nby = ["sex"]', "Line 1 :"),
        ('dataset = "census"\nversion = "9"\n[tables.a]\nby = ["sex"]', "Line 2 :"),
        (PEOPLE.replace("[defaults]", "[defalts]"), "closest match: 'defaults'"),
        (f'{PEOPLE}\n[sources.x]\nsource = "../../etc/passwd"', "not allowed here"),
        (f'{PEOPLE}\n[data]\nsource = "../../etc"', "not allowed here"),
        (f'{PEOPLE}\n[tables."../../etc"]\nby = ["sex"]', "cannot be a file name"),
        (f'{PEOPLE}\n[tables.a]\nfrom = "../../etc"\nby = ["sex"]', "unknown source '../../etc'"),
        (f'{PEOPLE}\n[tables.a]\nby = ["/etc/passwd"]', "variable '/etc/passwd' not found"),
        (f"{PEOPLE}\n[tables.a]\nby = ['sex']\nwhere = \"person_id == '1'\"", "identifiers"),
        (f"{PEOPLE}\n[tables.a]\nby = ['sex']\nwhere = \"nothing == '1'\"", "nothing"),
        (f"{PEOPLE}\n[tables.a]\nby = ['sex']\nweight = 'none'", "not allowed here"),
    ],
)
def test_what_is_no_programme_is_neither_taken_nor_a_failure(
    office: Office, text: str, said: str
) -> None:
    shelf = shelf_of(office.service)
    before = {each.id for each in shelf.every()}
    page = office.send("/programmes/new", text=text, act="check")
    assert page.status_code == 200
    assert said in plain(page.text)
    assert written(page.text) == text
    assert str(office.folder) not in page.text
    assert {each.id for each in shelf.every()} == before
    saved = office.send("/programmes/new", text=text, act="save")
    # What only the data can tell is wrong may be kept, and cannot be run.
    if saved.status_code == 303:
        kept = saved.headers["location"].rpartition("/")[2]
        assert office.post(f"/programmes/{kept}/run", {}).status_code == 422
    else:
        assert saved.status_code == 422
        assert {each.id for each in shelf.every()} == before


@for_all_rows(
    ("content", "status", "said"),
    [
        (PEOPLE.encode(), 303, ""),
        (b"\xef\xbb\xbf" + PEOPLE.replace("\n", "\r\n").encode(), 303, ""),
        (b"\x89PNG\r\n\x1a\n\xff\xfe\x00", 422, "not UTF-8 text"),
        (b"\x00" * 50, 422, "not valid TOML"),
        (b"x = 1\n" + b"#" * 1_000_001, 413, "the programme is too long"),
    ],
)
def test_files_are_taken_in_place_of_what_is_written(
    office: Office, content: bytes, status: int, said: str
) -> None:
    answer = office.send("/programmes/new", text="x", act="save", file=("p.toml", content))
    assert answer.status_code == status, answer.text[:3_000]
    assert said in plain(answer.text)
    if status == 303:
        kept = shelf_of(office.service).text(answer.headers["location"].rpartition("/")[2])
        assert kept.replace("\r\n", "\n") == PEOPLE


def test_what_is_written_may_be_too_long(office: Office) -> None:
    answer = office.send("/programmes/new", text="#" * 1_100_000, act="save")
    assert answer.status_code == 413


def test_texts_of_strangers_are_texts(office: Office) -> None:
    evil = "<script>alert(1)</script>"
    text = PEOPLE.replace("People and their work", evil).replace("Population by region", evil)
    number = hand_in(office.service, text)
    draft = office.made(number)
    here = f"/programmes/{number}"
    for path in ("/programmes", here, f"{here}/drafts/{draft}", f"/programmes/new?of={number}",
                 f"{here}/drafts/{draft}/tables/population"):  # fmt: skip
        page = office.page(path, "paul")
        assert evil not in page
        assert html.escape(evil) in page, path


# -- running ------------------------------------------------------------------------------


def test_draft_is_what_the_library_makes(office: Office, tmp_path: Any) -> None:
    service = office.service
    version = service.datasets.version("census")
    carry_out(opened_inputs(shelf_of(service).file(office.later), version), tmp_path / "out")
    found = read_draft(
        shelf_of(service).draft(office.later, office.draft), service.releases.keys, "draft"
    )
    for name in ("population", "workers", "homes"):
        made = (tmp_path / "out" / f"{name}.csv").read_bytes()
        assert found.release.files.read(f"{name}.csv") == made
    frame = pl.read_csv(tmp_path / "out" / "workers.csv").filter(pl.col("state") != "Total")
    page = office.page(f"/programmes/{office.later}/drafts/{office.draft}/tables/workers", "paul")
    part = page[page.index('<table id="table">') : page.index("</table>")]
    for value in frame["value"].to_list():
        assert f">{int(value):,}<" in part
    charted = office.page(
        f"/programmes/{office.later}/drafts/{office.draft}/tables/workers?chart=bars", "paul"
    )
    assert re.search(r"<figure.*<svg.*</svg>", charted, re.DOTALL)
    assert "chart=bars&amp;image=svg" in charted


def test_the_same_form_sent_twice_makes_one_draft(office: Office) -> None:
    here = f"/programmes/{office.later}"
    fields = form_of(office.page(here, "paul"), f"{here}/run")
    places = [
        office.browser("paul").post(f"{here}/run", data=fields, headers=HTML).headers["location"]
        for _ in range(2)
    ]
    assert places[0] == places[1]
    other = office.send(f"{here}/run", page=here).headers["location"]
    assert other != places[0]
    for place in (places[0], other):
        office.service.jobs.cancel(place.rpartition("/")[2], "paul")


def test_a_run_is_followed_and_can_be_stopped_by_its_owner_alone(office: Office) -> None:
    here = f"/programmes/{office.later}"
    place = office.send(f"{here}/run", page=here).headers["location"]
    job = place.rpartition("/")[2]
    page = office.page(place, "paul")
    assert f'data-events="/api/v1/jobs/{job}/events"' in page
    assert f'href="{place}"' in page  # by hand, where there is no script
    assert job[:8] in office.page(here, "paul")
    other = office.page(place, "petra")
    assert "data-events" not in other
    assert "/cancel" not in other
    stopped = office.send(f"/jobs/{job}/cancel", page=place)
    assert stopped.status_code == 303
    page = office.page(place, "paul")
    assert "No preview was created." in page
    assert "data-events" not in page
    for path in (f"{place}/tables/homes", f"{place}/publish"):
        answer = office.browser("paul").get(path, headers=HTML)
        assert answer.status_code in (404, 405, 409)


def test_page_that_follows_a_run_is_told_where_the_draft_is(office: Office) -> None:
    place = f"/programmes/{office.later}/drafts/{office.draft}"
    part = office.page(place, "paul", **{"X-Fragment": "run"})
    assert "The preview is ready." in part
    assert f'id="look" href="{place}"' in part
    assert "data-events" not in part
    assert 'id="run"' not in office.page(place, "paul")


def test_why_a_run_failed_is_told_to_its_owner(office: Office) -> None:
    service, here = office.service, f"/programmes/{office.first}"
    place = office.send(f"{here}/run", page=here).headers["location"]
    file = shelf_of(service).file(office.first)
    file.write_text(PEOPLE.replace('"region", "sex"', '"regoin", "sex"'), "utf-8")
    try:
        work(service)
    finally:
        file.write_text(PEOPLE, "utf-8")
    own, other = office.page(place, "paul"), office.page(place, "petra")
    assert "not found" in own
    assert "No preview was created." in own
    assert "not found" not in other
    assert str(office.folder) not in own


def test_draft_outlives_the_result_of_its_job(office: Office) -> None:
    service, here = office.service, f"/programmes/{office.later}"
    import sqlalchemy as sa

    from discreet_service.database.schema import JOBS

    draft = office.made(office.later)
    mine = JOBS.c.id == draft
    with service.database.writing() as connection:
        connection.execute(sa.update(JOBS).where(mine).values(state="expired"))
    assert text_of(office.page(f"{here}/drafts/{draft}", "paul"), "cells") == "179"


# -- comparing, and publishing ---------------------------------------------------------------


def test_comparison_is_that_of_the_interface(office: Office) -> None:
    service = office.service
    told = compare_draft(visit_as(service, PAUL), office.later, office.draft, "people")
    assert [each["change"] for each in told["changes"]] == ["same", "changed", "new"]
    page = office.page(f"/programmes/{office.later}/drafts/{office.draft}?release=people", "paul")
    found = tally(told["changes"])
    assert found == {"new": 1, "changed": 1, "same": 1, "gone": 0, "cells": 9}
    for name in ("changed", "new", "same", "cells"):
        assert text_of(page, f"tally-{name}") == str(found[name])
    opened = read_draft(
        shelf_of(service).draft(office.later, office.draft), service.releases.keys, "draft"
    )
    changes = shown_changes(told["changes"], opened, "en")
    cells = changes[1]["cells"]
    assert [each["change"] for each in cells] == ["values"] * 9
    first = told["changes"][1]["cells"][0]
    assert cells[0]["labels"] == ["Total", "Total"]
    assert cells[0]["before"] == f"{first['before']['value']:,.0f}"
    assert cells[0]["after"] == f"{first['after']['value']:,.0f}"
    for each in cells:
        assert " · ".join(each["labels"]) in page
        figures = (f'<td class="number">{each[name]}</td>' for name in ("before", "after"))
        assert "".join(figures) in page
    assert "other programme; other population" in plain(page)


def test_of_very_many_tables_those_that_change_are_listed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MOST_TABLES", 2)
    here = f"/programmes/{office.later}/drafts/{office.draft}"
    page = office.page(f"{here}?release=people", "paul")
    part = page[page.index('<table class="changes"') : page.index('id="others"')]
    assert "Population" not in part
    assert "Married persons" in part
    assert "Dwellings and their rents" in part
    assert text_of(page, "others").endswith(": 1")
    assert text_of(page, "tally-same") == "1"
    assert f"{here}/tables/homes" not in page
    assert "Not listed here; the API lists all: 1" in plain(page)
    monkeypatch.undo()
    assert 'id="others"' not in office.page(f"{here}?release=people", "paul")


def test_the_usual_release_is_one_with_the_same_tables_of_the_same_data(office: Office) -> None:
    page = office.page(f"/programmes/{office.later}/drafts/{office.draft}", "paul")
    assert "<option selected>people</option>" in page
    nothing = office.page(f"/programmes/{office.later}/drafts/{office.draft}?release=", "paul")
    assert text_of(nothing, "tally-new") == "3"
    own = office.page(f"/programmes/{office.first}/drafts/{office.first_draft}", "paul")
    assert 'Published as <a href="/releases/people">' in own
    assert text_of(own, "tally-same") == "2"


def test_reports_are_those_of_the_draft(office: Office) -> None:
    told = compare_draft(visit_as(office.service, PAUL), office.later, office.draft, "")
    page = office.page(f"/programmes/{office.later}/drafts/{office.draft}", "paul")
    assert text_of(page, "average") == f"{100 * told['attacks']['average']:.0f} %"
    rows = [plain(each).split() for each in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    assert ["Tables", "2", "1", "0"] in rows  # some mean rents come too near a single dwelling
    assert text_of(page, "official") == str(told["attacks"]["official"])
    assert {"rates", "universes"}.isdisjoint(told["attacks"])


def test_second_person_sees_how_many_published_cells_another_set_would_change(
    office: Office,
) -> None:
    """The share is that of both tables under the same keys, of the releases of its data sets."""
    design = {"a_noise": "5", "a_variance": "3", "a_never": "1, 2", "a_stay": "50",
              "a_order": "split", "statistic": "census", "version": "2"}  # fmt: skip
    saved = office.send("/designs", name="mira", act="save", **design)
    assert saved.status_code == 303, saved.text
    path = "/designs/sets/census/2"
    proposed = office.send(path, page="/designs/sets", name="mira", act="activate",
                           reason="less noise")  # fmt: skip
    assert proposed.status_code == 303, proposed.text
    proposal = office.proposal("carl")
    shown = office.page(proposal, "carl")
    service = office.service
    before = service.parameter_sets.parameters("census")[1].perturbation_table
    after = service.parameter_sets.draft("census", "2")[1].perturbation_table
    cells, changed = 0, 0.0
    for table in service.releases.release("people").tables:
        counts = published_counts(service.releases.release("people").read_table(table))
        cells += sum(counts.values())
        changed += sum(counts.values()) * changed_share(before, after, counts)
    assert 0 < changed < cells
    said = f"{100 * changed / cells:.0f} % of the published cells of these data sets"
    assert said in text_of(shown, "effect")
    assert f"about {changed:,.0f} of {cells:,}" in text_of(shown, "effect")
    assert "in their own programme; they change when the programme does: census 2022-1." in shown
    office.browser("mira").submit(proposal, proposal, act="withdraw")


def test_publishing_says_first_what_changes_and_then_does_it(office: Office) -> None:
    service = office.service
    number = hand_in(service, LATER.replace("'married'", "'divorced'"))
    draft = office.made(number)
    here = f"/programmes/{number}/drafts/{draft}"
    for name in ("", "../x", ".x", "a/b", "x" * 65, "ä"):
        refused = office.send(f"{here}/publish", page=here, release=name)
        assert refused.status_code == 422, name
    first = office.send(f"{here}/publish", page=here, release="people", compared="")
    assert first.status_code == 200
    assert text_of(first.text, "tally-changed") == "1"
    before = service.releases.release("people").identity
    assert before in first.text
    fields = filled_form(first.text, f"{here}/publish")
    assert (fields["release"], fields["compared"]) == ("people", "people")
    assert office.browser("paul").post(f"{here}/publish", data=fields).status_code == 422
    fields["reason"] = "it is due"
    done = office.browser("paul").post(f"{here}/publish", data=fields, headers=HTML)
    assert (done.status_code, done.headers["location"]) == (303, "/approvals")
    assert service.releases.release("people").identity == before
    mine = office.page(office.proposal("paul"), "paul")
    assert "Publication of a release: people" in mine
    assert f"{here}?release=people" in mine
    assert "Safe to publish:" in mine
    assert text_of(mine, "tally-changed") == "1"
    office.agree("petra")
    after = service.releases.release("people").identity
    assert after != before
    entry = service.trail.search().rows[0]
    assert (entry.kind, entry.person, entry.about) == ("approved", "petra", entry.about)
    assert 'href="/releases/people"' in office.page(f"/programmes/{number}", "paul")
    assert "Population by region and sex" in office.page("/releases/people")
    # Published as "people" now is another draft: the one before is no longer.
    assert "Published as" not in office.page(
        f"/programmes/{office.first}/drafts/{office.first_draft}", "paul"
    )


def test_of_two_who_publish_at_once_the_second_looks_again(office: Office) -> None:
    service = office.service
    drafts = [(office.first, office.first_draft), (office.later, office.draft)]
    asked = []
    for (number, draft), name in zip(drafts, ("paul", "petra"), strict=True):
        here = f"/programmes/{number}/drafts/{draft}"
        page = office.send(f"{here}/publish", page=here, name=name, release="at-once")
        assert "New release; nothing is replaced." in plain(page.text)
        asked.append((name, f"{here}/publish", filled_form(page.text, f"{here}/publish")))
    why = {"reason": "it is due"}
    name, path, fields = asked[0]
    first = office.browser(name).post(path, data=fields | why, headers=HTML)
    office.agree("petra")
    name, path, fields = asked[1]
    second = office.browser(name).post(path, data=fields | why, headers=HTML)
    assert [first.status_code, second.status_code] == [303, 412]
    seal = service.releases.release("at-once").identity
    assert "changed since your last view" in plain(second.text)
    assert seal in second.text
    # What is shown now is confirmed by the word that came with it.
    fields = filled_form(second.text, path)
    assert office.browser(name).post(path, data=fields, headers=HTML).status_code == 303
    office.agree("paul")
    assert service.releases.release("at-once").identity != seal
    # A word is of one person, and for one name.
    other = {"release": "other"}
    for thief, changed, status in (("paul", {}, 412), ("petra", other, 200),
                                   ("petra", other | {"compared": "other"}, 412)):  # fmt: skip
        assert office.post(path, {**fields, **changed}, thief).status_code == status
    assert "other" not in service.releases.releases()


# -- who may -----------------------------------------------------------------------------------


def test_producers_of_other_data_learn_of_none(office: Office) -> None:
    assert "People and their work" not in office.page("/programmes", "olga")
    assert "No published data sets that you may use." in office.page("/programmes", "olga")
    here = f"/programmes/{office.later}"
    for path in (here, f"/programmes/new?of={office.later}", f"{here}/drafts/{office.draft}",
                 f"{here}/drafts/{office.draft}/tables/homes"):  # fmt: skip
        assert office.browser("olga").get(path, headers=HTML).status_code == 404
    for path, fields in (
        (f"{here}/run", {}),
        (f"{here}/drafts/{office.draft}/publish", {"release": "x"}),
    ):
        assert office.post(path, fields, "olga").status_code == 404
    saved = office.send("/programmes/new", name="olga", text=PEOPLE, act="save")
    assert saved.status_code == 422
    assert "programmes:run" in plain(saved.text)
    assert office.browser("olga").get("/programmes/new?dataset=census").status_code == 403


def test_numbers_that_are_none_are_not_found(office: Office) -> None:
    here = f"/programmes/{office.later}"
    for path in (
        *(f"/programmes/{each}" for each in ("0" * 32, "x", "%2e%2e", "..%2f..", "0" * 31)),
        *(f"{here}/drafts/{each}" for each in ("0" * 32, "%2e%2e", "x")),
        *(f"{here}/drafts/{office.draft}/tables/{each}" for each in ("none", "..%2f..%2fdraft")),
        f"{here}/drafts/{office.first_draft}",
        f"/programmes/new?of={'0' * 32}",
        "/programmes/new?dataset=none",
    ):
        assert office.browser("paul").get(path, headers=HTML).status_code in (404, 409), path
    for path in (
        "/programmes?number=0",
        "/programmes?number=x",
        f"{here}/drafts/x?release={'y' * 65}",
    ):
        assert office.browser("paul").get(path, headers=HTML).status_code in (404, 422), path


def test_who_publishes_one_data_set_does_not_publish_over_another(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release of the demonstration was made elsewhere: nobody knows of which data it is."""
    service, here = office.service, f"/programmes/{office.later}/drafts/{office.draft}"
    before = service.releases.release("census-2022").identity
    refused = office.send(f"{here}/publish", page=here, name="petra", release="census-2022")
    assert refused.status_code == 403
    assert "the release belongs to other data" in plain(refused.text)
    allowed = office.send(f"{here}/publish", page=here, name="paul", release="census-2022")
    assert allowed.status_code == 200
    # Nor by a word that was given before.
    petra = Principal(name="petra", kind="session", grants=(Grant("producer", "census"),))
    with monkeypatch.context() as patched:
        patched.setattr(api, "check_changeable", lambda *_: None)
        asked = PublicationRequest(draft=office.draft, release="census-2022")
        word = publish_programme(visit_as(service, petra), office.later, asked)["confirm"]
    confirmed = asked.model_copy(update={"confirm": word})
    with pytest.raises(ServiceError, match="the release belongs to other data"):
        publish_programme(visit_as(service, petra), office.later, confirmed)
    origin = {"dataset": "labour"}
    with monkeypatch.context() as patched:
        patched.setattr(service.publications, "origin", lambda *_: origin)
        with pytest.raises(ServiceError, match="the release belongs to other data"):
            publish_programme(visit_as(service, petra), office.later, asked)
        origin["dataset"] = "census"
        assert (
            publish_programme(visit_as(service, petra), office.later, asked)["published"] is False
        )
    assert service.releases.release("census-2022").identity == before


def test_who_may_not_publish_is_not_offered_to(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    may = frozenset({Permission.programmes_run, Permission.jobs_own})
    writer = Role(en="writer", de="Schreiber", permissions=may)
    monkeypatch.setitem(ROLES, "writer", writer)  # type: ignore[arg-type]
    office.add("wim", Grant("writer", "census"))
    here = f"/programmes/{office.later}/drafts/{office.draft}"
    assert f'action="{here}/publish"' in office.page(here, "paul")
    page = office.page(here, "wim")
    assert f'action="{here}/publish"' not in page
    assert "You do not have the right to publish." in page
    assert office.post(f"{here}/publish", {"release": "wims"}, "wim").status_code == 403


def test_no_page_tells_what_is_planted(office: Office) -> None:
    secrets = planted(
        office.folder,
        json.loads((office.folder / "DEMONSTRATION.json").read_text("utf-8"))["passwords"],
    )
    assert {"a true sum", "a perturbation table"} <= set(secrets)
    assert any(name.endswith(".key") for name in secrets)
    bodies = {path: office.browser("paul").get(path, headers=HTML).content for path in office.pages}
    bodies["wrong"] = office.send("/programmes/new", text=WRONG, act="save").content
    here = f"/programmes/{office.later}/drafts/{office.draft}"
    bodies["publish"] = office.send(f"{here}/publish", page=here, release="new").content
    for path, body in bodies.items():
        told = [name for name, forms in secrets.items() if any(_is_told(f, body) for f in forms)]
        assert told == [], path
        assert str(office.folder).encode() not in body


# -- languages -----------------------------------------------------------------------------------
