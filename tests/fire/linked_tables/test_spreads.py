"""Deviations: a withheld one follows from no others unsaid, in a program, a session or the queue.

The attacker reads what is shown. Of every group whose number of cases, mean and deviation are shown
he knows the sum of squares; a withheld one is open if it is a combination of these.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet_fire as fire
from discreet.errors import DisclosureWarning
from discreet_fire.queue import Submission, submit, view
from discreet_fire.queue.contents import SubmissionTables
from discreet_fire.runners.protocol import RunResult, StatisticShown
from tests.helpers.queue_parts import new_queue
from tests.helpers.run_panel import run

SECRET = 19_000.0
FINE, COARSE = (
    f"tabstat inc, by({name}) statistics(n mean sd)\n" for name in ("cty", "region")
)  # fmt: skip


def people() -> pl.DataFrame:
    """Five counties; in county 9 one person earns so much that the deviation tells how much."""
    draw = np.random.default_rng(1)
    county = np.repeat([1, 2, 3, 4, 9], [90, 75, 98, 76, 30])
    inc = draw.normal(1000, 300, county.size).round(2)
    inc[339] = SECRET
    east = np.isin(county, [1, 3, 9])
    columns = {"cty": county, "region": np.where(east, "E", "W"), "inc": inc}
    return pl.DataFrame(columns).with_row_index("pid")


def told_of(result: RunResult) -> list[str]:
    assert result.error is None
    return [one.what for one in result.findings if one.rule.startswith("linked-tables")]


def squares(row: dict[str, float]) -> float:
    """The sum of squares of a group, from what is shown of it."""
    return (row["n"] - 1) * row["sd"] ** 2 + row["n"] * row["mean"] ** 2


def test_the_largest_income_follows_from_deviations_and_that_is_told(tmp_path: Path) -> None:
    result = run(FINE + COARSE, tmp_path, people())
    fine, coarse = (
        {row[key]: row for row in one.result.frame.rows(named=True)}
        for one, key in zip(result.outputs, ("cty", "region"), strict=True)
    )
    assert [code for code, row in fine.items() if row["sd"] is None] == ["2", "9"]
    own = squares(coarse["E"]) - squares(fine["1"]) - squares(fine["3"])
    n, mean = fine["9"]["n"], fine["9"]["mean"]
    furthest = mean + np.sqrt((own - n * mean**2) * (n - 1) / n)
    assert abs(furthest - SECRET) < 0.01 * SECRET
    first = "line 1, tabstat inc: squares of inc of cty = 9 follows from line 2, tabstat inc"
    assert any(one.startswith(first) for one in told_of(result))


@pytest.mark.parametrize(
    "program",
    [
        "bysort cty: summarize inc\nbysort region: summarize inc\n",
        'bysort cty: summarize inc\nsummarize inc if region == "E"\n',
        FINE.replace(" sd", " variance") + COARSE.replace(" sd", " semean"),
        FINE.replace(" sd", " cv") + COARSE,
    ],
)
def test_every_name_of_a_spread_tells_the_same(tmp_path: Path, program: str) -> None:
    told = told_of(run(program, tmp_path, people()))
    assert any("squares of inc of cty = 9 follows from" in one for one in told), told


@pytest.mark.parametrize("program", [FINE, FINE + "tabstat inc, by(region) statistics(n mean)\n"])
def test_nothing_is_told_where_nothing_follows(tmp_path: Path, program: str) -> None:
    assert told_of(run(program, tmp_path, people())) == []


def test_a_session_hides_what_gives_a_deviation_away() -> None:
    session = fire.session("P", data=people())
    session.summary("inc", by="cty")
    with pytest.warns(DisclosureWarning, match="squares of inc"):
        session.summary("inc", by="region")
    assert session.check().linked
    session.protect()
    assert not session.check().linked
    fine, coarse = (one.frame for one in session.outputs)
    hidden = fine.filter(pl.col("sd inc").is_null())["cty"].to_list()
    regions = coarse.filter(pl.col("sd inc").is_not_null())["region"].to_list()
    east = {"1", "3", "9"} & set(hidden)
    assert "E" not in regions or len(east) > 1


# --- any tables ---------------------------------------------------------------------------------

GROUPS = ("cty", "region", "coast", "job")


def drawn_people(draw: np.random.Generator) -> pl.DataFrame:
    """Counties with a region and a coast; some persons earn very much."""
    county = draw.choice(7, size=260, p=draw.dirichlet([2.0] * 7))
    inc = draw.normal(1000, 200, county.size).round(2)
    inc[draw.choice(county.size, 3, replace=False)] *= draw.uniform(15, 25, 3).round(1)
    return pl.DataFrame(
        {
            "cty": county,
            "region": county // 2,
            "coast": (county % 3 == 0).astype(int),
            "job": draw.integers(0, 2, county.size),
            "inc": inc,
        }
    )


def drawn_program(draw: np.random.Generator) -> list[tuple[str, str, int | None]]:
    """Commands: by what, and of whom: a variable and its code; None for everybody."""
    commands = []
    for _ in range(int(draw.integers(2, 5))):
        by, of = map(str, draw.choice(GROUPS, size=2, replace=False))
        code = int(draw.integers(0, 2)) if draw.random() < 0.4 else None
        commands.append((by, of, code))
    return commands


def open_deviations(frame: pl.DataFrame, commands: list, result: RunResult) -> list[str]:
    """Groups of at least two whose deviation is withheld, and whose squares follow from others."""
    atoms = frame.select("cty", "region", "coast", "job").unique().sort("cty", "job")
    known, withheld = [], []
    for (by, of, code), output in zip(commands, result.outputs, strict=True):
        inside = np.ones(atoms.height) if code is None else (atoms[of] == code).to_numpy() * 1.0
        for row in output.result.frame.rows(named=True):
            own = (
                inside
                if row[by] == "Total"
                else inside * np.array([str(code) == row[by] for code in atoms[by]])
            )
            if row["sd"] is not None:
                known.append(own)
            elif row["n"] is None or row["n"] > 1:
                withheld.append((own, f"{by} = {row[by]} if {of} == {code}"))
    rank = np.linalg.matrix_rank(known) if known else 0
    return [
        name
        for own, name in withheld
        if own.any() and known and np.linalg.matrix_rank([*known, own]) == rank
    ]


def test_no_deviation_that_follows_is_left_unsaid(tmp_path: Path) -> None:
    number = {"open": 0, "told without need": 0, "closed": 0}
    for seed in range(40):
        draw = np.random.default_rng(seed)
        frame, commands = drawn_people(draw), drawn_program(draw)
        lines = [
            f"tabstat inc{'' if code is None else f' if {of} == {code}'}, by({by}) "
            "statistics(n mean sd)\n"
            for by, of, code in commands
        ]
        result = run("".join(lines), tmp_path, frame)
        told = [one for one in told_of(result) if "squares of inc of" in one]
        opened = open_deviations(frame, commands, result)
        assert told or not opened, (seed, commands, opened)
        number["open"] += bool(opened)
        number["closed"] += not opened
        number["told without need"] += bool(told) and not opened
    assert number["open"] > 5, number
    assert number["told without need"] < 0.15 * number["closed"], number


def test_the_queue_says_which_kinds_of_figures_it_does_not_compare(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "d.csv")
    (tmp_path / "a.do").write_text(
        "summarize inc, detail\nregress inc cty\ntabstat inc, statistics(n sd)\n"
    )
    queue = new_queue(tmp_path, minimum=3)
    handed = Submission(
        program=tmp_path / "a.do", researcher="Weber", data=(tmp_path / "d.csv",), unit="pid"
    )
    told = [one.what for one in view(queue, submit(queue, handed)).findings]
    end = "were not compared with other outputs:"
    assert sorted(one for one in told if end in one) == [
        f"coefficients {end} regress (1)",
        f"skewness and kurtosis {end} summarize (1)",
    ]
    tables = SubmissionTables()
    tables.note(StatisticShown(line=1, command="corr", universes="together"))
    assert tables.kinds == {"correlations": {"corr": 1}}


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
def test_a_whole_is_held_against_all_of_its_parts(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Two halves have no record in common; the whole has those of both."""
    frame = (
        people()
        .with_columns(half=pl.col("pid") % 2)
        .with_columns(inc=pl.when(pl.col("inc") == SECRET).then(300_000.0).otherwise("inc"))
    )
    lines = [
        f"tabstat inc{where}, by(cty) statistics(sum)\n"
        for where in (" if half == 0", " if half == 1", "")
    ]
    result = run("".join(lines[at] for at in order), tmp_path, frame)
    sums = [dict(one.result.frame.select("cty", "sum").iter_rows()) for one in result.outputs]
    half, other, whole = (sums[order.index(at)] for at in range(3))
    assert half["9"] is not None
    assert other["9"] is None
    told = told_of(result)
    open_cells = [code for code in whole if whole[code] and half[code] and not other[code]]
    for code in open_cells:
        assert any(f"inc of cty = {code} follows" in one for one in told), (code, told)
    assert open_cells
