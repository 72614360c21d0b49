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
    from .areas import AreaLevel as AreaLevel
    from .areas import AreaReport as AreaReport
    from .areas import area_differences as area_differences
    from .asked import AskedTable as AskedTable
    from .asked import Box as Box
    from .asked import LayerAxis as LayerAxis
    from .asked import Shape as Shape
    from .document import PolicyDocument as PolicyDocument
    from .document import PolicyError as PolicyError
    from .document import SparsityPolicy as SparsityPolicy
    from .document import exposure_limit as exposure_limit
    from .document import sign_policy as sign_policy
    from .evidence import LayerFigures as LayerFigures
    from .in_force import POLICY_FILE as POLICY_FILE
    from .in_force import PoliciesInForce as PoliciesInForce
    from .overview import PolicyState as PolicyState
    from .overview import answers_by_end as answers_by_end
    from .overview import limit_use as limit_use
    from .overview import near_limits as near_limits
    from .overview import policy_history as policy_history
    from .overview import refusals_by_rule as refusals_by_rule
    from .overview import refused_tables as refused_tables
    from .overview import released_sums as released_sums
    from .patterns import alerts as alerts
    from .patterns import forget_patterns as forget_patterns
    from .rules import Language as Language
    from .rules import Outcome as Outcome
    from .rules import hidden_parts as hidden_parts
    from .sentences import PolicyDifference as PolicyDifference
    from .sentences import PolicySentence as PolicySentence
    from .sentences import limits_of as limits_of
    from .sentences import policy_differences as policy_differences
    from .sentences import policy_sentences as policy_sentences
    from .sketches import UniverseSketch as UniverseSketch
    from .verdicts import Policies as Policies
    from .verdicts import PolicyRefusalError as PolicyRefusalError
    from .verdicts import Verdict as Verdict

lazy_face(__name__)
