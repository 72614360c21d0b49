"""`suppress`: tables in, tables with blanks out, every sensitive cell protected."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import suppress
from discreet.disclosure import Insiders, Relations
from discreet.errors import SuppressionError
from discreet.protection.suppression import (
    Knowledge,
    Suppression,
    audit_published,
    find_pattern,
)
from discreet.protection.suppression.methods import registry
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import certified
from discreet_argus import read_jj
from tests.helpers.protected_tables import blanks

REGION = dc.Classification.from_prefixes("region", ["11", "12", "13", "21", "22"], [1, 2])


def firms(number: int = 400, seed: int = 1) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": draw.choice(REGION.leaves, number),
            "branch": draw.choice(["a", "b", "c", "d"], number, p=[0.5, 0.3, 0.15, 0.05]),
            "turnover": np.ceil(draw.lognormal(4, 1.6, number)).astype(int),
        }
    )


def turnover(frame: pl.DataFrame | None = None, **more: Any) -> dc.Table:
    given_frame = firms() if frame is None else frame
    by = [REGION, "branch"]
    return dc.tabulate(given_frame, by=by, values=["turnover"], contributions=2, **more)


def test_shown_values_are_the_true_ones_and_hidden_ones_are_nowhere() -> None:
    table = turnover()
    primary = dc.primary(table, [dc.rules.PPercent(10)], value="turnover")
    safe = suppress(table, primary, method="fast")
    true = table.to_polars().with_columns(pl.col("turnover").cast(pl.Int64))
    joined = safe.to_polars(complete=False).join(true, on=["region", "branch"])
    shown = joined.filter(pl.col("value").is_not_null())
    assert shown["value"].to_list() == shown["turnover"].to_list()
    assert (safe.value[safe.status == dc.CellStatus.suppressed] == 0).all()


def test_reasons_are_told_by_kind_of_rule_and_never_by_parameter() -> None:
    table = turnover()
    rules = [dc.rules.MinimumFrequency(3), dc.rules.PPercent(17)]
    primary = dc.primary(table, rules, value="turnover")
    safe = suppress(table, primary, method="fast")
    told = safe.to_polars().filter(pl.col("value").is_null())["reason"]
    assert set(told) <= {"minimum-frequency", "p-percent", "secondary"}
    assert {"p-percent", "secondary"} <= set(told)
    assert "17" not in safe.notes[0].text()
    kinds = suppress(table, primary, method="fast", reasons="kind").to_polars()["reason"]
    assert set(kinds.drop_nulls()) == {"primary", "secondary"}
    silent = suppress(table, primary, method="fast", reasons="none")
    assert silent.withheld is None
    assert "reason" not in silent.to_polars().columns


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json", "xlsx", "html"])
def test_reasons_and_intervals_are_written(tmp_path: Path, suffix: str) -> None:
    table = turnover()
    primary = dc.primary(table, [dc.rules.PPercent(10)], value="turnover")
    safe = suppress(table, primary, method="fast", intervals=True)
    place = safe.write(tmp_path / f"safe.{suffix}")
    assert place.stat().st_size > 0
    if suffix == "csv":
        frame = pl.read_csv(place)
        assert frame.columns[-3:] == ["reason", "low", "high"]
        assert frame["reason"].null_count() == frame["value"].is_not_null().sum()
    if suffix == "parquet":
        assert pl.read_parquet(place)["low"].drop_nulls().len() == len(blanks(safe))


def test_published_intervals_hold_the_true_values_and_come_from_published_ones() -> None:
    table = turnover()
    primary = dc.primary(table, [dc.rules.PPercent(10)], value="turnover")
    safe = suppress(table, primary, method="fast", intervals=True)
    assert safe.withheld is not None
    again = audit_published(safe)
    np.testing.assert_array_equal(again.low, safe.withheld.low)
    np.testing.assert_array_equal(again.high, safe.withheld.high)
    true = table.to_polars().join(safe.to_polars(), on=["region", "branch"])
    hidden = true.filter(pl.col("value").is_null())
    assert (hidden["low"] <= hidden["turnover"]).all()
    assert (hidden["high"] >= hidden["turnover"]).all()
    assert (hidden["high"] > hidden["low"]).all()


def test_nothing_sensitive_hides_nothing() -> None:
    table = turnover()
    for method in ("fast", "optimal", "modular", "hypercube"):
        safe = suppress(table, np.zeros(len(table), dtype=bool), method=method)
        assert blanks(safe) == set()
        assert safe.notes == ()


def test_decimals_are_published_as_asked() -> None:
    frame = firms().with_columns(turnover=pl.col("turnover") / 8)
    table = turnover(frame)
    primary = dc.primary(table, [dc.rules.PPercent(10)], value="turnover", unit=0.1)
    safe = suppress(table, primary, method="fast", decimals=1)
    shown = safe.value[safe.status == dc.CellStatus.published]
    np.testing.assert_allclose(shown * 10, np.rint(shown * 10), atol=1e-6)
    assert safe.figure_decimals() == 1


# -- wrong input ------------------------------------------------------------------


def refused(*words: Any, **options: Any) -> SuppressionError:
    with pytest.raises(SuppressionError) as caught:
        suppress(*words, **options)
    return caught.value


def test_options_and_methods_that_there_are_not_are_refused() -> None:
    table = turnover()
    mask = table.count < 3
    assert "auto, fast" in refused(table, mask, method="magic").hint
    assert refused(table, mask, method="fast", speed=3).code == "option"
    assert refused(table, mask, method="fast", reasons="all").code == "option"
    assert refused(table, mask, method="fast", time_limit=0).code == "time-limit"
    assert refused([(table, mask)], mask).code == "tables"


def test_primaries_of_different_values_do_not_go_together() -> None:
    table = turnover()
    first = dc.primary(table, [dc.rules.PPercent(10)], value="turnover")
    second = dc.primary(table, [dc.rules.MinimumFrequency(3)])
    with pytest.raises(SuppressionError) as caught:
        Suppression.of([(table, first), (table, second)], method="fast")
    assert caught.value.code == "value"
    assert refused([(table, first), (table, second)], value="turnover").code == "value"
    both = suppress([(table, first), (table, second)], method="fast")
    for found, value in zip(both, ("turnover", None), strict=True):
        alone = suppress(table, first if value else second, method="fast")
        assert (found.value == alone.value).all()
        assert (found.status == alone.status).all()


def test_cells_that_nothing_can_protect_are_named_and_no_value_is_told() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [977, 941, 36]})
    table = dc.Table.from_cells(cells, by=["sex"], count="n")
    primary = dc.primary(
        table,
        [dc.rules.MinimumFrequency(40)],
        marks=[
            dc.rules.Mark(cells={"sex": "Total"}, status="protected"),
            dc.rules.Mark(cells={"sex": "m"}, status="protected"),
        ],
    )
    error = refused(table, primary, method="fast", knowledge=Knowledge())
    assert error.code == "infeasible"
    assert "sex=w" in str(error)
    assert not {"977", "941", "36", "40"} & set(str(error).split())


def test_a_pattern_that_is_not_proven_is_never_handed_on(
    reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = read_jj(reference / "suppression" / "tau_SizeReg_P10.jj.gz")

    def careless(problem: Any, *_: Any) -> Any:
        return certified(problem, problem.hidden, "fast")

    monkeypatch.setitem(registry.METHODS, "fast", careless)
    with pytest.raises(SuppressionError) as caught:
        find_pattern(problem, "fast")
    assert caught.value.code == "unprotected"


@pytest.mark.parametrize(
    ("third", "last", "hidden"),
    [(2, 0, [0, 1, 1, 0, 1]), (0, 2, [0, 1, 1, 1, 0]), (2, 2, None)],
)
def test_what_a_lone_firm_works_out_is_kept_from_it_or_refused(
    third: int, last: int, hidden: list[int] | None
) -> None:
    """Two lone firms, and what may be hidden besides in their sum."""
    sums = Relations.of(5, [[(0, -1), (1, 1), (2, 1), (3, 1), (4, 1)]])
    zero, value = np.zeros(5, dtype=np.int64), np.array([100, 10, 20, 30, 40])
    state = np.array([2, 1, 1, third, last], dtype=np.int8)
    problem = SuppressionProblem(value=value, cost=value, state=state, low=zero, high=2 * value,
                                 lower=zero, upper=zero, sliding=zero, relations=sums)  # fmt: skip
    insiders = Insiders(owner=np.array([-1, 1, 2, -1, -1]))
    assert find_pattern(problem, "fast").hidden.sum() == 2
    if hidden is None:
        with pytest.raises(SuppressionError, match="only contributor of cell") as caught:
            find_pattern(problem, "fast", insiders=insiders)
        assert caught.value.code == "insiders"
        assert 'insiders="off"' in str(caught.value)
    else:
        done = find_pattern(problem, "fast", insiders=insiders)
        assert done.hidden.astype(int).tolist() == hidden
