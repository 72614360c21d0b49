"""XLSX: a sheet with the table and a sheet with its legend.

In: `ProtectedTable`. Out: a workbook whose figures stay numbers; number formats
print the signs. Public. Every text is stored as text, so that no label can act
as a formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter
from openpyxl.writer.excel import ExcelWriter

from discreet.errors import PublicationError
from discreet.publication.description import provenance_lines, universe
from discreet.publication.layout import Heading, Layout, headings, lay_out
from discreet.publication.limits import CELL_LIMIT, check_shape
from discreet.publication.notation import OFFICIAL, SUPPRESSED, ZERO, legend
from discreet.publication.notes import printed_notes
from discreet.publication.words import LANGUAGES, words
from discreet.tables import CellStatus, Dimension, ProtectedTable
"""continued"""
