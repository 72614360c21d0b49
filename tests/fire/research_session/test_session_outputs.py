"""What a session shows, and that what it hides is in nothing that can leave the process."""

import pickle
import warnings

import pandas as pd
import polars as pl
import pytest

import discreet_fire as fire
from discreet.errors import DisclosureWarning, OutputCheckError
from discreet_fire.research_session import ResearchSession
from discreet_fire.statistics import CheckVerdict, SafeLimits
from tests.helpers.session_parts import COUNTIES, GIANT, people


@pytest.fixture
def session() -> ResearchSession:
    return fire.session("P17", data=people(), entity="pid")


def test_small_cells_are_hidden_and_said_why(session: ResearchSession) -> None:
    shown = session.crosstab("county", "sex")
    assert shown.verdict is CheckVerdict.fail
    assert "cells are suppressed: too few cases (county, sex)" in shown.summary
    frame = shown.frame
    assert frame is not None
    cell = frame.filter(county="e2", sex="f")["n"].item()
    assert cell is None
    assert frame.filter(county="e1", sex="Total")["n"].item() == sum(COUNTIES["e1"])


def test_what_is_hidden_is_in_no_form_of_an_output(session: ResearchSession) -> None:
    shown = session.crosstab(["county", "sex"], values="wage", statistics=["mean", "sum", "sd"])
    forms = [str(shown), repr(shown), shown._repr_html_(), shown.table.csv(), str(vars(shown))]
    told = "".join(forms) + pickle.dumps(shown).decode("latin-1")
    for secret in (GIANT, 2 * GIANT):
        for text in (f"{secret}", f"{secret:.0f}", f"{secret:,.2f}"):
            assert text not in told
    again = pickle.loads(pickle.dumps(shown))
    assert again.text == shown.text
    assert again.verdict is shown.verdict
    assert "<i>hidden</i>" in shown._repr_html_()


def test_sessions_and_evidence_are_not_pickled(session: ResearchSession) -> None:
    session.crosstab("county", "sex")
    with pytest.raises(TypeError, match="does not leave the process"):
        pickle.dumps(session)
    assert "<ResearchSession P17: 1 outputs>" in repr(session)


def test_percentages_are_of_what_is_shown(session: ResearchSession) -> None:
    table = session.crosstab("county", "sex", percent="row").table
    assert table is not None
    counts, shares = table.measures["n"], table.measures["row %"]
    for at, (n, share) in enumerate(zip(counts, shares, strict=True)):
        total = counts[at - at % 3 + 2]
        if n is None or total is None:
            assert share is None
        else:
            assert share == pytest.approx(100 * n / total)
    assert table.hidden >= 2


def test_a_hidden_total_hides_its_percentages(session: ResearchSession) -> None:
    table = session.crosstab("region", "sex", percent="row").table
    assert table is not None
    assert not table.hidden
    left = table.without({2})  # the total of the first region
    assert left.measures["row %"][:3] == (None, None, None)
    assert left.measures["n"][:2] == table.measures["n"][:2]


def test_linked_tables_are_told_at_once(session: ResearchSession) -> None:
    session.crosstab("county", "sex")
    with pytest.warns(DisclosureWarning, match="sex = f"):
        second = session.crosstab("region", "sex")
    assert second.verdict is CheckVerdict.review
    assert any("also withhold" in one for one in second.reasons)
    # the frequencies of sex alone tell nothing new, and no warning is given twice
    with warnings.catch_warnings():
        warnings.simplefilter("error", DisclosureWarning)
        session.crosstab("married")


