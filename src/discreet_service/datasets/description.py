"""DATASET.toml: what an office says of a version of a data set, beside its table programme.

In: the file. Out: its checked entries, or one error that lists every mistake with its line. All
about variables, classifications, sources, keys and noise stands in the programme; this file says
what of it can be asked for. Nothing here is confidential.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from discreet.errors import Problem
from discreet.release.programme.file import raise_problems, read_form
from discreet.release.programme.schema import (
    COUNTED,
    Decimals,
    FigureEntry,
    NameList,
    ProgrammeEntry,
    Text,
    Texts,
)

#: The file that makes a folder a version of a data set.
DESCRIPTION = "DATASET.toml"

_Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
_Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]


class DatasetEntry(ProgrammeEntry):
    """[dataset]: what it is called, and what stands where."""

    id: _Id
    version: _Version
    title: Texts
    description: Texts = Field(default_factory=dict)
    period: Text | None = None
    source: Texts = Field(default_factory=dict)
    programme: Text = "programme.toml"
    parameter_set: Text | None = None
    geography: list[Text] = Field(default_factory=list)
    public_codes: list[Text] = Field(default_factory=list)


class UnitValueEntry(ProgrammeEntry):
    """[units.NAME.values.COLUMN]: a value column of which sums and means can be asked for."""

    label: Texts = Field(default_factory=dict)
    unit: Texts = Field(default_factory=dict)
    decimals: Decimals | None = None
    sums: bool = True
    means: bool = True


class UnitEntry(ProgrammeEntry):
    """[units.NAME]: one kind of unit that can be counted."""

    source: Text
    store: Text | None = None
    label: Texts = Field(default_factory=dict)
    variables: NameList | None = None
    values: dict[str, UnitValueEntry] = Field(default_factory=dict)
    figures: dict[str, FigureEntry] = Field(default_factory=dict)


class DatasetDescription(ProgrammeEntry):
    """A whole DATASET.toml."""

    dataset: DatasetEntry
    units: Annotated[dict[_Id, UnitEntry], Field(min_length=1)]


def read_description(folder: Path) -> DatasetDescription:
    """Read the DATASET.toml of a folder, and say everything that is wrong at once.

    >>> read_description(Path("no-such-folder"))
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-folder/DATASET.toml: ...
    """
    place = folder / DESCRIPTION
    described, file, problems = read_form(place, _LooseDescription)
    if described.dataset is None and not problems:
        problems.append(Problem("the section [dataset] is missing", ""))
    if not described.units and not problems:
        problems.append(Problem("there is no section [units.NAME]", ""))
    for unit, entry in described.units.items():
        for figure, about in entry.figures.items():
            where = file.index.place(("units", unit, "figures", figure))
            if about.kind is None:
                problems.append(Problem("kind is missing", where))
            elif about.kind in COUNTED and about.kind != "count" and about.of is None:
                problems.append(Problem("of is missing: the value column", where))
    raise_problems(str(place), problems)
    assert described.dataset is not None
    return DatasetDescription(dataset=described.dataset, units=described.units)


class _LooseDescription(ProgrammeEntry):
    """The same while it is read: what is wrong is left out, and told."""

    dataset: DatasetEntry | None = None
    units: dict[_Id, UnitEntry] = Field(default_factory=dict)
