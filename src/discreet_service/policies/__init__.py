"""Policies: what may be asked of a data version, by rules that its custodians signed.

In: an `AskedTable`, who asks, and what was released before. Out: a `Verdict`. What a refusal says
never depends on a true count.

- `PolicyDocument`, `sign_policy`: the signed document; `PoliciesInForce`: which one holds
- `Policies`: `check` before anything is counted, `admit` with the data
- `area_differences`: what areas and classifications tell of few, once at import
"""

from discreet_service.policies.asked import (
    AskedFilter,
    AskedLevel,
    AskedTable,
    AskedVariable,
    Evidence,
)
from discreet_service.policies.document import (
    PolicyDocument,
    PolicyError,
    exposure_limit,
    sign_policy,
)
from discreet_service.policies.in_force import POLICY_FILE, PoliciesInForce
from discreet_service.policies.rules import Outcome, RuleVerdict, padded
from discreet_service.policies.verdicts import Policies, PolicyRefusalError, Verdict

__all__ = [
    "POLICY_FILE",
    "AskedFilter",
    "AskedLevel",
    "AskedTable",
    "AskedVariable",
    "Evidence",
    "Outcome",
    "Policies",
    "PoliciesInForce",
    "PolicyDocument",
    "PolicyError",
    "PolicyRefusalError",
    "RuleVerdict",
    "Verdict",
    "exposure_limit",
    "padded",
    "sign_policy",
]
