"""Forms of writing that turn up in programs people have written, in words of our own."""

from pathlib import Path

from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.rewriting.submission import rewrite_files
from discreet_fire.stata.parser import parse_do
from tests.helpers.everyday import REFUSED as NO
from tests.helpers.everyday import rules
from tests.helpers.rows import for_all_rows


def commands(text: str) -> list[str]:
    """The full names of the commands that run."""
    found = parse_do(text).commands
    return [one.canonical or one.command.text for one in found if one.command]


#: Before and after.
CASES = [
    (
        "mata: ///\n  b = 1; ///\n  b\nlist x\n",
        f"mata: ///\n  b = 1; ///\n  b\n{NO}: list x\n",
    ),
    ("`a'_`b' x", "fdzrun `a'_`b' x"),
    (
        'if "`1\'" != "" su x // "',
        'if "`1\'" != "" fdzsummarize x // "',
    ),
    (
        'if (`"`1\'"\'!="A") & (`"`1\'"\'!="B") su x',
        'if (`"`1\'"\'!="A") & (`"`1\'"\'!="B") fdzsummarize x',
    ),
    ("if !_rc list x", f"if !_rc {{\n{NO}: list x\n}}"),
    (
        'if "`m\'"=="a" { noi { su x } }',
        'if "`m\'"=="a" { noi { fdzsummarize x } }',
    ),
    (
        "for var x1-x3: su X \\ tab X",
        "for var x1-x3: fdzsummarize X \\ fdztabulate X",
    ),
    (
        "svy,subpop(z):reg y x\nxi:reg y x\nqui:su x",
        "fdzestimate svy,subpop(z):reg y x\nxi:fdzregress y x\nqui:fdzsummarize x",
    ),
    (
        '#d ;\t// now " ; "\nsu x\n y;\n#d cr;\nsu z',
        '#d ;\t// now " ; "\nfdzsummarize x\n y;\n#d cr;\nfdzsummarize z',
    ),
    (
        '#d ;\nlocal n "\na (b; c);\nlist of";\nsu x;',
        '#d ;\nlocal n "\na (b; c);\nlist of";\nfdzsummarize x;',
    ),
    (
        "#d ;\nlocal s\n// first\n a\n// second\n b;\nsu `s';",
        "#d ;\nlocal s\n// first\n a\n// second\n b;\nfdzsummarize `s';",
    ),
    (
        "#d ;\n*\n Look for cases and\n list them, or\n sum up\n*;\nsu x;",
        "#d ;\n*\n Look for cases and\n list them, or\n sum up\n*;\nfdzsummarize x;",
    ),
    (
        '#d ;\nif ("`a\'"==""){;local b 1;};mark t;su x;if((r(N)<=0)){;error 2000;};',
        '#d ;\nif ("`a\'"==""){;local b 1;};mark t;fdzsummarize x;if((r(N)<=0)){;error 2000;};',
    ),
    (
        'if ( /// no list here\n  `"`c\'"\' == "check" | /// su x\n  a ) {\n su x\n}',
        'if ( /// no list here\n  `"`c\'"\' == "check" | /// su x\n  a ) {\n fdzsummarize x\n}',
    ),
    (
        "*keep if /*(a==1) |*/ b<=2 | ///\n*\tc==3 /*no?*/ | d // ends\n\nsu x",
        "*keep if /*(a==1) |*/ b<=2 | ///\n*\tc==3 /*no?*/ | d // ends\n\nfdzsummarize x",
    ),
    (
        "gen c = a ///\n * b ///\n * d\nsu c",
        "gen c = a ///\n * b ///\n * d\nfdzsummarize c",
    ),
    (
        "capture {\nprogram p, eclass\n su `0'\nend\n}",
        "capture {\nprogram p, eclass\n fdzsummarize `0'\nend\n}",
    ),
    ('file write f "{l*{5}{>{\\c}X}} \\\\ list" _n', None),
    ('file write f `""`a\'","`b\'",`c\'"\' _n', None),
    (
        'local f : dir "a/*" files "*/*.csv"\nsu x',
        'local f : dir "a/*" files "*/*.csv"\nfdzsummarize x',
    ),
    ("list größe\nsu Straße", f"{NO}: list größe\nfdzsummarize Straße"),
]


