"""The usual calls of acro and pandas on real columns work in a session, and stay safe."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet_fire as fire
from discreet.errors import DisclosureWarning, OutputCheckError
from discreet_fire.queue import Submission, submit, view
from discreet_fire.research_session import ResearchSession
from tests.helpers.queue_parts import new_queue
from tests.helpers.rows import for_all_rows


def records(size: int = 400) -> pd.DataFrame:
    """Made-up records of persons."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "year": draw.choice([2010, 2011, 2012], size),
            "sex": draw.choice(["f", "m"], size),
            "region": draw.choice(list("abcd"), size),
            "wage": (draw.gamma(4, 500, size) + 100).round(2),
            "age": draw.integers(20, 60, size).astype(float),
            "days": draw.integers(1, 90, size).astype(float),
        }
    )
    frame["ill"] = (draw.random(size) < 1 / (1 + np.exp(2 - frame.age / 30))).astype(int)
    frame["dead"] = (draw.random(size) < 0.5).astype(int)
    frame["kind"] = frame.region.astype("category")
    return frame


DATA = records()
ARRAYS = DATA[["age", "year"]].copy()
ARRAYS.insert(0, "const", 1.0)
#: As researchers write them: `s` is the session, `df` the data.
CALLS = (
    "s.crosstab(df.year, df.sex)",
    "s.crosstab('year', 'sex')",
    "s.crosstab(df['year'], df['sex'])",
    "s.crosstab([df.year, df.region], df.sex)",
    "s.crosstab(df.kind, df.sex)",
    "s.crosstab(df.year, df.sex, margins=True, margins_name='All')",
    "s.crosstab(df.year, df.sex, normalize='index')",
    "s.crosstab(df.year, df.sex, normalize='columns')",
    "s.crosstab(df.year, df.sex, normalize=True)",
    "s.crosstab(df.year, df.sex, values=df.wage, aggfunc='mean')",
    "s.crosstab(df.year, df.sex, df.wage, aggfunc='mean')",
    "s.crosstab(df.year, df.sex, values=df.wage, aggfunc=['mean', 'std'])",
    "s.crosstab(df.year, df.sex, values=df.wage, aggfunc='count')",
    "s.crosstab(df.year, df.sex, values=df.wage, aggfunc=np.mean)",
    "s.crosstab(df.year, df.sex, dropna=False)",
    "s.crosstab(df.year, df.sex, rownames=['y'], colnames=['s'])",
    "s.crosstab(df.year, df.sex, rounding=5)",
    "s.crosstab((df.age > 40).rename('old'), df.sex)",
    "s.pivot_table(df, values='wage', index='sex', aggfunc='mean')",
    "s.pivot_table(df, index=['region'], values=['wage'], aggfunc=['mean', 'std'])",
    "s.pivot_table(df, index=['region'], values=['wage', 'age'])",
    "s.pivot_table(df, values='wage', index='region', columns='sex', aggfunc='sum')",
    "s.pivot_table(data=df, values='wage', index='region', aggfunc='median', margins=True)",
    "s.pivot_table(df, values='wage', columns='region')",
    "s.ols('wage ~ age + C(region)', data=df)",
    "s.olsr(formula='wage ~ age', data=df)",
    "s.ols(df.wage, arrays)",
    "s.ols('np.log(wage) ~ age + I(age**2)', data=df)",
    "s.ols('wage ~ np.log(days) + I(age**2)', data=df)",
    "s.ols('wage ~ age * C(sex)', data=df)",
    "s.logit(df.ill, arrays)",
    "s.logitr(formula='ill ~ age + sex', data=df)",
    "s.probit(df.ill, arrays)",
    "s.probitr('ill ~ age', data=df)",
    "s.hist(df, 'wage')",
    "s.hist(df.wage)",
    "s.pie(df, 'region')",
    "s.pie(df.region)",
    "s.surv_func(df.days, df.dead, output='table')",
    "s.survival(df.days, df.dead)",
)


def run(call: str, session: ResearchSession) -> None:
    eval(call, {"s": session, "df": DATA, "arrays": ARRAYS, "np": np})


