"""Controlled tabular adjustment: figures move instead of being hidden.

`adjust` crosses the confidentiality line: confidential `Table`s go in, `ProtectedTable`s come out.
`Adjustment` keeps what led there and what readers work out who know the rule; it is confidential.
Everything is loaded when first used: its settings are light.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .settings import AdjustmentSettings as AdjustmentSettings
    from .tables import Adjustment as Adjustment
    from .tables import adjust as adjust

lazy_face(__name__)
