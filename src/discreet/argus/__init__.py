"""Files of the τ-ARGUS family: metadata, microdata, cells, a-priori decisions, batches, problems.

In: texts as offices keep them. Out: classifications, frames of records, confidential
tables, `Marks`, problems of suppression, and plans of what a batch asks for; and back.
`discreet.argus.runs` carries batches out, and suppresses and audits files.
"""

from discreet.argus.apriori import read_hst, write_hst
from discreet.argus.batch import Batch, BatchTable, read_batch
from discreet.argus.cells import CellFile, read_tab, write_tab
from discreet.argus.jj import read_jj, write_jj
from discreet.microdata.argus_metadata import (
    ArgusMetadata,
    ArgusVariable,
    read_rda,
    read_records,
    write_rda,
)

__all__ = [
    "ArgusVariable",
    "Batch",
    "BatchTable",
    "CellFile",
    "ArgusMetadata",
    "read_batch",
    "read_hst",
    "read_jj",
    "write_jj",
    "read_rda",
    "read_records",
    "read_tab",
    "write_hst",
    "write_rda",
    "write_tab",
]
