"""Records come in, changed ones go out: those of `discreet anonymise`, to the byte."""

import threading
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.assessment.record_risk import assess_records
from discreet.errors import DiscreetWarning
from discreet.microdata import Secret
from discreet.operations import OPERATIONS
from discreet.pretabular import METHODS
from discreet.pretabular.steps import _own_warnings
from discreet_service.cells.operations import CellsCall
from discreet_service.service import Service
from tests.helpers.jobs_done import do_next_job
from tests.helpers.record_files import STEPS, people, programme_file
from tests.helpers.rows import for_all_rows
from tests.helpers.service_callers import MethodOffice
from tests.helpers.service_cells import WRITERS

RECORDS = people()


def secret_of_file(service: Service, name: str, file: str) -> Secret:
    said = {"steps": [{}], "name": file}
    secret = CellsCall.of(service, name, OPERATIONS["anonymise"], RECORDS, said).secret()
    assert secret is not None
    return secret


def changed(
    office: MethodOffice, said: dict[str, Any], name: str = "paula", study: bool = False
) -> Any:
    return office.ask(f"records/{'study' if study else 'anonymise'}", said, name)


def secret(office: MethodOffice, file: str = "records") -> Secret:
    return secret_of_file(office.service, "paula", file)


def asked(*methods: str, **more: Any) -> dict[str, Any]:
    steps = [{"method": name, **STEPS[name]} for name in methods]
    drop = ["household"] if "drop_identifiers" in methods else ["person", "household"]
    said = {"id": ["person"], "drop": drop, "steps": steps}
    return {**said, "records": RECORDS.to_dicts(), **more}


def test_there_is_a_step_of_every_method() -> None:
    assert set(STEPS) == set(METHODS)


@pytest.mark.parametrize("method", ["swap", "pram", "drop_identifiers"])
def test_files_are_those_of_a_programme(office: MethodOffice, tmp_path: Path, method: str) -> None:
    said = asked(method)
    answer = changed(office, said)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"] == 'attachment; filename="records.csv"'
    own = programme_file(tmp_path, RECORDS, said["steps"], secret(office), said["drop"])
    assert answer.content == own
    assert own != RECORDS.drop(said["drop"]).write_csv().encode()


@pytest.mark.parametrize("how", ["csv", "parquet", "arrow"])
def test_records_come_in_every_form(office: MethodOffice, tmp_path: Path, how: str) -> None:
    said = asked("swap", "recode", "pram", format="parquet")
    del said["records"]
    media, written = WRITERS[how]
    answer = office.hand_in("records/anonymise", said, media, written(RECORDS))
    assert answer.status_code == 200, answer.text
    own = programme_file(tmp_path, RECORDS, said["steps"], secret(office), said["drop"], "parquet")
    assert pl.read_parquet(answer.content).equals(pl.read_parquet(own))


def test_studies_tell_tables_and_risk_before_and_after(office: MethodOffice) -> None:
    more = {"keys": ["region", "age"], "tables": [["region", "status"], ["age"]]}
    told = changed(office, asked("recode", "pram", **more), study=True).json()
    file = pl.read_csv(changed(office, asked("recode", "pram")).content, infer_schema=False)
    assert (told["records"], told["records_after"]) == (300, file.height)
    for table in told["tables"]:
        by = table["by"]
        for frame, which in ((RECORDS, "before"), (file, "after")):
            texts = frame.select(pl.col(by).cast(pl.String))
            for cell in table["cells"]:
                kept = texts
                for name, code in zip(by, cell["codes"], strict=True):
                    kept = kept if code == "Total" else kept.filter(pl.col(name) == code)
                assert kept.height == cell[which], (by, cell)
    first, second = told["risk"]
    assert first == pytest.approx(assess_records(RECORDS, keys=["region", "age"]).rates)
    assert second["unique"] < first["unique"]
    moved = told["tables"][0]["measures"]
    assert 0 < moved["mean_absolute_deviation"] <= moved["largest"]
    assert told["statement"].keys() == {"en", "de"}


def test_many_records_become_a_sealed_job(office: MethodOffice, tmp_path: Path) -> None:
    many = people(5_100)
    said = asked("swap", "safe", name="people", records=many.to_dicts())
    answer = changed(office, said)
    assert answer.status_code == 202, answer.text
    (sealed,) = office.inputs()
    assert b"household" not in sealed.read_bytes()
    job, made = do_next_job(office.service)
    assert (job.id, job.kind) == (answer.json()["id"], "records")
    assert "household" not in job.request
    own = secret(office, "people")
    assert made.content == programme_file(tmp_path, many, said["steps"], own, said["drop"])
    assert office.inputs() == []
    assert changed(office, said, study=True).status_code == 413


