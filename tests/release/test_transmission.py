"""Transmissions: hidden cells with true values and the reason; the public files without them."""

import dataclasses
import json
import shutil
import stat

import numpy as np
import polars as pl
import pytest
from pysdmx.io import read_sdmx
from typer.testing import CliRunner

from discreet import primary, rules, tabulate
from discreet.cli.commands import app
from discreet.errors import DiscreetError, PublicationError
from discreet.publication import write
from discreet.publication.data_structures import DataStructure, SdmxNames, read_structures
from discreet.publication.examples import census_example
from discreet.publication.writers.sdmx import structure_message
from discreet.release import protect, transmit
from discreet.release.state import memory as release_memory
from discreet.tables import CellStatus
from tests.helpers.firm_programmes import FIRST, HEAD, firms

DOMINANT = FIRST.replace("p_percent = 12", "dominance = [[1, 60], [2, 75]]")
RATIOS = (
    FIRST.replace('reasons = "rule"', 'reasons = "rule"\nsingletons = false')
    + """
[tables.sizes.ratios]
wage_share = { part = "wages", whole = "turnover", decimals = 3 }
"""
)
NAMES = SdmxNames(
    structures={"branches": "OFFICE:BRANCHES(2.1)"},
    dimensions={"branch": "NACE"},
    codes={"region": {"Total": "_T"}, "MEASURE": {"turnover": "TURN"}},
    constant={"TIME_PERIOD": "2026"},
)


