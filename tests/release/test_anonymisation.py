"""Programmes for records: what they make, what they refuse, and how they are taken up."""

import inspect
import json
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet import pretabular
from discreet.cli.commands import app
from discreet.errors import DiscreetError, DiscreetWarning, MicrodataError
from discreet.microdata.described_files import (
    DescribedRecords,
    described_records,
    plain_variable,
    write_described,
)
from discreet.pretabular import METHODS, Invariant, pram, swap
from tests.helpers.programmes import editor
from tests.helpers.rows import for_all_rows

SECRET = "a long and secret sentence"
SWAP = {"household": "home", "areas": ["area"], "risk": ["age"], "similar": ["size"], "k": 2}
PROGRAMME = """
title = "People"
[data]
source = "people.parquet"
[keys]
id = "id"
secret_file = "secret.key"
[[steps]]
method = "swap"
household = "home"
areas = ["area"]
risk = ["age"]
similar = ["size"]
k = 2
rate = 0.1
[[steps]]
method = "pram"
variables = { sex = { stay = 0.8 }, "age+size" = { stay = 0.7, alpha = 0.5 } }
exact = true
[output]
drop = ["id"]
"""


def people(count: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    home = np.sort(rng.integers(0, count // 2, count))
    area = rng.integers(0, 4, count // 2)[home]
    frame = pl.DataFrame({"id": np.arange(count), "home": home, "area": area})
    return frame.with_columns(
        pl.Series("sex", rng.choice(["m", "f", None], count)),
        pl.Series("age", rng.integers(0, 4, count)),
        pl.len().over("home").cast(pl.Int64).alias("size"),
    )


@pytest.fixture
def folder(tmp_path):
    people().write_parquet(tmp_path / "people.parquet")
    (tmp_path / "secret.key").write_text(SECRET)
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def programme(folder, *changes: tuple[str, str]):
    return editor(folder / "programme.toml", PROGRAMME)(*changes)


def anonymised(path, out="out", **words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return dc.anonymise(path, None if out is None else path.parent / out, **words)


def test_the_file_holds_what_the_steps_give_one_after_another(folder) -> None:
    made = anonymised(programme(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        moved = swap(people(), rate=0.1, secret=SECRET, **SWAP)
    matrices = {"sex": Invariant(stay=0.8), ("age", "size"): Invariant(stay=0.7, alpha=0.5)}
    drawn = pram(moved.records, matrices, id="id", exact=True, secret=SECRET)
    expected = drawn.records.drop("id")
    found = pl.read_parquet(made.path)
    assert found.equals(expected.sort(expected.columns, nulls_last=True))
    assert made.statement["de"] == [moved.statement["de"], drawn.statement["de"]]
    told = (folder / "out" / "statement.md").read_text()
    assert told.startswith("# People\n")
    assert moved.statement["de"] in told
    about = json.loads((folder / "out" / "provenance.json").read_text())
    assert [one["method"] for one in about["steps"]] == ["swap", "pram"]
    assert SECRET not in json.dumps(about)


def test_no_combination_is_rare_after_safe(folder) -> None:
    steps = (
        '[[steps]]\nmethod = "safe"\nvariables = ["sex", "age", "size"]\n'
        'controls = [["sex", "age"], ["size"]]\nstructural_zeros = ["size == 99"]\n[output]'
    )
    made = anonymised(programme(folder, ("[output]", steps)))
    counts = pl.read_parquet(made.path).group_by("sex", "age", "size").len()
    assert counts["len"].min() >= 3
    assert made.steps == ("swap", "pram", "safe")
    with pytest.raises(DiscreetError, match="some records have an impossible combination"):
        anonymised(programme(folder, ("[output]", steps.replace("size == 99", "age == 1"))))


def test_neither_order_nor_format_of_the_original_matters(folder) -> None:
    first = pl.read_parquet(anonymised(programme(folder)).path)
    shuffled = people().sample(fraction=1.0, shuffle=True, seed=3)
    shuffled.write_parquet(folder / "people.parquet")
    assert pl.read_parquet(anonymised(folder / "programme.toml").path).equals(first)
    shuffled.write_csv(folder / "people.csv")
    again = anonymised(programme(folder, ("people.parquet", "people.csv")), "csv")
    read = pl.read_parquet(again.path)  # codes may be texts there
    texts = pl.all().cast(pl.String)
    assert sorted(read.select(texts).rows(), key=str) == sorted(first.select(texts).rows(), key=str)


def test_a_run_that_was_interrupted_is_taken_up(folder, monkeypatch) -> None:
    path, inside = programme(folder), folder / "inside"
    calls: list[str] = []

    def told_of(name, function):
        def noted(*words, **more):
            calls.append(name)
            return function(*words, **more)

        return noted

    whole = anonymised(path, "whole")

    def broken(*words, **more):
        raise MicrodataError("no more", code="pram", where="sex")

    true_pram = pretabular.pram
    for name in METHODS:
        monkeypatch.setattr(pretabular, name, told_of(name, getattr(pretabular, name)))
    monkeypatch.setattr(pretabular, "pram", broken)
    with pytest.raises(MicrodataError, match=r"line 16, steps\[1\], pram: sex: no more"):
        anonymised(path, internal=inside)
    assert not (folder / "out").exists()
    monkeypatch.setattr(pretabular, "pram", told_of("pram", true_pram))
    made = anonymised(path, internal=inside)
    assert calls == ["swap", "pram"]  # the first of them before the interruption
    assert made.path.read_bytes() == whole.path.read_bytes()
    kept = sorted(inside.iterdir())
    assert {oct(one.stat().st_mode & 0o777) for one in kept} == {"0o600"}
    # Whatever was touched, or is not the same any more, is made anew.
    for touched, again in (
        (lambda: kept[1].write_bytes(b"something else"), ["swap"]),
        (lambda: programme(folder, ("rate = 0.1", "rate = 0.2")), ["swap", "pram"]),
        (lambda: people(402).write_parquet(folder / "people.parquet"), ["swap", "pram"]),
    ):
        touched()
        calls.clear()
        anonymised(path, internal=inside)
        assert calls == again
    anonymised(path, internal=inside, resume=False)
    assert calls == ["swap", "pram"] * 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"swap"', '"swop"', "line 9, steps[0].method: unknown method 'swop'"),
        ("k = 2", "kk = 2", "closest match: 'k'"),
        ("k = 2", 'k = "2"', "line 14, steps[0].k: must be a whole number"),
        ("rate = 0.1\n", "", "steps[0].rate: is missing"),
        ("stay = 0.8", "stay = 1.8", "shares must be between 0 and 1"),
        ('source = "people.parquet"', 'source = "persons.parquet"', "not found"),
        ('secret_file = "secret.key"\n', "", "swap needs a secret"),
        ('id = "id"\n', "", "pram needs the identifier of a record"),
        ('id = "id"', 'id = "ids"', "column 'ids' not found"),
        ('drop = ["id"]', "", "the column identifies records"),
        (
            'drop = ["id"]',
            'drop = ["id"]\norder = "kept"',
            "the order of the original records discloses changes",
        ),
        ('drop = ["id"]', 'drop = ["id", "wage"]', "column not found"),
        ('drop = ["id"]', 'drop = ["id"]\nfile = "x.xlsx"', ".dta, .sav, .csv or .parquet"),
        ("[data]", "[date]", "unknown key"),
        ('risk = ["age"]', 'risk = ["agee"]', "line 8, steps[0], swap: "),
    ],
)
def test_what_is_wrong_is_said_with_its_place_before_anything_is_written(
    folder, old, new, said
) -> None:
    path = programme(folder, (old, new))
    with pytest.raises(DiscreetError) as error:
        anonymised(path)
    assert said in str(error.value)
    assert not (folder / "out").exists()


def test_a_column_that_names_someone_does_not_go_out_unseen(folder) -> None:
    named = people().with_columns(mail=pl.concat_str(pl.lit("p"), "id", pl.lit("@b.org")))
    named.write_parquet(folder / "people.parquet")
    with pytest.raises(DiscreetError, match="mail: texts have the form of e-mail"):
        anonymised(programme(folder))
    assert not (folder / "out").exists()
    kept = programme(folder, ('drop = ["id"]', 'drop = ["id"]\nkeep = ["mail"]'))
    assert "mail" in pl.read_parquet(anonymised(kept).path).columns


def test_what_a_step_promised_holds_for_the_file_or_it_is_refused(folder) -> None:
    keys = ["sex", "age", "size"]
    suppress = f'[[steps]]\nmethod = "local_suppression"\nkeys = {json.dumps(keys)}\nk = 5\n'
    swapping = PROGRAMME[PROGRAMME.index("[[steps]]") : PROGRAMME.index("[[steps]]", 120)]
    assert swapping.count("[[steps]]") == 1
    first = programme(folder, (swapping, suppress))
    with pytest.raises(DiscreetError, match="suppression: some combinations of sex, age, size"):
        anonymised(first)
    last = programme(folder, (swapping, ""), ("[output]", suppress + "[output]"))
    found = pl.read_parquet(anonymised(last).path)
    assert found.group_by(keys).len()["len"].min() >= 5


def test_several_mistakes_are_listed_at_once(folder) -> None:
    path = programme(
        folder, ("k = 2", "kk = 2"), ("stay = 0.8", "stay = 8.0"), ('"id"\n', '"no"\n')
    )
    with pytest.raises(DiscreetError) as error:
        anonymised(path)
    assert len(error.value.problems) >= 4


@for_all_rows("method", sorted(METHODS))
def test_every_option_of_a_method_is_a_setting(method) -> None:
    function = getattr(pretabular, method)
    asked = list(inspect.signature(function).parameters)
    assert asked == ["source", *METHODS[method].model_fields, "id", "secret", "reading"]


def test_labels_of_a_stata_file_stay(folder) -> None:
    given = [plain_variable(column) for column in people()]
    at = people().columns.index("area")
    given[at] = replace(given[at], label="Where", value_labels={0: "north", 1: "south"})
    records = DescribedRecords(variables=given, format="stata")
    write_described(records, folder / "people.dta")
    path = programme(folder, ("people.parquet", "people.dta"), ('["id"]', '["id"]\nfile = "o.dta"'))
    found = described_records(anonymised(path).path)
    (area,) = [one for one in found.variables if one.name == "area"]
    assert area.label == "Where"
    assert dict(area.value_labels) == {0: "north", 1: "south"}


def test_the_command_tells_no_count_of_changes(folder) -> None:
    path = programme(folder)
    words = ["anonymise", str(path), "--out", str(folder / "out"), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["records"] == 400
    assert told["steps"] == ["swap", "pram"]
    assert set(told) == {"out", "records", "steps", "statement"}
    checked = CliRunner().invoke(app, ["anonymise", str(path), "--check"])
    assert checked.exit_code == 0
    assert "All steps run" in checked.stdout
    assert CliRunner().invoke(app, ["anonymise", str(path)]).exit_code == 2
    inside = ["--internal", str(folder / "out" / "in")]
    refused = CliRunner().invoke(
        app, ["anonymise", str(path), "--out", str(folder / "out"), *inside]
    )
    assert refused.exit_code == 2
    assert not (folder / "out" / "in").exists()
