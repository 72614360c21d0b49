"""A method of protection from this file goes all the way, and one that leaves gaps goes nowhere.

The method publishes multiples of 1,000 only. It is told to releases by `register`, and by
nothing else: programme, run, state, reports and writers ask it what they need to know.
"""

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field

import discreet as dc
from discreet.arrays import FloatArray, IntArray
from discreet.errors import DiscreetError, Problem, ProgrammeError, PublicationError
from discreet.files import texts_of
from discreet.protection import registry
from discreet.protection.protocol import (
    AssessedTable,
    Counts,
    Determinants,
    InputsView,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
)
from discreet.publication import FORMATS
from discreet.release import audit_release, check_release, protect
from discreet.tables import CellStatus, Note, ProtectedTable, Provenance, Table
from tests.helpers.programmes import editor
from tests.helpers.rows import for_all_rows

RELEASE = Path(dc.__file__).parent / "release"


class ThousandsEntry(BaseModel):
    """[protection.thousands]"""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    base: int = Field(default=1000, ge=1)


NOTE = Note(
    "thousands", {"en": "All figures are rounded down.", "de": "Alle Werte sind abgerundet."}
)


class Thousands(Protection):
    """Counts are rounded down to multiples of a base."""

    name = "thousands"
    manner = "multiples of 1,000"
    settings = ThousandsEntry
    reports = ("thousands.json",)

    def __init__(self) -> None:
        self.groups: list[tuple[str, ...]] = []

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Weights are not rounded."""
        for name in tables:
            if programme.tables[name].weight:
                place = ("tables", name, "weight")
                yield place, programme.problem(place, "thousands are not weighted")

    def warnings(self, inputs: InputsView, tables: Sequence[str]) -> Iterable[str]:
        """A base that hides nothing."""
        if tables and inputs.programme.settings(self.name).base == 1:
            yield "thousands with base = 1 hide nothing"

    def linked(self, programme: ProgrammeView, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """All at once."""
        return [tuple(tables)] if tables else []

    def opened(
        self, programme: ProgrammeView, tables: Sequence[str], problems: list[Problem]
    ) -> str:
        """Something to be found again."""
        return "opened"

    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """The records of the table."""
        return {inputs.programme.tables[table].where or "": {}}

    def determinants(self, inputs: InputsView, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """Nothing besides what the programme says."""
        return {name: Determinants(shared={}, own=[], whole=False) for name in tables}

    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """All tables together."""
        assert inputs.opened[self.name] == "opened"
        self.groups.append(tuple(counted))
        base = inputs.programme.settings(self.name).base
        tables = {
            name: self.outcome(table, base)
            for name, counts in counted.items()
            for table in counts.values()
        }
        yield ProtectedGroup(tables=tables, internal={"tables": list(tables)}, warnings=("done",))

    def outcome(self, table: Table, base: int) -> ReleasedOutcome:
        """A table rounded down."""
        value = table.count // base * base
        return ReleasedOutcome(
            table=ProtectedTable(
                dimensions=table.dimensions,
                index=table.index,
                value=value,
                status=np.full(len(value), CellStatus.published, dtype=np.int8),
                provenance=Provenance(version=dc.__version__, method="thousands"),
                name=table.name,
            ),
            remembered={"multiples": len(value)},
            assessed=AssessedTable(counts=table, ingredients={}, figures=()),
            found_codes={"sex": "all"},
        )

    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """As wide as the base."""
        return np.full(len(counts), float(inputs.programme.settings(self.name).base))

    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """That figures are rounded down."""
        return (NOTE,)

    def changed(
        self, name: str, before: Callable[[], ProtectedTable], after: ProtectedTable
    ) -> str:
        """Two bases tell more than one."""
        same = before().value.tolist() == after.value.tolist()
        return "" if same else f"{name} had another base"

    def concluded(self, inputs: InputsView, made: Sequence[str]) -> Iterable[str]:
        """How many tables were made."""
        yield f"{len(made)} tables of thousands"

    def write_reports(
        self, inputs: InputsView, remembered: Mapping[str, Mapping[str, Any]], folder: Path
    ) -> None:
        """How many multiples each table has."""
        numbers = {name: kept["multiples"] for name, kept in remembered.items()}
        (folder / "thousands.json").write_text(json.dumps(numbers))

    def write_internal(self, entries: Sequence[Mapping[str, Any]], folder: Path) -> None:
        """Which tables stood together."""
        folder.mkdir(exist_ok=True)
        (folder / "thousands-internal.json").write_text(json.dumps(list(entries)))

    def must_repeat(self, inputs: InputsView, digests: Mapping[str, str], internal: Path) -> bool:
        """Whether there is no internal report."""
        return not (internal / "thousands-internal.json").exists()


PROGRAMME = f"""\
languages = ["en", "de"]
workbook = "all.xlsx"

