"""Policies in sentences: each limit has one in both languages, and changes have a direction."""

from __future__ import annotations

import re
from typing import Literal

from discreet_service.policies import PolicyDocument, policy_differences, policy_sentences
from tests.helpers.policy_cases import POLICY
from tests.helpers.rows import for_all_rows

DOCUMENT = PolicyDocument.of_text(POLICY)


@for_all_rows("language", ["en", "de"])
def test_every_limit_has_a_sentence_with_its_number(language: Literal["en", "de"]) -> None:
    sentences = policy_sentences(DOCUMENT, language)
    dumped = str(DOCUMENT.model_dump(mode="json"))
    for one in sentences:
        assert "{" not in one.text
        assert one.place.rpartition(".")[2] in dumped
        if isinstance(one.value, int):
            assert str(one.value) in re.sub(r"[,\u202f]", "", one.text), one
    assert {one.rule for one in sentences} == {f"P{number}" for number in range(1, 10)}
    texts = [one.text for one in sentences]
    assert len(set(texts)) == len(texts)
    # Callers may know none of what tells of the noise.
    public = {one.place.partition(".")[0] for one in sentences if one.public}
    assert public == {"size", "variables", "custom_groups", "rates"}


def test_the_same_policy_has_no_differences() -> None:
    later = PolicyDocument.of_text(re.sub("revision = .*", "revision = 99", POLICY))
    assert policy_differences(DOCUMENT, later, "en") == []


@for_all_rows(
    ("old", "new", "place", "direction"),
    [
        ("cells_job = .*", "cells_job = 999999999", "size.cells_job", "looser"),
        ("burst = .*", "burst = 1", "rates.burst", "stricter"),
        ("most = .*", "most = 1", "variables.most", "stricter"),
        (r"(\[small_universes\]\nleast =) .*", r"\1 99", "small_universes.least", "stricter"),
        ("share_small = .*", "share_small = 0.01", "sparsity.share_small", "stricter"),
        ("contact = .*", 'contact = "somebody"', "patterns.contact", ""),
    ],
)
def test_changes_tell_what_callers_notice(old: str, new: str, place: str, direction: str) -> None:
    other = PolicyDocument.of_text(re.sub(old, new, POLICY, count=1))
    [found] = policy_differences(DOCUMENT, other, "en")
    assert (found.place, found.direction) == (place, direction)
    assert found.before != found.after
