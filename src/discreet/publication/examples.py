"""The published example of the German census, sex by five age classes; and one of squares.

Out: a `ProtectedTable` for documentation, demonstrations and tests. Public.
"""

from __future__ import annotations

import numpy as np

from discreet.classifications import Classification
from discreet.tables import CellStatus, Dimension, Note, ProtectedTable, Provenance

_FIGURES = (
    (371, 47, 56, 71, 86, 109),
    (175, 20, 31, 32, 40, 50),
    (197, 25, 25, 40, 45, 60),
)


def census_example() -> ProtectedTable:
    """A small table whose published figures do not add up.

    >>> census_example()
    <ProtectedTable T1: sex × age, 18 cells>
    """
    words = {"m": {"en": "male", "de": "männlich"}, "w": {"en": "female", "de": "weiblich"}}
    sex = Classification.flat(
        "sex", ["m", "w"], labels=words, titles={"en": "Sex", "de": "Geschlecht"}
    )
    classes = {str(k): {"en": f"Class {k}", "de": f"Klasse {k}"} for k in range(1, 6)}
    titles = {"en": "Age class", "de": "Altersklasse"}
    age = Classification.flat("age", list(classes), labels=classes, titles=titles)
    figures = np.array(_FIGURES, dtype=np.int64)
    down, across = np.indices(figures.shape).astype(np.int32)
    return ProtectedTable(
        dimensions=(Dimension(classifications=(sex,)), Dimension(classifications=(age,))),
        index=(down.ravel(), across.ravel()),
        value=figures.ravel(),
        status=np.full(figures.size, CellStatus.published, dtype=np.int8),
        provenance=Provenance(version="1", method="cell-key", key_grid="10^15"),
        notes=(
            Note(
                "non-additivity",
                {
                    "en": (
                        "Every value is perturbed independently; sums of parts may differ "
                        "from totals."
                    ),
                    "de": (
                        "Jeder Wert ist einzeln überlagert; Summen der Teile können von "
                        "Randsummen abweichen."
                    ),
                },
            ),
        ),
        name="T1",
        titles={"en": "Population by sex and age", "de": "Bevölkerung nach Geschlecht und Alter"},
    )


def square_example() -> ProtectedTable:
    """Squares of the European grid by sex: one hidden, one limited, one zero.

    >>> square_example()["1 km, in the north-east", "w"]
    4
    """
    codes = ["1kmN2684E4334", "1kmN2684E4335", "1kmN2685E4334", "1kmN2685E4335"]
    labels = {"CRS3035RES1000mN2685000E4335000": {"en": "1 km, in the north-east"}}
    squares = Classification.from_squares("square", codes, sizes=[1_000]).replace(labels=labels)
    sex = Classification.flat("sex", ["m", "w"], titles={"en": "Sex", "de": "Geschlecht"})
    figures = np.array([[65, 30, 35], [41, 20, 21], [0, 9, 4], [15, 0, 15], [9, 5, 4]])
    status = np.full(figures.shape, CellStatus.published, dtype=np.int8)
    status[2, 0], status[3, 2] = CellStatus.suppressed, CellStatus.bracketed
    down, across = np.indices(figures.shape).astype(np.int32)
    return ProtectedTable(
        dimensions=(Dimension(classifications=(squares,)), Dimension(classifications=(sex,))),
        index=(down.ravel(), across.ravel()),
        value=figures.ravel(),
        status=status.ravel(),
        provenance=Provenance(version="1", method="cell-key", key_grid="10^15"),
        name="T2",
        titles={
            "en": "Population by square and sex",
            "de": "Bevölkerung nach Quadrat und Geschlecht",
        },
    )