def made(folder, text=FIRST):
    firms().write_parquet(folder / "firms.parquet")
    programme = folder / "programme.toml"
    programme.write_text(text, encoding="utf-8")
    programme.chmod(0o600)
    protect(programme, folder / "release")
    return programme


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The first programme with its release, made once."""
    folder = tmp_path_factory.mktemp("firms")
    made(folder, FIRST.replace('["csv"]', '["csv", "sdmx-csv"]'))
    return folder


@pytest.fixture
def firms_programme(first, tmp_path):
    """A copy of it."""
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    return tmp_path / "programme.toml"


def lines(folder, table, out="out"):
    return pl.read_csv(folder / out / f"{table}.CONFIDENTIAL.sdmx.csv", infer_schema=False)


def true(variables, value):
    """The sum of a value by variables and their totals, straight from the records."""
    people = firms()
    frames = []
    for mask in range(2 ** len(variables)):
        chosen = [
            (pl.col(name) if mask >> at & 1 else pl.lit("Total")).alias(name)
            for at, name in enumerate(variables)
        ]
        frames.append(people.with_columns(chosen).group_by(variables).agg(pl.col(value).sum()))
    return pl.concat(frames)


def test_hidden_cells_have_true_values_and_the_code_of_their_reason(firms_programme, tmp_path):
    done = transmit(firms_programme, tmp_path / "release", tmp_path / "out")
    found = lines(tmp_path, "sizes").filter(pl.col("MEASURE") == "turnover")
    public = pl.read_csv(tmp_path / "release" / "sizes.csv", infer_schema=False)
    public = public.filter(pl.col("figure") == "turnover")
    both = found.join(public, on=["branch", "size"]).join(
        true(["branch", "size"], "turnover"), on=["branch", "size"], how="left"
    )
    assert len(both) == len(found) == len(public)
    assert (both["OBS_VALUE"].cast(pl.Float64) == both["turnover"].fill_null(0)).all()
    hidden = both["status"] == "suppressed"
    assert hidden.sum() > 5
    assert both.filter(hidden)["value"].null_count() == hidden.sum()
    assert set(both.filter(~hidden)["CONF_STATUS"]) == {"F"}
    told = {"minimum-frequency": "A", "p-percent": "M", "secondary": "D"}
    wanted = [told[reason] for reason in both.filter(hidden)["reason"]]
    assert both.filter(hidden)["CONF_STATUS"].to_list() == wanted
    assert {"A", "D"} <= set(wanted)
    counts = done.tables["sizes"].status
    assert sum(counts.values()) == len(lines(tmp_path, "sizes"))


def test_dominance_is_told_apart_by_one_by_two_and_by_both():
    sales = {"one": [90, 5, 5, 5], "two": [40, 40, 5, 5], "none": [20, 20, 20, 20, 20]}
    rows = [(branch, each) for branch, values in sales.items() for each in values]
    frame = pl.DataFrame(rows, schema=["branch", "sales"], orient="row")
    table = tabulate(frame, ["branch"], values=["sales"], contributions=3)

    def codes(*asked):
        found = primary(table, list(asked), value="sales").conf_status().tolist()
        (branch,) = table.dimensions
        return {branch.codes[at]: code for at, code in zip(table.index[0], found, strict=True)}

    one, two, three = (rules.Dominance(n=n, k=k) for n, k in ((1, 60), (2, 75), (3, 90)))
    assert codes(one, two) == {"Total": "D", "none": "D", "one": "G", "two": "T"}
    assert codes(one)["one"] == "O"
    assert codes(three)["two"] == "M"
    assert codes(rules.MinimumFrequency(5), two)["two"] == "A"  # the first rule names it
    assert codes(rules.MarginalRule(difference=9), one)["one"] == "C"
    by_hand = rules.Mark(cells={"branch": "none"}, status="unsafe")
    manual = primary(table, [one], value="sales", marks=[by_hand])
    assert sorted(manual.conf_status().tolist()) == ["C", "D", "D", "O"]


def test_a_programme_with_dominance(tmp_path):
    programme = made(tmp_path, DOMINANT)
    done = transmit(programme, tmp_path / "release", tmp_path / "out")
    assert {"F", "D"} < set(done.tables["branches"].status)
    assert set(done.tables["branches"].status) & {"O", "T", "G"}
    assert "dominance by" in done.text()


def test_ratios_of_hidden_values_are_made_of_the_true_ones(tmp_path):
    programme = made(tmp_path, RATIOS)
    transmit(programme, tmp_path / "release", tmp_path / "out")
    found = lines(tmp_path, "sizes").pivot("MEASURE", index=["branch", "size"], values="OBS_VALUE")
    whole, part, share = (
        found[name].cast(pl.Float64) for name in ("turnover", "wages", "wage_share")
    )
    assert ((part / whole - share).abs() < 0.0006).all()


def test_a_cell_of_two_tables_has_one_status(tmp_path):
    """A cell that one table's rules mark is hidden in both for this reason: the pattern is one."""
    hand = '[[tables.crossed.marks]]\ncells = { branch = "d", size = "Total" }\nstatus = "unsafe"\n'
    tables = '[tables.crossed]\nby = ["branch", "size"]\nvalue = "turnover"\n' + hand
    tables += '[tables.branches]\nby = ["branch"]\nvalue = "turnover"\n'
    programme = made(tmp_path, HEAD + tables)
    done = transmit(programme, tmp_path / "release", tmp_path / "out")
    margin = lines(tmp_path, "crossed").filter(pl.col("size") == "Total")
    both = margin.join(lines(tmp_path, "branches"), on="branch", how="inner", validate="1:1")
    assert both["CONF_STATUS"].equals(both["CONF_STATUS_right"], check_names=False)
    assert dict(both.select("branch", "CONF_STATUS").iter_rows())["d"] == "C"
    reasons = pl.read_csv(tmp_path / "release" / "branches.csv", infer_schema=False)
    told = reasons.filter(pl.col("reason").is_not_null()).select("branch", "reason")
    sent = dict(lines(tmp_path, "branches").select("branch", "CONF_STATUS").iter_rows())
    assert {branch: reason != "secondary" for branch, reason in told.iter_rows()} == {
        branch: status != "D" for branch, status in sent.items() if status != "F"
    }
    assert done.tables["branches"].status["C"] == 1


