"""Examples: rows of the invented persons or firms of the demonstration for each operation, and what
their columns are. Public.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from discreet.operations import (
    OPERATIONS,
    ChangedSource,
    MagnitudeSource,
    Operation,
    ProtectedSource,
    ReleaseSource,
    SensitiveSource,
    UnitSource,
    fields_of,
)

#: Records of examples: of firms, and persons.
_MOST_RECORDS, _PERSONS = 100, 500
#: Steps of an example of changes of records, with their fields.
_STEPS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("recode", {"variable": "age", "intervals": "0, 18, 30, 45, 60, 75"}),
    ("pram", {"variables": "marital_status, 0.8", "exact": "on"}),
)


def example_texts(
    operation: Operation,
) -> tuple[tuple[tuple[str, Mapping[str, str]], ...], dict[str, str]]:
    """Steps, and the fields of layout and settings as texts; `rows` or `cells` hold the rows.

    >>> example_texts(OPERATIONS["rounding"])[1]["by"]
    'branch, state'
    """
    from discreet import Classification, PerturbationTable, perturb, tabulate, with_record_keys
    from discreet.assessment import published_at
    from discreet.demo import Geography, coded, firms_of, generate

    fields = [
        field
        for field in fields_of(operation.settings, operation.package)
        if not operation.on_records or field.kind != "file"
    ]
    texts = {field.name: field.example for field in fields if field.example}
    if operation.on_records:
        persons = generate(persons=_PERSONS, seed=2026).persons
        columns = ("person_id", "household_id", "state", "district", "sex", "age")
        rows = persons.select(*columns, "marital_status").write_csv()
        needed = [field for field in fields if field.needed and field.kind != "steps"]
        texts |= {field.name: field.text_of(getattr(operation.begin, field.name))
                  for field in needed}  # fmt: skip
        texts |= {"rows": rows, "id": "person_id", "name": "persons"}
        if operation.takes is not ChangedSource:
            return (), texts
        texts |= {"drop": "person_id, household_id", "keys": "district, sex, age"}
        texts["tables"] = "district, sex\nmarital_status, sex"
        return _STEPS, texts
    if issubclass(operation.takes, ProtectedSource):  # persons by classes of a number
        age = Classification.from_intervals("age", [0, 18, 30, 45, 60, 75])
        table = tabulate(generate(persons=_PERSONS, seed=2026).persons, by=["state", age])
        cells = table.to_polars().select("state", "age", value="count")
        trees = "\n".join(f"age,{code}" for code in age.codes[1:])
        own = {"by": "state, age", "name": "persons", "cells": cells.write_csv(), "trees": trees}
        return (), own | texts
    branch = coded("branch")
    firms = firms_of(Geography.of(20_000, seed=2026))
    firms = with_record_keys(firms, id="firm_id", secret="firms of an example")  # noqa: S106
    table = tabulate(
        firms,
        by=[branch, "state"],
        record_key="record_key",
        values=["turnover"],
        contributions=2,
    )
    every = table.to_polars().rename({"count": "n", "cell_key": "key"})
    cells = every.select("branch", "state", "n")
    own = {"by": "branch, state", "name": "firms"}
    if issubclass(operation.takes, SensitiveSource | MagnitudeSource):
        top = table.contributions["turnover"].top
        amounts = every.select("turnover", first=top[:, 0], second=top[:, 1])
        cells = cells.hstack(amounts.fill_nan(None).cast(pl.Int64))
        own |= {"value": "turnover", "largest": "first, second", "name": "turnover"}
    if issubclass(operation.takes, SensitiveSource):
        own["p_percent"] = "10"
    if issubclass(operation.takes, UnitSource):
        cells = firms.select("branch", "state", "turnover", unit="firm_id").head(_MOST_RECORDS)
        own |= {"value": "turnover", "unit": "unit"}
    if operation.keys(operation.begin) == "needed":
        cells = cells.with_columns(every["key"])
        own["cell_key"] = "key"
    if issubclass(operation.takes, ReleaseSource):
        noise = fields_of(OPERATIONS["perturbation"].settings, OPERATIONS["perturbation"].package)
        ptable = next(field.example for field in noise if field.name == "ptable")
        counts = tabulate(firms, by=[branch, "state"], record_key="record_key")
        safe = perturb(counts, PerturbationTable.from_text(ptable))
        cells = cells.rename({"n": "truth"}).with_columns(
            value=published_at(safe, table.index, len(table))[0].astype(int)
        )
        own |= {"ptable": ptable, "truth": "truth"}
    lines = [
        f"branch,{code}" + (f",{branch.codes[above]}" if above else "")
        for code, above in zip(branch.codes, branch.parents, strict=True)
        if above >= 0
    ]
    own |= {"cells": cells.write_csv(), "trees": "\n".join(lines)}
    return (), own | texts
