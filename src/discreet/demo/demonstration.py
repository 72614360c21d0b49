"""The demonstration: a synthetic census and invented firms, and what is published of both.

In: an output folder. Out: in `census/` invented records with programme, secret, perturbation
tables and the internal report (the confidential side); in `release/` the protected tables;
in `elsewhere/` some of them once more, made with a package of parameters, which is SECRET as
any package is. Beside them, in `firms/` a business survey, confidential too, and in
`firms-release/` its tables with hidden cells, audited as they stand there: an error unless
every sensitive cell is proven to be protected.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.demo.census import PROGRAMME, write_census, write_programme
from discreet.demo.classifications import classifications_of, coded
from discreet.demo.firms import firms_of, write_firms
from discreet.demo.geography import Geography
from discreet.demo.outlines import outlines_of
from discreet.demo.products import ReleasedProducts, release_products
from discreet.demo.records import UNITS
from discreet.errors import PublicationError
from discreet.files import atomic_path, check_writable, write_text
from discreet.microdata import Secret

if TYPE_CHECKING:
    from discreet.release import ReleasedTable, ReleaseSummary

#: The tables that are made once more.
_TABLES = ("rents", "buildings", "large_buildings")
_VARIABLES = ("region", "state", "area_class", "building_type", "construction")

_PACKAGE, _PACKAGE_KEY, _OFFICE = "census.dcparams", "package.key", "office"


@dataclass(frozen=True, kw_only=True)
class MadeElsewhere:
    """Some tables made once more; each file equals the office's to the byte."""

    release: ReleaseSummary
    package: Path
    files: tuple[str, ...]

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "out": str(self.release.out),
            "package": str(self.package),
            "identical_files": list(self.files),
        }


def hand_on(census: Path, place: Path, release: ReleaseSummary) -> MadeElsewhere:
    """Pack the parameters, make some tables again with nothing but the package, and compare."""
    from discreet.release import pack_parameters, protect, read_parameters

    key = place / _PACKAGE_KEY
    if not key.exists():
        Secret.generate().write(key)
    package = pack_parameters(
        read_parameters(census / PROGRAMME, with_secret=True),
        place / _PACKAGE,
        statistic="synthetic-census",
        version="1",
        sign_key=census / f"{_OFFICE}.key",
        key=key,
        overwrite=True,
    )
    shutil.copy(census / f"{_OFFICE}.pub", place)
    programme = place / PROGRAMME
    write_text(programme, _programme((census / PROGRAMME).read_text("utf-8"), census.name))
    theirs = protect(programme, place / "release")
    return MadeElsewhere(release=theirs, package=package, files=_compared(release, theirs))


def _write_signing_key(census: Path) -> None:
    """The key that the office signs with, unless it has one; its other half is public."""
    from discreet.release import write_key_pair

    pair = [(census / _OFFICE).with_suffix(suffix) for suffix in (".key", ".pub")]
    if not all(path.exists() for path in pair):
        for path in pair:
            path.unlink(missing_ok=True)
        write_key_pair(census / _OFFICE)


def _signed(programme: Path, key: str) -> Path:
    """The programme, whose release is signed."""
    text = f'{programme.read_text("utf-8").rstrip()}\n\n[release]\nsign = "{key}"\n'
    write_text(programme, text, private=bool(programme.stat().st_mode & 0o077 == 0))
    return programme


def _programme(office: str, folder: str) -> str:
    """A programme with the package in place of all parameters, and some of the tables."""
    text = files("discreet.demo").joinpath("elsewhere.toml").read_text("utf-8")
    for section in re.split(r"(?m)^(?=\[)", office)[1:]:
        header = re.match(r"\[+(variables|tables)\.(\w+)", section)
        if header is not None and header[2] in (*_VARIABLES, *_TABLES):
            section = re.sub(r"(?:\n(?:#.*)?)+\Z", "", section)  # the remarks between sections
            text += "\n" + re.sub(
                r'(?m)^(hierarchy|boundaries) = "', f"\\g<0>../{folder}/", section
            )
            text += "\n"
    return text


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
            f"{len(differing)} files from the other place differ from those of the office",
            code="demo-elsewhere",
            where=", ".join(differing),
            hint="use an empty folder for the demonstration",
        )
    return tuple(listed)


@dataclass(frozen=True, kw_only=True)
class HiddenFirms:
    """Result of the survey of firms."""

    programme: Path  # the programme of the firms. CONFIDENTIAL
    release: ReleaseSummary
    figures: int  # number of its figures; one that several tables share counts once
    hidden: int  # how many of them are hidden
    sensitive: int  # how many of those are sensitive; each is proven to be protected

    def text(self) -> str:
        """As text."""
        return (
            f"Firms: {self.hidden:,} of {self.figures:,} values are suppressed, "
            f"{self.sensitive:,} of them by the rules.\nThe audit proves that each of these is "
            f"protected: discreet audit {self.programme} --release {self.release.out}."
        )

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "out": str(self.release.out),
            "figures": self.figures,
            "hidden": self.hidden,
            "sensitive": self.sensitive,
        }


def audited(programme: Path, release: ReleaseSummary) -> HiddenFirms:
    """Look for what anyone can work out; an error if a sensitive cell is not protected."""
    from discreet.release import audit_release

    verdict = audit_release(programme, release.out)
    if not verdict.safe:
        message = "the release of the firms is not safe, or has been changed"
        hint = "use an empty folder for the demonstration"
        raise PublicationError(message, code="demo-firms", where=str(release.out), hint=hint)
    audits = verdict.audits.values()
    return HiddenFirms(
        programme=programme,
        release=release,
        figures=sum(len(audit.hidden) for audit in audits),
        hidden=sum(int(audit.hidden.sum()) for audit in audits),
        sensitive=sum(int(audit.sensitive.sum()) for audit in audits),
    )


