"""The rows of figures of a sheet, as the XML of the workbook.

In: `Layout` and the styles of the sheet. Out: XML text, many rows at a time. Public.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from openpyxl.utils import get_column_letter

from discreet.publication.cells import IntArray
from discreet.publication.layout import Block, Layout
from discreet.publication.notation import SUPPRESSED, TextArray, figure_texts
from discreet.publication.sheet_cells import Styles
from discreet.tables import CellStatus

__all__ = ["StubColumn", "body_rows", "outline"]

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
    """

    heading: str
    texts: tuple[str, ...]
    variable: int
    indents: tuple[int, ...] | None


def outline(layout: Layout) -> IntArray | None:
    """How deep each row can be folded under its totals; None with a single level."""
    depth = np.zeros(layout.shape[0], dtype=np.int64)
    for k, at in enumerate(layout.rows):
        depth += layout.dimension(at).levels[layout.row_codes[:, k]]
    return np.minimum(depth, _DEEPEST_OUTLINE) if int(depth.max()) >= _FOLDED else None


def body_rows(
    layout: Layout, styles: Styles, stubs: Sequence[StubColumn], top: int
) -> Iterator[str]:
    """The rows below the headings.

    Args:
        layout: The table on the sheet.
        styles: The styles of the sheet.
        stubs: The columns beside the figures.
        top: Number of rows above the first.
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
        cells = np.column_stack([*beside, _figures(block, styles)])
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
        style = styles.label(stub.indents[code] if stub.indents else 0, total=code == 0)
        cells.append(_text_cell(style, text))
    return np.array(cells, dtype=object)


def _text_cell(style: int, text: str) -> str:
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f' s="{style}" t="inlineStr"><is><t{space}>{escape(text, quote=False)}</t></is></c>'


def _figures(block: Block, styles: Styles) -> TextArray:
    """The cell of each figure, from after its place on."""
    opened = [f' s="{styles.number(status)}"><v>' for status in CellStatus]
    hidden = _text_cell(styles.suppressed(), SUPPRESSED)

    def text(value: int | float, status: int) -> str:
        shown = f"{opened[status]}{value!r}</v></c>"
        return hidden if status == CellStatus.suppressed else shown

    texts = figure_texts(block.value.ravel(), block.status.ravel(), text)
    return texts.reshape(block.value.shape)
