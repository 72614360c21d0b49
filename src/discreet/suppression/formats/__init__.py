"""Files of the τ-ARGUS family: metadata, microdata, cells, a-priori decisions, batches.

In: texts as offices keep them. Out: classifications, frames of records, confidential
tables, `Marks`, and plans of what a batch asks for; and back.
"""

from discreet.suppression.formats.apriori import read_hst, write_hst
from discreet.suppression.formats.batch import Batch, BatchTable
from discreet.suppression.formats.batch_reading import read_batch
from discreet.suppression.formats.cell_files import CellFile, read_tab
from discreet.suppression.formats.cell_writing import write_tab
from discreet.suppression.formats.metadata import ArgusVariable, Metadata, read_rda, write_rda
from discreet.suppression.formats.records import read_records

__all__ = [
    "ArgusVariable",
    "Batch",
    "BatchTable",
    "CellFile",
    "Metadata",
    "read_batch",
    "read_hst",
    "read_rda",
    "read_records",
    "read_tab",
    "write_hst",
    "write_rda",
    "write_tab",
]