@for_all_rows(("before", "after"), CASES)
def test_forms_as_people_write_them(before: str, after: str | None) -> None:
    done = rewrite(before)
    assert done.text == (before if after is None else after)
    assert rewrite(done.text).edits == ()


def test_a_model_over_several_lines_stays_as_it_is_when_rewritten_again() -> None:
    text = "#delimit ;\nareg y x\nz\n[aw=w], absorb(g);\n"
    once = rewrite(text).text
    assert once == "#delimit ;\nfdzestimate areg y x\nz\n[aw=w], absorb(g);\n"
    assert rewrite(once).text == once


@for_all_rows(
    ("text", "rule"),
    [
        ("estpost su x", "command"),
        ("estpost su x", "prefix"),
        ("svy, subpop(t): `model' y x", "prefix"),
        ("bys a: asdoc su x", "command"),
        ("logout, save(f): tabstat x", "command"),
        ("statsby _b, by(g) saving(f, replace): regress y x", "option"),
        ("mi estimate, saving(m): regress y x", "option"),
        ('bs "su wage" "r(mean)"', "command-in-text"),
        ('bootstrap "list wage" _b, reps(5)', "command-in-text"),
    ],
)
def test_what_stands_before_a_command_is_looked_at(text: str, rule: str) -> None:
    assert rule in rules(text)


def test_an_option_of_the_centre_is_refused_before_a_colon_too() -> None:
    assert rewrite("jackknife, critical(3): regress y x").edits[0].rule == "option"


def test_names_with_an_end_of_their_own_are_kept_apart() -> None:
    text = "foreach v in a b {\nscalar `v'_top = r(max)\nscalar `v'_mean = r(mean)\n}\n"
    done = rewrite(text + "di a_mean\ndi a_top\n")
    assert "di scalar(a_mean)\n" in done.text
    assert f"{NO}: di a_top" in done.text