[data]
source = "persons.parquet"

[protection.thousands]
base = 1000

[defaults]
protect = "thousands"
formats = {json.dumps(list(FORMATS))}

[tables.sexes]
by = ["sex"]
title = "Sexes"

[tables.adults]
by = ["region", "sex"]
where = "age >= 18"
"""

NOISE = """
[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[tables.ages]
by = ["age"]
protect = "noise"
formats = ["csv"]
"""


@pytest.fixture
def thousands() -> Iterator[Thousands]:
    """The method, known as long as the test runs."""
    method = Thousands()
    registry.register(method)
    yield method
    registry.withdraw("thousands")


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    """A programme that asks for the method, with its data."""
    number = 7_500
    draw = np.random.default_rng(3)
    records = pl.DataFrame(
        {
            "sex": ["m"] * 2_400 + ["w"] * 5_100,
            "region": draw.choice(["1", "2"], number),
            "age": draw.integers(0, 60, number),
            "weight": draw.uniform(0.5, 2, number),
            "record_key": draw.integers(0, 10**15, number),
        }
    )
    records.write_parquet(tmp_path / "persons.parquet")
    dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}).write(
        tmp_path / "ptable.json"
    )
    path = tmp_path / "programme.toml"
    path.write_text(PROGRAMME, encoding="utf-8")
    return path


@pytest.fixture
def edited(programme: Path) -> Callable[..., Path]:
    return editor(programme)


def test_the_method_goes_all_the_way(thousands: Thousands, programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    summary = protect(programme, out, internal=tmp_path / "internal")

    assert summary.fresh == 2
    assert thousands.groups == [("sexes", "adults")]  # linked: protected in one call
    for kind, row in FORMATS.items():
        for middle in ("", ".de"):
            assert (out / f"sexes{middle}.{row.suffixes[0]}").stat().st_size > 0, kind
    shown = pl.read_csv(out / "sexes.csv", comment_prefix="#").get_column("value").to_list()
    assert sorted(shown) == [2_000, 5_000, 7_000]
    assert (out / "all.xlsx").exists()
    assert "All figures are rounded down." in (out / "sexes.html").read_text("utf-8")
    assert "Alle Werte sind abgerundet." in (out / "index.de.html").read_text("utf-8")
    assert json.loads((out / "thousands.json").read_text()) == {"sexes": 3, "adults": 9}
    listed = json.loads((out / "release.json").read_text("utf-8"))
    assert {"thousands.json", "quality.json"} <= set(listed["reports"])
    assert "decisions.json" not in listed["reports"]
    assert json.loads((out / "quality.json").read_text("utf-8"))["tables"] == 2
    inside = json.loads((tmp_path / "internal" / "quality-internal.json").read_text("utf-8"))
    assert set(inside["each_table"]) == {"sexes", "adults"}
    noise = inside["each_table"]["sexes"]["counts"]
    assert noise["mean_deviation"] == pytest.approx(-(400 + 100 + 500) / 3, abs=0.01)
    told = json.loads((tmp_path / "internal" / "thousands-internal.json").read_text())
    assert told == [{"tables": ["sexes", "adults"]}]
    assert "done" in summary.warnings
    assert "2 tables of thousands" in summary.warnings
    assert any(
        "the codes of sex come from the data, so each listed code" in text
        for text in summary.warnings
    )


def test_a_release_is_taken_up_again(
    thousands: Thousands, edited: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "release"
    protect(edited(), out)
    again = protect(edited(), out)
    assert (again.fresh, len(thousands.groups)) == (0, 1)

    # Parameters, filters and spanning variables are part of the digests without being named.
    other = protect(edited(("base = 1000", "base = 500")), out)
    assert other.fresh == 2
    assert "sexes had another base" in other.warnings
    assert protect(edited(("age >= 18", "age >= 19")), out).fresh == 2
    assert thousands.groups[-1] == ("sexes", "adults")  # tables of a group come together
    assert protect(edited(('by = ["sex"]', 'by = ["region"]')), out).fresh == 2
    assert protect(edited(), out).fresh == 0
    assert protect(edited(), out, internal=tmp_path / "internal").fresh == 2


def test_another_method_may_stand_beside_it(
    thousands: Thousands, edited: Callable[..., Path], tmp_path: Path
) -> None:
    second = '[sources.others]\nsource = "others.parquet"\nkeys.column = "record_key"\n'
    pl.read_parquet(tmp_path / "persons.parquet").write_parquet(tmp_path / "others.parquet")
    noise = NOISE.replace('by = ["age"]', 'by = ["age"]\nfrom = "others"')
    path = edited(("[defaults]", f"{second}\n[defaults]"))
    path.write_text(path.read_text("utf-8") + noise, encoding="utf-8")
    assert protect(path, tmp_path / "release").fresh == 3
    report = json.loads((tmp_path / "release" / "quality.json").read_text("utf-8"))
    assert report["tables"] == 3
    assert thousands.groups == [("sexes", "adults")]


@pytest.fixture
def facts(thousands: Thousands, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Change facts of the method."""

    def change(**changes: object) -> None:
        for name, value in changes.items():
            monkeypatch.setattr(thousands, name, value, raising=False)

    return change


def test_parts_of_its_tables_are_judged_if_it_says_so(
    facts: Callable[..., None], edited: Callable[..., Path], tmp_path: Path
) -> None:
    parts = '[parts]\nmax_relative_error = 0.5\nuniverse = "none"\n'
    path = edited(("[defaults]", f"{parts}\n[defaults]"))
    protect(path, tmp_path / "whole")
    assert not (tmp_path / "whole" / "decisions.json").exists()

    facts(table_keys=("parts",))
    protect(path, tmp_path / "parted")
    decided = json.loads((tmp_path / "parted" / "decisions.json").read_text("utf-8"))["tables"]
    assert decided["sexes"]["outcome"] == "complete"
    assert decided["adults"]["outcome"] == "thinned"
    shown = pl.read_csv(tmp_path / "parted" / "adults.csv", infer_schema=False)
    inner = shown.filter((pl.col("region") != "Total") & (pl.col("sex") != "Total"))
    assert inner.get_column("value").drop_nulls().is_empty()
    whole = pl.read_csv(tmp_path / "whole" / "adults.csv", infer_schema=False)
    assert whole.get_column("value").null_count() == 0


def test_a_method_that_needs_cell_keys_gets_them_or_nothing_is_made(
    facts: Callable[..., None], edited: Callable[..., Path], thousands: Thousands, tmp_path: Path
) -> None:
    facts(record_keys=True)
    assert "the section [keys] is missing" in mistakes(edited())
    seen = []
    outcome = thousands.outcome
    facts(outcome=lambda table, base: (seen.append(table), outcome(table, base))[1])
    protect(edited(("[defaults]", '[keys]\ncolumn = "record_key"\n\n[defaults]')), tmp_path / "out")
    assert all(table.cell_key is not None for table in seen)
    assert len(seen) == 2


def test_what_a_method_cannot_open_is_a_mistake_of_the_programme(
    facts: Callable[..., None], edited: Callable[..., Path]
) -> None:
    def damaged(programme: ProgrammeView, tables: object, problems: list[Problem]) -> None:
        problems.append(programme.problem(("tables", "sexes"), "no such file of thousands"))
        raise DiscreetError("the file of thousands is damaged", code="file", where="base")

    facts(opened=damaged)
    found = mistakes(edited(('title = "Sexes"', "weight = 3")))
    assert "protection.thousands: base: the file of thousands is damaged" in found
    assert "tables.sexes: no such file of thousands" in found
    assert "tables.sexes.weight: must be a text" in found


def mistakes(path: Path) -> str:
    """What is wrong with a programme."""
    with pytest.raises(ProgrammeError) as caught:
        check_release(path)
    return str(caught.value)


def test_figures_of_two_methods_do_not_stand_beside_each_other(
    thousands: Thousands, edited: Callable[..., Path]
) -> None:
    del thousands
    path = edited()
    path.write_text(path.read_text("utf-8") + NOISE, encoding="utf-8")
    found = mistakes(path)
    assert "the number of records would be published with noise (ages)" in found
    assert "and with multiples of 1,000" in found
    assert "two methods on the same values disclose more together" in found


def test_mistakes_of_a_programme_are_found_at_their_keys(
    thousands: Thousands, edited: Callable[..., Path]
) -> None:
    del thousands
    more = 'title = "Sexes"\nweight = "weight"\nvalue = "age"\nfigures.n.kind = "count"'
    found = mistakes(edited(('title = "Sexes"', more), ("base = 1000", "bases = 1")))
    assert "protection.thousands.bases: unknown key" in found
    assert "closest match: 'base'" in found
    found = mistakes(edited(("bases = 1", "base = 1")))
    assert "tables.sexes.weight: thousands are not weighted" in found
    assert 'tables.sexes.value: this needs protect = "suppress" or "unit-noise"' in found
    assert 'tables.sexes.figures: this needs protect = "noise", "rounding" or "sample"' in found


def test_a_report_takes_its_name(thousands: Thousands, edited: Callable[..., Path]) -> None:
    del thousands
    found = mistakes(edited(("[tables.sexes]", "[tables.thousands]")))
    assert "the name 'thousands' is already in use" in found


def test_an_unknown_method_is_refused_and_the_known_ones_are_listed(programme: Path) -> None:
    found = mistakes(programme)
    assert "defaults.protect: unknown value" in found
    assert "known: noise, suppress" in found
    assert "protection.thousands: unknown method" in found
    with pytest.raises(DiscreetError, match="unknown method of protection 'thousands'"):
        registry.protection("thousands")


def test_an_earlier_release_by_another_method_is_held_against_a_new_one(
    thousands: Thousands, programme: Path, tmp_path: Path
) -> None:
    del thousands
    protect(programme, tmp_path / "first")
    later = tmp_path / "later.toml"
    head = '[data]\nsource = "persons.parquet"\n\n[suppression]\nearlier = "first"\n'
    table = '[tables.ages]\nby = ["age"]\nformats = ["csv"]\n'
    rules = "[rules.few]\nminimum_frequency = 3\n"
    later.write_text(f'{head}{rules}{table}protect = "suppress"\nrules = "few"\n')
    text = "the counts were published with multiples of 1,000 (first/"
    assert text in mistakes(later)
    registry.withdraw("thousands")
    try:
        assert "unknown method of protection 'thousands'" in mistakes(later)
    finally:
        registry.register(Thousands())


def test_what_cannot_be_audited_is_not(
    thousands: Thousands, programme: Path, tmp_path: Path
) -> None:
    del thousands
    protect(programme, tmp_path / "release")
    with pytest.raises(PublicationError, match='an audit needs tables with protect = "suppress"'):
        audit_release(programme, tmp_path / "release")


# -- methods that leave gaps -------------------------------------------------------


def groups_given(
    method: Thousands, change: Callable[[dict[str, ReleasedOutcome]], None]
) -> Callable[..., Iterator[ProtectedGroup]]:
    """The groups of a method, with something wrong."""
    honest = method.protect

    def given(*arguments: Any) -> Iterator[ProtectedGroup]:
        for group in honest(*arguments):
            tables = dict(group.tables)
            change(tables)
            yield ProtectedGroup(tables=tables, internal=None, warnings=())

    return given


def true_values(tables: dict[str, ReleasedOutcome]) -> None:
    """A confidential table in place of a protected one."""
    assessed = tables["sexes"].assessed
    assert assessed is not None
    object.__setattr__(tables["sexes"], "table", assessed.counts)


def misnamed(tables: dict[str, ReleasedOutcome]) -> None:
    """One table under the name of another."""
    object.__setattr__(tables["sexes"], "table", tables["adults"].table)


def overwriting(tables: dict[str, ReleasedOutcome]) -> None:
    """What a release says of its tables, said by the method."""
    object.__setattr__(tables["adults"], "remembered", {"about": {}})


def forgotten(tables: dict[str, ReleasedOutcome]) -> None:
    """A table that was asked for is missing."""
    del tables["adults"]


def surplus(tables: dict[str, ReleasedOutcome]) -> None:
    """A table that nobody asked for."""
    tables["others"] = tables["sexes"]


def not_assessed(tables: dict[str, ReleasedOutcome]) -> None:
    """Nothing that quality is judged by, though the method says there is."""
    object.__setattr__(tables["adults"], "assessed", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (true_values, "the method returned no protected table for 'sexes'"),
        (forgotten, "no method protected adults"),
        (misnamed, "the method returned no protected table for 'sexes'"),
        (overwriting, "the method stores data of 'adults' that belong to the release"),
        (surplus, "the method returned unknown tables: others"),
        (not_assessed, "the method does not declare the quality measures of 'adults'"),
    ],
)
def test_what_a_method_gives_back_is_checked(
    thousands: Thousands,
    programme: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[dict[str, ReleasedOutcome]], None],
    message: str,
) -> None:
    monkeypatch.setattr(thousands, "protect", groups_given(thousands, change))
    with pytest.raises(PublicationError, match=message):
        protect(programme, tmp_path / "release")
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("question", "answer", "message"),
    [
        ("determinants", {}, "the method does not declare the inputs of sexes"),
        ("needs", {}, "the method does not declare the counts of 'sexes'"),
        ("tells", (), "the method does not declare the content of 'sexes'"),
    ],
)
def test_a_method_that_answers_nothing_makes_no_table(
    facts: Callable[..., None],
    programme: Path,
    tmp_path: Path,
    question: str,
    answer: object,
    message: str,
) -> None:
    facts(**{question: lambda *arguments: answer})
    with pytest.raises(PublicationError, match=message):
        protect(programme, tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_method_answers_four_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Protection.__abstractmethods__ == {"needs", "protect", "statement", "quality"}
    answers = {name: getattr(Thousands, name) for name in Protection.__abstractmethods__}
    for question in answers:
        others = {name: answer for name, answer in answers.items() if name != question}
        gap = type("Gap", (Protection,), {"name": "gap", "manner": "nothing", **others})
        with pytest.raises(TypeError, match=question):
            gap()


def test_what_a_method_does_not_say_claims_no_safety() -> None:
    answers = {name: getattr(Thousands, name) for name in Protection.__abstractmethods__}
    method = type("Short", (Protection,), {"name": "short", "manner": "little", **answers})()
    assert method.assessed
    assert not method.auditable
    assert not method.attacked  # which a release warns of
    verdicts, findings = method.audited(None, {"T1": {}}, None, {}, None)
    assert (verdicts, findings) == ({}, ["T1: tables of this method are not audited"])
    assert (
        "two methods on the same values disclose more together"
        in registry.clash("short", "noise")[0]
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "noise"}, "the method or its report exists already"),
        ({"reports": ("suppression.json",)}, "the method or its report exists already"),
        ({"reports": ("release.json",)}, "a report cannot be called"),
    ],
)
def test_names_and_reports_are_taken_once(changes: dict[str, Any], message: str) -> None:
    method = type("Other", (Thousands,), changes)()
    with pytest.raises(DiscreetError, match=message):
        registry.register(method)


