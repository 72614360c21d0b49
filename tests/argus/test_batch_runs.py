"""Batches of offices, carried out: records or cells in, protected tables out."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.errors import DiscreetError, DiscreetWarning, SuppressionError
from discreet.publication import write
from discreet_argus import read_jj
from discreet_argus.runs import run_batch

BATCH = """\
<OPENMICRODATA> "firms.asc"
<OPENMETADATA> "firms.rda"
<SPECIFYTABLE> "Size""Place"|"Turnover"|"Turnover"|"Turnover"
<SAFETYRULE> P(10,1)|FREQ(3,30)
<READMICRODATA>
<SUPPRESS> {step}
<WRITETABLE> (1,3,AS+,"safe.csv")
<WRITETABLE> (1,6,,"safe.jj")
"""
METADATA = """\
Size 1 1
 <RECODEABLE>
Place 3 2
 <RECODEABLE>
Turnover 6 4
 <NUMERIC>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        f"{1 + n % 3} P{1 + (n * n + n // 7) % 8} {(n * 37) % 900 + 5:>4}" for n in range(60)
    ] + ["1 P9    9", "2 P1 9000"]
    (tmp_path / "firms.asc").write_text("\n".join(lines))
    (tmp_path / "firms.rda").write_text(METADATA)
    return tmp_path


def batch(folder: Path, step: str = "MOD(1,5)") -> Path:
    (folder / "some.arb").write_text(BATCH.format(step=step))
    return folder / "some.arb"


@pytest.mark.parametrize(
    ("step", "method"),
    [("MOD(1,5)", "modular"), ("GH(1,75)", "hypercube")],
)
def test_a_batch_writes_what_it_asks_for(folder: Path, step: str, method: str) -> None:
    (done,) = run_batch(batch(folder, step), write=write)
    assert done.pattern.method == method
    assert done.pattern.safe
    hidden = pl.read_csv(folder / "safe.csv")["value"].null_count()
    assert hidden == len(done.tables[0].to_polars().filter(pl.col("value").is_null()))
    assert hidden > 0
    problem = read_jj(folder / "safe.jj")
    assert int((problem.state == 3).sum()) == done.pattern.secondaries


def test_the_batch_of_a_published_example_runs(reference: Path, tmp_path: Path) -> None:
    shutil.copytree(reference / "argus" / "tableinput", tmp_path / "in")
    path = tmp_path / "in" / "TestTable.arb"
    text = path.read_text().replace("<GOINTERACTIVE>", "<SUPPRESS> MOD(1)")
    path.write_text(text)
    (done,) = run_batch(path)
    assert done.pattern.safe
    assert done.tables[0].figure_decimals() == 2


def test_what_is_not_done_is_refused_before_anything_is_written(folder: Path) -> None:
    path = batch(folder)
    text = path.read_text().replace("P(10,1)|FREQ(3,30)", "P(10,1)|WGT(1)|REQ(1,2,3,4)")
    path.write_text(text.replace("(1,3,AS+", "(1,7,AS+"))
    with pytest.raises(SuppressionError) as caught:
        run_batch(path, write=write)
    assert caught.value.code == "batch"
    assert len(caught.value.problems) == 3
    assert not list(folder.glob("safe.*"))


def test_a_table_that_is_not_protected_is_not_written(folder: Path) -> None:
    path = batch(folder)
    lines = [line for line in path.read_text().splitlines() if "SUPPRESS" not in line]
    path.write_text("\n".join(lines))
    with pytest.raises(SuppressionError) as caught:
        run_batch(path, write=write)
    assert "not protected" in str(caught.value)


# -- forms, marks, zeros of respondents, batches that ask for nothing ---------------------


