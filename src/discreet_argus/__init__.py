"""Files of the τ-ARGUS family: metadata, microdata, cells, a-priori decisions, batches, problems.

In: texts as offices keep them. Out: classifications, frames of records, confidential
tables, `Marks`, problems of suppression, and plans of what a batch asks for; and back.
`discreet_argus.runs` carries batches out, and suppresses and audits files.
"""

from discreet_argus.apriori import read_hst, write_hst
from discreet_argus.batch import Batch, BatchTable, read_batch
from discreet_argus.cells import CellFile, read_tab, write_tab
from discreet_argus.jj import read_jj, write_jj
from discreet_argus.metadata import (
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
