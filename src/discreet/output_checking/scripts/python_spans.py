"""Where the nodes of a Python syntax tree stand in the text, in characters."""

from __future__ import annotations

import ast

from discreet.output_checking.texts import Lines

__all__ = ["Spans"]


class Spans:
    """Spans of nodes.

    >>> tree = ast.parse("x = 'ä' + y")
    >>> Spans("x = 'ä' + y", Lines("x = 'ä' + y")).of(tree.body[0].value.right)
    (10, 11)
    """

    def __init__(self, text: str, lines: Lines) -> None:
        self.text = text
        self.starts = lines.starts

    def of(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node."""
        line = getattr(node, "lineno", None)
        if line is None:
            return 0, 0
        start = self._offset(line, node.col_offset)  # type: ignore[attr-defined]
        end = self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def _offset(self, line: int, column: int) -> int:
        """The tree counts bytes of UTF-8 within a line."""
        start = self.starts[line - 1]
        text = self.text[start : start + column]
        if text.isascii():
            return start + column
        return start + len(text.encode("utf-8")[:column].decode("utf-8", "ignore"))

    def outside_texts(self, node: ast.AST, statement: ast.stmt | None) -> ast.AST:
        """The formatted text a node is in, since places inside are not known; or the node."""
        if statement is None:
            return node
        for each in ast.walk(statement):
            if isinstance(each, ast.JoinedStr) and any(part is node for part in ast.walk(each)):
                return each
        return node