def begun() -> ResearchSession:
    return fire.session("P17", data=DATA)


@for_all_rows("call", CALLS)
def test_the_usual_call_works(call: str) -> None:
    session = begun()
    run(call, session)
    (output,) = session.outputs
    assert output.verdict.value in str(output)
    assert "withheld" not in output.summary
    assert output.text


def test_there_are_forty_and_what_is_done_with_outputs_works_too(tmp_path: Path) -> None:
    assert len(CALLS) >= 40
    session = begun()
    for at in (0, 34, 36, 18, 25):
        run(CALLS[at], session)
    (tmp_path / "own.txt").write_text("Gini 0.31\n")
    session.custom_output(tmp_path / "own.txt", "by hand")
    session.rename_output("output_0", "years by sex")
    session.add_comments("output_1", "for figure 1")
    session.add_exception("output_2", "all values are public")
    session.remove_output("output_3")
    session.print_outputs()
    session.enable_suppression()
    with pytest.warns(DisclosureWarning, match="stay suppressed"):
        session.disable_suppression()
    assert [one.name for one in session.outputs][:2] == ["years by sex", "hist-2"]
    assert (session.finalise(tmp_path / "acro", "json") / "results.json").is_file()
    assert session.finalise(tmp_path / "own").is_dir()


def test_columns_give_what_their_names_give() -> None:
    session = begun()
    by_name, by_column = session.crosstab("year", "sex"), session.crosstab(DATA.year, DATA["sex"])
    assert by_name.text == by_column.text
    assert by_name.call == by_column.call
    counts = pd.crosstab(DATA.year, DATA.sex, margins=True)
    assert by_column.frame is not None
    assert by_column.frame["n"].to_list() == counts.to_numpy().ravel().tolist()


def test_a_formula_with_expressions_is_the_model_of_these() -> None:
    output = begun().ols("np.log(wage) ~ np.log(days) + I(age**2)", data=DATA)
    assert output.frame is not None
    columns = np.column_stack([np.log(DATA.days), DATA.age**2, np.ones(len(DATA))])
    expected = np.linalg.lstsq(columns, np.log(DATA.wage), rcond=None)[0]
    shown = output.frame.select("coefficient").to_series().to_list()
    assert np.allclose(sorted(shown), sorted(expected), rtol=1e-5)


def test_a_u_shape_is_tested_as_the_safe_statistic_does(tmp_path: Path) -> None:
    frame = DATA.assign(gain=(DATA.age - 38) ** 2 + DATA.days)
    session = fire.session("P17", data=frame)
    output = session.utest("gain ~ age + I(age**2) + C(sex)", "age", interval=(25, 55))
    same = fire.statistics.utest(frame, "gain", "age", ["i.sex"], interval=(25, 55))
    assert same.shown in output.text
    assert "vs. H0: Monotone or Inverse U shape" in output.text
    assert session.utest("gain ~ age + C(sex)", frame.age, interval=[25, 55]).text == output.text
    with pytest.raises(OutputCheckError, match="right of ~"):
        session.utest("gain ~ days", "age")
    # Without ends the smallest and largest age would be them: they are not shown.
    assert (
        "Interval         |             .                ."
        in session.utest("gain ~ age", "age").text
    )
    frame.to_parquet(tmp_path / "frame.parquet")
    folder = session.finalise(tmp_path / "own")
    with new_queue(tmp_path) as queue:
        handed = Submission(program=folder, researcher="Weber", data=(tmp_path / "frame.parquet",))
        assert not [one for one in view(queue, submit(queue, handed)).findings
                    if one.severity.value == "error"]  # fmt: skip


@pytest.mark.parametrize(
    "formula",
    [
        "wage ~ I(age == 41)",
        "wage ~ np.where(age > 58, 1, 0)",
        "wage ~ I(__import__('os').system('true'))",
        "wage ~ np.log(sex)",
        "wage ~ np.log(age",
        "wage ~ np.log(nobody)",
        "I(age if age > 3 else 0) ~ days",
    ],
)
def test_an_expression_holds_arithmetic_only(formula: str) -> None:
    with pytest.raises(OutputCheckError):
        begun().ols(formula, data=DATA)


