"""What a census office publishes, as one programme, and whether figures agree between products.

In: the folder of a synthetic census. Out: `products.toml`, a programme of a database, regional
tables, grid data, an atlas, a special analysis and a hypercube for Eurostat; of its release the
figures that occur more than once, and those of them that differ.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.demo.census import write_programme
from discreet.errors import PublicationError
from discreet.files import write_text

if TYPE_CHECKING:
    from discreet.release import ReleaseSummary

PRODUCTS = "products.toml"
#: Variables that say the same with the same codes.
_SAME = {"state": "region", "age5": "age"}
_TOTAL = "Total"
#: Columns of CSV and of SDMX-CSV that are no variables.
_BESIDE = frozenset({
    "value", "status", "symbol", "note", "STRUCTURE", "STRUCTURE_ID", "ACTION", "OBS_VALUE",
    "OBS_STATUS", "CONF_STATUS", "DECIMALS",
})  # fmt: skip
#: The list of the files of a table with areas.
_LIST = ".areas.csv"
#: A filter, and the codes that are no totals.
_Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class ReleasedProducts:
    """The products of a census office, released."""

    release: ReleaseSummary  # their release
    agreed: AgreedFigures  # the figures that stand in several of them

    def text(self) -> str:
        """As text."""
        return f"All products in {self.release.out}: {self.agreed.text()}"

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"out": str(self.release.out), **self.agreed.described()}


@dataclass(frozen=True, kw_only=True)
class AgreedFigures:
    """Figures of a release that stand in several of its files."""

    files: int  # how many files were read
    figures: int  # how many different figures they hold
    repeated: int  # how many of these stand in more than one file
    #: Those that are not the same everywhere: what of, and in which files
    differing: tuple[str, ...]

    def text(self) -> str:
        """As text.

        >>> print(AgreedFigures(files=3, figures=90, repeated=20, differing=()).text())
        3 files contain 90 values; 20 of them are in several files, always equal.
        """
        agreement = f"{len(self.differing):,} of these DIFFER" if self.differing else "always equal"
        return (
            f"{self.files:,} files contain {self.figures:,} values; {self.repeated:,} of them "
            f"are in several files, {agreement}."
        )

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**vars(self), "differing": list(self.differing)}


def write_products(folder: str | os.PathLike[str]) -> Path:
    """Write the programme of all products beside the records of a synthetic census.

    Returns:
        The programme file.

    >>> import tempfile
    >>> from discreet.demo import write_census
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_census(folder, persons=1_000)
    ...     write_products(folder).name
    'products.toml'
    """
    head = write_programme(folder).read_text("utf-8").partition("\n# --- what is published")[0]
    text = re.sub(r"(?m)^(?:workbook|atlas) = .*\n", "", head)
    own = files("discreet.demo").joinpath(PRODUCTS).read_text("utf-8")
    programme = Path(folder) / PRODUCTS
    write_text(programme, f"{text.rstrip()}\n\n{own}")
    return programme


def release_products(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    progress: Callable[[int, int, str], None] | None = None,
) -> ReleasedProducts:
    """Release all products, and compare them; an error if a figure is not the same everywhere."""
    from discreet.release import protect

    release = protect(write_products(folder), out, progress=progress)
    agreed = agreed_figures(release.out)
    if agreed.differing:
        raise PublicationError(
            f"{len(agreed.differing):,} values differ between products",
            code="demo-products",
            where="; ".join(agreed.differing[:3]),
            hint="use an empty folder for the demonstration",
        )
    return ReleasedProducts(release=release, agreed=agreed)


def agreed_figures(release: str | os.PathLike[str]) -> AgreedFigures:
    """Which figures stand in several CSV files of a release, and whether they are the same there.

    A figure is what its variables say without their totals; a filter makes it another one.

    Raises:
        PublicationError: There are no such files.
    """
    out = Path(release)
    values: dict[_Key, dict[str, str]] = {}
    own = _areas(out)
    paths = [path for path in sorted(out.glob("*.csv")) if ".de." not in path.name]
    paths = [path for path in paths if not path.name.endswith(_LIST)]
    if not paths:
        message = "no tables in this folder"
        raise PublicationError(message, code="release-folder", where=str(out))
    for path in paths:
        for key, value in _figures(path, own.get(path.name, {})):
            values.setdefault(key, {})[path.name] = value
    repeated = {key: where for key, where in values.items() if len(where) > 1}
    differing = tuple(
        f"{_said(key)} ({', '.join(sorted(where))})"
        for key, where in repeated.items()
        if len(set(where.values())) > 1
    )
    return AgreedFigures(
        files=len(paths), figures=len(values), repeated=len(repeated), differing=differing
    )


def _areas(out: Path) -> dict[str, dict[str, str]]:
    """The area that a file is about, by its name."""
    areas: dict[str, dict[str, str]] = {}
    for path in out.glob(f"*{_LIST}"):
        with path.open(newline="", encoding="utf-8-sig") as file:
            areas |= {row["file"]: {"region": row["code"]} for row in csv.DictReader(file)}
    return areas


def _figures(path: Path, area: Mapping[str, str]) -> Iterator[tuple[_Key, str]]:
    universe = path.name if path.name.startswith("special") else ""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        names = [name for name in reader.fieldnames or () if name not in _BESIDE]
        names = [name for name in names if not name.endswith("_label")]
        value = "value" if "value" in (reader.fieldnames or ()) else "OBS_VALUE"
        for row in reader:
            codes = {_SAME.get(name, name): row[name] for name in names if row[name] != _TOTAL}
            yield (universe, frozenset((codes | dict(area)).items())), row[value]


def _said(key: _Key) -> str:
    codes: Mapping[str, str] = dict(sorted(key[1]))
    return ", ".join(f"{name} = {code}" for name, code in codes.items()) or "all"
