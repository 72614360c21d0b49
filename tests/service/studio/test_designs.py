"""The designer: it draws what the library says; who sees what; how a design is activated."""

import dataclasses
import html
import io
import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from discreet import perturb
from discreet.assessment import actual_quality, disclosure_risk, expected_quality
from discreet.assessment.attacks.parameters import NoiseOdds
from discreet.cli import main as command_line
from discreet.errors import DiscreetError, Problem
from discreet.protection.noise import PerturbationTable
from discreet.protection.noise.design import design_perturbation
from discreet.release.packages import pack_parameters, parameters_of, write_key_pair
from discreet_service.parameter_sets import SetState, parameter_signers
from discreet_service.permissions import ROLES, Grant, Permission, Principal
from discreet_service.policies import sign_policy
from discreet_service.settings import SettingsError
from discreet_service.studio.choices import TableChoices
from discreet_service.studio.design_charts import attack_chart, design_charts, noise_of
from discreet_service.studio.design_wishes import (
    COUNTS,
    DesignFields,
    DesignWish,
    assessed,
    offered_variance,
)
from discreet_service.studio.designs import may_see_true, true_table
from discreet_service.web.pages import words
from tests.helpers.rows import for_all_rows
from tests.service.studio.conftest import GERMAN, HTML, text_of

FIELDS = {
    "a_noise": "5",
    "a_variance": "3",
    "a_never": "1, 2",
    "a_order": "plain",
    "a_stay": "50",
    "b_noise": "4",
    "b_variance": "2.25",
    "b_never": "1, 2",
    "b_fixed": "yes",
    "b_stay": "50",
    "b_order": "split",
}
_LARGE = "/tables/census?unit=person&by=region:municipality,age5,sex,marital_status,nationality"
PLACE = "/tables/census?unit=person&by=region:state,sex"
#: What nobody but a methodologist may see.
MIRA = "mira"


def send(readers: Any, name: str = MIRA, path: str = "/designs", **fields: Any) -> Any:
    more = {"headers": fields.pop("head", HTML), "files": fields.pop("files", None)}
    return readers.post(path, {**(FIELDS if path == "/designs" else {}), **fields}, name, **more)


def rows_of_table(page: str, identifier: str) -> list[list[str]]:
    """The cells of a part of a page that is a table or its body."""
    part = page[page.index(f'id="{identifier}"') :]
    part = part[: part.index("</table>")]
    return [
        [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in
         re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    ]  # fmt: skip


def trail_of(readers: Any, kind: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in readers.service.trail.export()]
    return [entry for entry in found if entry.get("kind") == kind]


# The same as the library --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "variance", "never", "stay"),
    [(5, "3", (1, 2), None), (4, "2.25", (1, 2), "0.5"), (2, "1", (), None), (8, "6", (3,), None)],
)
def test_figures_are_those_of_the_library(
    readers: Any, noise: int, variance: str, never: tuple[int, ...], stay: str | None
) -> None:
    fixed = {} if stay is None else {"a_fixed": "yes", "a_stay": str(float(stay) * 100)}
    numbers = ", ".join(map(str, never))
    page = send(readers, a_noise=str(noise), a_exact=variance, a_never=numbers, **fixed)
    assert page.status_code == 200, page.text
    kept = None
    if stay is not None:
        last = noise + max(never) + 1  # from there on, counts are treated alike
        kept = {at: float(stay) for at in range(1, last + 1) if at not in never}
    table = design_perturbation(noise, float(variance), never, stay=kept)
    quality, risk = expected_quality(table, COUNTS), disclosure_risk(table)
    told = dict(row for row in rows_of_table(page.text, "figures"))
    large = table.parameters()[-1]
    assert told["Variance of large counts"] == f"{large['variance']:.2f}"
    assert told["Unchanged large counts"] == f"{100 * large['stay']:.1f}\xa0%"
    assert told["Mean absolute deviation"] == f"{quality.mean_absolute_deviation:.2f}"
    assert told["Changed by at most 1"] == f"{100 * quality.at_most_1:.1f}\xa0%"
    assert told["Changed by 4 or more"] == f"{100 * quality.at_least_4:.1f}\xa0%"
    borne = NoiseOdds.of(table).tolerated(0.6)
    assert told["Independent estimates for a 60 % averaging risk"] == f"{borne:.1f}"
    origin = max(risk.small.drop_nulls("from_1_or_2")["from_1_or_2"])
    assert (
        told["Highest probability that a published value was 1 or 2"] == f"{100 * origin:.1f}\xa0%"
    )