@pytest.mark.parametrize(
    ("parent", "changes", "message"),
    [
        (Thousands, {"settings": type("Loose", (BaseModel,), {})}, "does not forbid unknown keys"),
        (Thousands, {"manner": ""}, "does not say its manner"),
        (Protection, {"name": "x", "manner": "x", "reports": ("x.json",)}, "write its reports"),
        (
            Protection,
            {"name": "x", "manner": "x", "opened": Thousands.opened},
            "opens inputs without declaring how",
        ),
    ],
)
def test_a_method_says_things_that_make_sense(
    parent: type, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        type("Other", (parent,), changes)


def test_every_method_has_its_row() -> None:
    names = [method.name for method in registry.protections()]
    assert names == ["noise", "suppress", "rounding", "unit-noise", "invariant", "sample"]
    assert registry.protection(registry.DEFAULT).name == "noise"
    for method in registry.protections():
        package = type(method).__module__.rpartition(".")[0]
        assert package.startswith("discreet.protection.")
        assert texts_of(package, "methods", "en")[method.name] == method.manner
        assert method.called("de") not in (method.name, method.manner)


@for_all_rows(
    "path",
    sorted(
        path.relative_to(RELEASE).as_posix()
        for path in RELEASE.rglob("*.py")
        if path.relative_to(RELEASE).parts[0] not in ("packages", "report")
    ),
)
def test_a_release_names_no_method(path: str) -> None:
    tree = ast.parse((RELEASE / path).read_text("utf-8"))
    names = {method.name for method in registry.protections()}
    said = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert not said, f"{path} names a method in lines {said}"
