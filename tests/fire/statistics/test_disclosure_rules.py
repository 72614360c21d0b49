"""The rules by themselves: each at its border, and what need not be looked at again."""

from discreet_fire.statistics.disclosure_rules import MANY, REASONS, Facts, Found, broken, checks_of
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.results import CheckVerdict
from tests.helpers.rows import for_all_rows

WIDE = SafeLimits(k=99, p=1)


def facts(**changed: object) -> Facts:
    """Twenty cases that no rule is about."""
    usual = {
        "n": 20, "cases": 20, "weight": 20.0, "low": 1.0, "high": 5.0, "mean": 3.0,
        "squares": 320.0, "size": 60.0, "first": 5.0, "second": 5.0, "held": 4, "differing": 16,
    }  # fmt: skip
    return Facts(**(usual | changed))  # type: ignore[arg-type]


def test_rules_break_at_their_borders() -> None:
    limits = SafeLimits(k=80, p=25)
    assert broken(facts(), limits) == frozenset()
    assert broken(facts(cases=0), limits) == frozenset()
    assert broken(facts(cases=2), limits) == {"minimum"}
    assert broken(facts(cases=3), limits) == frozenset()
    assert broken(facts(high=1.0), limits) == {"same"}
    # Two differ from a value that three share: each of the two could tell the other's.
    assert broken(facts(differing=2, held=3), limits) == {"alike"}
    assert broken(facts(differing=3, held=3), limits) == frozenset()
    assert broken(facts(differing=2, held=2), limits) == frozenset()
    assert broken(facts(first=30.0, second=18.1), limits) == {"dominance"}
    assert broken(facts(first=30.0, second=18.0), limits) == frozenset()


@for_all_rows(
    ("heavy", "breaks"),
    [
        ((100.0, 95.0, 1.0), True),
        ((100.0, 40.0, 41.0), True),
        ((100.0, 40.0, 39.0), False),
        ((0.0, 0.0, 0.0), False),
        ((0.5, 0.4, 0.1), True),
    ],
)
def test_a_sum_of_weights_is_a_sum_too(heavy: tuple[float, float, float], breaks: bool) -> None:
    """Who has nearly all of the weight could be told by it."""
    assert broken(facts(heavy=heavy), SafeLimits(k=80, p=1)) == ({"weights"} if breaks else set())


def test_checks_name_variables_and_the_rules_that_weigh_most_first() -> None:
    """A place with its rule would narrow down what is withheld there."""
    found = [
        Found("secondary", "b", "b = 2"),
        Found("minimum", "b", "b = 1"),
        Found("minimum", "b", "b = 3"),
        Found("dominance", "a"),
    ]
    checks = checks_of(found, ["minimum", "same", "bins"])
    assert [(one.rule, one.where, one.verdict) for one in checks] == [
        ("dominance", "a", CheckVerdict.fail),
        ("minimum", "b", CheckVerdict.fail),
        ("secondary", "b", CheckVerdict.fail),
        ("same", "", CheckVerdict.passed),
        ("bins", "", CheckVerdict.passed),
    ]
    assert not any("=" in one.where for one in checks)
    merged, withheld = checks_of([Found("bins", "x"), Found("same", "x")], [])[::-1]
    assert (merged.rule, merged.verdict) == ("bins", CheckVerdict.passed)
    assert (withheld.rule, withheld.verdict) == ("same", CheckVerdict.fail)
    assert withheld.reason == REASONS["same"]


def test_many_is_more_than_any_rule_asks_for() -> None:
    assert broken(facts(differing=MANY, held=10**6), SafeLimits(minimum=10**6)) == {"minimum"}
    assert "=" not in repr(facts()), "no values"
    assert facts(mean=3.0, weight=20.0).total == 60.0