@for_all_rows(
    ("text", "shown"),
    [
        # names made up by Stata, and neighbours
        ("tempname m\nscalar `m' = r(max)\ndi \"`x' of `y'\"", False),
        ("tempvar t\ngen `t' = r(max)\nsu wage", False),
        (
            "tempname m\nmatrix `m' = r(max)\nlocal s a b\nforeach v of local s {\n di \"`v'\"\n}",
            False,
        ),
        ("by id (t): gen before = y[_n-1]\ngen after = y[_n + 1]\nreg y before after", False),
        # figures through names made of macros
        ("tempname m\nscalar `m' = r(max)\ndi `m'", True),
        ("tempname m\nscalar `m' = r(max)\nscalar list", True),
        ("tempname m\nscalar `m' = r(max)\nlocal z = `m'\ndi \"`z'\"", True),
        ("tempname m\nlocal m mx\nscalar `m' = r(max)\ndi scalar(mx)", True),
        ("local n mx\nscalar `n' = r(max)\ndi scalar(mx)", True),
        ("foreach v in a b {\nscalar `v'_top = r(max)\n}\ndi scalar(a_top)", True),
        ("foreach v in a b {\nlocal `v'_top = r(max)\n}\ndi \"`a_top'\"", True),
        ("tempvar t\ngen `t' = r(max)\nsu `t'", True),
        ("gen z = y[1]\nsu z", True),
        ("gen z = y[_n-_n+17]\nsu z", True),
        ("gen z = y[_N]\nsu z", True),
        # names of old results, and of lists
        ('di "$S_1"', True),
        ('di "${S_4}"', True),
        ('di "${S_E_depv}"', True),
        ('di "${S_`i\'}"', True),
        ('di "$S_DATE ${S_TIME}"', False),
        ('global S_name "a"\ndi "$S_name"', False),
        ('log using "a_$S_DATE"', False),
        ('local n "mx"\nscalar `n\' = r(max)\ndi scalar(mx)\n', True),
        ("foreach v in mx my {\nscalar `v' = r(max)\n}\ndi scalar(my)\n", True),
        ("foreach v in mx ///\n my {\nscalar `v' = r(max)\n}\ndi scalar(my)\n", True),
        ("local v mx // and\nscalar `v' = r(max)\ndi scalar(mx)\n", True),
        (
            "local s mx\nlocal s `s' my\nforeach v of local s {\nscalar `v' = r(max)\n}\n"
            "di scalar(my)\n",
            True,
        ),
        ("local s mx my\nforeach v of local s {\nscalar `v' = r(max)\n}\ndi scalar(my)\n", True),
        ("foreach v in mx my {\nscalar `v' = r(max)\n}\nscalar z = 1\ndi scalar(z)\n", False),
        ("args v\nscalar `v' = r(max)\ndi scalar(z)\n", True),
        ("syntax , V(name)\nlocal v a\nscalar `v' = r(max)\ndi scalar(z)\n", True),
        ("levelsof q, local(v)\nlocal v a\nscalar `v' = r(max)\ndi scalar(z)\n", True),
        ("local `x' z\nlocal v a\nscalar `v' = r(max)\ndi scalar(z)\n", True),
        ("foreach v of varlist a b {\nby id: replace `v' = `v'[1]\n}\nsu c\n", False),
        ("foreach v of varlist a b {\nby id: replace `v' = `v'[1]\n}\nsu b\n", True),
        # values of a category in a condition
        *(
            (f"levelsof g, local(l)\nforeach v of local l {{\n{command}\n}}\n", shown)
            for command, shown in (
                ('keep if g == "`v\'"', False),
                ('su x if inlist(g, "`v\'", "b, c") & (a | (b))', False),
                ("logit y x if inlist(g, `v', max(2, 3)), or", False),
                ('hist x if g == "`v\'", title("g")', False),
                ('hist x if g == "`v\'", title("`v\'")', True),
                ('twoway (hist x if a==1) (hist z if b==1, title("`v\'"))', True),
                ('sts graph, title("if `v\'")', True),
            )
        ),
    ],
)
def test_figures_are_told_where_names_lead_to_them(text: str, shown: bool) -> None:
    found = [one for one in rewrite(text).findings if one.rule == "shown"]
    assert bool(found) is shown


def test_files_share_local_macros_only_if_one_includes_the_other(tmp_path: Path) -> None:
    (tmp_path / "one.do").write_text('include two.do\ndi "`m\'"\n')
    (tmp_path / "two.do").write_text("local m = r(max)\n")
    (tmp_path / "three.do").write_text('di "`m\'"\n')
    done = rewrite_files([tmp_path / f"{name}.do" for name in ("one", "two", "three")])
    shown = {
        outcome.source.name: [one.rule for one in outcome.findings if one.rule == "shown"]
        for outcome in done
    }
    assert shown == {"one.do": ["shown"], "two.do": [], "three.do": []}


def test_a_name_of_which_nothing_is_known_is_a_doubt_in_its_own_file_only(tmp_path: Path) -> None:
    one = "args v\nscalar `v' = r(max)\ngen `v'x = 1\ndi scalar(z)\nsu z\n"
    (tmp_path / "one.do").write_text(one)
    (tmp_path / "two.do").write_text('scalar y = 1\ndi scalar(y)\nlabel var x "y"\nsu z\n')
    (tmp_path / "three.do").write_text("di scalar(z)\n")
    done = rewrite_files([tmp_path / f"{name}.do" for name in ("one", "two", "three")])
    shown = {
        outcome.source.name: [one.line for one in outcome.findings if one.rule == "shown"]
        for outcome in done
    }
    assert shown == {"one.do": [3, 4], "two.do": [], "three.do": [1]}
