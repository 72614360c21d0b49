"""Verdicts: a report is as good as its worst number, and what was not examined is not safe."""

from typing import Any

from discreet_service.studio.verdicts import answers_verdict, release_verdict
from tests.helpers.rows import for_all_rows

_NOTHING = {"average": 0.4, "determined": 0.001, "twins": 0, "contradictions": 0, "shared": 0,
            "official": 0, "whole": 0, "uncounted": 0}  # fmt: skip


def _told(quality: Any = None, **attacks: Any) -> dict[str, Any]:
    return {"attacks": _NOTHING | attacks, "quality": quality, "warnings": []}


@for_all_rows(
    ("found", "answer", "reason"),
    [
        ({}, "yes", "No attack found anything that can be disclosed."),
        ({"twins": 2}, "no", "Pairs of tables that differ by few units: 2."),
        ({"average": 0.7}, "no", "Highest success rate of averaging: 70 %."),
        ({"determined": 0.02}, "no", "Highest share of exactly determined counts: 2.0 %."),
        ({"official": 3}, "yes, after a look at these points", "Exempt totals of few parts: 3."),
        ({"average": None}, "not examined", "Highest success rate of averaging: unknown."),
        # What is bad is said, whatever else is not known.
        ({"average": None, "twins": 1}, "no", "Pairs of tables that differ by few units: 1."),
    ],
)
def test_answer_of_a_release(found: dict[str, Any], answer: str, reason: str) -> None:
    verdict = release_verdict(_told(**found), "en")
    assert verdict.heads[f"answer_{verdict.grade}"] == answer
    assert verdict.reasons[0].startswith(reason)


def test_what_was_not_attacked_is_not_safe() -> None:
    verdict = release_verdict({"attacks": None, "quality": None, "warnings": []}, "en")
    assert (verdict.grade, verdict.look) == ("unknown", "care")
    assert verdict.reasons == ["The release was not attacked: it has no noise, or is too large."]


def test_each_number_says_what_is_good_and_what_follows_if_not() -> None:
    for language in ("en", "de"):
        told = _told(quality={"shown": {"blocked": 1}})
        for verdict in (release_verdict(told, language), answers_verdict(0.2, (0, 0), language)):
            for one in verdict.measures:
                assert verdict.heads[one.name]
                assert verdict.heads[f"{one.name}_good"]
                assert verdict.heads[f"{one.name}_bad"].endswith(".")


@for_all_rows(
    ("exposure", "alarms", "answer"),
    [
        (0.2, (0, 0), "yes"),
        (0.8, (0, 0), "yes, after a look at these points"),
        (1.0, (0, 0), "no"),
        (0.2, (1, 0), "yes, after a look at these points"),
        (0.2, None, "yes"),
        (None, (0, 0), "not examined"),
    ],
)
def test_answer_of_a_data_version(exposure: Any, alarms: Any, answer: str) -> None:
    verdict = answers_verdict(exposure, alarms, "en")
    assert verdict.heads[f"answer_{verdict.grade}"] == answer
