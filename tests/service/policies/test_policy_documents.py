"""Policies as signed documents: nothing is left open, changed or taken from elsewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.release.packages.keys import public_bytes
from discreet_service.policies import PolicyDocument, PolicyError, sign_policy
from discreet_service.policies.document import RULES, signed_policy
from tests.helpers.policy_cases import POLICY, SIGNING, signed_file
from tests.helpers.rows import for_all_rows

TRUSTED = [public_bytes(SIGNING)]


def test_a_signed_policy_is_read(tmp_path: Path) -> None:
    found = signed_policy(signed_file(tmp_path), TRUSTED).document
    assert found.exposure.everywhere == 6.4
    assert found.digest == PolicyDocument.of_text("# a remark\n" + POLICY).digest


def test_a_changed_unsigned_or_foreign_one_is_refused(tmp_path: Path) -> None:
    place = signed_file(tmp_path)
    with pytest.raises(PolicyError, match="not trusted"):
        signed_policy(place, [public_bytes(Ed25519PrivateKey.generate())])
    place.write_text(POLICY.replace("most = 4", "most = 9"), "utf-8")
    with pytest.raises(PolicyError, match="the policy changed after signing"):
        signed_policy(place, TRUSTED)
    signature = place.with_name("POLICY.toml.sig")
    for damaged in ("", "ed25519", "ed25519 zz zz", "rsa " + signature.read_text()[8:]):
        signature.write_text(damaged)
        with pytest.raises(PolicyError):
            signed_policy(place, TRUSTED)
    signature.unlink()
    with pytest.raises(PolicyError, match="not signed"):
        signed_policy(place, TRUSTED)


def _limits() -> list[str]:
    document = tomllib.loads(POLICY)
    single = [name for name, value in document.items() if not isinstance(value, dict)]
    nested = [
        f"{section}.{name}"
        for section, value in document.items()
        if isinstance(value, dict)
        for name in value
    ]
    return single + nested


@for_all_rows("name", _limits())
def test_no_limit_has_a_default(name: str) -> None:
    last = name.rpartition(".")[2]
    section = name.rpartition(".")[0]
    head, mark, body = POLICY.partition(f"[{section}]" if section else "\ndataset")
    text = head + mark + re.sub(rf"(?m)^{last} = .*\n", "", body, count=1)
    if not section:
        text = re.sub(rf"(?m)^{last} = .*\n", "", POLICY, count=1)
    assert text != POLICY
    with pytest.raises(PolicyError) as refused:
        PolicyDocument.of_text(text)
    assert last in str(refused.value)


@for_all_rows(
    ("old", "new", "told"),
    [
        ('"P9"]', '"P9", "P9"]', "rules must name each rule once; missing"),
        ('"P4", ', "", "missing: P4"),
        (
            "cells_instant = 10000",
            "cells_instant = 6000000",
            "size: cells_job must not be below cells_instant",
        ),
        ("least = 50", "least = 14", "small_universes: least must not exceed 14, the limit of"),
        ("blur = 2", "blur = 11", "the blur must not exceed the least difference"),
        ("district = 6.4, ", "", "name the same levels"),
        ("stop = 10,", "stop = 2,", "stop must not be below alert"),
        ("least = 10\n", 'least = "10"\n', "valid integer"),
        ("blur = 2", "blur = 2\nlenient = true", "not permitted"),
        ("window_hours = 720", "window_hours = 0", "greater than or equal"),
    ],
)
def test_mistakes_are_told(old: str, new: str, told: str) -> None:
    assert old in POLICY
    with pytest.raises(PolicyError, match=told):
        PolicyDocument.of_text(POLICY.replace(old, new, 1))


def test_all_mistakes_are_told_at_once() -> None:
    text = POLICY.replace("most = 4", "most = -1").replace("blur = 2", "blur = 40")
    with pytest.raises(PolicyError) as refused:
        PolicyDocument.of_text(text)
    assert len(refused.value.problems) == 2


def test_a_policy_that_cannot_be_used_is_not_signed(tmp_path: Path) -> None:
    place = tmp_path / "POLICY.toml"
    place.write_text(POLICY.replace("blur = 2", ""), "utf-8")
    with pytest.raises(PolicyError):
        sign_policy(place, SIGNING)
    assert not place.with_name("POLICY.toml.sig").exists()


def test_what_is_public_says_nothing_of_noise_or_people() -> None:
    shown = PolicyDocument.of_text(POLICY).public()
    assert list(RULES) == shown["rules"]
    said = repr(shown)
    for secret in ("6.4", "exposure", "small", "differences", "sparsity", "patterns", "alarm"):
        assert secret not in said