def test_free_cells_that_open_hidden_ones_are_not_sent(firms_programme, tmp_path, monkeypatch):
    """What is judged is what the receiver sees: here a hidden cell was put into the release."""
    read = release_memory.remembered_tables

    def opened(release):
        kept = read(release)
        table = kept["branches"].table
        truth = {row[:2]: row[2] for row in true(["region", "branch"], "turnover").rows()}
        names = [dimension.codes for dimension in table.dimensions]
        status, value = table.status.copy(), table.value.copy()
        hidden = np.flatnonzero(status == CellStatus.suppressed).tolist()
        codes = {at: (names[0][table.index[0][at]], names[1][table.index[1][at]]) for at in hidden}
        first = next(at for at in hidden if codes[at] in truth)
        status[first], value[first] = CellStatus.published, truth[codes[first]]
        shown = dataclasses.replace(table, status=status, value=value, withheld=None)
        return {**kept, "branches": dataclasses.replace(kept["branches"], table=shown)}

    monkeypatch.setattr("discreet.release.transmission.remembered_tables", opened)
    with pytest.raises(PublicationError, match="open"):
        transmit(firms_programme, tmp_path / "release", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_weights_and_decimals_are_those_of_the_tables(tmp_path):
    people = firms().with_columns(pl.lit(1.5).alias("w"), (pl.col("turnover") / 7).alias("money"))
    people.write_parquet(tmp_path / "firms.parquet")
    table = '[values.money]\ndecimals = 2\n[tables.A]\nby = ["region", "branch"]\n'
    programme = tmp_path / "programme.toml"
    programme.write_text(HEAD + table + 'value = "money"\nweight = "w"\n', encoding="utf-8")
    programme.chmod(0o600)
    protect(programme, tmp_path / "release")
    transmit(programme, tmp_path / "release", tmp_path / "out", language="de")
    found = lines(tmp_path, "A")
    cells = people.group_by("region", "branch").agg((pl.col("money") * 1.5).sum().alias("true"))
    both = found.join(cells, on=["region", "branch"])
    assert len(both) == len(cells)
    assert ((both["OBS_VALUE"].cast(pl.Float64) - both["true"]).abs() <= 0.005 + 1e-9).all()
    assert found.filter(pl.col("CONF_STATUS") != "F")["OBS_VALUE"].str.len_chars().max() < 12
    assert found["COMMENT_DSET"][0].startswith("Schutz: Sperrung von Feldern.")


def test_files_are_private_listed_and_outside_of_the_release(firms_programme, tmp_path):
    before = {p.name: p.read_bytes() for p in (tmp_path / "release").iterdir() if p.is_file()}
    transmit(firms_programme, tmp_path / "release", tmp_path / "out")
    after = {p.name: p.read_bytes() for p in (tmp_path / "release").iterdir() if p.is_file()}
    assert before == after
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    listing = json.loads((tmp_path / "out" / "transmission.json").read_text())
    files = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert sorted([*listing["sha256"], "transmission.json"]) == files
    assert len(files) == 10
    for path in (tmp_path / "out").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for place in ("release/t", "release", "."):
        with pytest.raises(
            PublicationError, match="the transmission must not be in the folder of the release"
        ):
            transmit(firms_programme, tmp_path / "release", tmp_path / place)


def test_a_release_of_other_data_is_refused_before_anything_is_written(firms_programme, tmp_path):
    firms(seed=8).write_parquet(tmp_path / "firms.parquet")
    with pytest.raises(
        PublicationError, match="the release differs from the programme in 3 tables"
    ):
        transmit(firms_programme, tmp_path / "release", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (SdmxNames(codes={"shoe": {"a": "b"}}), "'shoe' not found"),
        (SdmxNames(codes={"branch": {"a": "b"}}), "two codes of branch would become equal"),
        (
            SdmxNames(codes={"branch": {"a": "5+"}}),
            "1 codes of branch are not valid in SDMX, such as",
        ),
        (SdmxNames(dimensions={"branch": "size"}), "would have two meanings"),
        (SdmxNames(constant={"OBS_VALUE": "1"}), "would have two meanings"),
        (SdmxNames(structures={"sizes": "no name"}), "not the name of a structure"),
    ],
)
def test_names_that_cannot_be_are_refused_before_anything_is_written(
    names, said, firms_programme, tmp_path
):
    with pytest.raises(DiscreetError, match=said):
        transmit(firms_programme, tmp_path / "release", tmp_path / "out", names=names)
    assert not (tmp_path / "out").exists()


