"""`drafted`: a first programme from a look at a file of records. CONFIDENTIAL records stay inside.

In: a file, and how it is read. Out: what its columns seem to be – identifier, record keys, codes,
ages, values – and a programme that says so. Only names, kinds and numbers of codes are looked at;
no code and no value stands in the draft, but for codes that the file labels. What was guessed is
said, to be corrected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.confidential import without_values
from discreet.errors import MicrodataError, PublicationError
from discreet.files import write_text
from discreet.microdata import format_of, read_microdata, value_labels
from discreet.record_batches import collected
from discreet.release.first_programmes import check_saved, programme_text
from discreet.tables import code_texts

#: Names that columns often have, in the order in which they are taken.
_KEYS = r"(record_?key|rkey|cell_?key|key)$"
_IDENTIFIERS = r"(id|.*_id|.*id|.*number|.*nummer|nr)$"
_PLACES = r"(region|nuts|state|land|district|kreis|municipality|gemeinde|ags|place|county|plz)"
_AGES = r"(age|alter|age_.*|alter_.*)$"
_SEXES = r"(sex|gender|geschlecht)$"
_VALUES = r".*(turnover|sales|revenue|income|rent|wage|value|umsatz|einkommen|miete|lohn|wert)"
_AGE_GROUPS = [0, 18, 30, 50, 65]
_OLDEST = 130
#: More codes than these make no table to begin with.
_MOST_CODES, _MOST_TREE, _SPANNING = 40, 20_000, 3
_LONGEST, _LEVELS = 12, 4
_CODED = (nw.Categorical, nw.Enum)


@dataclass(frozen=True, kw_only=True)
class ColumnLook:
    """Type and codes of a column."""

    name: str
    distinct: int  # number of different values
    missing: int  # number of records without one
    records: int  # number of records
    numeric: bool  # whether it holds numbers
    group: bool  # whether these are whole and could be ages
    #: Lengths of prefixes under which its codes, all of one length, fall together
    levels: tuple[int, ...]

    @property
    def identifies(self) -> bool:
        """Whether no value stands twice."""
        return not self.missing and self.records > 1 and self.distinct == self.records

    @property
    def codes(self) -> bool:
        """Whether its values can span a table as they are."""
        return 1 < self.distinct <= _MOST_CODES

    def called(self, pattern: str) -> bool:
        """Whether its name is such a one."""
        return re.match(pattern, self.name.lower()) is not None


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A first programme, as far as a look at the records tells."""

    columns: Mapping[str, ColumnLook]  # all columns
    record_key: str | None  # the column of record keys, if one is called so
    identifier: str | None  # else the column that identifies records
    by: tuple[str, ...]  # what could span a first table
    #: Column → code → label, as a Stata or SPSS file has them
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def identifiers(self) -> list[str]:
        """Columns with distinct values, or with the name of an identifier."""
        looks = self.columns.values()
        return [look.name for look in looks if look.identifies or look.called(_IDENTIFIERS)]

    @property
    def values(self) -> list[str]:
        """Numeric columns that could be added up, those with the name of a value first."""
        numeric = [
            look
            for look in self.columns.values()
            if look.numeric
            and not (look.codes or look.called(_KEYS) or look.name in self.identifiers)
        ]
        return [look.name for look in sorted(numeric, key=lambda look: not look.called(_VALUES))]

    def variables(self, by: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The code trees of spanning variables, as far as they can be guessed."""
        found: dict[str, dict[str, Any]] = {}
        for name in by:
            look = self.columns[name]
            if look.called(_AGES) and look.group:
                found[name] = {"intervals": _AGE_GROUPS}
            elif len(look.levels) > 1 and not look.numeric:
                found[name] = {"prefixes": list(look.levels)}
            elif name in self.labels:
                found[name] = {"labels": dict(self.labels[name])}
        return found

    def remarks(self, by: Sequence[str]) -> Iterator[str]:
        """Guesses that the user should check."""
        for name, keys in self.variables(by).items():
            if "labels" in keys:
                continue
            kind = "groups" if "intervals" in keys else "levels by leading characters of the codes"
            yield f"{name}: {kind} are guessed"
        for name in by:
            if name not in self.variables(by) and self.columns[name].distinct > _MOST_CODES:
                yield f"{name}: {self.columns[name].distinct:,} categories without a hierarchy"
        values = [name for name in self.values if name not in by]
        if values:
            yield f"possible value columns: {', '.join(values[:8])}"


@without_values
def drafted(source: str | os.PathLike[str], **reading: Any) -> Draft:
    r"""Look at a file of records.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "persons.csv"
    >>> rows = [f"{at},{'mw'[at % 2]},{at % 90},0{at % 4}{at % 3}" for at in range(200)]
    >>> _ = file.write_text("\n".join(["person,sex,age,region", *rows]))
    >>> draft = drafted(file)
    >>> draft.by, draft.variables(draft.by)["age"]
    (('region', 'age', 'sex'), {'intervals': [0, 18, 30, 50, 65]})
    """
    frame = nw.from_native(read_microdata(source, **reading)).lazy()
    columns = {look.name: look for look in _looks(frame)}
    if not columns:
        raise MicrodataError("the file has no columns", code="empty", where=str(source))
    looks = list(columns.values())
    keys = [look.name for look in looks if look.called(_KEYS) and look.numeric]
    unique = [look for look in looks if look.identifies and look.name not in keys]
    named = [look.name for look in unique if look.called(_IDENTIFIERS)]
    identifier = next(iter([*named, *(look.name for look in unique)]), None)
    # The value labels of codes that occur, as programmes name no others.
    path, labels = Path(source), dict[str, dict[str, str]]()
    kind = format_of(path, reading.get("format")) if path.is_file() else ""
    for stored, texts in value_labels(path, kind).items() if kind in ("spss", "stata") else ():
        name = (reading.get("rename") or {}).get(stored, stored)
        if name in columns and columns[name].codes:
            codes = set(code_texts(collected(frame.select(name).unique())[name], name))
            labels[name] = {code: text for code, text in texts.items() if code in codes}
    return Draft(
        columns=columns,
        record_key=next(iter(keys), None),
        identifier=identifier,
        by=tuple(_spanning(look for look in looks if look.name not in (*keys, identifier))),
        labels=labels,
    )


def _looks(frame: nw.LazyFrame[Any]) -> Iterator[ColumnLook]:
    """What all columns look like, from one pass."""
    coded = [name for name, kind in frame.collect_schema().items() if kind in _CODED]
    frame = frame.with_columns(nw.col(name).cast(nw.String) for name in coded)
    schema = frame.collect_schema()
    wanted = [nw.len().alias("records")]
    for at, (name, kind) in enumerate(schema.items()):
        column = nw.col(name)
        wanted += [column.n_unique().alias(f"{at} all"), column.null_count().alias(f"{at} none")]
        if kind.is_numeric():
            wanted += [column.min().alias(f"{at} low"), column.max().alias(f"{at} high")]
        elif kind == nw.String:
            lengths = column.str.len_chars()
            wanted += [lengths.min().alias(f"{at} low"), lengths.max().alias(f"{at} high")]
            wanted.append(column.str.contains(r"[0-9]").all().alias(f"{at} codes"))
            wanted += [
                column.str.slice(0, length).n_unique().alias(f"{at} {length}")
                for length in range(1, _LONGEST)
            ]
    row: Any = collected(frame.select(*wanted)).row(0, named=True)
    for at, (name, kind) in enumerate(schema.items()):
        missing = row[f"{at} none"]
        low, high = row.get(f"{at} low"), row.get(f"{at} high")
        # Words of one length, such as männlich and weiblich, have no levels.
        even = kind == nw.String and low == high is not None and row[f"{at} codes"]
        starts = [row[f"{at} {length}"] for length in range(1, min(high, _LONGEST))] if even else []
        yield ColumnLook(
            name=name,
            distinct=row[f"{at} all"] - bool(missing),
            missing=missing,
            records=row["records"],
            numeric=kind.is_numeric(),
            group=kind.is_integer() and low is not None and low >= 0 and high <= _OLDEST,
            levels=_levels([*starts, row[f"{at} all"]], high) if even else (),
        )


def _levels(starts: Sequence[int], length: int) -> tuple[int, ...]:
    """Lengths at which codes branch: the shortest ones, and the whole."""
    found, before = [], 1
    for at, number in enumerate(starts, 1):
        last = at == len(starts)
        if before < number < starts[-1] or last:
            found.append(length if last else at)
            before = number
    return tuple([*found[: _LEVELS - 1], found[-1]] if len(found) > _LEVELS else found)


def _spanning(columns: Iterator[ColumnLook]) -> list[str]:
    """Places, ages and sexes first, then what has the fewest codes."""
    looks = sorted(columns, key=lambda each: each.distinct)
    kinds: dict[str, str] = {}
    for pattern in (_PLACES, _AGES, _SEXES):
        for look in sorted(looks, key=lambda each: -each.distinct):
            fits = look.codes or look.group or 1 < look.distinct <= _MOST_TREE
            if look.called(pattern) and fits:
                kinds.setdefault(pattern, look.name)
    others = [look for look in looks if look.codes and not any(map(look.called, kinds))]
    return [*kinds.values(), *(look.name for look in others)][:_SPANNING]


def write_draft(
    draft: Draft,
    path: str | os.PathLike[str],
    *,
    data: Mapping[str, Any],
    by: Sequence[str],
    keys: Mapping[str, Any],
    ptable: str,
    title: str,
) -> Path:
    """Write the programme of a first table; an existing file is never replaced."""
    check_saved(path)
    unknown = [name for name in by if name not in draft.columns]
    if unknown or not by:
        message = f"column {unknown[0]!r} not found" if unknown else "no spanning variables given"
        hint = f"columns: {', '.join(draft.columns)}"
        raise PublicationError(message, code="columns", where="new", hint=hint)
    document = {
        "title": title,
        "languages": ["en"],
        "data": dict(data),
        "keys": dict(keys),
        "perturbation": {"table": ptable, "found_codes": "hide"},
        "variables": draft.variables(by),
        "defaults": {"formats": ["csv", "xlsx", "html"]},
        "tables": {"-".join(by)[:60].strip("-"): {"by": list(by)}},
    }
    remarks = "".join(f"# {remark}\n" for remark in ("A first programme.", *draft.remarks(by)))
    write_text(path, f"{remarks}\n{programme_text(document, Path(path).parent)}")
    return Path(path)
