"""Publication: protected tables to files that people and programs read.

In: `ProtectedTable`. Out: CSV, Parquet, JSON, XLSX, HTML, PX, JSON-stat and SDMX-CSV files,
maps, exact files to be read back, workbooks of many tables, a one-page report, and objects of
Great Tables.
Everything here lies on the public side of the confidentiality line; the modules cannot
reach records or confidential tables.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .formats import CELL_LIMIT as CELL_LIMIT
    from .formats import FILE_COMPLETE_LIMIT as FILE_COMPLETE_LIMIT
    from .formats import FORMATS as FORMATS
    from .formats import MAPS as MAPS
    from .formats import MapChoices as MapChoices
    from .formats import OutputFormat as OutputFormat
    from .formats import WriteOptions as WriteOptions
    from .formats import check_shape as check_shape
    from .formats import suffix_of as suffix_of
    from .great_table import great_table as great_table
    from .notation import Sign as Sign
    from .notation import legend as legend
    from .notebook import notebook_html as notebook_html
    from .notes import non_additivity as non_additivity
    from .notes import printed_notes as printed_notes
    from .overview_page import write_report as write_report
    from .table_files import read_exact as read_exact
    from .table_files import write as write
    from .table_files import write_atlas as write_atlas
    from .table_files import write_workbook as write_workbook

lazy_face(__name__)
