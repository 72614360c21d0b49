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
        #: Of lines with letters outside ASCII: where each byte of UTF-8 stands in the text.
        self._places: dict[int, list[int]] = {}
        self._plain = text.isascii()
        #: Of the statement asked for last: the formatted text that each part of it is in.
        self._asked: ast.stmt | None = None
        self._texts: dict[int, ast.AST] = {}

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
        if self._plain:
            return start + column
        if line not in self._places:
            end = self.starts[line] if line < len(self.starts) else len(self.text)
            found = [place for place in range(start, end) for _ in self.text[place].encode("utf-8")]
            self._places[line] = [*found, end]
        places = self._places[line]
        return places[column] if column < len(places) else start + column

    def outside_texts(self, node: ast.AST, statement: ast.stmt | None) -> ast.AST:
        """The formatted text a node is in, since places inside are not known; or the node."""
        if statement is None:
            return node
        if statement is not self._asked:
            self._asked, self._texts = statement, {}
            for each in ast.walk(statement):
                if isinstance(each, ast.JoinedStr) and id(each) not in self._texts:
                    self._texts |= {id(part): each for part in ast.walk(each)}
        return self._texts.get(id(node), node)
