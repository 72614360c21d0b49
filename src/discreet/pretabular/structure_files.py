"""Structure files (Dummy-Dateien, Datenstrukturfiles): made-up records that look like a file.

In: records, CONFIDENTIAL, and what of them is public. Out: `StructureFile`: as many made-up
records as are asked for, with the variables, labels, types, formats, codes and kinds of missing
values of the original, and no record of it; a statement that is public; and findings, which are
CONFIDENTIAL. Each value is drawn from the form of its variable by a cipher under a secret.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import polars as pl

from discreet.arrays import IntArray, PositionArray, UintArray
from discreet.compiled import compiled
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.files import texts_of, write_text
from discreet.keygrid import KeyGrid
from discreet.microdata import (
    DescribedRecords,
    DescribedVariable,
    KeyFunction,
    Secret,
    described_records,
    write_described,
)
from discreet.pretabular.changed_records import InputRecords, record_method
from discreet.pretabular.settings import StructureSettings
from discreet.pretabular.structure_forms import (
    Form,
    FormFinder,
    combinations,
    patterns,
)

_VERSION = "discreet structure file, version 1"
#: Candidates for each record where the largest agreement allowed is to be found out.
_CHOICE = 3
_ROUNDS = 40
#: One in so many records has a kind of missing value, or a code among numbers, of its own.
_SELDOM, _SPECIAL = 20, 5
_UNUSUAL = (pl.Binary, pl.Object, pl.Duration, pl.Int128, pl.UInt128)
_LETTERS = {"a": "abcdefghijklmnopqrstuvwxyz", "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "9": "0123456789"}


@dataclass(frozen=True, kw_only=True, repr=False)
class StructureFile:
    """Made-up records that have the structure of others.

    Args:
        described: The records with their description. Public.
        below: No values of so many variables together are those of few original units.
        statement: What was done, in English and German. Public.
        findings: What was left out of each variable, and what the checks found. CONFIDENTIAL.
    """

    described: DescribedRecords
    below: int
    statement: Mapping[str, str]
    findings: Mapping[str, Any]

    @property
    def records(self) -> pl.DataFrame:
        """The made-up records."""
        return self.described.frame

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the records to a .dta, .sav, .csv or .parquet file."""
        return write_described(self.described, path)

    def write_findings(self, path: str | os.PathLike[str]) -> None:
        """Write the findings as JSON, readable by the owner only. CONFIDENTIAL."""
        text = json.dumps(self.findings, ensure_ascii=False, indent=1)
        write_text(path, text + "\n", private=True)

    def __repr__(self) -> str:
        shape = self.records.shape
        return f"<StructureFile: {shape[0]:,} made-up records, {shape[1]:,} variables>"


@record_method(StructureSettings)
def structure_file(records: InputRecords, settings: StructureSettings) -> StructureFile:
    """Made-up records with the structure of others.

    Of Stata and SPSS files labels, formats, types and kinds of missing values are kept. Options are
    those of `StructureSettings`; `id` names variables that name a person, household or firm: they
    are replaced by others of their form. `secret` makes the same file again; without it, each call
    gives another one.

    >>> people = pl.DataFrame({"sex": ["m", "f"] * 50, "pay": range(1000, 1100)})
    >>> made = structure_file(people, records=5, secret="a long and secret sentence")
    >>> made
    <StructureFile: 5 made-up records, 2 variables>
    """
    original = records.original
    if not isinstance(original, DescribedRecords):
        original = described_records(original, **records.reading)
    names = [one.name for one in original.variables]
    ids, unit = records.ids, settings.unit
    ids += [unit] if unit and unit not in ids else []
    public, shares = settings.public, settings.shares
    listed = {"id": ids, "public": public, "shares": shares}
    problems = [
        Problem("variable not found", f"{label}: {name}")
        for label, own in listed.items()
        for name in own
        if name not in names
    ]
    problems += [
        Problem("an identifier cannot be in public or shares", name)
        for name in ids
        if name in public or name in shares
    ]
    problems += [
        Problem(f"cannot create dummy values of type {one.values.dtype}", one.name, "drop it")
        for one in original.variables
        if one.values.dtype.is_nested() or one.values.dtype in _UNUSUAL
    ]
    raise_all(MicrodataError, problems, code="structure-file")
    flat = [name for item in settings.together for name in item]
    problems = [
        Problem("variable not found", f"together: {name}") for name in flat if name not in names
    ]
    if len(set(flat)) < len(flat):
        problems.append(Problem("a variable can be in one set only", "together"))
    raise_all(MicrodataError, problems, code="structure-file")
    units = original.variables[names.index(unit)].values if unit else None
    secret = Secret.generate() if records.stated_secret is None else records.secret
    return _Maker(original, units, settings, ids, secret).file()


