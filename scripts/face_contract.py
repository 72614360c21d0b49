"""Contract of import-linter: other packages import from the face of a package, never past it.

In: the graph of all imports, those for type checkers and those in functions included. Out: each
import that goes past a face. The face of a package is its ``__init__.py``.
"""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, fields, output


class FaceContract(Contract):
    """Modules of a package are imported from inside the package only.

    `without_face` lists the packages that only group others: the direct parts of each have faces.
    """

    without_face: Any = fields.SetField(subfield=fields.StringField())

    def face_of(self, module: str) -> str:
        """The package or single module that others may import."""
        while (parent := module.rpartition(".")[0]) not in {"", *self.without_face}:
            module = parent
        return module

    def check(self, graph: Any, verbose: bool) -> ContractCheck:  # noqa: D102
        past = sorted(
            (importer, imported)
            for importer in graph.modules
            for imported in graph.find_modules_directly_imported_by(importer)
            if imported not in (face := self.face_of(imported), self.face_of(importer))
            and face != self.face_of(importer)
        )
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:  # noqa: D102
        for importer, imported in check.metadata["past"]:
            output.print_error(f"{importer} imports {imported}: use {self.face_of(imported)}")
