"""Batch files become plans; nothing runs, nothing is left out in silence."""

from pathlib import Path

import pytest

from discreet.errors import SuppressionError
from discreet.rules import PQ, Dominance, MinimumFrequency, PPercent, ZeroUnsafe
from discreet_argus import read_batch

HEAD = '<OPENMICRODATA> "firms.asc"\n<OPENMETADATA> "firms.rda"\n'
TABLE = '<SPECIFYTABLE> "Size""Region"|"Var2"|"Var2"|"Var2"\n'
TAIL = "<SAFETYRULE> P(10,1)\n<READMICRODATA>\n"


def batch(tmp_path: Path, text: str):
    (tmp_path / "some.arb").write_text(text)
    return read_batch(tmp_path / "some.arb")


def test_the_sample_batch(reference: Path) -> None:
    plan = read_batch(reference / "argus" / "tableinput" / "TestTable.arb")
    assert (plan.of, plan.data, plan.totals) == ("cells", "pp.tab", "add")
    assert plan.file(plan.data).is_file()
    (table,) = plan.tables
    assert (table.variables, table.response) == (("Size", "Region"), "Var2")
    assert (table.shadow, table.cost.of, table.primary_rules) == ("Var2_Shadow", "value", [])


def test_rules_for_records_then_for_holdings(tmp_path: Path) -> None:
    rules = (
        "<SAFETYRULE> P(10,1)|P(0,0)|P(5,2)|NK(2,85)|FREQ(3,30)|FREQ(4,25)|ZERO(20)"
        "|MAN(15)|WGT(1)|REQ(60,20,3,20)|P(10,50,2)\n"
    )
    plan = batch(tmp_path, HEAD + TABLE + rules + "<READMICRODATA>\n")
    found = plan.tables[0].primary_rules
    kinds = [PPercent, PPercent, Dominance, MinimumFrequency, MinimumFrequency, ZeroUnsafe, PQ]
    assert [type(rule) for rule in found] == kinds
    pers = ["record", "holding", "record", "record", "holding", "record", "holding"]
    assert [rule.per for rule in found] == pers
    assert plan.tables[0].setting("MAN", 20) == 15
    assert plan.tables[0].setting("MIS", 0) == 0
    assert len(plan.tables[0].requests) == 1


@pytest.mark.parametrize(
    ("cost", "of", "power"),
    [
        ('"-1"', "count", 1),
        ("-3", "distance", 1),
        ('"Var2"', "value", 1),
        ('"Var3",0.5', "Var3", 0.5),
        ("", "value", 1),
    ],
)
def test_costs(tmp_path: Path, cost: str, of: str, power: float) -> None:
    table = f'<SPECIFYTABLE> "Size"|"Var2"||{cost}\n'
    rule = batch(tmp_path, HEAD + table + TAIL).tables[0].cost
    assert (rule.of, rule.power) == (of, power)


def test_methods_marks_recodes_and_outputs(tmp_path: Path) -> None:
    text = (
        HEAD + TABLE + TAIL + TABLE.replace("Size", "Year") + "<SAFETYRULE> FREQ(3,30)\n"
        '<RECODE> 1, Region, 1\n<APRIORY> "marks.hst", 1, ";", 1, 0\n<APRIORI> "b.hst",2,","\n'
        "<SUPPRESS> MOD(1,5,1)\n<SUPPRESS> GH(0,75)\n<SUPPRESS> OPT(2)\n"
        '<WRITETABLE> (1,2,AS+,"out/pivot.csv")\n<WRITETABLE> (2,6,TR+,"two.jj")\n<SOLVER> FREE'
    )
    plan = batch(tmp_path, text)
    assert [(p.method, p.table, p.minutes) for p in plan.protections] == [
        ("modular", 1, 5),
        ("hypercube", 0, None),
        ("optimal", 2, None),
    ]
    assert plan.tables[0].recodes == (("Region", "1"),)
    assert plan.tables[0].apriori[0].separator == ";"
    assert plan.tables[1].apriori[0].separator == ","
    assert [(out.table, out.form, out.options, out.path) for out in plan.outputs] == [
        (1, "pivot", "AS+", "out/pivot.csv"),
        (2, "jj", "TR+", "two.jj"),
    ]


def test_a_frequency_table_has_no_response(tmp_path: Path) -> None:
    plan = batch(tmp_path, HEAD + '<SPECIFYTABLE> "Size"|"<FREQ>"||\n' + TAIL)
    assert (plan.tables[0].response, plan.tables[0].cost.of) == (None, "count")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + TABLE + TAIL + "<SUPPRESS> RND(1,5)", "is not a method of cell suppression"),
        (HEAD + TABLE + TAIL + "<SUPPRESS> MOD(3)", "table 3 not found"),
        (HEAD + TABLE + TAIL + "<SUPPRESS> FOO(1)", "unknown method, or table missing"),
        (HEAD + TABLE + TAIL + "<FLY> high", "unknown command <FLY>"),
        (HEAD + TABLE + "<SAFETYRULE> Q(1)\n<READMICRODATA>", "rule Q is unknown or incomplete"),
        (HEAD + TABLE + "<SAFETYRULE> NK(2)\n<READMICRODATA>", "rule NK needs 2 numbers"),
        (HEAD + TABLE + "<SAFETYRULE> NK(2,850)\n<READMICRODATA>", "k must be a number"),
        (HEAD + TABLE + "<READTABLE> 1", "does not fit the data opened"),
        (HEAD + TABLE, "the batch does not read the data"),
        (HEAD + "<READMICRODATA>", "no table given"),
        (TABLE + TAIL, "<OPENMICRODATA> is missing"),
        (
            HEAD + TABLE + TAIL + '<WRITETABLE> (1,9,,"x")',
            "an output needs a table, a form from 1 to 7, options and a file",
        ),
        (HEAD + TABLE + TAIL + "<APRIORI> f.hst", "marks need a file, a table and a separator"),
        (
            HEAD + TABLE + TAIL + "<RECODE> 1",
            "a recode needs a table, a variable, and a file or level",
        ),
        (HEAD + '<SPECIFYTABLE> "Size"\n', "a table needs variables and a response"),
        ("<SAFETYRULE> P(1,1)\n", "rules before any table"),
        (HEAD + HEAD, "a batch needs one data file and one metadata file"),
    ],
)
def test_batches_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SuppressionError, match=message):
        batch(tmp_path, text)