def written(
    folder: Path,
    form: int,
    options: str,
    name: str = "out.xlsx",
    rules: str = "P(10,1)|FREQ(3,30)",
) -> list[str]:
    """The lines of an output in one of the layouts of the other tool, whatever its suffix."""
    path = batch(folder)
    asked = f'(1,{form},{options},"{name}")'
    text = path.read_text().replace('(1,3,AS+,"safe.csv")', asked)
    path.write_text(text.replace("P(10,1)|FREQ(3,30)", rules))
    (done,) = run_batch(path)
    lines = (folder / name).read_text().splitlines()
    cells = done.sources[0][0].to_polars().select("Size", "Place", "Turnover").rows()
    hidden = done.tables[0].to_polars().filter(pl.col("value").is_null())
    blanks = set(hidden.select("Size", "Place").rows())
    assert {row[:2] for row in cells if row[2]} > blanks
    if form < 4:
        true = {f"{int(value)}" for *codes, value in cells if tuple(codes) in blanks}
        assert not [line for line in lines for each in line.split(",") if each in true - {"9"}]
    return lines


def test_form_1_is_rows_and_columns(folder: Path) -> None:
    lines = written(folder, 1, "")
    assert lines[0] == ',"Total",' + ",".join(f'"P{at}"' for at in range(1, 10))
    rows = [line.split(",") for line in lines[1:]]
    assert [row[0] for row in rows] == ['"Total"', '"1"', '"2"', '"3"']
    assert {len(row) for row in rows} == {11}
    assert rows[3][10] == "-"
    assert rows[0][1] == "33399"
    assert "x" in rows[1]


def test_form_2_is_a_line_per_cell_with_names_and_status(folder: Path) -> None:
    lines = written(folder, 2, "AS+FL+")
    assert lines[0] == '"Size","Place","Turnover","Status"'
    assert lines[1] == '"Total","Total",33399,1'
    assert {line.rsplit(",", 1)[1] for line in lines[1:]} == {"1", "3", "11", "14"}
    assert len(lines) == 1 + 4 * 10
    counted = written(folder, 2, "SO+", rules="FREQ(3,30)")
    assert {line.rsplit(",", 1)[1] for line in counted} == {"1", "5", "11", "14"}
    bare = written(folder, 2, "SE+")
    assert len(bare) < 40
    assert not [line for line in bare if line.endswith("-")]


def test_form_4_tells_who_may_see_true_values_why_cells_are_hidden(folder: Path) -> None:
    lines = [line.split(",") for line in written(folder, 4, "HL+")]
    assert lines[0] == ["0", "Total", "Total", "33399", "62", "V"]
    assert {line[-1] for line in lines} == {"V", "F", "D"}
    counted = written(folder, 4, "", rules="FREQ(3,30)")
    assert {line.rsplit(",", 1)[1] for line in counted} == {"V", "A", "D"}
    assert (folder / "out.xlsx").stat().st_mode & 0o077 == 0
    assert written(folder, 4, "QU+")[0].startswith('"Total","Total"')


def test_form_5_is_read_back_with_its_metadata(folder: Path) -> None:
    from discreet_argus import read_rda, read_tab

    written(folder, 5, "", "cells.dat")
    found = read_tab(folder / "cells.dat", read_rda(folder / "cells.rda", of="cells"))
    assert found.table.contributions["Turnover"].top.shape[1] == 5
    assert found.primary is not None
    assert found.primary.secondary.any()
    assert found.primary.lower[found.primary.sensitive].min() > 0
    assert (folder / "cells.dat").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("code", ["P2", '" P2 "'])
def test_codes_of_marks_match_with_or_without_quotes_and_blanks(folder: Path, code: str) -> None:
    (folder / "some.hst").write_text(f"Total;{code};p\n")
    path = batch(folder)
    apriori = '<APRIORI> "some.hst",1,";"\n<SUPPRESS>'
    path.write_text(path.read_text().replace("<SUPPRESS>", apriori))
    (done,) = run_batch(path, write=write)
    assert done.tables[0].get("Total", "P2") is not None
    assert done.sources[0][1].fixed.sum() == 1


