"""Methods on records, before any table: records in, records out.

In: records, CONFIDENTIAL. Out: records in which nobody is to be found again.
"""

from discreet.pretabular.structure_files import StructureFile, structure_file

__all__ = ["StructureFile", "structure_file"]
