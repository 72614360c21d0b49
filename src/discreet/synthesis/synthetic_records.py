"""Synthetic records: made from records or from protected tables, and written with their report.

In: records (CONFIDENTIAL) or protected tables, settings and a secret. Out: `SyntheticRecords`,
which are written together with the report on utility and risk, or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet._version import __version__
from discreet.errors import MicrodataError, Problem, nearest, raise_all
from discreet.files import texts_of, write_text
from discreet.microdata import DescribedRecords, plain_variable, write_described
from discreet.pretabular import (
    InputRecords,
    draws,
    impossible,
    margins_of,
    record_method,
    suspicion,
)
from discreet.synthesis.columns import columns_of, frame_of
from discreet.synthesis.households import synthetic_households
from discreet.synthesis.margins import records_of
from discreet.synthesis.measures import SynthesisMeasure, risk, utility
from discreet.synthesis.settings import SynthesisSettings
from discreet.synthesis.trees import draw_columns
from discreet.tables import ProtectedTable

_PACKAGE = "discreet.synthesis"
#: The figure of a measure that its verdict is on.
_JUDGED = ("excess", "ratio", "mean")
#: Measures of risk; and so many thresholds are the fewest records to learn from.
RISKS, _TIMES = ("attribute", "membership", "closest", "repeated"), 5


@dataclass(frozen=True, kw_only=True, slots=True)
class SynthesisReport:
    """Measured utility and risk of synthetic records. Public with them."""

    method: str  # "trees" or "tables"
    records: int  # how many there are
    limit: float  # how much more often an attack may be right for people in the file
    measures: Sequence[
        SynthesisMeasure
    ]  # what users can do with the records, and what attackers find
    statement: Mapping[str, str]  # what was done, by language

    @property
    def verdict(self) -> str:
        """Verdict of the attacks: "exceeded", "not_examined", "unclear", or "kept".

        No verdict is a guarantee: other attacks may find more.
        """
        return self._verdicts()[0]

    def _verdicts(self) -> list[str]:
        """All that holds of attacks, the worst first."""
        there = {one.verdict for one in self.measures if one.name in RISKS}
        names = {"bad": "exceeded", "not_examined": "not_examined", "unclear": "unclear"}
        return [name for verdict, name in names.items() if verdict in there] or ["kept"]

    def told(self, language: str = "en") -> list[tuple[str, str]]:
        """Each measure: what it is called, and what it came to; then the verdict on attacks."""
        titles, verdicts = (texts_of(_PACKAGE, part, language) for part in ("titles", "verdicts"))
        lines = []
        for one in self.measures:
            about = f" ({one.about})" if one.about else ""
            figure = next(
                (f"{one.numbers[name]:.3f}, " for name in _JUDGED if name in one.numbers), ""
            )
            lines.append((titles[one.name] + about, figure + verdicts[one.verdict]))
        return [*lines, (titles["verdict"], verdicts[self.verdict])]

    def described(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "version": __version__, "method": self.method, "records": self.records,
            "verdict": self.verdict, "limit": self.limit, "statement": dict(self.statement),
            "measures": [
                {"name": one.name, "verdict": one.verdict, "about": one.about, **one.numbers}
                for one in self.measures
            ],
        }  # fmt: skip

    def text(self, language: str = "en") -> str:
        """The report in plain words: each measure, and what is good and bad."""
        words = texts_of(_PACKAGE, "measures", language)
        lines = [self.statement[language], ""]
        for (title, figure), one in zip(self.told(language), self.measures, strict=False):
            lines.append(f"{title}: {figure}")
            if one.numbers:
                lines.append("  " + words[one.name].format(**one.numbers, limit=self.limit))
        lines += ["", *(words[verdict] for verdict in self._verdicts()), words["no_guarantee"]]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, kw_only=True, repr=False)
class SyntheticRecords:
    """Made-up records and their report: public together, and not one without the other."""

    described: DescribedRecords  # the records
    report: SynthesisReport

    @property
    def statement(self) -> Mapping[str, str]:
        """Description of the method, by language."""
        return self.report.statement

    def write(self, path: str | os.PathLike[str], *, language: str = "en") -> Path:
        """Write records (.csv, .parquet, .dta, .sav), and beside them the report.

        Where an attack exceeds its limit only the report is written.
        """
        place = Path(path)
        plain, listed = (place.with_name(f"{place.stem}-report{end}") for end in (".txt", ".json"))
        write_text(plain, self.report.text(language))
        text = json.dumps(self.report.described(), ensure_ascii=False, indent=1)
        write_text(listed, text + "\n")
        if self.report.verdict == "exceeded":
            place.unlink(missing_ok=True)  # records of before have another report
            message = "an attack is right too often, see the report"
            hint = "use larger leaves, coarser codes or fewer variables"
            raise MicrodataError(message, code="synthesise", where=str(plain), hint=hint)
        return write_described(self.described, place)

    def __repr__(self) -> str:
        return f"<SyntheticRecords: {self.report.records:,}, attacks: {self.report.verdict}>"


@record_method(SynthesisSettings)
def synthesise(held: InputRecords, settings: SynthesisSettings) -> SyntheticRecords:
    """Synthetic records with measured utility and risk.

    Options are those of `SynthesisSettings`; `id` names the columns that identify a record,
    `secret` makes the draws unpredictable. With ``method="tables"`` the source is a protected
    table, a list of them, or a frame with their cells.

    >>> people = pl.DataFrame({"id": range(300), "sex": ["m", "f", "f"] * 100,
    ...                        "age": [at % 61 for at in range(300)]})
    >>> made = synthesise(people, id="id", secret="a long and secret sentence")
    >>> made.described.frame.shape, made.report.verdict
    ((300, 2), 'not_examined')
    """
    secret = held.secret
    if settings.method == "tables":
        return _from_tables(held, settings)
    frame = held.columns(held.frame.columns)
    apart = {*held.ids, settings.household, settings.order if settings.household else None}
    names = settings.variables or [name for name in frame.columns if name not in apart]
    whole = [name for name in (settings.household, settings.order) if name]
    named = {"codes": settings.codes, "keys": settings.keys, "sensitive": settings.sensitive,
             "models": [name for model in settings.models for name in model]}  # fmt: skip
    problems = [Problem(f"no column {name!r}", "variables", nearest(name, frame.columns))
                for name in (*names, *whole) if name not in frame.columns]  # fmt: skip
    problems += [Problem(f"{name!r} is not synthesised", label, nearest(name, names))
                 for label, own in named.items() for name in own if name not in names]  # fmt: skip
    raise_all(MicrodataError, problems, code="synthesise")
    ids = held.identifiers(names)
    if not settings.variables:
        hint = "name it as an identifier (id), or name the variables"
        reasons = {name: suspicion(frame[name]) for name in names}
        problems = [Problem(reason, name, hint) for name, reason in reasons.items() if reason]
        raise_all(MicrodataError, problems, code="synthesise")
    for text in settings.structural_zeros:
        if impossible(frame.select(names), [text]).any():
            message = "some records have an impossible combination"
            hint = "correct them, or remove the condition"
            raise MicrodataError(message, code="synthesise", where=text, hint=hint)
    if settings.household:
        if settings.household in names:
            message, hint = "the household cannot be a variable", "leave it out of variables"
            raise MicrodataError(message, code="synthesise", where="household", hint=hint)
        made_up, measures = synthetic_households(frame, names, held.ids, settings, secret)
        return _result(made_up, measures, settings)
    order = np.argsort(draws(ids, secret, "synthesise; holdout"), kind="stable")
    out = round(len(order) * settings.holdout)
    others, rows = order[:out], order[out:]
    if len(rows) < (fewest := _TIMES * settings.threshold):
        hint = "lower threshold or holdout"
        message = f"fewer than {fewest:,} records to learn from"
        raise MicrodataError(message, code="synthesise", where="records", hint=hint)
    columns = columns_of(frame, names, settings.codes, settings.threshold)
    made = draw_columns(
        columns, rows, settings.records or frame.height, secret,
        leaf=settings.leaf, keep_first=settings.keep_first, rules=settings.structural_zeros,
    )  # fmt: skip
    measures = utility(columns, rows, made, settings.models)
    measures += risk(columns, rows, others, made, settings)
    return _result(frame_of(columns, made), measures, settings)


def _from_tables(held: InputRecords, settings: SynthesisSettings) -> SyntheticRecords:
    source = held.original
    if not isinstance(source, ProtectedTable | list | tuple):
        source = held.columns(held.frame.columns)
    tables = margins_of(source, settings.count, settings.tables)
    frame, measures = records_of(
        tables, settings.structural_zeros, settings.tolerance, settings.records, held.secret
    )
    measures += [
        SynthesisMeasure(name=name, verdict="not_examined") for name in ("pmse", "models", *RISKS)
    ]
    return _result(frame.select(settings.variables or frame.columns), measures, settings)


def _result(
    frame: pl.DataFrame, measures: Sequence[SynthesisMeasure], settings: SynthesisSettings
) -> SyntheticRecords:
    if not settings.household:  # where a record stands tells nothing
        frame = frame.sort(frame.columns, nulls_last=True)
    variables = [plain_variable(column) for column in frame]
    numbers = {
        "records": frame.height,
        "names": ", ".join(name for name in frame.columns if name != settings.household),
        "threshold": settings.threshold,
    }
    statement = {
        language: " ".join(
            texts_of(_PACKAGE, "done", language)[name].format(**numbers)
            for name in (settings.method, *(["members"] if settings.household else []))
        )
        for language in ("en", "de")
    }
    report = SynthesisReport(method=settings.method, records=frame.height, limit=settings.limit,
                             measures=tuple(measures), statement=statement)  # fmt: skip
    described = DescribedRecords(variables=variables, format="frame")
    return SyntheticRecords(described=described, report=report)