def test_limits_of_records_hold(office: MethodOffice) -> None:
    limits = office.service.settings.limits
    object.__setattr__(limits, "records_protect", 10)
    try:
        answer = changed(office, asked("recode"))
        assert answer.status_code == 413
        told = answer.json()
        assert (told["limit"], told["actual"]) == (10, 300)
        assert told["problems"][0]["where"] == "records"
    finally:
        object.__setattr__(limits, "records_protect", 1_000_000)


WRONG = [
    ({"steps": []}, "steps", ""),
    ({"steps": [{"method": "magic"}]}, "steps[0].method", "unknown method"),
    ({"steps": [{"variable": "age"}]}, "steps[0].method", "is missing"),
    ({"steps": [{"method": "recode", "variable": "age", "classification": "/etc/passwd",
                 "level": 1}]},
     "steps[0].classification", "files are not allowed here"),
    ({"steps": [{"method": "recode", "variable": "age", "intervals": [0], "settings": {}}]},
     "steps[0].settings", "unknown key"),
    ({"steps": [{"method": "recode", "variable": "age", "format": "csv"}]},
     "steps[0].format", "unknown key"),
    ({"steps": [{"method": "permute", "variables": ["sex"], "share": 0.5, "secret": "x" * 30}]},
     "steps[0].secret", "unknown key"),
    ({"steps": [{"method": "top_code", "variable": "wealth", "above": 3}]},
     "steps[0], top_code: wealth", "not found"),
    ({"steps": [{"method": "top_code", "variable": "age", "above": "old"}]},
     "steps[0].above", "number"),
    ({"id": ["pid"]}, "keys.id", "not found"),
    ({"drop": ["household"]}, "output", "the column identifies records: "),
    ({"drop": ["person", "household", "shoe"]}, "shoe", "not found"),
    ({"name": "../x"}, "name", "wrong form"),
    ({"format": "dta"}, "format", ""),
    ({"secret": "x"}, "", "unknown option"),
]  # fmt: skip


@for_all_rows(("wrong", "where", "told"), WRONG)
def test_what_is_wrong_is_said_with_its_place(
    office: MethodOffice, wrong: dict[str, Any], where: str, told: str
) -> None:
    answer = changed(office, asked("recode", **wrong))
    assert answer.status_code == 422, answer.text
    problems = answer.json()["problems"]
    assert any(each["where"] == where and told in each["message"] for each in problems), problems
    assert "root:" not in answer.text


@for_all_rows(
    ("more", "where"),
    [
        ({"tables": [["shoe"]]}, "tables[0]"),
        ({"tables": [["sex", "sex"]]}, "tables[0]"),
        ({"tables": [["person"], ["income", "age"]]}, "tables[0]"),
        ({"keys": ["shoe"]}, "keys[0]"),
        ({"tables": [["sex"], ["income", "age", "size"]]}, "tables[1]"),
        ({"tables": [["a", "b", "c", "d"]]}, "tables.0"),
    ],
)
def test_what_a_study_cannot_show_is_said(
    office: MethodOffice, more: dict[str, Any], where: str
) -> None:
    answer = changed(office, asked("permute", **more), study=True)
    assert answer.status_code == 422
    assert where in [each["where"] for each in answer.json()["problems"]], answer.text


def test_promises_that_later_steps_break_are_refused(office: MethodOffice) -> None:
    answer = changed(office, asked("local_suppression", "pram"))
    assert answer.status_code == 422
    assert "move the step after those that change these variables" in answer.text


def test_columns_that_name_somebody_do_not_go_out(office: MethodOffice) -> None:
    rows = RECORDS.with_columns(
        mail=pl.format("{}@example.org", "person"), person=pl.col("person")
    ).to_dicts()
    answer = changed(office, asked("recode", records=rows))
    assert answer.status_code == 422
    assert [each["where"] for each in answer.json()["problems"]] == ["mail"]


def test_warnings_of_steps_are_told(office: MethodOffice) -> None:
    steps = [{"method": "swap", **STEPS["swap"], "rate": 0.0, "k": 60}]
    told = changed(office, asked("swap", steps=steps), study=True).json()
    assert any(each.startswith("steps[0], swap: ") for each in told["warnings"]), told["warnings"]
    assert changed(office, asked("recode"), study=True).json()["warnings"] == []


def test_warnings_of_other_threads_are_not_told() -> None:
    """They may tell of the records of somebody else."""

    def warn(whose: str) -> None:
        warnings.warn(whose, DiscreetWarning, stacklevel=1)

    foreign = threading.Thread(target=warn, args=["of another thread"])
    with warnings.catch_warnings(record=True) as others, _own_warnings() as heard:
        warn("of this thread")
        foreign.start()
        foreign.join()
    assert [str(each.message) for each in others] == ["of another thread"]
    assert [str(each) for each in heard] == ["of this thread"]
