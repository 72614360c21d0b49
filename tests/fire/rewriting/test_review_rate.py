"""How much an officer has to look at in ordinary projects: few items, and none for constants.

`pytest -s` prints how many reviews come on 100 lines.
"""

import shutil
from pathlib import Path

import pytest

from discreet_fire.catalogue.policy import Policy
from discreet_fire.findings import Severity, causes
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.rewriting.results import described, report, submission_causes
from discreet_fire.rewriting.submission import rewrite_files
from tests.helpers.rows import for_all_rows

PROJECTS = Path(__file__).parent.parent / "data" / "stata_projects"


def test_reviews_of_ordinary_projects_are_few(tmp_path: Path) -> None:
    """Before constants and causes were told apart, 55 places had gone to review one by one.

    Three are merges of firms that close, of first jobs, and of means of chosen groups.
    """
    lines = places = items = 0
    for path in sorted(PROJECTS.glob("*.do")):
        text = path.read_text("utf-8")
        found = [one for one in rewrite(text).findings if one.severity is Severity.REVIEW]
        lines += text.count("\n")
        places += len(found)
        items += len(causes(found))
    shutil.copytree(PROJECTS, tmp_path / "all")
    together = len(submission_causes(rewrite_files([tmp_path / "all"])))
    for what, count in (("places", places), ("items by file", items), ("items", together)):
        print(f"{what}: {count}, {100 * count / lines:.2f} on 100 lines")
    assert lines == 492
    assert (places, items, together) == (20, 10, 5)  # as docs/methods/output-checking.md has it


@for_all_rows(
    "program",
    [
        'putdocx text ("Table 1"), bold',
        'local v a b\nputdocx text ("a `v\'")',
        "putdocx save x.docx, replace",
        "putdocx table t = (3, 4)",
        'local row 2\nputdocx table t(`row\',2) = ("x"), halign(left)',
        'putpdf text ("x")',
        'putexcel set "x.xlsx", replace',
        'putexcel A1 = "x" B1 = ("y")',
        "putexcel A1:B2, bold",
        "file open f using x.txt, write replace",
        'file write `f\' "x" _tab "y" _n(2)',
        "use a\nmerge 1:1 id using b\nsave c, replace",
        'use a\nsave "data/c.dta"',
        "tempfile a\nsave `a'",
        'tempfile a\nsave "`a\'", replace',
        "tempfile a\nstatsby b=_b[x], by(g) saving(`a', replace): regress y x",
        "tempfile a\npostfile h b using `a'\npost h (_b[x]) (1)",
        "eststo m: regress y x\nesttab m, se",
        "eststo m: regress y x\ncoefplot m, keep(x) vertical yline(0)",
        'eststo m: regress y x\ncoefplot (m, label("a")) || m, drop(_cons)\ngraph export a.png',
        "coefplot m1 m2\ngraph export plots/a.png, replace width(900)",
    ],
)
def test_what_holds_nothing_of_the_data_needs_no_look(program: str) -> None:
    assert not rewrite(f"{program}\n").needs_review


def test_a_folder_that_is_a_macro_is_looked_at_once() -> None:
    found = rewrite('use a\nsave "$d/m.dta"\nsave "$d/n", replace\nsave "$e/n"\n').findings
    assert [one.line for one in found if one.severity is Severity.REVIEW] == [2, 4]


def test_what_a_condition_decides_is_told_once() -> None:
    text = "if wage[17] > 5000 {\ngenerate a = 1\ntabulate a\n}\n"
    found = rewrite(f"{text}if wage[17] > 6000 {{\ntabulate b\n}}\n").findings
    assert [one.line for one in found if one.severity is Severity.REVIEW] == [1, 5]


@pytest.mark.parametrize(
    "loaded",
    ['use "orig/spells.dta", clear', 'use a b using "$d/orig.dta", clear\nsort a'],
)
def test_names_in_a_file_that_is_only_read_are_not_made_of_values(loaded: str) -> None:
    made = "use persons, clear\nreshape wide wage, i(k) j(name)\n"
    assert not rewrite(f"{made}{loaded}\ndescribe\n").needs_review
    assert rewrite(f"{made}{loaded}\n{made}describe\n").needs_review


@for_all_rows(
    "program",
    [
        'putdocx text ("a `x\'")',
        'putdocx save "$r/x.docx", replace',
        "putdocx table t(1,2) = (r(mean))",
        "putdocx table t = data(a)",
        'putexcel set "../x.xlsx", replace',
        "putexcel A1 = matrix(A)",
        'putexcel A1 = formula("x")',
        "file open f using x.txt, read",
        'file open f using "$p/x.txt", write',
        "file write f (wage)",
        'file write f "$x"',
        "contract wage\nsave freq",
        "statsby m=r(mean), by(id) clear: summarize wage\nsave m",
        "do b.do\nnosuch x\nsave m",
        "mata: st_store(1, 1, 1)\nsave m",
        "save ../m",
        "save c:/m",
        "save $d/m",
        'tempfile a\nlocal a x\nsave "`a\'", replace',
        'tempfile a\nsave "`a\'_2"',
        "tempfile a\nargs a\nsave `a'",
        "tempfile a\ninclude b.do\nsave `a'",
        "tempfile a\nlocal b`i' x\nlocal `j' x\nsave `a'",
        "tempfile `x'\nsave `a'",
        "esttab m using a.tex",
        "esttab matrix(A)",
    ],
)
def test_what_may_hold_something_does(program: str) -> None:
    assert rewrite(f"{program}\n").needs_review


def test_reviews_of_one_cause_are_one_item_in_all_files(tmp_path: Path) -> None:
    """Files that are handed in together are one submission: each cause once, with its files."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.do").write_text("texsave a\nlist x\ntexsave b\n")
    (tmp_path / "sub" / "b.do").write_text("putexcel A1 = (r(mean))\nranksum x, by(g)\n")
    outcomes = rewrite_files([tmp_path])
    items = submission_causes(outcomes)
    assert [(one.count, dict(one.names), dict(one.files)) for one in items] == [
        (3, {"texsave": 2, "putexcel": 1}, {"a.do": (1, 3), "sub/b.do": (1,)}),
        (1, {"ranksum": 1}, {"sub/b.do": (2,)}),
    ]
    told = report(outcomes)
    assert "All 2 files together: 2 to review in 4 places" in told
    assert "(places: 3, files: 2: a.do 1, 3; sub/b.do 1)" in told
    assert told.index("list: shows single records") < told.index("texsave (2), putexcel")
    assert "Alle 2 Dateien zusammen: 2 zu prüfen" in report(outcomes, language="de")
    plain = described(outcomes, Policy.default())["reviews"]
    assert [one["count"] for one in plain] == [3, 1]
