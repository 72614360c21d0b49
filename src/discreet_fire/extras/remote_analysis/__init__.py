"""Remote analysis with a quality measure: results of protected records, and their quality.

A researcher sees what protected records give, and a coarse, noisy class of how far that
lies from the original. Answers are keyed, always the same, and budgeted.

- Records: `protect`
- Questions: `RemoteAnalysis`, `QualityAnswer`, `QualityClass`, `RemoteQuery`, `compare`
- Budget: `Budget`, `BudgetLedger`, `truth_chance`
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .analysis import RemoteAnalysis as RemoteAnalysis
    from .analysis import RemoteQuery as RemoteQuery
    from .analysis import protect as protect
    from .answers import Budget as Budget
    from .answers import BudgetLedger as BudgetLedger
    from .answers import QualityClass as QualityClass
    from .answers import compare as compare
    from .answers import truth_chance as truth_chance

lazy_face(__name__)
