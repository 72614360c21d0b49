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
    from .area_figures import areas_of as areas_of
    from .area_figures import check_boundaries as check_boundaries
    from .boundaries import Boundaries as Boundaries
    from .cells import ListedCells as ListedCells
    from .cells import cell_chunks as cell_chunks
    from .cells import has_number as has_number
    from .cells import is_complete as is_complete
    from .data_structures import MEASURE as MEASURE
    from .data_structures import DataStructure as DataStructure
    from .data_structures import ListedCode as ListedCode
    from .data_structures import SdmxNames as SdmxNames
    from .data_structures import StructureDimension as StructureDimension
    from .data_structures import read_structures as read_structures
    from .data_structures import structure_dimensions as structure_dimensions
    from .description import FIGURES as FIGURES
    from .description import check_texts as check_texts
    from .description import describe as describe
    from .description import non_additivity as non_additivity
    from .description import printed_notes as printed_notes
    from .description import provenance_lines as provenance_lines
    from .description import universe as universe
    from .exact_tables import cells_frame as cells_frame
    from .exact_tables import described as described
    from .exact_tables import read_exact as read_exact
    from .exact_tables import rebuilt as rebuilt
    from .exact_tables import with_cells as with_cells
    from .exact_tables import without_cells as without_cells
    from .formats import CELL_LIMIT as CELL_LIMIT
    from .formats import FILE_COMPLETE_LIMIT as FILE_COMPLETE_LIMIT
    from .formats import FORMATS as FORMATS
    from .formats import MAPS as MAPS
    from .formats import NAMED_BREAKS as NAMED_BREAKS
    from .formats import CsvForm as CsvForm
    from .formats import Shown as Shown
    from .formats import WriteOptions as WriteOptions
    from .formats import check_place as check_place
    from .formats import check_shape as check_shape
    from .formats import format_of as format_of
    from .formats import place_of as place_of
    from .formats import row_of as row_of
    from .formats import suffix_of as suffix_of
    from .layout import BodyRows as BodyRows
    from .layout import PageLayout as PageLayout
    from .layout import arrange as arrange
    from .layout import lay_out as lay_out
    from .margins import CountMargin as CountMargin
    from .notation import SUPPRESSED as SUPPRESSED
    from .notation import decimals_of as decimals_of
    from .notation import legend as legend
    from .notation import number_text as number_text
    from .notation import signs_of as signs_of
    from .notation import symbols as symbols
    from .notebook import great_table as great_table
    from .notebook import notebook_html as notebook_html
    from .overview_page import write_report as write_report
    from .structure_check import StructureCheck as StructureCheck
    from .structure_check import check_lines as check_lines
    from .structure_check import sent_lines as sent_lines
    from .table_files import write as write
    from .table_files import write_atlas as write_atlas
    from .table_files import write_workbook as write_workbook
    from .vocabulary import LANGUAGES as LANGUAGES
    from .vocabulary import date_text as date_text
    from .vocabulary import figure_text as figure_text
    from .vocabulary import has_total as has_total
    from .vocabulary import is_figure as is_figure
    from .vocabulary import labels_at as labels_at
    from .vocabulary import labels_of as labels_of
    from .vocabulary import read_words as read_words
    from .vocabulary import title_in as title_in
    from .vocabulary import words as words
    from .writers.atlas import write_many as write_many
    from .writers.csv import harmless as harmless
    from .writers.csv import lines_by_code as lines_by_code
    from .writers.html import caption as caption
    from .writers.html import facts_html as facts_html
    from .writers.html import legend_html as legend_html
    from .writers.html import notes_html as notes_html
    from .writers.html import page_head as page_head
    from .writers.html import page_tail as page_tail
    from .writers.html import provenance_html as provenance_html
    from .writers.html import table_html as table_html
    from .writers.sdmx import ATTRIBUTES as ATTRIBUTES
    from .writers.sdmx import CONF_STATUS as CONF_STATUS
    from .writers.sdmx import data_message as data_message
    from .writers.sdmx import observations as observations
    from .writers.sdmx import structure_message as structure_message

lazy_face(__name__)