@pytest.mark.parametrize("order", ["plain", "permuted", "split"])
def test_charts_hold_the_numbers_of_the_library(order: Any) -> None:
    design = assessed(DesignWish(max_noise=5, variance=Decimal(3), forbidden=(1, 2), order=order))
    plain = design_perturbation(5, 3, (1, 2))
    matrix = plain.transition_matrix()
    for row in (1, 4, 8):
        shares = {row + int(noise): share / 100 for noise, share in noise_of(design, row)}
        assert shares == pytest.approx(
            {to: share for to, share in enumerate(matrix[row]) if share}, abs=1e-9
        )
    charts = {
        each.name: each for each in design_charts([design], None, words("designs", "en"), "en")
    }
    assert set(charts) == {
        *("noise", "tableau", "transition", "quality", "risk", "origin", "attack")
    }
    written = {text["text"] for text in charts["transition"].texts}
    assert {f"{100 * share:.1f}" for share in matrix[1:].flat if share >= 0.001} <= written
    # Where every interval lies is drawn to the width of a line: one path per noise.
    noises = {int(each) for each in plain.content.noise}
    kinds = [path["kind"] for path in charts["tableau"].paths]
    assert kinds.count("part") == 2 * len(noises)
    odds = NoiseOdds.of(plain)
    height = next(path["d"] for path in charts["attack"].paths if path["kind"] == "line a")
    first = float(height.split("L")[0].split()[1])
    assert first == pytest.approx(224 - odds.averaged(1) * (224 - 30), abs=0.02)
    assert all(path["d"].isascii() for each in charts.values() for path in each.paths)


def test_a_command_makes_the_same_table(tmp_path: Path, capsys: Any) -> None:
    for at, wish in enumerate((
        DesignWish(max_noise=5, variance=Decimal("2.5"), forbidden=(1, 2)),
        DesignWish(max_noise=4, variance=Decimal("2.25"), forbidden=(1, 2), stay=Decimal("0.5")),
        DesignWish(max_noise=3, variance=Decimal("1.5"), stay=Decimal("0.4")),
    )):  # fmt: skip
        target = tmp_path / f"{at}.json"
        arguments = wish.command().replace("ptable.json", str(target)).split()[1:]
        with pytest.raises(SystemExit) as ended:
            command_line(arguments)
        assert not ended.value.code
        made = PerturbationTable.read(target)
        assert made.content.canonical() == wish.table().content.canonical()
    capsys.readouterr()


def test_two_designs_stand_side_by_side(readers: Any) -> None:
    page = send(readers, compared="yes", row="3").text
    told = {row[0]: row[1:] for row in rows_of_table(page, "figures")}
    one, other = (
        assessed(DesignWish(max_noise=5, variance=Decimal(3), forbidden=(1, 2))),
        assessed(
            DesignWish(max_noise=4, variance=Decimal("2.25"), forbidden=(1, 2),
                       stay=Decimal("0.5"), order="split")
        ),
    )  # fmt: skip
    expected = [f"{each.quality.mean_absolute_deviation:.2f}" for each in (one, other)]
    assert told["Mean absolute deviation"] == expected
    for name in ("tableauA", "tableauB", "transitionA", "transitionB"):
        assert f'id="chart-{name}"' in page
    assert "Distribution of the noise: Original 3" in page
    assert "The order is an example. The saved order is drawn again and" in page
    chart = attack_chart([one, other], words("designs", "en"), "en")
    assert [path["kind"] for path in chart.paths if path["kind"].startswith("line")] == [
        "line a",
        "line b",
    ]


def test_pages_are_drawn_fast_and_small(readers: Any) -> None:
    """Two designs nobody has looked at take the server less than a second, usually.

    Of its own time: how busy the machine is besides is not its doing.
    """
    changed = {"a_exact": "3.01", "b_exact": "2.27", "a_order": "split"}
    begun = time.process_time()
    page = send(readers, compared="yes", **changed)
    assert time.process_time() - begun < 10
    assert page.status_code == 200
    assert len(page.content) < 120_000