def test_rounded_counts_are_multiples_and_none_is_hidden() -> None:
    few = DATA.copy()
    few.loc[few.index[:2], "region"] = "z"
    session = fire.session("P17", data=few)
    hidden, rounded = session.crosstab("region"), session.crosstab("region", rounding=5)
    assert hidden.table is not None
    assert rounded.table is not None
    assert hidden.table.hidden
    assert not rounded.table.hidden
    numbers = rounded.table.measures["n"]
    assert all(one is not None and one % 5 == 0 for one in numbers)
    assert dict(zip(rounded.table.axes[0][1], numbers, strict=True))["z"] == 0
    assert rounded.verdict.value == "review"
    with pytest.raises(OutputCheckError, match="multiples of 5 or more"):
        session.crosstab("region", rounding=4)
    with pytest.raises(OutputCheckError, match="without weights"):
        session.crosstab("region", values="wage", rounding=5)


def test_a_column_of_other_records_is_refused_and_a_made_one_is_for_review() -> None:
    session = begun()
    with pytest.raises(OutputCheckError, match="not of the records"):
        session.crosstab(DATA[DATA.age > 40].year, DATA[DATA.age > 40].sex)
    wage = DATA.wage.where(DATA.index == 3)
    single = session.summary(wage)
    assert single.verdict.value == "fail"
    assert f"{DATA.wage[3]}" not in str(single)
    made = session.crosstab((DATA.age > 40).rename("old"), DATA.sex)
    assert made.verdict.value == "review"
    assert "created in the notebook" in made.summary
    assert session.crosstab("year").verdict.value == "pass"


def test_a_pie_has_no_slice_for_what_is_hidden() -> None:
    few = DATA.copy()
    few.loc[few.index[:2], "region"] = "z"
    pie = fire.session("P17", data=few).pie(few, "region")
    assert pie.table is not None
    shown = sum(one is not None for one in pie.table.measures["n"][:-1])
    assert pie.svg.count("<path") == shown < 5
    assert ">z: " not in pie.svg
    session = begun()
    crossed = session.crosstab("region", "sex")
    with pytest.raises(OutputCheckError, match="a pie is of one variable"):
        session.figure(crossed, "pie")


def test_an_own_output_is_for_review_and_pictures_are_refused(tmp_path: Path) -> None:
    session = begun()
    (tmp_path / "own.txt").write_text("Gini 0.31\n")
    assert session.custom_output(tmp_path / "own.txt").verdict.value == "review"
    (tmp_path / "own.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff")
    with pytest.raises(OutputCheckError, match="not a text file"):
        session.custom_output(tmp_path / "own.png")


def test_the_queue_repeats_the_calls_and_says_what_cannot_be_repeated(tmp_path: Path) -> None:
    session = fire.session("P17", data=DATA)
    session.crosstab(DATA.year, DATA.sex)
    session.ols("np.log(wage) ~ age", data=DATA)
    session.crosstab(DATA.year, rounding=5)
    session.pie(DATA, "region")
    (tmp_path / "own.txt").write_text("Gini 0.31\n")
    session.custom_output(tmp_path / "own.txt")
    session.crosstab((DATA.age > 40).rename("old"))
    folder = session.finalise(tmp_path / "handed")
    DATA.drop(columns="kind").to_csv(tmp_path / "people.csv", index=False)
    with new_queue(tmp_path) as queue:
        handed = Submission(program=folder, researcher="Weber", data=(tmp_path / "people.csv",))
        findings = view(queue, submit(queue, handed)).findings
    again = [one.line for one in findings if one.rule == "repeated"]
    assert sorted(again) == [1, 2, 3, 4, 5]
    assert [one.line for one in findings if one.rule == "not-repeated"] == [6]
    reviewed = {one.line for one in findings if one.severity.value == "review"}
    assert {3, 5, 6} <= reviewed