def test_unknown_codes_of_marks_are_told_with_near_ones(folder: Path) -> None:
    (folder / "some.hst").write_text("Total;P22;p\n")
    path = batch(folder)
    apriori = '<APRIORI> "some.hst",1,";"\n<SUPPRESS>'
    path.write_text(path.read_text().replace("<SUPPRESS>", apriori))
    with pytest.raises(SuppressionError, match="near codes: 'P2'"):
        run_batch(path)


def test_zeros_of_respondents_are_hidden_where_nothing_else_protects(folder: Path) -> None:
    """A zero of one firm beside a total of zero: both are hidden, or everybody knows both."""
    records = (folder / "firms.asc").read_text().replace("1 P9    9", "1 P9    0")
    (folder / "firms.asc").write_text("\n".join([records, *["2 P9    0"] * 4]))
    path = batch(folder)
    path.write_text(path.read_text().replace("P(10,1)|FREQ", "NK(2,85)|FREQ"))
    (done,) = run_batch(path, write=write)
    assert done.pattern.safe
    assert done.tables[0].get("1", "P9") is None
    assert done.tables[0].get("Total", "P9") is None
    assert any("zeros and empty cells may be suppressed" in note for note in done.notes)
    told = CliRunner().invoke(app, ["suppress", str(path)]).output
    assert "zeros and empty cells may be suppressed" in " ".join(told.split())


def test_a_batch_that_asks_for_nothing_says_so(folder: Path) -> None:
    path = batch(folder)
    asked = ("SUPPRESS", "WRITETABLE")
    lines = [line for line in path.read_text().splitlines() if not any(a in line for a in asked)]
    path.write_text("\n".join(lines))
    told = " ".join(CliRunner().invoke(app, ["suppress", str(path)]).output.split())
    assert "the batch has no <SUPPRESS>" in told
    assert "the batch has no <WRITETABLE>: nothing is written" in told


# -- holdings, requests, weights, consent, recodes ------------------------------

FULL = METADATA.replace(
    " <NUMERIC>",
    """\
 <NUMERIC>
Group 11 2
 <HOLDING>
Wgt 14 3
 <DECIMALS> 1
 <WEIGHT>
Ask 18 1
 <REQUEST> "1" "2"
""",
)


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """60 firms in 9 groups; weights; two kinds of requests, consent."""
    lines = [
        f"{1 + n % 3} P{1 + (n * n + n // 7) % 8} {(n * 37) % 900 + 5:>4} "
        f"{n % 9:>2} {1 + n % 3:>2}5 {'012'[(n % 11 == 0) + 2 * (n % 13 == 0) if n % 143 else 1]} "
        f"{'yn '[n % 3]}"
        for n in range(60)
    ]
    (tmp_path / "firms.asc").write_text("\n".join(lines))
    (tmp_path / "firms.rda").write_text(FULL)
    return tmp_path


def sensitive(
    folder: Path, rules: str, more: str = "", variables: str = '"Size""Place"'
) -> set[str]:
    """The sensitive cells of a batch."""
    text = BATCH.format(step="MOD(1,5)").replace("P(10,1)|FREQ(3,30)", rules)
    text = text.replace('"Size""Place"', variables)
    text = text.replace("<SUPPRESS>", f"{more}\n<SUPPRESS>") if more else text
    (folder / "some.arb").write_text(text)
    (done,) = run_batch(folder / "some.arb", write=write)
    assert done.pattern.safe
    ((table, found),) = done.sources
    cells = table.to_polars().filter(found.sensitive)
    return {", ".join(row) for row in cells.select(d.name for d in table.dimensions).rows()}


def test_rules_on_holdings_are_applied(full: Path) -> None:
    firms = sensitive(full, "FREQ(3,30)")
    groups = sensitive(full, "FREQ(0,0)|FREQ(3,30)")
    assert firms < groups


