"""The same tables made elsewhere: a package of parameters, and someone who uses it.

In: the folder of the synthetic census, and the release made of it. Out: in a folder of its
own a package, a programme that needs nothing else of the office, its release, and how many
of its files are those of the office to the byte. The package is SECRET, as any package is.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.demo.programme import PROGRAMME
from discreet.errors import PublicationError
from discreet.files import write_text
from discreet.microdata import Secret

if TYPE_CHECKING:
    from discreet.release import ReleaseSummary

__all__ = ["MadeElsewhere", "hand_on"]

#: The tables that are made once more.
_TABLES = ("rents", "buildings", "large_buildings")
_VARIABLES = ("region", "state", "area_class", "building_type", "construction")

_PACKAGE, _PACKAGE_KEY, _OFFICE = "census.dcparams", "package.key", "office"


@dataclass(frozen=True, kw_only=True)
class MadeElsewhere:
    """What came of it.

    Args:
        release: The release made elsewhere.
        package: The package of parameters.
        files: The files of its tables, each equal to the office's to the byte.
    """

    release: ReleaseSummary
    package: Path
    files: tuple[str, ...]

    def described(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "out": str(self.release.out),
            "package": str(self.package),
            "identical_files": list(self.files),
        }


def hand_on(census: Path, place: Path, release: ReleaseSummary) -> MadeElsewhere:
    """Pack the parameters, make some tables again with nothing but the package, and compare.

    Args:
        census: The folder of records and programme.
        place: The folder of whoever uses the package; it is there.
        release: The office's release.
    """
    from discreet.release import protect, read_parameters
    from discreet.release.packages import pack_parameters

    package = pack_parameters(
        read_parameters(census / PROGRAMME, with_secret=True),
        place / _PACKAGE,
        statistic="synthetic-census",
        version="1",
        sign_key=_signing_key(census, place),
        key=_package_key(place),
        overwrite=True,
    )
    programme = place / PROGRAMME
    write_text(programme, _programme((census / PROGRAMME).read_text("utf-8"), census.name))
    theirs = protect(programme, place / "release")
    return MadeElsewhere(release=theirs, package=package, files=_compared(release, theirs))


def _signing_key(census: Path, place: Path) -> Path:
    """The key that the office signs with; its other half goes to whoever uses the package."""
    from discreet.release.packages import write_key_pair

    pair = [(census / _OFFICE).with_suffix(suffix) for suffix in (".key", ".pub")]
    if not all(path.exists() for path in pair):
        for path in pair:
            path.unlink(missing_ok=True)
        write_key_pair(census / _OFFICE)
    shutil.copy(pair[1], place)
    return pair[0]


def _package_key(place: Path) -> Path:
    """The key that opens the package."""
    path = place / _PACKAGE_KEY
    if not path.exists():
        Secret.generate().write(path)
    return path


def _programme(office: str, folder: str) -> str:
    """A programme with the package in place of all parameters, and some of the tables."""
    kept = [section for section in _sections(office) if _wanted(section)]
    text = files("discreet.demo").joinpath("elsewhere.toml").read_text("utf-8")
    return text + re.sub(r'(?m)^hierarchy = "', f"\\g<0>../{folder}/", "\n" + "\n".join(kept))


def _sections(text: str) -> list[str]:
    """The sections of a programme, without the remarks between them."""
    found = re.split(r"(?m)^(?=\[)", text)[1:]
    return [re.sub(r"(?:\n(?:#.*)?)+\Z", "", section) + "\n" for section in found]


def _wanted(section: str) -> bool:
    header = re.match(r"\[+(variables|tables)\.(\w+)", section)
    return header is not None and header[2] in (*_VARIABLES, *_TABLES)


def _compared(ours: ReleaseSummary, theirs: ReleaseSummary) -> tuple[str, ...]:
    """The files of the tables made twice; an error if one of them differs by a byte."""
    listed: Sequence[str] = [file for table in theirs.tables for file in table.files]
    differing = [
        file
        for file in listed
        if (ours.out / file).read_bytes() != (theirs.out / file).read_bytes()
    ]
    if differing:
        raise PublicationError(
            f"{len(differing)} files made elsewhere are not those of the office",
            code="demo-elsewhere",
            where=", ".join(differing),
            hint="use an empty folder for the demonstration",
        )
    return tuple(listed)
