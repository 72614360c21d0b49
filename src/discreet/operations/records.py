"""Methods on records as operations: records in, records for others out.

In: records (CONFIDENTIAL), settings, and a secret where something is drawn. Out: records for
others; a study of what that does to tables, and to the risk of those in them (CONFIDENTIAL); or a
report on records.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, PlainSerializer, WrapValidator, create_model

from discreet.assessment import RecordRiskSettings
from discreet.confidential import Confidential, without_values
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.operations.operation import ChangedSource, MicrodataSource, Operation
from discreet.pretabular import METHODS, RecordSettings, StructureSettings
from discreet.settings import Names, Settings, refused
from discreet.synthesis import SynthesisSettings

if TYPE_CHECKING:
    import polars as pl

    from discreet.assessment import RecordRisk
    from discreet.microdata import Secret
    from discreet.pretabular import AnonymisedRecords, StructureFile
    from discreet.synthesis import SynthesisReport, SyntheticRecords

_PACKAGE = "discreet.pretabular"
#: Records that are changed while somebody waits, and cells of a table that is compared.
_AT_ONCE, _MOST_CELLS = 5_000, 500
#: What stands for a value that is missing.
_MISSING = "(missing)"


def _step_model(name: str, settings: type[RecordSettings]) -> type[RecordSettings]:
    """A step as requests and programmes have it: its method, and the settings of that."""
    own: Any = {"method": (Literal[name], ...), "id": (Names, Field(default_factory=list))}
    model: type[RecordSettings] = create_model(
        settings.__name__.replace("Settings", "Step"), __base__=settings, **own
    )
    return model


#: What a step can be; steps are checked together with what they are to change.
_Step: Any = Union[tuple(_step_model(*each) for each in METHODS.items())]  # noqa: UP007


def _as_written(step: Any, check: Any) -> dict[str, Any]:
    """A step as it is said."""
    del check
    if not isinstance(step, Mapping):
        raise refused("a step must be a table of keys and values")
    return dict(step)


class AnonymisationSettings(Settings):
    """Methods on records, one after the other."""

    #: Each a method and its settings
    steps: Annotated[
        list[Annotated[_Step, WrapValidator(_as_written), PlainSerializer(dict)]],
        Field(min_length=1, max_length=20),
    ]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TableEffect(Confidential):
    """A table before and after. CONFIDENTIAL."""

    by: tuple[str, ...]  # its variables
    cells: Sequence[tuple[tuple[str, ...], int, int]]  # codes, count before, count after

    def measures(self) -> dict[str, float]:
        """Changes of counts: cells, share unchanged, mean and largest difference."""
        moved = [abs(after - before) for _, before, after in self.cells]
        number = max(len(moved), 1)
        return {
            "cells": len(moved),
            "unchanged": sum(not item for item in moved) / number,
            "mean_absolute_deviation": sum(moved) / number,
            "largest": max(moved, default=0),
        }


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RecordsStudy(Confidential):
    """Effect of steps on records. CONFIDENTIAL."""

    made: AnonymisedRecords  # the records afterwards
    before: int  # how many there were
    tables: Sequence[TableEffect]  # tables before and after
    #: Who can be found, before and after; None if no keys are named
    risk: tuple[RecordRisk, RecordRisk] | None

    def described(self) -> dict[str, Any]:
        """For programs: no record. CONFIDENTIAL."""
        return {
            "records": self.before,
            "records_after": self.made.described.frame.height,
            "warnings": list(self.made.warnings),
            "statement": {name: list(each) for name, each in self.made.statement.items()},
            "tables": [
                {
                    "by": list(table.by),
                    "measures": table.measures(),
                    "cells": [
                        {"codes": list(codes), "before": before, "after": after}
                        for codes, before, after in table.cells
                    ],
                }
                for table in self.tables
            ],
            "risk": None if self.risk is None else [dict(item.rates) for item in self.risk],
        }


@without_values
def _changed(
    method: str, source: ChangedSource, settings: Settings, secret: Secret | None
) -> AnonymisedRecords:
    from discreet.pretabular import anonymise_records

    steps: Sequence[Mapping[str, Any]] = [{"method": method, "settings": settings}]
    return anonymise_records(
        source.records,
        settings.steps if isinstance(settings, AnonymisationSettings) else steps,
        id=source.id,
        secret=secret,
        drop=source.drop,
        keep=source.keep,
        files=source.files,
    )


@without_values
def _studied(
    method: str, source: ChangedSource, settings: Settings, secret: Secret | None
) -> RecordsStudy:
    """Change records, and find out what that does to tables, and to the risk of those in them."""
    from discreet.assessment import assess_records

    before = source.records
    _check_named(before, source, "column not found")
    records = _changed(method, source, settings, secret)
    after = records.described.frame
    _check_named(after, source, "after the steps column not found")
    risk = None
    if source.keys:
        frames = (before, after)
        first, second = (assess_records(frame, keys=source.keys) for frame in frames)
        risk = (first, second)
    return RecordsStudy(
        made=records,
        before=before.height,
        tables=[_effect(before, after, by, at) for at, by in enumerate(source.tables)],
        risk=risk,
    )


def _check_named(frame: pl.DataFrame, source: ChangedSource, what: str) -> None:
    """Raise an error unless records have the columns that are looked at."""
    named = [(f"tables[{at}]", name) for at, by in enumerate(source.tables) for name in by]
    named += [(f"keys[{at}]", name) for at, name in enumerate(source.keys)]
    problems = [Problem(what, where) for where, name in named if name not in frame.columns]
    problems += [
        Problem("a variable occurs twice in a table", f"tables[{at}]")
        for at, by in enumerate(source.tables)
        if len(set(by)) < len(by)
    ]
    raise_all(MicrodataError, problems, code="records")


def _effect(before: pl.DataFrame, after: pl.DataFrame, by: Sequence[str], at: int) -> TableEffect:
    """The cells of a table that has both, totals among them."""
    import polars as pl

    from discreet.tabulation import tabulate

    counts: list[Mapping[tuple[str, ...], int]] = []
    names = [f"by{place}" for place in range(len(by))]  # some names no table may have
    for item in (before, after):
        plain = item.select(
            pl.col(name).cast(pl.String).fill_null(_MISSING).alias(own)
            for name, own in zip(by, names, strict=True)
        )
        few = plain.n_unique() <= _MOST_CELLS
        cells = tabulate(plain, names).to_polars().select(*names, "count") if few else plain
        if not few or cells.height > _MOST_CELLS:  # totals counted
            message, hint = f"the table has more than {_MOST_CELLS} cells", "name fewer variables"
            raise MicrodataError(message, code="too-many-cells", where=f"tables[{at}]", hint=hint)
        counts.append({tuple(row[:-1]): int(row[-1]) for row in cells.iter_rows()})
    every = sorted({*counts[0], *counts[1]}, key=lambda codes: [_first(code) for code in codes])
    return TableEffect(
        by=tuple(by),
        cells=[(codes, counts[0].get(codes, 0), counts[1].get(codes, 0)) for codes in every],
    )


def _first(code: str) -> tuple[bool, float, str]:
    """Totals first, then numbers by size, then texts."""
    try:
        number = float(code.partition("-")[0])
    except ValueError:
        number = float("inf")
    return code != "Total", number, code


@without_values
def _made_up(
    source: MicrodataSource, settings: StructureSettings, secret: Secret | None
) -> StructureFile:
    from discreet.pretabular import structure_file

    return structure_file(source.records, settings, id=source.id, secret=secret)


@without_values
def _synthesised(
    source: MicrodataSource, settings: SynthesisSettings, secret: Secret | None
) -> SyntheticRecords:
    from discreet.microdata import DescribedRecords
    from discreet.synthesis import synthesise

    records = source.records
    if settings.method == "tables" and isinstance(records, str | os.PathLike):
        from discreet.release import read_release

        records = [item.table for item in read_release(Path(records))]
    elif isinstance(records, DescribedRecords):
        records = records.frame
    return synthesise(records, settings, id=source.id, secret=secret)


@without_values
def _examined(
    source: MicrodataSource, settings: SynthesisSettings, secret: Secret | None
) -> SynthesisReport:
    return _synthesised(source, settings, secret).report


@without_values
def _risk(
    source: MicrodataSource, settings: RecordRiskSettings, secret: Secret | None
) -> RecordRisk:
    from discreet.assessment import assess_records

    return assess_records(source.records, settings)


def _operation(name: str, settings: type[Settings], **own: Any) -> Operation:
    word = name.replace("_", "-")
    usual: dict[str, Any] = {
        "name": name,
        "package": _PACKAGE,
        "settings": settings,
        "section": name,
        "takes": ChangedSource,
        "draws": lambda chosen, keys: getattr(settings, "drawn", False),
        "run": partial(_changed, name),
        "study": partial(_studied, name),
        "gives": "records",
        "at_once": _AT_ONCE,
        "waits": lambda chosen: _AT_ONCE,
        "command": f"records {word}",
        "address": f"records/{word}",
        "job": "records",
    }
    return Operation(**usual | own)


#: What each method is told of the invented persons of the demonstration.
_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "bottom_code": {"variable": "age", "below": 5.0},
    "calibrate": {"totals": "sex,value\nm,41000000\nw,42000000\n"},
    "drop_identifiers": {"direct": ["person_id", "household_id"]},
    "local_suppression": {"keys": ["district", "sex", "marital_status"]},
    "microaggregate": {"variables": ["age"]},
    "permute": {"variables": ["marital_status"], "share": 0.1, "within": ["district"]},
    "pram": {"variables": {"marital_status": {"stay": 0.8}}, "exact": True},
    "rank_swap": {"variables": ["age"], "window": 0.05},
    "recode": {"variable": "age", "intervals": [0.0, 18.0, 30.0, 45.0, 60.0, 75.0]},
    "round_values": {"variables": ["age"], "base": 5.0},
    "safe": {"variables": ["district", "sex", "marital_status"],
             "controls": [["district", "sex"], ["marital_status"]]},
    "swap": {"household": "household_id", "areas": ["state", "district"],
             "risk": ["sex", "marital_status"], "similar": ["size"], "k": 3, "rate": 0.05},
    "top_code": {"variable": "age", "above": 85.0},
}  # fmt: skip

#: Where chains of steps are asked for.
_CHAIN: Mapping[str, Any] = {"address": "records", "ends": ("/anonymise", "/study")}
#: A chain of steps, and all that a step can be; what records tell; made-up ones.
ON_RECORDS = (
    _operation(
        "anonymise",
        AnonymisationSettings,
        section="",
        draws=lambda chosen, keys: True,
        begin=AnonymisationSettings(steps=[{"method": "recode", **_EXAMPLES["recode"]}]),
        command="",
        **_CHAIN,
        calls=("anonymise_file", "study_anonymised_file"),
        page="records",
    ),
    *(
        # A method alone is a chain of one step, and asked for as such.
        _operation(name, settings, begin=settings(**_EXAMPLES[name]), **_CHAIN, calls=())
        for name, settings in METHODS.items()
    ),
    _operation(
        "structure_file",
        StructureSettings,
        takes=MicrodataSource,
        draws=lambda chosen, keys: True,
        run=_made_up,
        study=None,
        begin=StructureSettings(),
        command="",
        address="records/structure-file",
        page="structure-file",
        calls=("make_up_records",),
    ),
    _operation(
        "synthesise",
        SynthesisSettings,
        package="discreet.synthesis",
        takes=MicrodataSource,
        draws=lambda chosen, keys: True,
        run=_synthesised,
        study=_examined,
        gives="package",
        begin=SynthesisSettings(),
        command="synthesise",
        address="records/synthesise",
        ends=("", "/study"),
        page="synthesise",
        calls=("synthesise_records", "study_synthetic_records"),
    ),
    _operation(
        "assess_records",
        RecordRiskSettings,
        package="discreet.assessment",
        takes=MicrodataSource,
        run=lambda *given: _risk(*given).described(),
        gives="report",
        study=_risk,
        begin=RecordRiskSettings(keys=["district", "sex", "age"]),
        command="",
        address="records/risk",
        page="record-risk",
        calls=("assess_risk_of_records",),
    ),
)
