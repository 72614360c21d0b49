"""Sparse parts of answers (P7): hidden in every way of asking, and computed from no other table."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.microdata import Secret
from discreet.tables import CellStatus, ProtectedTable
from discreet_service.policies.document import PolicyDocument, SparsityPolicy
from discreet_service.policies.rules import SparsityShares, hidden_parts
from discreet_service.problems import ServiceError
from discreet_service.queries import read_query
from discreet_service.queries.answers import Answers, PreparedQuery
from discreet_service.queries.formats import ANSWER_FORMATS, written_answer
from discreet_service.queries.sparse_parts import judgements_of
from discreet_service.service import Service
from tests.helpers.rows import for_all_rows
from tests.helpers.service_data import OPEN_POLICY
from tests.service.conftest import ServeCensus
from tests.service.queries.conftest import ANNA

OPEN = "small = 0, share_small = 1, share_single = 1, least_cells = 1_000_000"
#: More than half of the cells small is too sparse.
SPARSE = "small = 8, share_small = 0.5, share_single = 1, least_cells = 10"
REGION, AGE = {"variable": "region", "level": "municipality"}, "age5"
DEEP = [REGION, AGE, "marital_status"]
Serve = Callable[..., Service]
Cells = dict[frozenset[tuple[str, str]], tuple[float | None, str]]


@pytest.fixture(scope="module")
def serve(serve_census: ServeCensus, tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """Makes services with the census under a policy that says this of sparsity."""
    secret = tmp_path_factory.mktemp("secret") / "service.secret"
    Secret.generate().write(secret)  # one for all: what differs then is the policy

    def serve(sparsity: str, **limits: int) -> Service:
        policy = OPEN_POLICY.replace(OPEN, sparsity)
        assert sparsity in policy
        limits = {"cells_instant": 10_000, "cells_job": 300_000, **limits}
        return serve_census(policy, secret=secret, **limits)

    return serve


@pytest.fixture(scope="module")
def hiding(serve: Serve) -> Answers:
    return serve(f'{SPARSE}, then = "hide"').answers


@pytest.fixture(scope="module")
def showing(serve: Serve) -> Answers:
    return serve(OPEN).answers


def prepared(answers: Answers, by: list[Any], **more: Any) -> PreparedQuery:
    return answers.prepared("census", read_query({"unit": "person", "by": by, **more}))


def ask(answers: Answers, by: list[Any], **more: Any) -> ProtectedTable:
    found = prepared(answers, by, **more)
    answers.admit(found, ANNA, "en")
    return answers.answer(found).table


def cells(table: ProtectedTable, **fixed: str) -> Cells:
    """Each cell by those of its codes that are no totals, and the codes of filters."""
    frame = table.to_polars(complete=True).with_columns(pl.col("status").cast(pl.String))
    names = [name for name in frame.columns if name not in ("value", "status")]
    found: Cells = {}
    for row in frame.iter_rows(named=True):
        pairs = {name: str(row[name]) for name in names} | fixed
        key = frozenset(pair for pair in pairs.items() if pair[1] != "Total")
        found[key] = (row["value"], row["status"])
    return found


def hidden_of(found: Cells) -> set[frozenset[tuple[str, str]]]:
    return {cell for cell, (_, status) in found.items() if status == "suppressed"}


def codes_of(answers: Answers, variable: str) -> tuple[str, ...]:
    """The finest codes of a variable of persons."""
    found = prepared(answers, [variable]).version.units["person"].variables[variable]
    return found.codes_of(found.finest)


def only(variable: str, *codes: str) -> dict[str, Any]:
    return {"variable": variable, "codes": list(codes)}


def test_sparse_parts_go_and_the_others_keep_their_figures(
    hiding: Answers, showing: Answers
) -> None:
    thin, whole = cells(ask(hiding, DEEP)), cells(ask(showing, DEEP))
    hidden = hidden_of(thin)
    assert {len(cell) for cell in hidden} == {2, 3}
    assert {thin[cell][0] for cell in hidden} == {None}
    assert not hidden_of(whole)
    assert all(thin[cell] == whole[cell] for cell in thin.keys() - hidden)
    assert 100 < len(hidden) < len(thin)
    assert {value for cell, (value, _) in whole.items() if cell in hidden} >= {0.0}
    # Whether a cell is hidden is told by its part: no zero shines through.
    parts: dict[frozenset[str], set[bool]] = {}
    for cell in thin:
        parts.setdefault(frozenset(name for name, _ in cell if name != "region")
                         | {f"region {len(code)}" for name, code in cell if name == "region"},
                         set()).add(cell in hidden)  # fmt: skip
    assert all(len(states) == 1 for states in parts.values())


def test_a_note_names_them_in_both_languages(hiding: Answers) -> None:
    table = ask(hiding, [AGE, REGION])
    (note,) = [each for each in table.notes if each.kind == "suppressed-parts"]
    assert [note.text(language) for language in ("en", "de")] == [
        "Suppressed subtables, shown as “.”: Age × Region (municipality).",
        "Gesperrte Tabellenteile, als „.“ ausgewiesen: Alter × Region (municipality).",
    ]
    assert not [each for each in ask(hiding, ["sex"]).notes if each.kind == "suppressed-parts"]


@for_all_rows("name", [*ANSWER_FORMATS])
def test_every_format_shows_that_they_are_hidden(hiding: Answers, name: str) -> None:
    query = prepared(hiding, [REGION, AGE])
    table, form = hiding.answer(query).table, ANSWER_FORMATS[name]
    content = written_answer(table, form, "en", query.plan.geography)
    hidden = int((table.status == CellStatus.suppressed).sum())
    assert hidden > 100
    if name == "parquet":
        frame = pl.read_parquet(io.BytesIO(content))
        gone = frame.filter(pl.col("status").cast(pl.String) == "suppressed")
        assert (gone.height, gone["value"].null_count()) == (hidden, hidden)
    elif name == "xlsx":
        book = zipfile.ZipFile(io.BytesIO(content))
        text = "".join(book.read(each).decode() for each in book.namelist() if "xml" in each)
        assert "Suppressed subtables" in text
        assert len(re.findall(r"<t[^>]*>\.</t>", text)) >= 1
    else:
        text = content.decode("utf-8-sig" if name != "px" else "latin-1", "replace")
        sign = {"csv": ",suppressed", "sdmx-csv": ",Q,C", "px": '"."', "html": ">.<"}.get(name)
        assert sign is None or text.count(sign) >= hidden
        assert name in ("csv", "sdmx-csv") or "Suppressed subtables" in text


def spellings(answers: Answers) -> Iterator[tuple[list[Any], dict[str, Any], dict[str, str]]]:
    """Ways to cells of one table: other orders, levels, totals, and filters as slices of it."""
    yield [AGE, "marital_status", REGION], {}, {}
    yield DEEP, {"totals": "none"}, {}
    yield DEEP, {"totals": ["age5"]}, {}
    yield [{**REGION, "level": ["state", "district", "municipality"]}, AGE], {}, {}
    yield [AGE, "marital_status"], {}, {}
    yield [REGION, "marital_status"], {"measures": ["count"]}, {}
    yield [only(AGE, *codes_of(answers, AGE)[:3]), REGION], {}, {}
    for code in codes_of(answers, "marital_status")[:2]:  # the others are too few for P4
        condition = {"where": [only("marital_status", code)]}
        yield [REGION, AGE], condition, {"marital_status": code}
        yield [REGION], condition, {"marital_status": code}


def test_a_cell_is_hidden_however_it_is_asked_for(hiding: Answers) -> None:
    known = cells(ask(hiding, DEEP))
    compared = set()
    for by, more, fixed in spellings(hiding):
        asked = cells(ask(hiding, by, **more), **fixed)
        common = asked.keys() & known.keys()
        assert common
        assert {cell: asked[cell] for cell in common} == {cell: known[cell] for cell in common}
        compared |= common & hidden_of(asked)
    assert compared == hidden_of(known)


def test_what_is_hidden_is_no_sum_of_what_is_shown(hiding: Answers) -> None:
    """Of all tables over these variables: whatever is finer than a hidden part is hidden."""
    shown, gone = set(), set()
    names = [REGION, AGE, "marital_status", "sex"]
    for chosen in product((False, True), repeat=len(names)):
        by = [name for name, used in zip(names, chosen, strict=True) if used]
        states = {
            status == "suppressed" for _, status in cells(ask(hiding, by, totals="none")).values()
        }
        assert len(states) == 1  # parts are hidden as a whole
        (gone if states.pop() else shown).add(chosen)
    assert (len(gone) > 2, len(shown) > 2) == (True, True)
    finer = [(a, b) for a in gone for b in shown if all(x <= y for x, y in zip(a, b, strict=True))]
    assert not finer


def test_groups_of_codes_count_as_their_level(hiding: Answers) -> None:
    some = [only("marital_status", *codes_of(hiding, "marital_status")[:2])]
    group = hiding.answer(prepared(hiding, [REGION, AGE], where=some)).table
    slices = hiding.answer(prepared(hiding, DEEP, totals="none")).table
    assert set(group.status.tolist()) >= {CellStatus.suppressed}
    assert set(slices.status.tolist()) == {CellStatus.suppressed}


def test_other_figures_of_hidden_cells_are_hidden(hiding: Answers) -> None:
    by = [REGION, "area_class"]
    counts = cells(ask(hiding, by, unit="dwelling"))
    hidden = hidden_of(counts)
    assert 100 < len(hidden) < len(counts)
    both = cells(ask(hiding, by, unit="dwelling", measures=["count", {"mean": "rent"}]))
    for figure in ("count", "mean_rent"):
        mark = ("figure", figure)
        own = {cell - {mark}: both[cell] for cell in both if mark in cell}
        assert own.keys() == counts.keys()
        assert hidden <= hidden_of(own), figure


def test_a_policy_that_says_nothing_refuses_the_whole(serve: Serve) -> None:
    answers = serve(SPARSE).answers
    with pytest.raises(ServiceError) as told:
        ask(answers, DEEP)
    assert told.value.rule == "P4/P5/P7"
    assert ask(answers, ["sex"]).get("Total")


def test_tags_change_with_what_is_hidden(serve: Serve, hiding: Answers, showing: Answers) -> None:
    other = serve(f'{SPARSE.replace("0.5", "0.6")}, then = "hide"').answers
    same = serve(f'{SPARSE}, then = "hide"').answers

    def tag(answers: Answers) -> str:
        return answers.etag(prepared(answers, [REGION, AGE]), "csv en")

    # The same data under the same key: tags differ by the policy alone.
    assert (
        len({answers.policies.policy("census", "2022-1").digest for answers in (hiding, same)}) == 1
    )
    assert len({tag(each) for each in (hiding, other, showing)}) == 3
    assert tag(same) == tag(hiding)


def test_kept_answers_and_those_of_jobs_are_hidden_too(hiding: Answers) -> None:
    query = prepared(hiding, [AGE, REGION])
    hiding.admit(query, ANNA, "en")
    first, again = hiding.answer(query), hiding.answer(query)
    assert again.cached
    assert (first.table.status == CellStatus.suppressed).any()
    job = hiding.again_of(hiding.document(query))
    for other in (again, hiding.answer(job)):
        assert other.table.to_polars(complete=True).equals(first.table.to_polars(complete=True))


def test_too_much_to_judge_is_refused_before_anything_is_counted(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet_service.queries.answers.protected_answer", None)
    answers = serve(f'{SPARSE}, then = "hide"', cells_instant=500, cells_job=500).answers
    slices = [only(name, codes_of(answers, name)[0]) for name in ("marital_status", AGE)]
    query = prepared(answers, [REGION], where=slices)
    assert query.plan.cells < 500
    with pytest.raises(ServiceError) as told:
        answers.admit(query, ANNA, "en")
    assert (told.value.code, told.value.limit) == ("too-many-cells", 500)
    assert (told.value.actual or 0) > 500


def test_one_table_judges_all_ways_of_asking(hiding: Answers) -> None:
    slices = [only("marital_status", codes_of(hiding, "marital_status")[0])]
    asked = [
        prepared(hiding, DEEP),
        prepared(hiding, [AGE, REGION, "marital_status"], totals="none"),
        prepared(hiding, [AGE, REGION], where=slices),
        prepared(hiding, [AGE, REGION], where=slices, measures=["count"]),
    ]
    unit = asked[0].version.units["person"]
    judges = {
        judgement.query(each.query)
        for each in asked
        for measure in each.query.measures
        for judgement in judgements_of(each.query, measure, unit)
    }
    assert len(judges) == 1


def test_hidden_parts_are_those_that_are_sparse_and_all_finer_ones() -> None:
    """Against the definition, on random tables with two levels each."""
    random = np.random.default_rng(7)
    limits = SparsityPolicy(small=2, share_small=0.4, share_single=0.9, least_cells=3, then="hide")
    levels = [np.array([0]), np.array([1, 2]), np.array([3, 4, 5, 6])]
    seen = set()
    for _ in range(60):
        counts = random.poisson(random.uniform(0.5, 6), (7, 7))
        found = hidden_parts(counts, [levels, levels], [False, True], limits)
        own = {}
        for a, b in product(range(3), repeat=2):
            inner = counts[np.ix_(levels[a], levels[b])]
            own[a, b] = SparsityShares.of(inner, 2, [False, b > 0]).exceeds(limits)
        for a, b in own:
            assert found[a, b] == any(own[c, d] for c in range(a + 1) for d in range(b + 1))
        seen.add(int(found.sum()))
    assert len(seen) > 4


def test_parts_that_the_programme_hid_stay_hidden() -> None:
    limits = SparsityPolicy(small=2, share_small=1, share_single=1, least_cells=3, then="hide")
    levels = [np.array([0]), np.array([1, 2, 3])]
    unknown = np.array([False, True, True, True])
    assert hidden_parts(np.full(4, 9), [levels], [True], limits, unknown).tolist() == [False, True]


def test_digests_of_policies_that_say_nothing_stay_as_they_were() -> None:
    plain = PolicyDocument.of_text(OPEN_POLICY)
    refusing = PolicyDocument.of_text(OPEN_POLICY.replace(OPEN, f'{OPEN}, then = "refuse"'))
    hiding = PolicyDocument.of_text(OPEN_POLICY.replace(OPEN, f'{OPEN}, then = "hide"'))
    assert plain.digest == refusing.digest != hiding.digest


def test_a_single_figure_is_hidden_like_the_table_it_stands_in(hiding: Answers) -> None:
    age, status = codes_of(hiding, AGE)[3], codes_of(hiding, "marital_status")[0]
    region = codes_of(hiding, "region")[0]
    where = [only("region", region), only(AGE, age), only("marital_status", status)]
    alone = hiding.answer(prepared(hiding, [], where=where)).table
    assert cells(alone) == {frozenset(): (None, "suppressed")}
    assert "grand total" in alone.notes[-1].text("en")
    everybody = hiding.answer(prepared(hiding, [])).table
    assert cells(everybody)[frozenset()][1] != "suppressed"


def test_key_figures_are_judged_by_what_they_count(hiding: Answers) -> None:
    """Vacant dwellings are few where dwellings are many; their share tells how many they are."""
    query = prepared(hiding, [REGION], unit="dwelling", measures=["vacancy", "count"])
    unit = query.version.units["dwelling"]
    judges = {
        measure.name: {each.measure.name for each in judgements_of(query.query, measure, unit)}
        for measure in query.query.measures
    }
    assert judges == {"count": {"count"}, "vacancy": {"count", "vacant"}}
