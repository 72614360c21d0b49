"""Records: reading them, and their record keys, CONFIDENTIAL.

In: files, databases and frames of records. Out: the same records, with keys.
"""

from discreet.microdata.files import read_microdata
from discreet.microdata.inheritance import inherit_record_keys
from discreet.microdata.record_keys import add_keys_to_file, import_record_keys, with_record_keys
from discreet.microdata.secret import Secret

__all__ = [
    "Secret",
    "add_keys_to_file",
    "import_record_keys",
    "inherit_record_keys",
    "read_microdata",
    "with_record_keys",
]