def test_protect_hides_what_gives_cells_away(session: ResearchSession, tmp_path) -> None:
    session.crosstab("county", "sex")
    with pytest.warns(DisclosureWarning):
        session.crosstab("region", "sex")
    with pytest.raises(OutputCheckError, match="linked") as told:
        session.finalise(tmp_path / "out")
    assert "s.protect()" in str(told.value)
    with pytest.raises(OutputCheckError, match="follows from"):
        session.to_sacro(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    changed = session.protect()
    assert changed
    assert all(one.table.hidden for one in changed)
    assert "other tables" in changed[0].summary
    with warnings.catch_warnings():
        warnings.simplefilter("error", DisclosureWarning)
        session.summary("age")  # what was hidden stays so for what comes after
    session.finalise(tmp_path / "out")
    assert not session.check().linked


def test_hidden_cells_have_no_mark_in_a_figure(session: ResearchSession) -> None:
    table = session.crosstab("county", "sex")
    figure = session.figure(table, "bar")
    # of ten inner cells the hidden ones have no bar; one rectangle is the ground, two the key
    hidden = sum(
        n is None
        for row in table.frame.rows(named=True)
        if "Total" not in (row["county"], row["sex"])
        for n in [row["n"]]
    )
    assert figure.svg.count("<rect") == 10 - hidden + 3
    assert "hidden" in figure.svg
    session.remove(table)
    assert session.output(2).svg == figure.svg


def test_comments_names_exceptions_and_removal(session: ResearchSession) -> None:
    first = session.crosstab("region", "sex")
    assert session.rename(first, "women by region").name == "women by region"
    session.comment("women by region", "for table 3")
    session.request_exception(1, "in the yearbook")
    now = session.output(1)
    assert (now.comment, now.exception) == ("for table 3", "in the yearbook")
    assert "Exception asked for: in the yearbook" in now._repr_html_()
    second = session.summary("wage")
    with pytest.raises(OutputCheckError, match="another output has this name"):
        session.rename(second, "Women by region")
    for wrong in ("../x", "", "a/b", "x" * 70, "a\nb", ".txt"):
        with pytest.raises(OutputCheckError, match="name"):
            session.rename(second, wrong)
    session.remove(second)
    with pytest.raises(OutputCheckError, match="output not found"):
        session.comment(second, "gone")
    assert session.crosstab("sex").number == 3  # numbers are never used again


def test_the_check_has_the_supporting_counts(session: ResearchSession) -> None:
    session.crosstab("region", "sex")
    session.crosstab("county")
    found = session.check()
    assert [one.fewest for one in found.outputs] == [25, 27]
    assert not found.advice
    session.crosstab("county", "sex", where="age < 60")
    assert "s.comment(3" in str(session.check())


@pytest.mark.parametrize(
    ("method", "given", "what"),
    [
        ("crosstab", {"rows": "nothing"}, "variable not found"),
        ("crosstab", {"rows": ["sex", "sex"]}, "each once"),
        ("crosstab", {"rows": object()}, "an argument cannot be a object"),
        ("crosstab", {"rows": people()["sex"].head(3)}, "not of the records"),
        ("crosstab", {"rows": "sex", "percent": "all"}, "percentages"),
        ("crosstab", {"rows": "sex county region married"}, "one to three"),
        ("summary", {"variables": "sex"}, "does not hold numbers"),
        ("ols", {"formula": "wage ~ age ^ 2"}, "a formula cannot hold"),
        ("ols", {"formula": "wage ~ age", "nothing": 1}, "nothing"),
        ("hist", {"variable": "wage", "edges": [3, 1]}, "ascending"),
        ("figure", {"output": 7}, "output not found"),
    ],
)
def test_bad_input_is_told_clearly(
    session: ResearchSession, method: str, given: dict[str, object], what: str
) -> None:
    with pytest.raises(OutputCheckError, match=what):
        getattr(session, method)(**given)
    assert not session.outputs


def test_models_are_withheld_as_a_whole(session: ResearchSession) -> None:
    shown = session.ols("wage ~ C(county)*C(sex)")
    assert shown.verdict is CheckVerdict.fail
    assert "withheld" in shown.summary
    assert str(GIANT) not in pickle.dumps(shown).decode("latin-1")
    assert "987" not in shown.text


def test_a_centre_sets_its_own_rules(tmp_path) -> None:
    rules = tmp_path / "limits.toml"
    rules.write_text("[limits]\nminimum = 25\n")
    strict = fire.session("P17", data=people(), limits=rules)
    assert strict.crosstab("county", "sex").table.hidden > 4
    with pytest.raises(OutputCheckError, match="limits are SafeLimits"):
        fire.session("P17", data=people(), limits=3)  # type: ignore[arg-type]
    assert "secret" in repr(SafeLimits())


def test_columns_that_cannot_be_read_are_refused_when_they_are_used() -> None:
    mixed = pd.DataFrame({"a": [1, "x", None] * 10, "b": ["u", "v", "v"] * 10})
    opened = fire.session("P17", data=mixed)
    assert opened.crosstab("b").verdict is CheckVerdict.passed
    with pytest.raises(Exception, match="different types"):
        opened.crosstab("a")


def test_a_single_count_of_few_is_hidden() -> None:
    few = fire.session("P17", data=pl.DataFrame({"x": [1.0, 2.0]}))
    shown = few.summary("x")
    assert shown.table.measures["n"] == (None,)


def test_a_category_that_is_called_as_the_total_is_refused() -> None:
    data = pl.DataFrame({"sex": ["Total"] * 5 + ["m"] * 6})
    with pytest.raises(OutputCheckError, match="the same label"):
        fire.session("P17", data=data).crosstab("sex")


def test_a_session_ends(session: ResearchSession) -> None:
    session._last = 999
    with pytest.raises(OutputCheckError, match="at most 999 outputs"):
        session.crosstab("sex")
