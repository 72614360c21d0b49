"""Records: reading them, and their record keys, CONFIDENTIAL.

In: files, databases and frames of records. Out: the same records, with keys.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from . import stata_files as stata_files
    from .detection import DetectedReading as DetectedReading
    from .detection import detect_reading as detect_reading
    from .inheritance import inherit_record_keys as inherit_record_keys
    from .period_keys import with_period_keys as with_period_keys
    from .reading_options import ReadingOptions as ReadingOptions
    from .record_keys import add_keys_to_file as add_keys_to_file
    from .record_keys import import_record_keys as import_record_keys
    from .record_keys import with_record_keys as with_record_keys
    from .records import read_microdata as read_microdata
    from .secret import Secret as Secret
    from .squares import with_squares as with_squares

lazy_face(__name__)