@pytest.mark.exhaustive
def test_requests_have_a_share_for_each_code(full: Path) -> None:
    frame = pl.read_csv(full / "firms.asc", has_header=False, new_columns=["line"], separator="\t")[
        "line"
    ]
    asked = {line[17] for line in frame}
    assert asked == {"0", "1", "2"}
    first = sensitive(full, "REQ(20,99,0,20)")
    second = sensitive(full, "REQ(99,20,0,20)")
    assert first
    assert second
    assert first != second
    assert sensitive(full, "REQ(20,20,0,20)") == first | second
    assert first < sensitive(full, "REQ(20,99,6,20)")
    assert first <= sensitive(full, "REQ(99,99,0,20)|REQ(20,99,0,20)")


def test_weights_count(full: Path) -> None:
    plain = sensitive(full, "NK(1,60)")
    assert sensitive(full, "NK(1,60)|WGT(1)") < plain
    assert pl.read_csv(full / "safe.csv").filter(Size="Total", Place="Total")["value"].item() > 0
    counts = BATCH.format(step="MOD(1,5)").replace('"Turnover"|"Turnover"|"Turnover"', '"<FREQ>"||')
    counts = counts.replace("P(10,1)|FREQ(3,30)", "FREQ(3,30)|WGT(1)")
    (full / "some.arb").write_text(counts)
    (done,) = run_batch(full / "some.arb")
    assert done.tables[0].get("Total", "Total") == 1500  # 60 firms with weights of 15, 25, 35


def test_who_has_consented_is_shown(full: Path) -> None:
    strict = sensitive(full, "P(30,1)")
    described = (full / "firms.rda").read_text()
    (full / "firms.rda").write_text(f'{described}Free 20 1\n <WAIVER> "y"\n')
    free = sensitive(full, "P(30,1)")
    assert free < strict


def test_recodes_make_tables_coarser(full: Path) -> None:
    (full / "place.grc").write_text('A:P1-P4\nB:P5,P6-\n<CODELIST> "place.cdl"\n')
    sensitive(full, "FREQ(3,30)", '<RECODE> 1,"Place","place.grc"')
    assert set(pl.read_csv(full / "safe.csv")["Place"]) == {"Total", "A", "B"}
    (full / "place.hrc").write_text("N\n@P1\n@P2\n@P3\n@P4\nS\n@P5\n@P6\n@P7\n@P8\n")
    described = FULL.replace(
        "Place 3 2\n <RECODEABLE>",
        'Place 3 2\n <RECODEABLE>\n <HIERARCHICAL>\n <HIERCODELIST> "place.hrc"',
    )
    (full / "firms.rda").write_text(described)
    sensitive(full, "FREQ(3,30)", '<RECODE> 1,"Place",1')
    assert set(pl.read_csv(full / "safe.csv")["Place"]) == {"Total", "N", "S"}
    (full / "tree.grc").write_text("<TREERECODE>\nS\n")
    sensitive(full, "FREQ(3,30)", '<RECODE> 1,"Place","tree.grc"')
    places = pl.read_csv(full / "safe.csv")["Place"]
    assert set(places) == {"Total", "N", "P1", "P2", "P3", "P4", "S"}


@pytest.mark.parametrize(
    ("recode", "message"),
    [
        ("A:P1-P4\nB:P4-P6\n", "several groups"),
        ("A P1-P4\n", "not a group of codes"),
        ("<MISSING> 9\n", "no group"),
        ("<TREERECODE>\nX\n", "code 'X' not found"),
        ("<OTHER> 1\n", "unknown"),
    ],
)
def test_wrong_recodes_are_refused_before_anything_is_written(
    full: Path, recode: str, message: str
) -> None:
    (full / "place.grc").write_text(recode)
    with pytest.raises(DiscreetError) as caught:
        sensitive(full, "FREQ(3,30)", '<RECODE> 1,"Place","place.grc"')
    assert message in str(caught.value)
    assert not list(full.glob("safe.*"))


