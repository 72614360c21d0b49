"""The rows of figures of a sheet, as the XML of the workbook.

In: `Layout` and the styles of the sheet. Out: XML text, many rows at a time. Public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

import numpy as np
from openpyxl.utils import get_column_letter

from discreet.publication.cells import IntArray
from discreet.publication.footnotes import Footnotes, mark
from discreet.publication.labels import levels_at
from discreet.publication.layout import Block, Layout
from discreet.publication.notation import INAPPLICABLE, SUPPRESSED, TextArray, figure_texts
from discreet.publication.sheet_cells import Styles, one_line
from discreet.tables import CellStatus

__all__ = ["StubColumn", "body_rows", "foot_rows", "outline"]

_DEEPEST_OUTLINE = 7
_FOLDED = 2


@dataclass(frozen=True, slots=True)
class StubColumn:
    """A column beside the figures: the codes or the labels of a row variable.

    Args:
        heading: What stands over it.
        texts: The text for each code.
        variable: Which of the row variables.
        indents: How far each text is indented; None for not at all.
        totals: The codes that are totals, in bold.
    """

    heading: str
    texts: tuple[str, ...]
    variable: int
    indents: tuple[int, ...] | None
    totals: frozenset[int] = frozenset({0})


def outline(layout: Layout) -> IntArray | None:
    """How deep each row can be folded under its totals; None with a single level."""
    depth = np.zeros(layout.shape[0], dtype=np.int64)
    for k, at in enumerate(layout.rows):
        depth += levels_at(layout.table, at)[layout.row_codes[:, k]]
    return np.minimum(depth, _DEEPEST_OUTLINE) if int(depth.max()) >= _FOLDED else None


def body_rows(
    layout: Layout, styles: Styles, stubs: Sequence[StubColumn], top: int, remarks: Footnotes
) -> Iterator[str]:
    """The rows below the headings.

    Args:
        layout: The table on the sheet.
        styles: The styles of the sheet.
        stubs: The columns beside the figures.
        top: Number of rows above the first.
        remarks: The footnotes; their numbers stand at the figures.
    """
    width = len(stubs) + layout.shape[1]
    letters = [f'<c r="{get_column_letter(column)}' for column in range(1, width + 1)]
    stub_texts = [_stub_cells(stub, styles) for stub in stubs]
    depth = outline(layout)
    folds = np.full(layout.shape[0], "", dtype=object)
    if depth is not None:
        folds = np.array(["", *(f' outlineLevel="{k}"' for k in range(1, 8))], dtype=object)[depth]
    for block in layout.blocks():
        codes = layout.row_codes[block.first : block.first + len(block.value)]
        beside = [
            texts[codes[:, stub.variable]] for stub, texts in zip(stubs, stub_texts, strict=True)
        ]
        cells = np.column_stack([*beside, _figures(layout, block, styles, remarks)])
        lines = []
        for number, row in enumerate(cells.tolist(), block.first + top + 1):
            places = [f'{letter}{number}"' for letter in letters]
            inside = "".join(map(str.__add__, places, row))
            lines.append(f'<row r="{number}"{folds[number - top - 1]}>{inside}</row>')
        yield "".join(lines)


def _stub_cells(stub: StubColumn, styles: Styles) -> TextArray:
    """The cell of each code, from after its place on."""
    cells = []
    for code, text in enumerate(stub.texts):
        style = styles.label(stub.indents[code] if stub.indents else 0, total=code in stub.totals)
        cells.append(_text_cell(style, one_line(text)))
    return np.array(cells, dtype=object)


def _text_cell(style: int, text: str) -> str:
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f' s="{style}" t="inlineStr"><is><t{space}>{escape(text, quote=False)}</t></is></c>'


def _figures(layout: Layout, block: Block, styles: Styles, remarks: Footnotes) -> TextArray:
    """The cell of each figure, from after its place on."""
    floats = block.value.dtype.kind == "f"
    decimals: int | IntArray = 0
    if floats:
        decimals = block.decimals if isinstance(block.decimals, int) else block.decimals.ravel()
    values, status = block.value.ravel(), block.status.ravel()
    marks = remarks.of_block(layout, block.first, len(block.value))
    if marks is None:
        texts = figure_texts(values, status, _cell_text(styles, ""), decimals)
        return texts.reshape(block.value.shape)
    texts = np.empty(len(values), dtype=object)
    which = marks.which.ravel()
    for number, numbers in enumerate(marks.sets):
        part = which == number
        each = decimals if isinstance(decimals, int) else decimals[part]
        own = _cell_text(styles, mark(numbers))
        texts[part] = figure_texts(values[part], status[part], own, each)
    return texts.reshape(block.value.shape)


def _cell_text(styles: Styles, marks: str) -> Callable[[int | float, int, int], str]:
    """How the XML of a figure is made, from its value, status and decimals.

    Marks are printed by the number format, so that figures stay numbers.
    """
    signs = {CellStatus.suppressed: SUPPRESSED, CellStatus.not_applicable: INAPPLICABLE}
    hidden = {s: _text_cell(styles.suppressed(), sign + marks) for s, sign in signs.items()}

    @cache
    def opened(status: int, decimals: int) -> str:
        return f' s="{styles.number(CellStatus(status), decimals, marks)}"><v>'

    def text(value: int | float, status: int, decimals: int) -> str:
        if status in signs:
            return hidden[CellStatus(status)]
        return f"{opened(status, decimals)}{value!r}</v></c>"

    return text


def foot_rows(texts: Sequence[str], first: int) -> Iterator[str]:
    """Rows of text below the figures.

    Args:
        texts: A line each.
        first: Number of the first row.
    """
    for number, text in enumerate(texts, first):
        yield f'<row r="{number}"><c r="A{number}"{_text_cell(0, text)}</row>'