#: Called with the steps done, the steps to do, and what has just been done.
StepProgress = Callable[[int, int, str], None]

#: The folders that are not for publication; releases make their own.
_FOLDERS = ("census", "elsewhere", "firms")


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """Contents of a demonstration.

    >>> from discreet.release import ReleaseSummary
    >>> place = Path("demo-output/release")
    >>> release = ReleaseSummary(out=place, tables=(), report=place / "index.html",
    ...                          manifest=place / "release.json")
    >>> elsewhere = MadeElsewhere(release=release, package=Path("census.dcparams"), files=("a",))
    >>> firms = HiddenFirms(programme=Path("firms.toml"), release=release, figures=270,
    ...                     hidden=90, sensitive=40)
    >>> demo = Demonstration(out=place.parent, release=release, elsewhere=elsewhere, firms=firms)
    >>> print(demo.text().splitlines()[-3])
    Another place made the same 1 files from the package of parameters, byte by byte.
    """

    out: Path  # the folder of everything
    release: ReleaseSummary  # the release of its tables
    elsewhere: MadeElsewhere  # the tables made once more with a package of parameters
    firms: HiddenFirms  # the release of the firms, whose sensitive cells are hidden
    #: All products of a census office, if they were asked for
    products: ReleasedProducts | None = None

    @property
    def tables(self) -> tuple[ReleasedTable, ...]:
        """The tables of the census."""
        return self.release.tables

    @property
    def report(self) -> Path:
        """The page about the release."""
        return self.release.report

    @property
    def sights(self) -> dict[Path, str]:
        """Files to look at: file → content."""
        lines = files("discreet.demo").joinpath("sights.csv").read_text("utf-8").splitlines()
        return {self.out / row["file"]: row["shows"] for row in csv.DictReader(lines)}

    def text(self) -> str:
        """The demonstration for people."""
        width = max(len(str(path)) for path in self.sights)
        number = len(self.elsewhere.files)
        return "\n".join(
            [
                *self.release.text().splitlines()[:-1],
                "Look at",
                *(f"  {path!s:<{width}}  {shows}" for path, shows in self.sights.items()),
                f"Anyone can verify both releases: discreet verify {self.release.out} "
                f"--public-key {self.out / _FOLDERS[0] / _OFFICE}.pub",
                f"Another place made the same {number} files from the package of parameters, "
                "byte by byte.",
                self.firms.text(),
                *([] if self.products is None else [self.products.text()]),
            ]
        )

    def described(self) -> dict[str, Any]:
        """The demonstration for programs."""
        return {
            **self.release.described(),
            "look_at": {str(path): shows for path, shows in self.sights.items()},
            "elsewhere": self.elsewhere.described(),
            "firms": self.firms.described(),
            **({} if self.products is None else {"products": self.products.described()}),
        }


def run(
    out: str | os.PathLike[str],
    persons: int = 20_000,
    *,
    seed: int = 2026,
    products: bool = False,
    progress: StepProgress | None = None,
) -> Demonstration:
    """Make a synthetic census and a survey of firms, and protect tables of both.

    Returns:
        What there is to look at.

    >>> run("demo-output", persons=1)
    Traceback (most recent call last):
        ...
    discreet.errors.MicrodataError: [demo-size] persons: ...
      Hint: 83,000,000 is the full size; 20,000 makes a quick demonstration
    """
    from discreet.release import protect

    Geography.of(persons, seed)  # refuses wrong sizes before any folder is made
    place = _folder(Path(out))
    census, elsewhere, survey = (_folder(place / name) for name in _FOLDERS)
    step = None if progress is None else lambda done, whole: progress(done, whole, "persons")
    write_census(census, persons, seed, progress=step)
    _write_signing_key(census)
    programme = _signed(write_programme(census), f"{_OFFICE}.key")
    release = protect(programme, place / "release", progress=progress)
    again = hand_on(census, elsewhere, release)
    survey_programme = _signed(write_firms(survey, seed), f"../{census.name}/{_OFFICE}.key")
    hidden = protect(survey_programme, place / "firms-release", progress=progress)
    firms = audited(survey_programme, hidden)
    more = None
    if products:
        more = release_products(census, place / "products-release", progress=progress)
    return Demonstration(out=place, release=release, elsewhere=again, firms=firms, products=more)


def write_records(
    out: str | os.PathLike[str],
    persons: int = 20_000,
    *,
    seed: int = 2026,
    progress: StepProgress | None = None,
) -> tuple[Path, ...]:
    """Write invented records and code lists, and nothing that says how to protect them.

    Returns:
        The files: records of census and firms (.parquet), boundaries (.geojson), code lists (.csv).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.stem for file in write_records(folder, persons=1_000)][:4]
    ['persons', 'households', 'dwellings', 'buildings']
    """
    country = Geography.of(persons, seed)
    place = _folder(Path(out))
    step = None if progress is None else lambda done, whole: progress(done, whole, "persons")
    census = write_census(place, persons, seed, progress=step)
    written = [getattr(census, unit) for unit in UNITS]
    written += [place / "firms.parquet", place / "regions.geojson"]
    with atomic_path(written[-2]) as temporary:
        firms_of(country).write_parquet(temporary)
    outlines_of(country).write(written[-1])
    for name, tree in {**classifications_of(country), "branch": coded("branch")}.items():
        if tree.bounds is None:
            written.append(place / f"{name}.csv")
            tree.write(written[-1])
    return tuple(written)


def _folder(place: Path) -> Path:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message, hint = f"the folder cannot be created ({error.strerror})", "choose another place"
        raise PublicationError(message, code="output-folder", where=str(place), hint=hint) from None
    check_writable(place)
    return place
