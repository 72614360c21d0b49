"""The demonstration's programme: its files, and what becomes of them."""

import dataclasses
import json
import shutil
import stat
import tomllib

import polars as pl
import pytest

import discreet as dc
from discreet.classifications import Classification
from discreet.demo import generate, run, write_census, write_programme
from discreet.demo.census import example_perturbation_table
from discreet.demo.demonstration import hand_on
from discreet.demo.records import UNITS
from discreet.errors import MicrodataError, PublicationError, RecordKeyError
from discreet.protection.noise import PerturbationTable
from discreet.release import check_release, verify_release


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("census")
    write_census(place, persons=1_000, seed=2026)
    write_programme(place)
    return place


@pytest.fixture(scope="module")
def programme(folder):
    return tomllib.loads((folder / "programme.toml").read_text("utf-8"))


def test_the_perturbation_table_is_the_published_one(reference):
    path = reference / "seminar" / "cumulative_matrix.csv"
    assert PerturbationTable.read(path) == example_perturbation_table()


def test_the_perturbation_table_is_read_back_as_written(folder):
    assert PerturbationTable.read(folder / "ptable.json") == example_perturbation_table()


def test_the_programme_has_no_mistakes(folder):
    check_release(folder / "programme.toml")


def test_secret_and_perturbation_table_are_for_their_owner_only(folder):
    for name in ("secret.key", "ptable.json", "magnitude-ptable.csv"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_the_classifications_are_those_of_the_census(folder, programme):
    trees = generate(persons=1_000, seed=2026).classifications
    for name, entry in programme["variables"].items():
        if "hierarchy" in entry:
            read = Classification.read(folder / entry["hierarchy"], name=name)
            assert (read.codes, read.parents) == (trees[name].codes, trees[name].parents)
            labels = {**read.labels, **entry.get("labels", {})}
            assert {code: dict(text) for code, text in labels.items()} == {
                code: dict(text) for code, text in trees[name].labels.items()
            }
        elif "codes" in entry:
            assert tuple(entry["codes"]) == trees[name].codes[1:]
            assert entry["labels"] == {c: dict(t) for c, t in trees[name].labels.items()}
        elif "intervals" in entry:
            read = Classification.from_intervals(name, bounds=entry["intervals"])
            assert read.codes == trees[name].codes


def test_everything_is_labelled_in_both_languages(programme):
    assert programme["languages"] == ["en", "de"]
    assert len(programme["tables"]) == 14
    for table in programme["tables"].values():
        assert set(table["title"]) == {"en", "de"}
        for figure in table.get("figures", {}).values():
            assert figure.get("hidden") or set(figure["title"]) == {"en", "de"}
        for note in table.get("notes", []):
            assert set(note["text"]) == {"en", "de"}


def test_official_cells_are_the_same_in_every_table(programme):
    # A figure published as it is in one table and perturbed in another would give noise away.
    assert all("official" not in table for table in programme["tables"].values())
    official = programme["defaults"]["official"]
    of_persons = [table for table in programme["tables"].values() if "from" not in table]
    spanning = {name for table in of_persons for name in table["by"]}
    for name in spanning - {"region", "state"}:
        assert f"{name} == 'Total'" in official


def test_writing_it_again_changes_nothing(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_programme(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_secret_of_ones_own_is_never_replaced(tmp_path):
    write_census(tmp_path, persons=1_000)
    (tmp_path / "secret.key").write_text("my own secret")
    with pytest.raises(RecordKeyError, match="another secret"):
        write_programme(tmp_path)
    assert (tmp_path / "secret.key").read_text() == "my own secret"
    assert not (tmp_path / "programme.toml").exists()


def test_a_folder_without_a_census_is_refused(tmp_path):
    with pytest.raises(MicrodataError, match="Parquet file of persons not found"):
        write_programme(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_demonstration_of_the_wrong_size_makes_no_folder(tmp_path):
    with pytest.raises(MicrodataError) as caught:
        run(tmp_path / "out", persons=5)
    assert caught.value.code == "demo-size"
    assert list(tmp_path.iterdir()) == []


def test_a_demonstration_in_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(PublicationError) as caught:
        run(tmp_path / "out", persons=1_000)
    assert caught.value.code == "output-folder"
    assert (tmp_path / "out").read_text() == "a file"


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    out = tmp_path_factory.mktemp("demonstration") / "out"
    steps: list[tuple[int, int, str]] = []
    summary = run(out, persons=1_000, progress=lambda *step: steps.append(step))
    return out, summary, steps


def test_the_demonstration_leaves_a_release_and_a_report(demonstration):
    out, summary, steps = demonstration
    assert len(summary.tables) == 14
    assert summary.report.is_file()
    assert all(path.is_file() for path in summary.sights)
    suffixes = {path.suffix for path in (out / "release").iterdir() if path.is_file()}
    assert {".csv", ".xlsx", ".html"} <= suffixes
    assert steps[0] == (1_000, 1_000, "persons")
    assert steps[-1][0] == steps[-1][1]


def plain_files(out):
    return [path for path in (out / "release").glob("*.csv") if ".sdmx" not in path.suffixes]


def read_plain(path):
    separator = ";" if ".de" in path.suffixes else ","
    return pl.read_csv(path, infer_schema=False, separator=separator)


def test_small_counts_are_never_published(demonstration):
    out, _, _ = demonstration
    assert len(plain_files(out)) > 5
    for path in plain_files(out):
        cells = read_plain(path)
        if "figure" in cells.columns:
            cells = cells.filter(pl.col("figure").is_in(["dwellings", "households"]))
        free = cells.filter(pl.col("status") == "published")["value"].cast(pl.Int64)
        assert free.len() > 0 or path.name.startswith("large_buildings")
        assert not free.is_in([1, 2]).any()


def test_regions_keep_their_official_population(demonstration):
    out, _, _ = demonstration
    published = pl.read_csv(out / "release" / "population.csv", infer_schema=False)
    official = published.filter(pl.col("sex") == "Total")
    persons = pl.read_parquet(out / "census" / "persons.parquet")
    for column, width in (("state", 2), ("district", 5), ("municipality", 8)):
        true = dict(persons.group_by(pl.col(column).cast(pl.String)).len().iter_rows())
        shown = official.filter(pl.col("region").str.len_chars() == width)
        shown = shown.filter(pl.col("region") != "Total")
        assert {r: int(v) for r, v in shown.select("region", "value").iter_rows()} == true


def test_nothing_secret_reaches_the_release(demonstration):
    out, _, _ = demonstration
    secret = (out / "census" / "secret.key").read_text().strip()
    files = [path for path in (out / "release").rglob("*") if path.is_file()]
    read = [path for path in files if path.suffix in {".csv", ".html", ".json"}]
    assert {path.suffix for path in read} == {".csv", ".html", ".json"}
    for path in read:
        text = path.read_text("utf-8")
        assert secret not in text
        assert "record_key" not in text
        assert "person_id" not in text


def test_every_kind_of_unit_and_of_figure_occurs(demonstration):
    out, summary, _ = demonstration
    assert {table.source for table in summary.tables} == set(UNITS)
    status = set()
    for path in plain_files(out):
        status |= set(read_plain(path)["status"])
    assert {"published", "official", "suppressed", "bracketed", "not_applicable"} <= status
    assert "Dwellings that are being modernised" in (out / "release" / "dwellings.csv").read_text()
    kinds = {
        figure["kind"]
        for table in tomllib.loads((out / "census" / "programme.toml").read_text())[
            "tables"
        ].values()
        for figure in table.get("figures", {}).values()
    }
    assert {"count", "sum", "mean", "share", "ratio", "balance", "index"} <= kinds


def test_units_have_the_keys_of_their_parts(demonstration):
    """Buildings by region, from dwellings keyed by hand and inherited by hand."""
    out, _, _ = demonstration
    census = out / "census"
    dwellings = dc.with_record_keys(
        pl.read_parquet(census / "dwellings.parquet"), id="dwelling_id",
        secret=census / "secret.key",
    )  # fmt: skip
    buildings = dc.inherit_record_keys(
        dwellings,
        by="building_id",
        onto=pl.read_parquet(census / "buildings.parquet"),
        unit="building",
    )
    region = Classification.read(census / "region.json", name="region")
    table = dc.tabulate(buildings, [region.replace(column="municipality")], record_key="record_key")
    safe = dc.perturb(table, example_perturbation_table())
    shown = pl.read_csv(out / "release" / "buildings.csv", infer_schema=False)
    margin = shown.filter(
        (pl.col("building_type") == "Total") & (pl.col("construction") == "Total")
    ).filter(pl.col("status") != "suppressed")
    found = {region: int(value) for region, value in margin.select("region", "value").iter_rows()}
    assert len(found) > 3
    assert found == {code: safe.get(code) for code in found}


def test_tables_made_elsewhere_are_the_same(demonstration):
    out, summary, _ = demonstration
    theirs = out / "elsewhere"
    assert len(summary.elsewhere.files) == 24
    for file in summary.elsewhere.files:
        assert (out / "release" / file).read_bytes() == (theirs / "release" / file).read_bytes()
    office = {path.name for path in theirs.iterdir()}
    assert office == {"census.dcparams", "office.pub", "package.key", "programme.toml", "release"}
    text = (theirs / "programme.toml").read_text("utf-8")
    assert "ptable" not in text
    assert "secret.key" not in text


def test_both_releases_verify_with_the_public_key(demonstration):
    out, summary, _ = demonstration
    for release in ("release", "firms-release"):
        found = verify_release(out / release, public_key=out / "census" / "office.pub")
        assert found.in_order, found.text()
    said = summary.text()
    assert f"signed with key {found.signer}" in said
    assert "sealed" not in said


def test_a_difference_elsewhere_is_not_passed_over(demonstration, tmp_path):
    out, summary, _ = demonstration
    place = tmp_path / "changed"
    shutil.copytree(out, place)
    changed = place / "release" / "rents.csv"
    changed.write_text(changed.read_text("utf-8") + "\n", "utf-8")
    ours = dataclasses.replace(summary.release, out=place / "release")
    with pytest.raises(
        PublicationError, match=r"1 files from the other place differ from those of the office"
    ) as caught:
        hand_on(place / "census", place / "elsewhere", ours)
    assert caught.value.where == "rents.csv"


def test_a_demonstration_can_be_run_again(demonstration):
    out, summary, _ = demonstration
    again = run(out, persons=1_000)
    assert again.release.fresh == 0
    assert again.elsewhere.release.fresh == 0
    assert again.elsewhere.files == summary.elsewhere.files
    assert again.firms.release.fresh == 0
    assert again.firms.text() == summary.firms.text()


def test_the_internal_report_stands_beside_the_data(demonstration):
    out, _, _ = demonstration
    assert (out / "census" / "quality" / "quality-internal.html").is_file()
    assert not list((out / "release").rglob("*internal*"))


def test_what_to_look_at_is_said_in_words_and_for_programs(demonstration):
    _, summary, _ = demonstration
    for path in summary.sights:
        assert str(path) in summary.text()
    described = summary.described()
    assert described["elsewhere"]["identical_files"] == list(summary.elsewhere.files)
    assert list(described["look_at"]) == [str(path) for path in summary.sights]
    assert summary.firms.text() in summary.text()
    assert described["firms"] == summary.firms.described()


@pytest.mark.exhaustive
def test_two_demonstrations_are_alike(demonstration, tmp_path):
    out, _, _ = demonstration
    run(tmp_path, persons=1_000)
    for name in ("release", "firms-release"):
        for path in (path for path in (out / name).iterdir() if path.is_file()):
            if path.name == "release.seal":
                continue  # each office has a signing key of its own
            assert path.read_bytes() == (tmp_path / name / path.name).read_bytes()


def test_no_mean_comes_near_a_single_dwelling(demonstration):
    out, _, _ = demonstration
    report = (out / "census" / "quality" / "quality-internal.json").read_text("utf-8")
    gates = [
        gate
        for table in json.loads(report)["each_table"].values()
        for gate in table["closeness"].values()
    ]
    assert len(gates) >= 3
    assert all(gate["shown"] == 0 and gate["p_percent"] == 10 for gate in gates)
    homes = pl.read_parquet(out / "census" / "dwellings.parquet")
    alone = (
        homes.filter(tenure="rented")
        .with_columns(pl.col("municipality").cast(pl.String))
        .group_by("municipality")
        .agg(pl.len(), pl.col("rent").sum())
        .filter(len=1)
    )
    rents = pl.read_csv(
        out / "release" / "rents.csv", comment_prefix="#", infer_schema=False
    ).filter(pl.col("figure") == "rent", pl.col("status") == "published")
    shown = rents.join(alone, left_on="region", right_on="municipality")
    assert shown.is_empty()
