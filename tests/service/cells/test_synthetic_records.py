"""Synthetic records go out with their report, in one file, or not at all."""

import io
import json
import zipfile
from typing import Any

import polars as pl

from discreet.demo import generate
from tests.helpers.service_callers import MethodOffice

PERSONS = generate(persons=600, seed=3).persons.select(
    "person_id", "sex", "age", "marital_status", "education"
)
CELLS = [
    {"sex": sex, "age": age, "value": count}
    for sex, age, count in (("m", "young", 12), ("m", "old", 8), ("w", "young", 9), ("w", "", 20))
    if age
] + [{"sex": "w", "age": "old", "value": 11}]


def asked(**settings: Any) -> dict[str, Any]:
    records = PERSONS.with_columns(pl.exclude("person_id", "age").cast(pl.String)).to_dicts()
    return {"id": ["person_id"], "name": "people", "synthesise": settings, "records": records}


def test_records_come_with_their_report(office: MethodOffice) -> None:
    said = asked(keys=["sex", "age"], sensitive=["education"], limit=1.0)
    answer = office.ask("records/synthesise", said)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"] == 'attachment; filename="people.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        names = ["people-report.json", "people-report.txt", "people.csv"]
        assert archive.namelist() == names
        report = json.loads(archive.read(names[0]))
        assert pl.read_csv(archive.read(names[2])).height == report["records"] == 600
    assert office.ask("records/synthesise/study", said).json() == report
    assert office.ask("records/synthesise", said).content == answer.content


def test_where_an_attack_succeeds_nothing_goes_out(office: MethodOffice) -> None:
    answer = office.ask("records/synthesise", asked(leaf=3, threshold=3, limit=0.01))
    assert answer.status_code == 422
    assert "an attack is right too often" in answer.text
    report = office.ask("records/synthesise/study", asked(leaf=3, threshold=3, limit=0.01))
    assert report.json()["verdict"] == "exceeded"


def test_cells_of_protected_tables_make_records(office: MethodOffice) -> None:
    said = {"records": CELLS, "synthesise": {"method": "tables"}, "format": "parquet"}
    answer = office.ask("records/synthesise", said)
    assert answer.status_code == 200, answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        made = pl.read_parquet(archive.read("records.parquet"))
    counts = made.group_by("sex", "age").len("value").sort("sex", "age")
    assert counts.rows() == sorted((one["sex"], one["age"], one["value"]) for one in CELLS)
