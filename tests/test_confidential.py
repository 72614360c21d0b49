"""Errors carry no value, secrets no pickle: not in locals, notes, causes or contexts."""

import copy
import pickle
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet import design_magnitude_perturbation
from discreet.confidential import without_values
from discreet.errors import DiscreetError, RecordKeyError
from discreet.microdata import Secret
from discreet.protection.noise import FlexStrength, MagnitudeNoise, SimpleStrength, UnitNoise
from discreet.protection.noise.design import design_rows
from discreet.release.packages import PackageKey, parameters_of
from tests.helpers.package_parameters import MAGNITUDES, PTABLE, SECTIONS
from tests.helpers.rows import for_all_rows

PRIVATE = "very private"
PLAIN = "only the office knows this"
NUMBER = 987_654_321_987.25


def everything(error: BaseException) -> str:
    """All that a program could print of an error, but for the frames of this test."""
    texts, waiting, seen = [], [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        texts += [str(one), repr(one), repr(one.args), *getattr(one, "__notes__", [])]
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
        told = traceback.TracebackException.from_exception(one, capture_locals=True)
        for frame in told.stack:
            if frame.filename != __file__:
                texts += [frame.line or "", *map(str, (frame.locals or {}).items())]
    return "\n".join(texts)


def failed(call: Callable[[], Any]) -> str:
    with pytest.raises(DiscreetError) as caught:
        call()
    shown = everything(caught.value)
    assert "File" not in shown or shown
    return shown


FRAME = pl.DataFrame(
    {"id": [1, 2], "name": [PRIVATE, None], "v": [NUMBER, float("inf")], "key": [0.123456789, None]}
)
ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "plan": lambda frame: frame.lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}
WRONG: dict[str, dict[str, Any]] = {
    "value": {"by": ["name"], "values": ["v"]},
    "weight": {"by": ["name"], "weight": "v"},
    "text": {"by": [], "values": ["name"]},
    "key": {"by": ["name"], "record_key": "key"},
    "codes": {"by": ["v"]},
    "filter": {"by": [], "where": "name > 3"},
    "column": {"by": ["none"]},
}


@for_all_rows("engine", ENGINES)
@for_all_rows("wrong", WRONG)
def test_no_error_of_a_table_carries_a_value(engine: str, wrong: str) -> None:
    frame = ENGINES[engine](FRAME)
    shown = failed(lambda: dc.tabulate(frame, **WRONG[wrong]))
    for value in (PRIVATE, "987654321987", "9.8765", "0.123456789", "1234567"):
        assert value not in shown


@pytest.mark.parametrize("kind", ["integer", "date", "double"])
def test_words_of_an_engine_are_not_handed_on(kind: str) -> None:
    def relation() -> Any:
        return duckdb.sql(f"select cast(t as {kind}) as n from (values ('{PRIVATE}')) v(t)")

    for call in (
        lambda: dc.tabulate(relation(), ["n"]),
        lambda: dc.with_record_keys(relation(), id="n", secret=PLAIN),
        lambda: dc.inherit_record_keys(relation(), by="n", record_key="n"),
    ):
        assert PRIVATE not in failed(call)
    plan = pl.LazyFrame({"t": [PRIVATE]}).select(n=pl.col("t").cast(pl.Int64))
    assert PRIVATE not in failed(lambda: dc.tabulate(plan, ["n"]))
    assert PRIVATE not in failed(lambda: dc.with_record_keys(plan, id="n", secret=PLAIN))


def test_a_column_of_mixed_types_shows_no_value() -> None:
    frame = pd.DataFrame({"sex": [1, PRIVATE, None]})
    assert PRIVATE not in failed(lambda: dc.tabulate(frame, ["sex"]))
    assert PRIVATE not in failed(lambda: dc.with_record_keys(frame, id="sex", secret=PLAIN))


def test_a_secret_given_as_text_does_not_show(tmp_path: Path) -> None:
    frames = [FRAME, FRAME.lazy(), FRAME.to_pandas(), duckdb.from_arrow(FRAME.to_arrow())]
    for frame in frames:
        for id_ in ("name", "none", "v"):
            call = lambda: dc.with_record_keys(frame, id=id_, secret=PLAIN)  # noqa: B023, E731
            shown = failed(call)
            assert PLAIN not in shown
            assert PRIVATE not in shown
    assert "short" not in failed(lambda: Secret.of("short ones")).replace("shorter", "").replace(
        "secret-short", ""
    )
    assert "abcabc" not in failed(lambda: Secret(b"abcabc" * 5))
    file = tmp_path / "secret.key"
    file.write_text("abcabc" * 5)
    file.chmod(0o600)
    assert "abcabc" not in failed(lambda: Secret.from_file(file))
    assert "tiny" not in failed(lambda: PackageKey.from_passphrase("tiny one"))


def test_other_errors_keep_their_place_without_values() -> None:
    @without_values
    def half(values: list[str]) -> float:
        if values:
            raise KeyError("column")
        return 0.5

    with pytest.raises(KeyError) as caught:
        half([PRIVATE])
    assert PRIVATE not in everything(caught.value)
    assert caught.traceback[-1].name == "half"
    assert half([]) == 0.5


def secrets() -> Iterator[Any]:
    made = parameters_of(SECTIONS, PTABLE, {"rent": MAGNITUDES})
    table = design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)
    yield Secret.generate()
    yield made
    yield made.perturbation_table
    yield made.perturbation_table.content
    yield table
    yield table.parts[0]
    yield MagnitudeNoise(table=table, strength=SimpleStrength(share=0.1))
    yield from made.magnitudes.values()


def test_nothing_secret_is_shown() -> None:
    design = design_rows(2, 1)
    flex = FlexStrength(point=1234, small=0.25, large=0.05, exponent=3)
    noise = UnitNoise(unit="firm", least=0.07)
    for secret in (*secrets(), SimpleStrength(share=0.1), flex, noise, design, design.rows[1]):
        for text in (repr(secret), str(secret), f"{[secret]}"):
            assert "secret" in text.lower()
            assert not re.search(r"\d\.\d|1234|-\d", text)


def test_nothing_secret_is_pickled_and_copies_are_the_same() -> None:
    count = 0
    for count, secret in enumerate(secrets(), 1):  # noqa: B007
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(RecordKeyError, match="cannot be pickled"):
                pickle.dumps({"inside": [secret]}, protocol=protocol)
        assert copy.copy(secret) is copy.deepcopy(secret) is secret
    assert count >= 7
