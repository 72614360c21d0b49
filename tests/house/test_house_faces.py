"""Other packages import from the face of a package, never past it."""

import grimp

from scripts.face_contract import FaceContract
from tests.helpers.rows import for_all_rows

CONTRACT = FaceContract(
    name="faces",
    session_options={},
    contract_options={"without_face": ["house", "house.methods"]},
)


@for_all_rows(
    ("importer", "imported", "kept"),
    [
        ("house.tables.cells", "house.classifications", True),
        ("house.tables.cells", "house.classifications.codes", False),
        ("house.tables", "house.classifications.codes", False),
        ("house.tables.cells", "house.tables.words", True),
        ("house.tables.parts.one", "house.tables.words", True),
        ("house.tables.cells", "house.errors", True),
        ("house.methods.noise.counts", "house.methods.rounding", True),
        ("house.methods.noise.counts", "house.methods.rounding.counts", False),
        ("house.tables.cells", "house.methods.rounding", True),
        ("house", "house.tables", True),
        ("house", "house.tables.cells", False),
    ],
)
def test_an_import_past_a_face_breaks_the_contract(
    importer: str, imported: str, *, kept: bool
) -> None:
    graph = grimp.ImportGraph()
    graph.add_import(importer=importer, imported=imported)
    assert CONTRACT.check(graph, verbose=False).kept is kept
