"""Hypercubes of a synthetic census, from a structure message: as Europe's censuses send them.

In: the folder of a synthetic census with its programme. Out: in `hypercubes/` the message
`structures.xml`, which says what four hypercubes are spanned by, one of them squares of 1 km, and
the programme drafted from it. The structures are like those of the European census of 2021, and
much smaller; all of it is invented.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from discreet.classifications import Classification
from discreet.files import atomic_path, make_folder, write_text
from discreet.publication import DataStructure, ListedCode, StructureDimension, structure_message

_SPEC: Mapping[str, Any] = tomllib.loads(
    files("discreet.demo").joinpath("hypercubes.toml").read_text("utf-8")
)
_PERIOD, _COLUMNS, _TITLES = _SPEC["period"], _SPEC["columns"], _SPEC["titles"]


def hypercube_structures(census: str | os.PathLike[str]) -> list[DataStructure]:
    """The structures of the hypercubes of a census."""
    codes = {
        name: _codes(Classification.read(Path(census) / f)) for name, f in _SPEC["files"].items()
    }
    for name, rows in _SPEC["codes"].items():
        total = rows[0][0]
        codes[name] = tuple(
            ListedCode(code, "" if code == total else total, {"en": english, "de": german})
            for code, english, german in rows
        )

    def dimension(name: str) -> StructureDimension:
        codelist = f"CL_{name}" if name in codes else ""
        own = codes.get(name, ())
        return StructureDimension(name=name, titles=_TITLES[name], codelist=codelist, codes=own)

    return [
        DataStructure(
            agency="DISCREET",
            name=name,
            version="1.0",
            titles={lang: _title(spanning, lang) for lang in ("en", "de")},
            dimensions=tuple(map(dimension, (*spanning, _PERIOD))),
            period=_PERIOD,
        )
        for name, spanning in _SPEC["cubes"].items()
    ]


def _codes(tree: Classification) -> tuple[ListedCode, ...]:
    """The codes of a tree; "_T" stands for all."""
    named = {tree.codes[0]: "_T"}
    return tuple(
        ListedCode(
            named.get(code, code),
            "" if above < 0 else named.get(tree.codes[above], tree.codes[above]),
            {lang: tree.label(code, lang) or code for lang in ("en", "de")},
        )
        for code, above in zip(tree.codes, tree.parents, strict=True)
    )


def _title(spanning: Sequence[str], language: str) -> str:
    texts = {"en": ("Population by {}", " and "), "de": ("Bevölkerung nach {}", " und ")}
    text, joined = texts[language]
    words = [_TITLES[name][language] for name in spanning]
    return text.format(joined.join([", ".join(words[:-1]), words[-1]]))


def _write_persons(source: Path, target: Path) -> None:
    """The persons with their squares of 1 km, of which those of 100 m are parts."""
    import polars as pl

    wanted = {*_COLUMNS.values(), "person_id"} - {"square"}
    square = pl.col("grid_cell").cast(pl.String)
    square = square.str.replace(r"^100mN(\d+)\dE(\d+)\d$", "CRS3035RES1000mN${1}000E${2}000")
    with atomic_path(target) as temporary:
        persons = pl.scan_parquet(source)
        persons.select(*sorted(wanted), square.alias("square")).sink_parquet(temporary)


def write_hypercubes(census: str | os.PathLike[str]) -> Path:
    """Write structures, and the programme that is drafted from them, beside a synthetic census.

    Returns:
        The programme file.

    >>> import tempfile
    >>> from discreet.demo import write_census, write_programme
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_census(folder, persons=1_000), write_programme(folder)
    ...     write_hypercubes(folder).parent.name
    'hypercubes'
    """
    from discreet.release import StructureDraft, write_structure_programme

    folder = Path(census)
    place = folder / "hypercubes"
    make_folder(place)
    message = place / "structures.xml"
    write_text(message, structure_message(*hypercube_structures(folder)))
    draft = StructureDraft.of(
        message, columns=_COLUMNS, constant={_PERIOD: _SPEC["year"]}, squares=("GRID",)
    )
    persons = {"source": str(place / "persons.parquet")}
    _write_persons(folder / "persons.parquet", place / "persons.parquet")
    recoded = {"recode": {"sex": {"m": "M", "w": "F"}}}
    return write_structure_programme(
        draft,
        place,
        data={**persons, **recoded},
        keys={"id": "person_id", "secret_file": str(folder / "secret.key")},
        ptable=str(folder / "ptable.json"),
        title="Hypercubes (synthetic)",
    )
