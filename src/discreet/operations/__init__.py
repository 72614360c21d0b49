"""Operations: each method as one row, and what doors read of its settings.

In: the rows. Out: for commands, endpoints, jobs, forms, clients and the reference page the fields
of a method's settings, with labels and help in English and German. No door knows a method.
"""

from discreet.operations.fields import SettingField, fields_of, value_of
from discreet.operations.operation import CountSource, HiddenSource, Operation, SensitiveSource
from discreet.operations.rounding import ROUNDING
from discreet.operations.study import HiddenCell, Study, StudyRemark
from discreet.operations.suppression import AUDIT, SUPPRESSION

#: All operations there are, by name.
OPERATIONS: dict[str, Operation] = {
    row.name: row
    for row in (
        SUPPRESSION,
        AUDIT,
        ROUNDING,
    )
}

__all__ = [
    "OPERATIONS",
    "CountSource",
    "HiddenCell",
    "HiddenSource",
    "Operation",
    "StudyRemark",
    "SensitiveSource",
    "SettingField",
    "Study",
    "fields_of",
    "value_of",
]