def test_every_corner_of_the_form_is_drawn_fast(readers: Any) -> None:
    for fields in (
        {"a_noise": "12", "a_exact": "20", "a_never": "8,9,10", "a_order": "split"},
        {"a_noise": "12", "a_exact": "20", "a_never": "1,2,3,4,5,6,7,8", "a_order": "split"},
        {"a_noise": "1", "a_exact": "0.25", "a_never": ""},
    ):
        page = send(readers, **fields)
        assert page.status_code == 200, text_of(page.text, "drawn")[:500]
        assert len(page.content) < 120_000


# Wrong input --------------------------------------------------------------------------------------


@for_all_rows(
    ("fields", "told"),
    [
        ({"a_noise": "0"}, "the largest noise must be a whole number from 1 to 12"),
        ({"a_noise": "13"}, "the largest noise must be a whole number from 1 to 12"),
        ({"a_noise": "2.5"}, "the largest noise must be a whole number from 1 to 12"),
        ({"a_noise": "<b>"}, "must be a number"),
        ({"a_variance": "many"}, "must be a number"),
        ({"a_variance": "NaN"}, "must be a number"),
        ({"a_variance": "1e9"}, "must be a number"),
        ({"a_exact": "-1"}, "must be a number"),
        ({"a_exact": "0.5"}, "row 1 needs a variance of at least 2"),
        ({"a_exact": "0"}, "variance"),
        ({"a_never": "1; x"}, "expected whole numbers"),
        ({"a_never": "0"}, "values from 1 to 10 can be excluded"),
        ({"a_never": "11"}, "values from 1 to 10 can be excluded"),
        ({"a_never": "1,2,3,4,5,6,7,8,9"}, "up to 8 values"),
        ({"a_fixed": "yes", "a_stay": "0"}, "above 0 and at most 100"),
        ({"a_fixed": "yes", "a_stay": "101"}, "above 0 and at most 100"),
        ({"a_fixed": "yes", "a_stay": ""}, "must be a number"),
        ({"a_order": "upside down"}, "unknown order"),
        ({"compared": "yes", "b_noise": "99"}, "the largest noise must be a whole number"),
        ({"a_noise": "1", "a_never": "1,2"}, "This design is not possible"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(readers: Any, fields: Any, told: str) -> None:
    page = send(readers, **fields)
    assert page.status_code == 422
    shown = text_of(page.text.replace("</div>\n</div>\n", "</div>\n"), "drawn")
    assert "This design is not possible" in page.text
    assert told in html.unescape(page.text), shown
    assert "<svg" not in page.text
    assert "<b>" not in page.text
    assert "Traceback" not in page.text


def test_a_variance_that_is_possible_is_offered(readers: Any) -> None:
    page = send(readers, a_exact="0.5").text
    assert 'name="a_variance" value="2.5"' in page
    assert offered_variance([Problem("row 1 needs a variance of at least 2.25")]) == 3
    assert offered_variance([Problem("at least 2", "stay")]) is None
    both = [Problem("needs a variance of at least 2"), Problem("something else")]
    assert offered_variance(both) is None
    taken = send(readers, a_exact="", a_variance="2.5").text
    assert rows_of_table(taken, "figures")[0] == ["Variance of large counts", "2.50"]
    german = send(readers, a_exact="0.5", head=GERMAN).text
    assert "Dieser Entwurf ist nicht möglich" in german
    assert "Übernehmen: Varianz 2,50" in german


@for_all_rows("row", ["", "0", "-3", "9" * 50, "x", "²"])
def test_odd_rows_show_large_counts(readers: Any, row: str) -> None:
    assert "Distribution of the noise: large counts" in send(readers, row=row).text


def test_fields_may_be_missing_or_come_twice(readers: Any) -> None:
    browser = readers.browser(MIRA)
    csrf = readers.csrf(MIRA)
    assert browser.post("/designs", data={"csrf": csrf}, headers=HTML).status_code == 200
    twice = browser.post(
        "/designs", data={"csrf": csrf, "a_exact": ["0.5", "3"], "a_never": "1"}, headers=HTML
    )
    assert twice.status_code == 200
    assert browser.post("/designs", data=FIELDS, headers=HTML).status_code in (403, 422)
    assert browser.post("/designs", data={**FIELDS, "csrf": "x"}, headers=HTML).status_code == 403


# Effect on a table --------------------------------------------------------------------------------


def test_effect_on_a_released_table_is_what_the_library_expects(readers: Any) -> None:
    name = "census-2022.population"
    page = send(readers, act="effect", table=name).text
    table = readers.service.releases.table(name)
    frame = table.to_polars(complete=True)
    shown = frame.filter(frame["status"].is_in(["published", "zero_or_changed_to_zero"]))
    counts = [count for count in shown["value"].to_list() if count]
    quality = expected_quality(design_perturbation(5, 3, (1, 2)), counts)
    assert f"{quality.mean_absolute_deviation:.2f}" in page[page.index('id="effect"') :]
    assert "Computed from published counts, without true counts." in page
    assert 'id="true-cells"' not in page


def test_true_counts_are_shown_to_who_may_and_written_down(readers: Any) -> None:
    before = len(trail_of(readers, "true_values_shown"))
    page = send(readers, act="effect", place=PLACE, true="yes", compared="yes")
    assert page.headers["cache-control"] == "no-store"
    rows = [row for row in rows_of_table(page.text, "true-cells") if row]
    service = readers.service
    version = service.datasets.version("census", None)
    pairs = [("unit", "person"), ("by", "region:state,sex")]
    prepared = service.answers.prepared("census", TableChoices.of(version, pairs).query())
    table = true_table(prepared)
    designs = [
        assessed(DesignFields(noise="5", variance="3", never="1, 2").read([])),  # type: ignore[arg-type]
        assessed(DesignFields(noise="4", variance="2.25", never="1,2", fixed=True, stay="50",
                              order="split").read([])),  # type: ignore[arg-type]
    ]  # fmt: skip
    drawn = [perturb(table, each.table) for each in designs]
    values = [each.to_polars(complete=True)["value"].to_list() for each in drawn]
    shown = [[int(cell.replace(",", "")) for cell in row[1:]] for row in rows[1:]]
    assert [row[0] for row in shown] == table.count.tolist()
    assert sorted(row[1] for row in shown) == sorted(values[0])
    assert shown[0][0] == 3_000
    actual = actual_quality(table, drawn[0])
    assert f"{actual.mean_absolute_deviation:.2f}" in page.text[page.text.index('id="effect"') :]
    entries = trail_of(readers, "true_values_shown")[before:]
    assert [entry["person"] for entry in entries] == [MIRA]
    assert entries[0]["about"] == "census"
    assert entries[0]["facts"]["cells"] == len(table)


@pytest.mark.parametrize("name", ["cora", "carl"])
def test_true_counts_are_refused_to_all_others(readers: Any, name: str) -> None:
    before = len(trail_of(readers, "true_values_shown"))
    assert 'name="true"' not in send(readers, name).text
    page = send(readers, name, act="effect", place=PLACE, true="yes")
    assert page.status_code == 403
    assert "3,000" not in page.text
    assert len(trail_of(readers, "true_values_shown")) == before


def test_true_values_need_a_permission_of_their_own() -> None:
    for role, facts in ROLES.items():
        alone = Principal(name="x", kind="session", grants=(Grant(role),))
        assert may_see_true(alone) == (role == "methodologist"), role
        assert (Permission.values_see in facts.permissions) == (role == "methodologist")
    every = tuple(Grant(role) for role in ROLES if role != "methodologist")
    assert not may_see_true(Principal(name="x", kind="session", grants=every))
    here = Principal(name="x", kind="session", grants=(Grant("methodologist", "labour"),))
    assert may_see_true(here, "labour")
    assert not may_see_true(here, "census")


@for_all_rows(
    ("fields", "status", "told"),
    [
        ({"place": "/tables/"}, 422, "not an address of a table"),
        ({"place": "https://evil.example/x"}, 422, "not an address of a table"),
        ({"place": "/tables/nothing?unit=person"}, 422, "data set"),
        ({"place": "/tables/census?unit=person&by=nothing"}, 422, "nothing"),
        (
            {"place": _LARGE},
            422,
            "large",
        ),
        ({"place": "/tables/" + "%00" * 50}, 422, "data set"),
    ],
)
def test_places_that_are_no_table(readers: Any, fields: Any, status: int, told: str) -> None:
    page = send(readers, act="effect", true="yes", **fields)
    assert page.status_code == status, page.text[-500:]
    assert told in page.text
    assert 'id="true-cells"' not in page.text


def test_names_that_are_no_released_table(readers: Any) -> None:
    page = send(readers, act="effect", table="../../etc/passwd")
    assert page.status_code == 422
    assert 'id="effect"' not in page.text


# Who may -----------------------------------------------------------------------------------------


def test_secrets_do_not_show_themselves(readers: Any) -> None:
    wish = DesignWish(max_noise=7, variance=Decimal("4.75"))
    for each in (wish, assessed(wish), DesignFields(exact="4.75"), wish.table()):
        assert "4.75" not in repr(each)
        assert "secret" in repr(each)


# From design to activation ------------------------------------------------------------------------


def test_a_design_is_signed_and_activated_by_two_persons(readers: Any) -> None:
    service = readers.service
    saved = send(readers, act="save", statistic="labour", version="1", a_order="split")
    assert saved.status_code == 303, saved.text
    assert saved.headers["location"] == "/designs/sets"
    found = service.parameter_sets.show("labour", "1")
    assert found.state is SetState.proposed
    assert found.importer == MIRA
    signed = trail_of(readers, "draft_signed")[-1]
    assert (signed["person"], signed["about"]) == (MIRA, "labour@1")
    _, opened = service.parameter_sets.draft("labour", "1")
    wish = DesignWish(max_noise=5, variance=Decimal(3), forbidden=(1, 2), order="split")
    made = opened.perturbation_table
    assert made.transition_matrix() == pytest.approx(wish.table().transition_matrix())
    # The order that was shown is not the one that is used.
    assert made.content.canonical() != wish.table().content.canonical()
    path = "/designs/sets/labour/1"
    assert (
        send(
            readers,
            path=path,
            act="activate",
            reason="Number of independent values from which a total can be",
        ).status_code
        == 303
    )
    assert "Needs a second person" in readers.page("/designs/sets", MIRA)
    seen = send(readers, "carl", f"{path}/look")
    assert seen.status_code == 200
    assert seen.headers["cache-control"] == "no-store"
    assert "1 in 2 million" in seen.text
    look = trail_of(readers, "draft_looked_at")[-1]
    assert (look["person"], look["about"]) == ("carl", "labour@1")
    proposal = readers.proposal("carl")
    assert found.file in readers.page(proposal, "carl")
    assert "first_set" not in seen.text
    assert "No published cell changes." in seen.text
    # Neither the one who proposed it nor somebody without the right agrees.
    refused = send(readers, MIRA, proposal, act="approve", digest=found.file)
    assert refused.status_code == 403
    agreed = send(readers, "carl", proposal, act="approve", digest=found.file)
    assert agreed.status_code == 303, agreed.text
    assert service.parameter_sets.show("labour", "1").state is SetState.active
    # What is in use stays closed.
    closed = send(readers, "carl", f"{path}/look")
    assert closed.status_code == 422
    assert "only proposed sets can be viewed" in closed.text
    # The next version takes over everything else.
    again = send(readers, act="save", statistic="labour", version="2", a_exact="3.5")
    assert again.status_code == 303, again.text


def test_all_but_the_noise_is_taken_over(readers: Any) -> None:
    service = readers.service
    saved = send(readers, act="save", statistic="census", version="7", which="b", compared="yes")
    assert saved.status_code == 303, saved.text
    _, used = service.parameter_sets.parameters("census", "1")
    _, draft = service.parameter_sets.draft("census", "7")
    assert used.magnitudes
    before, after = used.digests(b"k"), draft.digests(b"k")
    assert {name for name in before if before[name] != after[name]} == {"perturbation"}
    assert before.keys() == after.keys()
    assert draft.perturbation_table.max_noise == 4


@for_all_rows(
    ("fields", "told"),
    [
        ({"statistic": "census", "version": "1"}, "the version exists already"),
        ({"statistic": "census", "version": "0"}, "a newer version was in use"),
        ({"statistic": "../x", "version": "1"}, "letters, digits"),
        ({"statistic": "census", "version": ""}, "letters, digits"),
        ({"statistic": "a" * 81, "version": "1"}, "letters, digits"),
        ({"statistic": "census", "version": "9", "which": "b"}, "the design is not possible"),
        ({"statistic": "census", "version": "9", "a_exact": "0.5"}, "This design is not possible"),
    ],
)
@for_all_rows("act", ["save", "export"])
def test_drafts_that_cannot_be_saved(readers: Any, fields: Any, told: str, act: str) -> None:
    if "in use" in told or "already" in told:
        act = "save"  # which versions there are is asked when the package comes back
    before = len(readers.service.parameter_sets.sets())
    page = send(readers, act=act, **fields)
    assert page.status_code == 422
    assert told in html.unescape(page.text)
    assert len(readers.service.parameter_sets.sets()) == before


def test_a_design_is_signed_elsewhere(readers: Any, tmp_path: Path) -> None:
    before = len(trail_of(readers, "design_exported"))
    answer = send(readers, act="export", statistic="census", version="40")
    assert answer.headers["cache-control"] == "no-store"
    assert "ptable.json" in answer.headers["content-disposition"]
    exported = trail_of(readers, "design_exported")[before:]
    assert [(one["person"], one["about"]) for one in exported] == [(MIRA, "census@40")]
    # A digest in the trail would let its readers try designs until one fits.
    assert exported[0]["facts"] == {"version": "40"}
    file = tmp_path / "ptable.json"
    file.write_bytes(answer.content)
    table = PerturbationTable.read(file)
    expected = design_perturbation(5, 3, (1, 2))
    assert table.transition_matrix() == pytest.approx(expected.transition_matrix())
    package = pack_parameters(
        parameters_of({}, table), tmp_path / "census.dcparams", statistic="census", version="40",
        sign_key=readers.folder / "office.key", key=readers.folder / "package.key",
    )  # fmt: skip
    shown = readers.page("/designs/sets", MIRA)
    assert 'action="/designs/sets" enctype="multipart/form-data"' in shown
    assert re.search(r'<input id="package" name="package"[^>]* required type="file">', shown)
    files = {"package": ("census.dcparams", package.read_bytes())}
    taken = send(readers, path="/designs/sets", files=files)
    assert taken.status_code == 303, taken.text
    assert readers.service.parameter_sets.show("census", "40").state is SetState.proposed


def test_packages_of_strangers_are_refused(readers: Any, tmp_path: Path) -> None:
    stranger = write_key_pair(tmp_path / "stranger")
    table = design_perturbation(2, 1)
    package = pack_parameters(
        parameters_of({}, table), tmp_path / "x.dcparams", statistic="census", version="50",
        sign_key=stranger.signing, key=readers.folder / "package.key",
    )  # fmt: skip
    for content, told in (
        (package.read_bytes(), "the signer of the package is not trusted by this service"),
        (b"PK\x03\x04 nonsense", "not a package with a valid signature"),
        (b"", "not a package with a valid signature"),
    ):
        files = {"package": ("x.dcparams", io.BytesIO(content))}
        page = send(readers, path="/designs/sets", files=files)
        assert page.status_code == 422
        assert told in page.text
    assert send(readers, path="/designs/sets").status_code == 422


@for_all_rows(
    ("path", "fields", "status"),
    [
        ("/designs/sets/nothing/1", {"act": "activate", "reason": "because"}, 422),
        ("/designs/sets/nothing/1/look", {}, 422),
        ("/designs/sets/census/1", {"act": "activate", "reason": ""}, 422),
        ("/designs/sets/census/1", {"act": "shred", "reason": "because"}, 422),
        ("/designs/sets/census/1/look", {}, 422),
    ],
)
def test_proposals_that_cannot_be_made(readers: Any, path: str, fields: Any, status: int) -> None:
    page = send(readers, path=path, **fields)
    assert page.status_code == status
    assert "Traceback" not in page.text


# The key of the studio ----------------------------------------------------------------------------


def test_without_a_key_designs_are_signed_elsewhere_only(readers: Any) -> None:
    service = readers.service
    assert service.parameter_sets.sets()  # made once, with the settings of all other tests
    kept = service.settings
    service.settings = dataclasses.replace(kept, studio_key_file=None)
    try:
        page = send(readers).text
        assert 'value="save"' not in page
        assert 'value="export"' in page
        assert "This service has no signing key for designs. Sign the design" in page
        assert "--max-noise 5 --variance 3 --forbidden 1,2" in page
        refused = send(readers, act="save", statistic="census", version="60")
        assert refused.status_code == 422
        assert "the service has no signing key for designs" in refused.text
    finally:
        service.settings = kept


def test_the_key_of_the_studio_signs_parameters_and_nothing_else(
    readers: Any, tmp_path: Path
) -> None:
    settings = readers.service.settings
    studio = settings.studio_key_file.with_suffix(".pub")
    assert studio not in settings.trusted_signers
    assert studio in parameter_signers(settings.trusted_signers, settings.studio_key_file)
    office = tmp_path / "office.key"
    office.write_bytes((readers.folder / "office.key").read_bytes())
    office.chmod(0o600)
    office.with_suffix(".pub").write_bytes((readers.folder / "office.pub").read_bytes())
    with pytest.raises(
        SettingsError, match="the studio needs a separate key, not the key of policies or"
    ):
        parameter_signers(settings.trusted_signers, office)
    office.with_suffix(".pub").write_bytes(studio.read_bytes())
    with pytest.raises(SettingsError, match=r"its \.pub file"):
        parameter_signers((), office)
    with pytest.raises(DiscreetError):
        parameter_signers((), tmp_path / "missing.key")
    open_key = write_key_pair(tmp_path / "open").signing
    open_key.chmod(0o644)
    with pytest.raises(DiscreetError):
        parameter_signers((), open_key)


def test_a_policy_signed_by_the_studio_is_refused(readers: Any, tmp_path: Path) -> None:
    service = readers.service
    cora = Principal(name="cora", kind="session", grants=(Grant("custodian"),))
    text = (readers.folder / "datasets" / "census-2022-1" / "POLICY.toml").read_text("utf-8")
    policy = tmp_path / "POLICY.toml"
    policy.write_text(text, "utf-8")
    told = {}
    for key in (service.settings.studio_key_file, readers.folder / "office.key"):
        signature = sign_policy(policy, key).read_text("utf-8")
        with pytest.raises(DiscreetError) as caught, service.database.writing() as connection:
            service.policies.in_force.propose(connection, text, signature, cora, "try it once")
        told[key.name] = caught.value.what
        policy.with_name("POLICY.toml.sig").unlink(missing_ok=True)
    assert told["studio.key"] == "the signer of the policy is not trusted"
    # The office's own is refused for another reason: it is the policy in force.
    assert "trusted" not in told["office.key"]


# What nobody may be told --------------------------------------------------------------------------


def test_no_page_tells_a_parameter_that_was_saved(readers: Any) -> None:
    """A variance like no other is planted in a draft; then everything others can open is read."""
    saved = send(readers, act="save", statistic="planted", version="1", a_exact="3.1417",
                 a_noise="11", a_never="")  # fmt: skip
    assert saved.status_code == 303, saved.text
    table = design_perturbation(11, 3.1417)
    forms = {"3.1417", "3,1417"}
    forms |= {f"{share:.6f}"[:8] for share in table.transition_matrix().flat if 0 < share < 1}
    paths = ("/", "/tables", "/releases", "/approvals", "/help", "/account", "/administration",
             "/jobs", "/people", "/designs/sets", "/api/v1/parameter-sets",
             "/api/v1/parameter-sets/planted/1", "/api/v1/audit", "/openapi.json")  # fmt: skip
    for name in ("", "rita", "paul", "vera", "otto", "adam", "cora", MIRA):
        for path in paths:
            text = readers.browser(name).get(path, headers=HTML).text
            told = sorted(form for form in forms if form in text)
            assert not told, (name, path, told)
    trail = "\n".join(readers.service.trail.export())
    assert not [form for form in forms if form in trail]
