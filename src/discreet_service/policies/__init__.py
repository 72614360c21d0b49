"""Policies: what may be asked of a data version, by rules that its custodians signed.

In: an `AskedTable`, who asks, and what was released before. Out: a `Verdict`. What a refusal says
never depends on a true count.

- `PolicyDocument`, `sign_policy`: the signed document; `PoliciesInForce`: which one holds
- `Policies`: `check` before anything is counted, `admit` with the data
- `area_differences`: what areas and classifications tell of few, once at import
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .asked import AskedFilter as AskedFilter
    from .asked import AskedLevel as AskedLevel
    from .asked import AskedTable as AskedTable
    from .asked import AskedVariable as AskedVariable
    from .asked import Evidence as Evidence
    from .document import PolicyDocument as PolicyDocument
    from .document import PolicyError as PolicyError
    from .document import exposure_limit as exposure_limit
    from .document import sign_policy as sign_policy
    from .in_force import POLICY_FILE as POLICY_FILE
    from .in_force import PoliciesInForce as PoliciesInForce
    from .rules import Outcome as Outcome
    from .rules import RuleVerdict as RuleVerdict
    from .rules import padded as padded
    from .verdicts import Policies as Policies
    from .verdicts import PolicyRefusalError as PolicyRefusalError
    from .verdicts import Verdict as Verdict

lazy_face(__name__)
