"""Cells in, protected cells out: what callers counted themselves gets the figures of the house.

In: cells of callers (CONFIDENTIAL) and opened parameters (SECRET). Out: protected cells, public.
Nothing of what was handed in is kept.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .bodies import BODY_TYPES as BODY_TYPES
    from .bodies import BodyKind as BodyKind
    from .bodies import HandedIn as HandedIn
    from .bodies import RowLimit as RowLimit
    from .bodies import body_kind as body_kind
    from .bodies import check_number as check_number
    from .bodies import read_body as read_body
    from .examples import example_texts as example_texts
    from .layouts import LAYOUTS as LAYOUTS
    from .operations import CellsCall as CellsCall
    from .operations import packed as packed
    from .operations import read_request as read_request
    from .operations import request_model as request_model
    from .operations import run_operation as run_operation
    from .protection import ParameterRequest as ParameterRequest
    from .protection import Purpose as Purpose
    from .protection import protect_cells as protect_cells
    from .results import RESULT_TYPES as RESULT_TYPES
    from .results import chosen_format as chosen_format
    from .texts import RULE_FIELDS as RULE_FIELDS
    from .texts import stated_number as stated_number
    from .texts import stated_rules as stated_rules
    from .texts import stated_trees as stated_trees
    from .texts import suggested_roles as suggested_roles
    from .uploads import UPLOAD_ENDS as UPLOAD_ENDS
    from .uploads import read_upload as read_upload
    from .watch import KeyWatch as KeyWatch

lazy_face(__name__)
