"""Publication: protected tables to files that people and programs read.

In: `ProtectedTable`. Out: CSV, Parquet, JSON, XLSX, HTML, PX, JSON-stat and SDMX-CSV files,
maps, exact files to be read back, workbooks of many tables, a one-page report, and objects of
Great Tables.
Everything here lies on the public side of the confidentiality line; the modules cannot
reach records or confidential tables.
"""

from discreet.publication.formats import (
    CELL_LIMIT,
    FILE_COMPLETE_LIMIT,
    FORMATS,
    MAPS,
    MapChoices,
    OutputFormat,
    WriteOptions,
    check_shape,
    suffix_of,
)
from discreet.publication.great_table import great_table
from discreet.publication.notation import Sign, legend
from discreet.publication.notes import non_additivity, printed_notes
from discreet.publication.overview_page import write_report
from discreet.publication.table_files import read_exact, write, write_atlas, write_workbook

__all__ = [
    "CELL_LIMIT",
    "FILE_COMPLETE_LIMIT",
    "FORMATS",
    "MAPS",
    "MapChoices",
    "OutputFormat",
    "Sign",
    "WriteOptions",
    "check_shape",
    "great_table",
    "legend",
    "non_additivity",
    "printed_notes",
    "read_exact",
    "suffix_of",
    "write",
    "write_atlas",
    "write_report",
    "write_workbook",
]
