"""Records: reading them, and their record keys, CONFIDENTIAL.

In: files, databases and frames of records. Out: the same records, with keys.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from . import stata_files as stata_files
    from .cube_files import MAGIC as MAGIC
    from .cube_files import SHARED as SHARED
    from .cube_files import SIGNATURE as SIGNATURE
    from .cube_files import SIGNED as SIGNED
    from .cube_files import CubeFile as CubeFile
    from .cube_files import DistantCubes as DistantCubes
    from .cube_files import cube_bytes as cube_bytes
    from .cube_files import damaged as damaged
    from .cube_files import dtype_name as dtype_name
    from .cube_files import write_cube_bytes as write_cube_bytes
    from .described_files import DescribedRecords as DescribedRecords
    from .described_files import DescribedVariable as DescribedVariable
    from .described_files import check_writable_as as check_writable_as
    from .described_files import described_records as described_records
    from .described_files import plain_variable as plain_variable
    from .described_files import write_described as write_described
    from .detection import DetectedReading as DetectedReading
    from .detection import detect_reading as detect_reading
    from .distant_frames import KeyedBefore as KeyedBefore
    from .distant_frames import distant_records as distant_records
    from .file_formats import format_of as format_of
    from .files import matching as matching
    from .filters import Filter as Filter
    from .filters import filter_failed as filter_failed
    from .filters import parse_filter as parse_filter
    from .frames import NarwhalsFrame as NarwhalsFrame
    from .frames import eager_columns as eager_columns
    from .frames import like as like
    from .frames import name_list as name_list
    from .frames import open_frame as open_frame
    from .frames import require_columns as require_columns
    from .frames import require_new as require_new
    from .frames import unsupported as unsupported
    from .frames import with_computed as with_computed
    from .identifiers import check_identifiers as check_identifiers
    from .identifiers import identifier_texts as identifier_texts
    from .inheritance import inherit_record_keys as inherit_record_keys
    from .inheritance import sum_column as sum_column
    from .key_derivation import derived_keys as derived_keys
    from .key_values import KeyFunction as KeyFunction
    from .period_keys import PeriodOption as PeriodOption
    from .period_keys import since_column as since_column
    from .period_keys import with_period_keys as with_period_keys
    from .reading_options import ReadingOptions as ReadingOptions
    from .reading_options import form_of as form_of
    from .record_keys import add_keys_to_file as add_keys_to_file
    from .record_keys import import_record_keys as import_record_keys
    from .record_keys import with_record_keys as with_record_keys
    from .records import read_microdata as read_microdata
    from .relations import hand_over as hand_over
    from .secret import Secret as Secret
    from .spark import fingerprint as fingerprint
    from .spark import held as held
    from .spark import read_spark as read_spark
    from .sql_databases import DatabaseTable as DatabaseTable
    from .sql_databases import is_url as is_url
    from .sql_databases import mixed_types as mixed_types
    from .sql_databases import reading as reading
    from .sql_databases import shown_url as shown_url
    from .squares import with_squares as with_squares
    from .stata_files import STORAGE as STORAGE
    from .stata_files import STR_MAX as STR_MAX
    from .stata_files import WHOLE as WHOLE
    from .stata_files import raw_columns as raw_columns
    from .stata_files import stata_bytes as stata_bytes
    from .statistical_files import value_labels as value_labels
    from .stored_records import KEY as KEY
    from .stored_records import StoredRecords as StoredRecords
    from .stored_records import VersionFiles as VersionFiles
    from .stored_records import publish as publish
    from .text_types import NumberSpelling as NumberSpelling
    from .text_types import as_type as as_type
    from .text_types import types_of as types_of

lazy_face(__name__)
