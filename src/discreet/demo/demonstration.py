"""The demonstration: a synthetic census and invented firms, and what is published of both.

In: an output folder. Out: in `census/` invented records with programme, secret, perturbation
tables and the internal report (the confidential side); in `release/` the protected tables;
in `elsewhere/` some of them once more, made with a package of parameters. Beside them, in
`firms/` a business survey, confidential too, and in `firms-release/` its tables with hidden cells.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.demo.census import write_census
from discreet.demo.elsewhere import MadeElsewhere, hand_on
from discreet.demo.firms import write_firms
from discreet.demo.geography import Geography
from discreet.demo.programme import write_programme
from discreet.demo.survey import HiddenFirms, hide
from discreet.errors import PublicationError
from discreet.files import check_writable

if TYPE_CHECKING:
    from discreet.release import ReleasedTable, ReleaseSummary

__all__ = ["Demonstration", "run"]

#: Called with the steps done, the steps to do, and what has just been done.
StepProgress = Callable[[int, int, str], None]

#: What there is to look at, and why.
_SIGHTS = (
    ("release/index.html", "all tables on one page, with legend"),
    ("release/census.xlsx", "the tables as a workbook with an index"),
    ("release/rents.html", "means, a ratio, an index; parentheses where noise may be large"),
    ("release/rents.px", "the same as PC-Axis; also as JSON-stat and SDMX-CSV"),
    ("release/buildings.html", "a table whose finest part is suppressed"),
    ("release/decisions.json", "what was decided about table parts, and why"),
    ("release/quality.html", "how good the figures are, for everyone"),
    ("census/quality/quality-internal.html", "the same in full: CONFIDENTIAL"),
    ("census/programme.toml", "the programme that did all this"),
    ("elsewhere/programme.toml", "a programme that uses the package of parameters"),
    ("firms-release/index.html", "turnover of firms; a dot stands for a hidden cell"),
    ("firms-release/by_state.csv", "turnover and employees; why each cell is hidden"),
    ("firms-release/suppression.json", "how many cells are hidden, on each part of a table"),
    ("firms/programme.toml", "the rules that hide them: in real life SECRET"),
    (
        "firms/internal/suppression-internal.txt",
        "cost, bound and proof of the pattern: CONFIDENTIAL",
    ),
)

#: The folders that are not for publication; releases make their own.
_FOLDERS = ("census", "elsewhere", "firms")


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """What a demonstration consists of.

    Args:
        out: The folder of everything.
        release: The release of its tables.
        elsewhere: The tables made once more with a package of parameters.
        firms: The release of the firms, whose sensitive cells are hidden.

    >>> from discreet.release import ReleaseSummary
    >>> place = Path("demo-output/release")
    >>> release = ReleaseSummary(out=place, tables=(), report=place / "index.html",
    ...                          manifest=place / "release.json")
    >>> elsewhere = MadeElsewhere(release=release, package=Path("census.dcparams"), files=("a",))
    >>> firms = HiddenFirms(release=release, figures=270, hidden=90, sensitive=40)
    >>> demo = Demonstration(out=place.parent, release=release, elsewhere=elsewhere, firms=firms)
    >>> print(demo.text().splitlines()[-3])
    Made elsewhere with the package of parameters: 1 files, each the same to the byte.
    """

    out: Path
    release: ReleaseSummary
    elsewhere: MadeElsewhere
    firms: HiddenFirms

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
        """What there is to look at: file → what it shows."""
        return {self.out / name: shows for name, shows in _SIGHTS}

    def text(self) -> str:
        """The demonstration for people."""
        width = max(len(str(path)) for path in self.sights)
        number = len(self.elsewhere.files)
        return "\n".join(
            [
                *self.release.text().splitlines()[:-1],
                "Look at",
                *(f"  {path!s:<{width}}  {shows}" for path, shows in self.sights.items()),
                f"Made elsewhere with the package of parameters: {number} files, "
                "each the same to the byte.",
                self.firms.text(),
            ]
        )

    def described(self) -> dict[str, Any]:
        """The demonstration for programs."""
        return {
            **self.release.described(),
            "look_at": {str(path): shows for path, shows in self.sights.items()},
            "elsewhere": self.elsewhere.described(),
            "firms": self.firms.described(),
        }


def run(
    out: str | os.PathLike[str],
    persons: int = 20_000,
    *,
    seed: int = 2026,
    progress: StepProgress | None = None,
) -> Demonstration:
    """Make a synthetic census and a survey of firms, and protect tables of both.

    Args:
        out: Folder for everything; made if there is none.
        persons: Number of persons, 100 to 200 million.
        seed: The same persons and seed give the same release.
        progress: Called with the steps done, the steps to do, and a name.

    Returns:
        What there is to look at.

    >>> run("demo-output", persons=1)
    Traceback (most recent call last):
        ...
    discreet.errors.MicrodataError: [demo-size] persons: a synthetic census has 100 to
    200,000,000 persons
      Hint: 83,000,000 is the full size; 20,000 makes a quick demonstration
    """
    from discreet.release import protect

    Geography.of(persons, seed)  # refuses wrong sizes before any folder is made
    place = _folder(Path(out))
    census, elsewhere, survey = (_folder(place / name) for name in _FOLDERS)
    write_census(census, persons, seed, progress=_persons_step(progress))
    release = protect(write_programme(census), place / "release", progress=progress)
    again = hand_on(census, elsewhere, release)
    firms = hide(write_firms(survey, seed), place / "firms-release", progress=progress)
    return Demonstration(out=place, release=release, elsewhere=again, firms=firms)


def _persons_step(progress: StepProgress | None) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, persons: progress(done, persons, "persons")


def _folder(place: Path) -> Path:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PublicationError(
            f"the folder cannot be made ({error.strerror})",
            code="output-folder",
            where=str(place),
            hint="choose another place",
        ) from None
    check_writable(place)
    return place