class _Maker:
    """Makes up records in the forms of the variables."""

    def __init__(
        self,
        original: DescribedRecords,
        units: pl.Series | None,
        settings: StructureSettings,
        ids: Sequence[str],
        secret: Secret,
    ) -> None:
        self.original, self.units, self.settings, self.secret = original, units, settings, secret
        least = settings.threshold
        self.forms = FormFinder(original, units, settings, ids).forms()
        self.patterns, self.patterns_left = patterns(original, units, least)
        self.sets = [
            (list(names), combinations(original, names, units, least))
            for names in settings.together
        ]
        named = {one.described.name: one for one in self.forms}
        message = "too few units share these codes for a combination"
        hint = "use fewer variables, or a lower threshold"
        problems = [
            Problem(message, f"together: {', '.join(names)}", hint)
            for names, rowwise in self.sets
            if not rowwise or any(named[name].kind != "codes" for name in names)
        ]
        raise_all(MicrodataError, problems, code="structure-file")

    def file(self) -> StructureFile:
        """The file, once its records agree with no rare ones."""
        records = self.settings.records
        rows, below, rejected = self._chosen(records, self.settings.agree)
        rows = rows[np.argsort(self._draw("order", rows, 10**15), kind="stable")]
        columns = self._columns(rows)
        variables = []
        for form, one in zip(self.forms, self.original.variables, strict=True):
            values, reasons = columns[one.name]
            if form.masks:
                fresh = self._texts(form, one, np.arange(records))
                values = fresh.zip_with(reasons.is_null(), fresh.clear(len(fresh)))
            description = form.described
            typed = _typed(values.alias(one.name), description.values.dtype)
            variables.append(replace(description, values=typed, reasons=reasons))
        described = replace(self.original, variables=variables)
        numbers = {"records": records, "threshold": self.settings.threshold, "below": below,
                "checked": len(self._checked())}  # fmt: skip
        statement = {}
        for language in ("en", "de"):
            texts = texts_of("discreet.pretabular", "structure-file", language)
            lines = [texts[name].format(**numbers) for name in ("made-up", "checked")]
            for name, own in (("public", self.settings.public), ("shares", self.settings.shares)):
                lines += [texts[name].format(names=", ".join(sorted({*own})))] if own else []
            statement[language] = " ".join(lines)
        return StructureFile(
            described=described,
            below=below,
            statement=statement,
            findings={
                **numbers,
                "candidates rejected": rejected,
                "patterns of missing values omitted": self.patterns_left,
                "variables": {
                    form.described.name: {"kind": form.kind, "found": list(form.findings)}
                    for form in self.forms
                },
            },
        )

    def _checked(self) -> list[str]:
        """The variables whose values are compared: the others are new throughout."""
        return [form.described.name for form in self.forms if form.kind in
                ("codes", "numbers", "dates")]  # fmt: skip

    def _chosen(self, records: int, agree: int | None) -> tuple[IntArray, int, int]:
        """Numbers of the candidates taken, the agreement they stay below, how many were not."""
        names = self._checked()
        true = {one.name: one.values for one in self.original.variables}
        dtypes = {form.described.name: form.described.values.dtype for form in self.forms}
        original = pl.DataFrame([_comparable(true[name]) for name in names])
        kept, tried = np.zeros(0, dtype=np.int64), 0
        whole = max(len(names), 1)  # a whole record is never that of few
        below = min(agree or whole, whole)
        for _ in range(_ROUNDS if agree else 1):
            rows = np.arange(tried, tried + records * (1 if agree else _CHOICE))
            tried += len(rows)
            columns = self._columns(rows)
            candidates = [
                _comparable(_typed(columns[name][0].alias(name), dtypes[name])) for name in names
            ]
            agreements = np.zeros(len(rows), dtype=np.int64)
            if names:
                frame, rules = pl.DataFrame(candidates), self.settings
                agreements = rare_agreement(
                    frame, original, self.units, rules.threshold, rules.public
                )
            if agree is None:
                below = int(np.sort(agreements)[records - 1]) + 1
            kept = np.concatenate([kept, rows[agreements < below]])
            if len(kept) >= records:
                break
        if len(kept) < records or below > whole:
            raise MicrodataError(
                "too many dummy records combine values of few units",
                code="structure-file",
                where=f"agree = {below}" if agree else f"{len(names)} variables",
                hint="raise agree, reduce records, or combine fewer codes",
            )
        return kept[:records], below, tried - len(kept)

    def _draw(self, purpose: str, rows: IntArray, size: int) -> IntArray:
        """A whole number below `size` for each row, as if drawn, and always the same."""
        if size < 2:
            return np.zeros(len(rows), dtype=np.int64)
        cipher = self.secret.derive(f"{_VERSION}; {purpose}")
        return KeyFunction(cipher, KeyGrid(size)).of_numbers(rows)

    def _columns(self, rows: IntArray) -> dict[str, tuple[pl.Series, pl.Series]]:
        """Values and kinds of missing values of each variable, texts left empty."""
        columns = {}
        which = rows % len(self.patterns)
        for form in self.forms:
            name = form.described.name
            by_pattern = pl.Series(
                [pattern.get(name) for pattern in self.patterns], dtype=pl.String
            )
            reasons = by_pattern.gather(which)
            for reason in form.reasons:
                if not (by_pattern == reason).any():
                    seldom = self._draw(f"{name}; missing {reason}", rows, _SELDOM) == 0
                    reasons = reasons.set(pl.Series(seldom) & reasons.is_null(), reason)
            columns[name] = (self._values(form, name, rows), reasons)
        for at, (names, rowwise) in enumerate(self.sets):
            drawn = self._draw(f"together {at}", rows, len(rowwise))
            for place, name in enumerate(names):
                values = pl.Series([item[place][0] for item in rowwise],
                                   dtype=columns[name][0].dtype)  # fmt: skip
                reasons = pl.Series([item[place][1] for item in rowwise], dtype=pl.String)
                columns[name] = (values.gather(drawn), reasons.gather(drawn))
        return {
            name: (values.set(reasons.is_not_null(), None), reasons)
            for name, (values, reasons) in columns.items()
        }

    def _values(self, form: Form, name: str, rows: IntArray) -> pl.Series:
        """Values in steps turned into values; nulls for texts."""
        if form.kind == "codes":
            if form.weights is None:
                return form.codes.gather(self._draw(name, rows, len(form.codes)))
            drawn = self._draw(name, rows, int(form.weights.sum()))
            return form.codes.gather(np.searchsorted(np.cumsum(form.weights), drawn, side="right"))
        if not form.ranges:
            return pl.Series([None], dtype=pl.String).new_from_index(0, len(rows))
        steps = np.zeros(len(rows), dtype=np.int64)
        part = self._draw(f"{name}; class", rows, len(form.ranges))
        for at, (low, high) in enumerate(form.ranges):
            here = part == at
            steps[here] = low + self._draw(f"{name}; {at}", rows[here], high - low + 1)
        if form.kind == "dates":
            moments = pl.Series(steps * int(form.scale))
            if form.date_format:
                return _typed(moments, pl.Date()).dt.strftime(form.date_format)
            return moments
        large = form.scale >= 1
        values = pl.Series(steps * int(form.scale) if large else steps / round(1 / form.scale))
        if len(form.codes):
            special = self._draw(f"{name}; special", rows, _SPECIAL) == 0
            codes = form.codes.gather(self._draw(f"{name}; code", rows, len(form.codes)))
            dtype = pl.Float64 if values.dtype.is_float() else codes.dtype
            values = codes.cast(dtype).zip_with(pl.Series(special), values.cast(dtype))
        return values

    def _texts(self, form: Form, one: DescribedVariable, rows: IntArray) -> pl.Series:
        """Made-up texts and identifiers, none of which the original has."""
        whole = (
            one.values.cast(pl.Int64, strict=False) if one.values.dtype.is_float() else one.values
        )
        true = pl.DataFrame({"text": whole.cast(pl.String)})
        owners = rows
        if form.kind == "identifiers" and not form.unique:
            owners = self._draw(f"{one.name}; owner", rows, max(len(rows) // 2, 1))
        needed = np.unique(owners)
        masks, texts = list(form.masks), np.full(len(needed), None, dtype=object)
        for attempt in range(_ROUNDS):
            open_ = np.flatnonzero(texts == None)  # noqa: E711 - element by element
            if not open_.size:
                break
            if attempt == _ROUNDS // 2:  # all short ones may be in the original
                longest = max(masks, key=len)
                masks = [f"{longest}{longest[-1] if longest[-1] in _LETTERS else '9'}"]
            fresh = self._filled(f"{one.name}; {attempt}", masks, needed[open_])
            used = set(texts[texts != None])  # noqa: E711
            taken = set(true.join(pl.DataFrame({"text": fresh}), on="text", how="semi")["text"])
            for place, text in zip(open_, fresh, strict=True):
                if text not in taken and (text not in used or form.kind == "texts"):
                    texts[place] = text
                    used.add(text)
        if any(text is None for text in texts):
            message = "no unused identifiers of this form are left"
            raise MicrodataError(
                message, code="structure-file", where=one.name, hint="reduce records"
            )
        return pl.Series(texts[np.searchsorted(needed, owners)].tolist(), dtype=pl.String)

    def _filled(self, purpose: str, masks: Sequence[str], rows: IntArray) -> list[str]:
        """Masks with letters and digits put in."""
        chosen = [masks[at] for at in self._draw(f"{purpose}; mask", rows, len(masks))]
        width = max(map(len, chosen))
        signs = {
            kind: [self._draw(f"{purpose}; {kind}{at}", rows, len(letters)) for at in range(width)]
            for kind, letters in _LETTERS.items()
        }
        texts = []
        for row, mask in enumerate(chosen):
            text = "".join(
                _LETTERS[sign][signs[sign][at][row]] if sign in _LETTERS else sign
                for at, sign in enumerate(mask)
            )
            texts.append(f"1{text[1:]}" if text[0] == "0" and text.isdigit() else text)
        return texts


def _typed(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Made-up values in the type of the original."""
    if dtype.is_temporal() and not values.dtype.is_temporal():
        seconds = values.cast(pl.Int64)
        if dtype == pl.Date:
            return (seconds // 86_400).cast(pl.Int32).cast(dtype)
        if dtype == pl.Time:
            return (seconds * 10**9).cast(dtype)
        unit = {"ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(dtype, "time_unit", "us")]
        return (seconds * unit).cast(dtype)
    return values.cast(dtype)


def _comparable(values: pl.Series) -> pl.Series:
    """Values that can be joined: texts as texts, numbers as floats."""
    if values.dtype in (pl.Categorical, pl.Enum):
        return values.cast(pl.String)
    return values.cast(pl.Float64) if values.dtype.is_decimal() else values


_NOTHING = -1


def rare_agreement(
    candidates: pl.DataFrame,
    original: pl.DataFrame,
    units: pl.Series | None,
    threshold: int,
    public: Collection[str] = (),
) -> IntArray:
    """The largest rare agreement of each made-up record, in variables; 0 if there is none.

    One in public variables alone is none.

    >>> made = pl.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "age": [30, 31, 50]})
    >>> rare_agreement(made, people, None, 2).tolist()
    [2, 1]
    """
    rows = original.height
    if units is None:
        order, owner = np.arange(rows), np.arange(rows)
    else:
        owner = units.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        order = np.argsort(owner, kind="stable")
    names = [name for name in candidates.columns if original[name].n_unique() > 1]
    names.sort(key=lambda name: name in public)
    private = sum(name not in public for name in names)
    ours = np.empty((candidates.height, len(names)), dtype=np.int32)
    theirs = np.empty((len(names), rows), dtype=np.int32)
    for at, name in enumerate(names):
        values = candidates.select(name).unique().drop_nulls().sort(name).with_row_index("\0at")
        for frame, places in ((candidates, ours[:, at]), (original, theirs[at])):
            joined = frame.select(name).join(values, on=name, how="left", maintain_order="left")
            places[:] = joined["\0at"].cast(pl.Int32).fill_null(_NOTHING).to_numpy()
    marks = np.random.default_rng(0).integers(0, 2**63, len(names), dtype=np.uint64)
    theirs = np.ascontiguousarray(theirs[:, order])
    agreed: IntArray = _largest(ours, theirs, owner[order], marks, private, threshold)
    return agreed


@compiled(parallel=True)
def _largest(
    records: PositionArray,
    original: PositionArray,
    owner: IntArray,
    marks: UintArray,
    private: int,
    threshold: int,
) -> IntArray:
    """From the largest agreement on: is there a set of variables that few units agree in?"""
    rows = original.shape[1]
    largest = np.zeros(len(records), np.int64)
    for row in numba.prange(len(records)):
        record = records[row]
        agreed = np.zeros(rows, np.int16)
        for at in range(len(record)):
            if record[at] >= 0:
                column = original[at]
                for other in range(rows):
                    same = column[other] == record[at]
                    agreed[other] += same and (at < private or agreed[other] > 0)
        for size in range(agreed.max() if rows else 0, 0, -1):
            alike = np.flatnonzero(agreed == size)
            sets = np.zeros(len(alike), np.uint64)
            for at in range(len(record)):
                if record[at] >= 0:
                    for place in range(len(alike)):
                        if original[at, alike[place]] == record[at]:
                            sets[place] ^= marks[at]
            if _few_in_one(sets, owner[alike], threshold):
                largest[row] = size
                break
    return largest


@compiled()
def _few_in_one(sets: UintArray, owner: IntArray, threshold: int) -> bool:
    """Whether a set of variables is that of fewer units than the threshold."""
    order = np.argsort(sets, kind="mergesort")  # rows stay in the order of their units
    units, last = 0, np.int64(-1)
    for step in range(len(order)):
        place = order[step]
        if step and sets[place] != sets[order[step - 1]]:
            if units < threshold:
                return True
            units, last = 0, np.int64(-1)
        if owner[place] != last:
            units, last = units + 1, owner[place]
    return 0 < units < threshold
