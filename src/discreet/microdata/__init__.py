"""Records: reading them, and their record keys, CONFIDENTIAL.

In: files, databases and frames of records. Out: the same records, with keys.
"""

from discreet.microdata.detection import DetectedReading, detect_reading
from discreet.microdata.inheritance import inherit_record_keys
from discreet.microdata.period_keys import with_period_keys
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.record_keys import add_keys_to_file, import_record_keys, with_record_keys
from discreet.microdata.records import read_microdata
from discreet.microdata.secret import Secret
from discreet.microdata.squares import with_squares

__all__ = [
    "DetectedReading",
    "ReadingOptions",
    "Secret",
    "add_keys_to_file",
    "detect_reading",
    "import_record_keys",
    "inherit_record_keys",
    "read_microdata",
    "with_period_keys",
    "with_record_keys",
    "with_squares",
]
