"""Files of the τ-ARGUS family: metadata, microdata, cells, a-priori decisions, batches, problems.

In: texts as offices keep them. Out: classifications, frames of records, confidential
tables, `Marks`, problems of suppression, and plans of what a batch asks for; and back.
`discreet_argus.runs` carries batches out, and suppresses and audits files.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .apriori import read_hst as read_hst
    from .apriori import write_hst as write_hst
    from .batch import read_batch as read_batch
    from .cells import read_tab as read_tab
    from .cells import write_tab as write_tab
    from .jj import read_jj as read_jj
    from .jj import write_jj as write_jj
    from .metadata import ArgusMetadata as ArgusMetadata
    from .metadata import ArgusVariable as ArgusVariable
    from .metadata import read_rda as read_rda
    from .metadata import read_records as read_records
    from .metadata import write_rda as write_rda

lazy_face(__name__)