def test_what_the_metadata_lack_is_named_at_once(folder: Path) -> None:
    with pytest.raises(SuppressionError) as caught:
        sensitive(folder, "P(10,1)|FREQ(0,0)|FREQ(3,30)|WGT(1)|REQ(1,2,3,4)")
    told = str(caught.value)
    assert all(
        mark in told for mark in ("<HOLDING>", "<WEIGHT>", "<REQUEST>", "cannot be identified")
    )


def test_the_command_carries_batches_out(folder: Path) -> None:
    path = batch(folder)
    path.write_text(path.read_text().replace('"safe.csv"', '"safe.txt"'))
    done = CliRunner().invoke(app, ["suppress", str(path), "--json"])
    assert done.exit_code == 0, done.output
    assert (folder / "safe.txt").read_text().startswith("Size,")
    assert (folder / "safe.jj").exists()
    for more in (["--out", "x.csv"], ["--by", "Size"], ["--method", "fast"]):
        assert CliRunner().invoke(app, ["suppress", str(path), *more]).exit_code == 2
    (folder / "safe.txt").unlink()
    path.write_text(path.read_text().replace('"safe.txt"', '"none/safe.csv"'))
    assert CliRunner().invoke(app, ["suppress", str(path)]).exit_code == 2


LINKED = """\
<OPENMICRODATA> "firms.asc"
<OPENMETADATA> "firms.rda"
<SPECIFYTABLE> "Size""Place"|"Turnover"|"Turnover"|"Turnover"
<SAFETYRULE> FREQ(3,30)
<SPECIFYTABLE> "Place"|"Turnover"|"Turnover"|"Turnover"
<SAFETYRULE> FREQ(3,30)
<READMICRODATA>
{recodes}
<SUPPRESS> MOD(0,5)
<WRITETABLE> (1,3,AS+,"safe.csv")
"""


def test_groups_of_linked_tables_are_the_same(full: Path) -> None:
    """The sum of places A = P1 + … + P4 would be known to nobody but an attacker."""
    (full / "place.grc").write_text("A:P1-P4\nB:P5-P8\n")
    path, recode = full / "linked.arb", '<RECODE> {},"Place","place.grc"'
    path.write_text(LINKED.format(recodes=recode.format(1)))
    with pytest.raises(SuppressionError) as caught:
        run_batch(path, write=write)
    assert "different groups of 'Place'" in str(caught.value)
    assert not list(full.glob("safe.*"))
    path.write_text(LINKED.format(recodes="\n".join(recode.format(at) for at in (1, 2))))
    (done,) = run_batch(path, write=write)
    assert done.pattern.safe


def test_tables_that_share_cells_and_are_protected_apart_are_worth_a_warning(full: Path) -> None:
    path = full / "linked.arb"
    text = LINKED.format(recodes="").replace("MOD(0,5)", "MOD(1,5)\n<SUPPRESS> MOD(2,5)")
    path.write_text(text)
    with pytest.warns(
        DiscreetWarning, match="tables 1, 2 are protected separately and may disclose each"
    ):
        run_batch(path, write=write)


def test_holdings_that_are_known_are_insiders_too(full: Path) -> None:
    """No rule looks at them, but the only holding of a cell knows it."""
    (full / "some.arb").write_text(BATCH.format(step="MOD(1,5)"))
    (done,) = run_batch(full / "some.arb", write=write)
    ((_, named),) = done.sources
    described = (full / "firms.rda").read_text()
    (full / "firms.rda").write_text(described.replace(" <HOLDING>\n", " <RECODEABLE>\n"))
    (done,) = run_batch(full / "some.arb", write=write)
    ((_, unnamed),) = done.sources
    assert int((named.contributor >= 0).sum()) > 0
    assert int((unnamed.contributor >= 0).sum()) == 0