def test_the_command_wants_to_hear_that_it_is_confidential(firms_programme, tmp_path):
    names = tmp_path / "names.toml"
    names.write_text('[constant]\nTIME_PERIOD = "2026"\n[codes.region]\nTotal = "_T"\n')
    words = ["transmit", str(firms_programme), "--release", str(tmp_path / "release")]
    words += ["--out", str(tmp_path / "out"), "--names", str(names)]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert not (tmp_path / "out").exists()
    told = CliRunner().invoke(app, [*words, "--confidential"])
    assert told.exit_code == 0, told.output
    assert ". CONFIDENTIAL: it contains true values." in told.output
    assert set(lines(tmp_path, "branches")["TIME_PERIOD"]) == {"2026"}
    names.write_text("[colours]\nred = 1\n")
    wrong = CliRunner().invoke(app, [*words, "--confidential"])
    assert (wrong.exit_code, "not a list of names" in wrong.output) == (2, True)


def test_figures_with_noise_are_sent_as_published_and_say_so(programme, folder):
    protect(programme, folder / "release")
    names = SdmxNames(codes={"ages": {"65+": "GE65", "18-64": "Y18"}})
    done = transmit(programme, folder / "release", folder / "out", names=names)
    found, public = lines(folder, "T1"), pl.read_csv(folder / "release" / "T1.csv")
    assert found["OBS_VALUE"].cast(pl.Int64).to_list() == public["value"].to_list()
    assert done.tables["T1"].status == {"F": len(public)}
    assert found["COMMENT_DSET"][0].startswith("Protected by: noise.")


def test_an_independent_reader_finds_the_transmission(firms_programme, tmp_path):
    from pysdmx.io import get_datasets

    transmit(firms_programme, tmp_path / "release", tmp_path / "out", names=NAMES)
    place = tmp_path / "out"
    listed = lines(tmp_path, "branches")
    (dataset,) = get_datasets(
        str(place / "branches.CONFIDENTIAL.sdmx.xml"), str(place / "branches.structure.xml")
    )
    assert dataset.short_urn == "Dataflow=OFFICE:BRANCHES(2.1)"
    keys = ["region", "NACE", "MEASURE", "TIME_PERIOD", "CONF_STATUS", "OBS_STATUS"]
    assert dataset.data[keys].to_numpy().tolist() == listed.select(keys).to_numpy().tolist()
    assert dataset.data["OBS_VALUE"].tolist() == listed["OBS_VALUE"].cast(pl.Float64).to_list()
    assert dataset.attributes["COMMENT_DSET"] == listed["COMMENT_DSET"][0]
    message = read_sdmx(str(place / "branches.structure.xml"))
    lists = {each.id: each for each in message.get_codelists()}
    assert set(listed["CONF_STATUS"]) <= {code.id for code in lists["CL_CONF_STATUS"].items}
    region = {code.id: code for code in lists["CL_BRANCHES_region"].items}
    assert region["_T"].name == "Total"


def test_the_public_file_says_less_of_the_same_cells(firms_programme, tmp_path):
    transmit(firms_programme, tmp_path / "release", tmp_path / "out")
    (public,) = read_sdmx(str(tmp_path / "release" / "sizes.sdmx.csv")).data
    (sent,) = read_sdmx(str(tmp_path / "out" / "sizes.CONFIDENTIAL.sdmx.csv")).data
    hidden = public.data["CONF_STATUS"] == "C"
    assert list(sent.data["CONF_STATUS"] != "F") == list(hidden)
    assert set(public.data[hidden]["OBS_VALUE"]) == {""}
    assert "" not in set(sent.data["OBS_VALUE"])


def test_structures_are_read_as_they_were_written(tmp_path):
    structure = DataStructure.of(census_example(), SdmxNames(constant={"FREQ": "A"}))
    path = tmp_path / "s.xml"
    path.write_text(structure_message(structure), encoding="utf-8")
    (found,) = read_structures(path)
    assert dataclasses.replace(found, attributes=()) == structure
    with pytest.raises(PublicationError, match="no data structure"):
        read_structures(write(census_example(), tmp_path / "t.json"))
    path.write_text('<!DOCTYPE a [<!ENTITY b "c">]>' + structure_message(structure)[38:])
    with pytest.raises(PublicationError, match="no data structure"):
        read_structures(path)
