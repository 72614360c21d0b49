"""Origin–destination tables: flows of few are hidden or merged, totals and inner flows stay."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.derived.examples import commuters
from discreet.errors import ProgrammeError, TableError
from discreet.release import protect
from discreet.tables import ProtectedTable
from tests.helpers.programmes import editor
from tests.helpers.rows import for_all_rows

PARENTS = {"N": None, "S": None, **{f"{a}{k}": a for a in "NS" for k in (1, 2, 3)}}
HOME, WORK = (dc.Classification.from_parents(name, PARENTS) for name in ("home", "work"))
PTABLE = dc.design_perturbation(max_noise=3, variance=2)
TOWNS = sorted(code for code, above in PARENTS.items() if above)
PROGRAMME = """\
[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[defaults]
formats = ["csv"]

[variables.home]
hierarchy = "areas.json"

[variables.work]
hierarchy = "areas.json"

[tables.flows]
by = ["home", "work"]
flows = { origin = "home", destination = "work", least = 12 }

[tables.homes]
by = ["home"]
"""


def people(number: int = 900) -> pl.DataFrame:
    """Persons of whom most work where they live."""
    draw = np.random.default_rng(8)
    home = draw.choice(TOWNS, number)
    near = np.array([draw.choice([town for town in TOWNS if town[0] == one[0]]) for one in home])
    away = draw.choice(TOWNS, number)
    work = np.select([draw.random(number) < 0.6, draw.random(number) < 0.7], [home, near], away)
    keys = draw.integers(0, 10**15, number)
    return pl.DataFrame({"home": home, "work": work, "record_key": keys})


def flows() -> ProtectedTable:
    return dc.perturb(dc.tabulate(people(), [HOME, WORK], record_key="record_key"), PTABLE)


def cells(table: ProtectedTable) -> dict[tuple[str, str], tuple[int | None, str]]:
    rows = table.to_polars(complete=True).select("home", "work", "value", "status").rows()
    return {(home, work): (value, status) for home, work, value, status in rows}


def nested(one: str, other: str) -> bool:
    return "Total" in (one, other) or one.startswith(other) or other.startswith(one)


def test_small_flows_are_hidden_and_no_other() -> None:
    before, after = cells(flows()), cells(dc.thinned_flows(flows(), "home", "work", 12))
    hidden = {place for place, (_, status) in after.items() if status == "suppressed"}
    small = {place for place, (n, _) in before.items() if 0 < (n or 0) < 12 and not nested(*place)}
    assert hidden == small
    assert {len(home + work) for home, work in hidden} >= {4}
    assert all(after[place] == before[place] for place in before if place not in hidden)


def test_margins_and_inner_flows_are_those_of_other_tables() -> None:
    """The same persons have the same figure: by home alone, by work alone, and both."""
    table = dc.thinned_flows(flows(), "home", "work", 12)
    for name, tree in (("home", HOME), ("work", WORK)):
        alone = dc.perturb(dc.tabulate(people(), [tree], record_key="record_key"), PTABLE)
        assert all(alone.get(code) == table.get(**{name: code}) for code in tree.codes)
    inner = people().filter(pl.col("home") == pl.col("work"))
    same = dc.perturb(dc.tabulate(inner, [HOME], record_key="record_key"), PTABLE)
    assert all(same.get(code) == table.get(home=code, work=code) for code in TOWNS)


def test_merged_flows_add_up_per_origin() -> None:
    before, after = cells(flows()), cells(dc.thinned_flows(flows(), "home", "work", 12, "merge"))
    for home in ("Total", *PARENTS):
        small = [
            before[home, work][0] or 0
            for work in TOWNS
            if not nested(home, work) and 0 < (before[home, work][0] or 0) < 12
        ]
        value, status = after[home, "others"]
        assert (value or 0) == (sum(small) if sum(small) >= 12 else 0)
        assert status == ("suppressed" if 0 < sum(small) < 12 else status)


def test_slices_hide_the_same_flows() -> None:
    table = dc.thinned_flows(flows(), "home", "work", 12)
    tree = HOME
    for home in ("N1", "S"):
        where = " or ".join(f"home == '{one}'" for one in TOWNS if one.startswith(home))
        counted = dc.tabulate(people(), [WORK], record_key="record_key", where=where)
        part = dc.perturb(counted, PTABLE)
        thin = dc.thinned_flows(part, "home", "work", 12, fixed={"home": (tree, [home])})
        assert all(thin.get(code) == table.get(home=home, work=code) for code in WORK.codes)


@for_all_rows(
    ("origin", "destination", "message"),
    [("home", "job", "'job' is not a spanning variable"), ("away", "work", "'away'")],
)
def test_unknown_ends_are_named(origin: str, destination: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        dc.thinned_flows(commuters, origin, destination, 5)


def test_ends_have_common_areas() -> None:
    sex = dc.Classification.flat("sex", ["m", "w"])
    frame = people().with_columns(sex=pl.lit("m"))
    table = dc.perturb(dc.tabulate(frame, [HOME, sex], record_key="record_key"), PTABLE)
    with pytest.raises(TableError, match="no common areas"):
        dc.thinned_flows(table, "home", "sex", 5)


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    people().write_parquet(tmp_path / "persons.parquet")
    PTABLE.write(tmp_path / "ptable.json")
    dc.Classification.from_parents("areas", PARENTS).write(tmp_path / "areas.json")
    return editor(tmp_path / "programme.toml", PROGRAMME)


@pytest.mark.parametrize("then", ["hide", "merge"])
def test_programmes_publish_thinned_flows(
    edited: Callable[..., Path], tmp_path: Path, then: str
) -> None:
    change = ("least = 12", f'least = 12, then = "{then}"')
    assert protect(edited(change), tmp_path / "release").fresh == 2
    frame = pl.read_csv(tmp_path / "release" / "flows.csv", infer_schema=False)
    shown = {(r["home"], r["work"]): r["symbol"] for r in frame.iter_rows(named=True)}
    expected = cells(dc.thinned_flows(flows(), "home", "work", 12, then))
    assert {place for place, symbol in shown.items() if symbol == "."} == {
        place for place, (_, status) in expected.items() if status == "suppressed"
    }
    assert ("N1", "others") in shown or then == "hide"
    assert protect(edited(change), tmp_path / "release").fresh == 0
    assert protect(edited(("least = 12", "least = 5")), tmp_path / "release").fresh == 1


def test_a_rule_for_exempt_cells_exempts_no_flow(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    """It does not mention the place of work, as it was written before there was one."""
    sexes = '[tables.homes]\nby = ["home", "sex"]\nofficial = "sex == \'Total\'"'
    rule = ("[tables.flows]", "[tables.flows]\nofficial = \"sex == 'Total'\"")
    people().with_columns(sex=pl.lit("w")).write_parquet(tmp_path / "persons.parquet")
    protect(edited(rule, ('[tables.homes]\nby = ["home"]', sexes)), tmp_path / "release")
    frame = pl.read_csv(tmp_path / "release" / "flows.csv", infer_schema=False)
    exempt = frame.filter(status="official").select("home", "work").rows()
    assert len(exempt) == 2 * len(PARENTS) + 1
    assert all("Total" in place for place in exempt)


@for_all_rows(
    ("old", "new", "message"),
    [
        ('destination = "work"', 'destination = "job"', "job"),
        (', destination = "work"', "", "destination"),
        ('by = ["home", "work"]', 'figures.n = { kind = "count" }\nby = ["home", "work"]', "alone"),
    ],
)
def test_programmes_name_what_is_wrong(
    edited: Callable[..., Path], tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(ProgrammeError, match=message):
        protect(edited((old, new)), tmp_path / "release")
