"""Operations: each method as one row, and what doors read of its settings.

In: the rows. Out: for commands, endpoints, jobs, forms, clients and the reference page the fields
of a method's settings, with labels and help in English and German. No door knows a method.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .attack import ATTACK as ATTACK
    from .fields import BY_LINE as BY_LINE
    from .fields import SettingField as SettingField
    from .fields import fields_of as fields_of
    from .fields import value_of as value_of
    from .operation import ChangedSource as ChangedSource
    from .operation import CountSource as CountSource
    from .operation import HiddenSource as HiddenSource
    from .operation import MagnitudeSource as MagnitudeSource
    from .operation import MicrodataSource as MicrodataSource
    from .operation import Operation as Operation
    from .operation import ProtectedSource as ProtectedSource
    from .operation import ReleaseSource as ReleaseSource
    from .operation import SensitiveSource as SensitiveSource
    from .operation import Source as Source
    from .operation import UnitSource as UnitSource
    from .operation import draws_nothing as draws_nothing
    from .records import AnonymisationSettings as AnonymisationSettings
    from .records import RecordsStudy as RecordsStudy
    from .registry import OPERATIONS as OPERATIONS
    from .study import HiddenCell as HiddenCell
    from .study import Study as Study
    from .study import StudyRemark as StudyRemark
    from .suppression import AUDIT as AUDIT
    from .suppression import SUPPRESSION as SUPPRESSION

lazy_face(__name__)
