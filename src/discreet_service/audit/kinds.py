"""Kinds: the acts that the trail tells of, and what must be told of each. Texts that could be taken
for something else on a screen or in a file are refused.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from discreet_service.problems import ServiceError

#: What a fact can be.
FactValue = str | int | bool | None | Sequence[str]

_LONGEST_TEXT, _LONGEST_FACTS = 10_000, 50_000
#: Letters that show nothing, although they count as printable.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class AuditKind(StrEnum):
    """Everything that the trail tells of.

    Each kind names the facts that an entry of it must have; none has them by default.

    >>> AuditKind.role_granted.needs
    ('role', 'dataset')
    """

    needs: tuple[str, ...]

    def __new__(cls, value: str, needs: tuple[str, ...]) -> Self:
        """A kind of a name, with the facts it needs."""
        made = str.__new__(cls, value)
        made._value_, made.needs = value, needs
        return made

    service_started = ("service_started", ("version",))
    service_stopped = ("service_stopped", ())
    backup_made = ("backup_made", ("seq", "digest"))
    backup_restored = ("backup_restored", ("seq", "digest"))

    login = ("login", ("method",))
    login_refused = ("login_refused", ("method",))
    logout = ("logout", ())
    user_created = ("user_created", ())
    user_disabled = ("user_disabled", ())
    user_enabled = ("user_enabled", ())
    password_reset = ("password_reset", ())
    password_changed = ("password_changed", ())
    role_granted = ("role_granted", ("role", "dataset"))
    role_withdrawn = ("role_withdrawn", ("role", "dataset"))
    key_created = ("key_created", ("key", "expires"))
    key_revoked = ("key_revoked", ("key",))
    limits_changed = ("limits_changed", ("limit", "value"))

    proposed = ("proposed", ("kind", "proposal", "digest"))
    approved = ("approved", ("kind", "proposal", "digest"))
    rejected = ("rejected", ("kind", "proposal"))
    proposal_withdrawn = ("proposal_withdrawn", ("kind", "proposal"))
    proposal_expired = ("proposal_expired", ("kind", "proposal"))

    parameters_imported = ("parameters_imported", ("version", "digest", "signer"))
    parameters_activated = ("parameters_activated", ("version", "digest", "proposal"))
    parameters_retired = ("parameters_retired", ("version", "digest", "proposal"))
    policy_changed = ("policy_changed", ("version", "digest", "signer", "proposal"))
    dataset_published = ("dataset_published", ("version", "fingerprint"))
    dataset_retired = ("dataset_retired", ("version",))
    refusal_overridden = ("refusal_overridden", ("rule", "digest", "proposal"))
    refusal_explained = ("refusal_explained", ("digest",))

    programme_uploaded = ("programme_uploaded", ("digest",))
    release_published = ("release_published", ("digest",))
    publication_undone = ("publication_undone", ("digest",))
    outputs_submitted = ("outputs_submitted", ("digest",))
    output_decided = ("output_decided", ("decision",))
    outputs_released = ("outputs_released", ("digest",))
    outputs_fetched = ("outputs_fetched", ("file", "digest"))
    report_exported = ("report_exported", ("report", "digest"))
    design_exported = ("design_exported", ("version",))
    draft_signed = ("draft_signed", ("version", "signer"))
    draft_looked_at = ("draft_looked_at", ("version",))
    true_values_shown = ("true_values_shown", ("unit", "by", "cells"))
    job_released = ("job_released", ("kind", "digest", "bytes"))

    trail_verified = ("trail_verified", ("entries", "whole"))
    trail_exported = ("trail_exported", ("entries",))
    head_signed = ("head_signed", ("seq", "digest", "key_id"))
    log_read = ("log_read", ())
    log_pseudonymised = ("log_pseudonymised", ("before", "rows"))
    log_deleted = ("log_deleted", ("before", "rows"))


def facts_text(kind: AuditKind, facts: Mapping[str, Any] | None) -> str:
    """The facts of an entry as one text, the same for the same facts.

    >>> facts_text(AuditKind.login, {"method": "oidc"})
    '{"method":"oidc"}'
    >>> facts_text(AuditKind.login, {})
    Traceback (most recent call last):
        ...
    ValueError: an entry of the kind login needs: method
    """
    values = dict(facts or {})
    missing = [name for name in kind.needs if values.get(name) is None]
    if missing:
        # A mistake of the program, not of whoever asks.
        raise ValueError(f"an entry of the kind {kind.value} needs: {', '.join(missing)}")
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = shown_text(value, name)
        elif isinstance(value, list | tuple):
            values[name] = [shown_text(item, name) for item in value]
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) > _LONGEST_FACTS:
        raise ServiceError("too many facts", "invalid-input", "facts")
    return text


def shown_text(text: str, where: str, longest: int = _LONGEST_TEXT) -> str:
    r"""A text of which every character shows, on one line; an error if it is none.

    >>> shown_text("Zensus 2022", "about")
    'Zensus 2022'
    >>> shown_text("anna\n2 role_granted", "about")
    Traceback (most recent call last):
        ...
    discreet_service.problems.ServiceError: [invalid-input] about: this holds characters that ...
    """
    plain = unicodedata.normalize("NFC", text)
    if len(plain) > longest:
        raise ServiceError(f"longer than {longest:,} characters", "invalid-input", where)
    if not plain.isprintable() or _UNSEEN.search(plain):
        message, hint = "contains invisible or misleading characters", "write it on one line"
        raise ServiceError(message, "invalid-input", where, hint)
    return plain
