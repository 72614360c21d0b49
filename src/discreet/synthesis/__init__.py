"""Synthetic records with measured utility and risk.

In: records (CONFIDENTIAL) and a secret, or protected tables alone. Out: made-up records with the
report on what users can do with them, and what attackers find in them.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .settings import SynthesisSettings as SynthesisSettings
    from .synthetic_records import SynthesisReport as SynthesisReport
    from .synthetic_records import SyntheticRecords as SyntheticRecords
    from .synthetic_records import synthesise as synthesise

lazy_face(__name__)
