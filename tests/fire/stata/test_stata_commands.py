"""Which commands a do-file runs: every lexical case of Stata, read by people.

The rules are those of the Stata manuals, [U] 11 (language syntax, prefixes), [U] 16.1
(comments, long lines) and [U] 18.3 (macros, quotes), [P] #delimit, [P] if, [M-3] mata.
"""

import pytest

from discreet_fire.stata.parser import parse_do
from discreet_fire.stata.statements import DoFile, Kind, Why


def commands(do: DoFile) -> str:
    """The commands as ``prefix prefix name``, parted by `` | ``."""
    lines = []
    for one in do.commands:
        name = (one.canonical or one.command.text) if one.command else "-"
        lines.append(" ".join([str(word.canonical or word.text) for word in one.prefixes] + [name]))
    return " | ".join(lines)


CASES = {
    # comments
    "* su x\nsu y": "summarize",
    "  *su x\n\t* su y": "",
    "gen z = 2\n* 3": "generate",
    "su x // list y\nlist z": "summarize | list",
    "su x//list y\nlist z": "summarize | list",
    "su x ///\n list y": "summarize",
    "su x ///  a remark, it's \"here\n list y": "summarize",
    "su x///\nlist y": "summarize | list",
    "/* su x */ list y": "list",
    "/* a /* b */ su x */ list y": "list",
    "/* a\n su x\n*/\nlist y": "list",
    "su x /* \n list y \n */ if z\nlist w": "summarize | list",
    "* a /* b\nlist x\n*/ list y": "",
    "* a /* b */ c\nlist x": "list",
    '* use "c:/data/*.dta"\nlist x': "list",
    "* su x ///\n list y\nlist z": "list",
    "// a /* b\nlist x": "list",
    "// a ///\nlist x": "list",
    "////// title ///////\nlist x": "list",
    "li/**/st x": "list",
    "l /* x */ y": "list",
    "/* */ * list\nlist x": "list",
    # strings
    'di "list /* x" // y\nlist z': "display | list",
    'di "a // b" ///\n list x': "display",
    "di `\"a \"b /* \" c\"'\nlist x": "display | list",
    "di `\"`\"a\"' b\"'\nlist x": "display | list",
    "di \"it's `x' and `y\"\nlist x": "display | list",
    'use c:/a//b/x.dta\nlist x': "use | list",
    'local f : dir "a/*.do" files "*"\nlist x': "local | list",
    # macros
    "`cmd' x": "`cmd'",
    "su`mmarize' x": "su`mmarize'",
    "$cmd x\n${cmd}x y": "$cmd | ${cmd}x",
    "``x'' y": "``x''",
    "di `=1:2' `: list x' `++i'\nlist y": "display | list",
    "by `x:y': list": "by list",
    # prefixes
    "qui su x\nquietly: su x\nn su x": "quietly summarize | quietly summarize | noisily summarize",
    "cap noi qui list x": "capture noisily quietly list",
    "by id: list x": "by list",
    "by id (t), sort: list x": "by list",
    "bys id (t): qui su x": "bysort quietly summarize",
    "qui by id: replace x = x[_n-1]": "quietly by replace",
    "xi: reg y i.x": "xi regress",
    "xi i.x": "xi",
    "svy: mean x": "svy mean",
    "svy, subpop(if a == 1): tab x": "svy tabulate",
    "svy brr, dof(3): total x": "svy total",
    "mi estimate, post: logit y x": "mi logit",
    "mi merge 1:1 id using b": "mi",
    "mi xeq 1 2: su x; list y; ta z\nlist w": "mi summarize | list | tabulate | list",
    "bootstrap d=(r(a)-r(b)), saving(c:/x): summarize x": "bootstrap summarize",
    "statsby _b, by(x): regress y z": "statsby regress",
    "eststo: reg y x\neststo m1, title(\"a: b\"): reg y x\neststo clear": (
        "eststo regress | eststo regress | eststo"
    ),
    "version 14: su x\nversion 14": "version summarize | version",
    "stepwise, pr(.2): reg y x": "stepwise regress",
    "xi: stepwise, pr(.2): logit y i.x": "xi stepwise logit",
    "fp <x>, scale: regress y <x>": "fp regress",
    "mfp, center(x): logit y x": "mfp logit",
    "frame a: list x\nframe create a": "frame list | frame",
    "collect: table x\ncollect clear": "collect table | collect",
    "bayes, rseed(1): regress y x": "bayes regress",
    "rolling b=_b, window(4): reg y x": "rolling regress",
    "permute x r(z), reps(9): ranksum y, by(x)": "permute ranksum",
    "estpost summarize x\nasdoc sum x": "estpost summarize | asdoc summarize",
    "for var a b: list X": "for list",
    "capture: list x": "capture list",
    "capture program drop p\nlist x": "capture program | list",
    "qui * list x\nlist y": "quietly - | list",
    "rolling x (a: b\nlist y": "rolling | list",
    # conditions
    "if x == 1 list y": "if list",
    "if x==1&y==2|!z list y": "if list",
    "if (x == 1) list y": "if list",
    "if inlist(x, 1, 2) & y[_n-1] > 3 list z": "if list",
    'if "`a\'" == "list b" list y': "if list",
    "if `\"`a'\"' != `\"\"' list y": "if list",
    "if _rc exit": "if exit",
    "if -x < 3 - 2 list y": "if list",
    "if x' list y": "if list",
    "if e(N) > r(N) quietly list y": "if quietly list",
    "if L.x > 2e-3 & 1.y#c.z list y": "if list",
    "if x /* list */ == 1 /* y */ list z": "if list",
    "if x == ///\n 1 list y": "if list",
    "else list x\nelse if y list x": "else list | else if list",
    "if x {\nlist y\n}\nelse {\nlist z\n}": "if | list | else | list",
    "if x { list y }": "if | list",
    "if x{\nlist y\n}\nelse if z{\nlist w\n}": "if | list | else if | list",
    "if x==\"{\" list y": "if list",
    "if x di {hline} list": "if display",
    # blocks
    "foreach v of varlist a b {\n su `v'\n}": "foreach | summarize",
    "foreach v in a b { list `v' }": "foreach | list",
    "forval i=1/3{\nlist x`i'\n}": "forvalues | list",
    "while `i' < 3 {\nlist x\n}": "while | list",
    "quietly {\nlist x\nn list y\n}": "quietly | list | noisily list",
    "cap noi { \nlist x }": "capture noisily | list",
    "qui{\nlist x\n}": "quietly | list",
    "} list x": "list",
    "{\nlist x\n}": "list",
    "di {hline 20}\nlist x": "display | list",
    "tw line y x, title({it:list x})\nlist x": "twoway | list",
    "program p\nlist x\nend\nlist y": "program | list | end | list",
    "pr de p, plugin\nlist y": "program | list",
    "mata\nlist x\nend\nlist y": "mata | end | list",
    "mata:\n/*\nend\n*/\nend\nlist y": "mata | end | list",
    "mata: x = list\nlist y": "mata | list",
    "mata {\nlist x\n}\nlist y": "mata | list",
    "mata\nx = 1\nend // of Mata\nlist y": "mata | end | list",
    "python:\nlist(x)\nend\nlist y": "python | end | list",
    "python: list(x)\nlist y": "python | list",
    "python script x.py\nlist y": "python | list",
    "input x str3 y\n1 list\nlist 2\nend\nlist z": "input | end | list",
    "qui input x\n1\n end\nlist z": "quietly input | end | list",
    "matrix input A = (1, 2)\nlist z": "matrix | list",
    # #delimit
    "#delimit ;\nlist x\n y;\nsu z;": "list | summarize",
    "#d ;\n* list\n x; list y;": "list",
    "# delimit ;\nsu x // list; su\n y; list z;": "summarize | list",
    "#delimit ; list x; su\n y; #delimit cr\nlist z": "list | summarize | list",
    "#delimit ;\nlist x\n#delimit cr\nsu y": "list | summarize",
    "#delimit ;\n* list\n#delimit cr\nsu y": "summarize",
    '#delimit ;\nlabel var x "a;\n b"; list y;': "label | list",
    "#delimit ;\ngen a = b\n* c; list y;": "generate | list",
    "#delimit ;\nif x {;\n list y;\n};\nelse {;\nlist z; };": "if | list | else | list",
    '#delimit ;\ndi "a" /* ; list b; */ ; list c;': "display | list",
    "#delimit ;\ninput x;\n1;\nend;\nlist y;": "input | end | list",
    "#delimit ;\nmata; x = 1; end; list y;": "mata | end | list",
    "# a remark as in Python\nlist x\n#r 3\nsu y": "list | summarize",
    # line ends and blanks
    "su x\r\nlist y\r\n": "summarize | list",
    "su x\rlist y\r": "summarize | list",
    "su x ///\r\n y\r\nlist z": "summarize | list",
    "\ufeffsu x\n\f\n\tlist y": "summarize | list",
    "list\u00a0x\n\u00a0su y": "list | summarize",
    # the rest
    "!dir\nshell dir": "shell | shell",
    "list,clean\nlist\ndi\"x\"\nreg(y x)": "list | list | display | regress",
    "merge 1:1 id using b\nreg y 1.x#c.z": "merge | regress",
    "gettoken a b : list": "gettoken",
    "exit\nlist x": "exit | list",
    "xtreg y x\nxtre y x\nList x": "xtreg | xtre | List",
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_commands_of_a_text(text: str) -> None:
    assert commands(parse_do(text)) == CASES[text]


MAYBE = {
    "`qui' list x": (Why.PREFIX, "list"),
    "`cap' `noi' qui list x": (Why.PREFIX, "list"),
    "if `x' `op' 3 list y": (Why.PREFIX, "list"),
    "`by' x: list y": (Why.PREFIX, "list"),
    "myprefix, opt: list y": (Why.PREFIX, "list"),
    "bootstrap (x: list y": (Why.PREFIX, "list"),
    "unknown {list x} y": (Why.HIDDEN, "list"),
    'if x == "a { list y }': (Why.HIDDEN, "list"),
    'local x "a b ///\nlist y"': (Why.TEXT, "list"),
    "* su x ///\nlist y": (Why.HIDDEN, "list"),
    '#delimit ;\nnote: 5" pipe; list x; di "a";': (Why.TEXT, "list"),
    "su x; list y": (Why.TEXT, "list"),
    "* a /* \n list x */ su": (Why.TEXT, "list"),
    "novar: list y": (Why.PREFIX, "list"),
    "boottest x: list y": (Why.PREFIX, "list"),
    "/* remark\nlist y": (Why.HIDDEN, "list"),
    "* files in data/*.dta\nlist y": (Why.HIDDEN, "list"),
    "/* a\n//*/\nlist y": (Why.HIDDEN, "list"),
    "*/ list y": (Why.HIDDEN, "list"),
    "mata\nx = 1\nlist y": (Why.HIDDEN, "list"),
    "input x\n1 2\nlist y": (Why.HIDDEN, "list"),
    ". list y": (Why.HIDDEN, "list"),
    'bootstrap "list x" r(mean)': (Why.ARGUMENT, "list"),
    "for var a: su X \\ list X": (Why.PREFIX, "list"),
}


@pytest.mark.parametrize("text", MAYBE)
def test_second_readings_hold_the_command_with_its_place(text: str) -> None:
    do = parse_do(text)
    readings = [reading for one in do.statements for reading in one.readings]
    found = {(reading.why, reading.statement.canonical): reading.statement for reading in readings}
    assert MAYBE[text] in found
    word = found[MAYBE[text]].command
    assert word is not None
    assert text[word.start : word.end] == "list"
    assert "list" not in [one.canonical for one in do.commands]


def test_a_text_that_begins_with_a_known_word_is_read_whatever_follows() -> None:
    (one,) = parse_do('bootstrap "qui unknown x" r(mean)').statements
    read = [(reading.why, reading.statement.text) for reading in one.readings]
    assert read == [(Why.ARGUMENT, "qui unknown x")]


@pytest.mark.parametrize(
    "text", ["local x : word 1 of list", 'label var x "list"', "gettoken a : b", "note: list x",
             'di "list"', "qui * list x",
             "* a /* \n lists x */ su", 'local controls "age sex"']
)  # fmt: skip
def test_plain_texts_have_no_second_reading(text: str) -> None:
    assert [one.readings for one in parse_do(text).statements] == [()]


FINDINGS = {
    "/* a\nlist x": ["open-comment"],
    'di "a\nlist x': ["open-quote"],
    "if x {\nlist y": ["open-brace"],
    "list x\n}": ["stray-brace"],
    "mata\nx": ["open-block"],
    "program p\nlist x": ["open-program"],
    "program p\nprogram q\nend": ["open-program"],
    "end": ["stray-end"],
    "#delimit\nlist x;": ["delimit"],
    "#delimit ;\nlist x\n#delimit cr": ["no-semicolon"],
    'local x "a ///\n b"': ["continued-string"],
    "list\u00a0x": ["no-break-space"],
    "list x\nif y {\n}\n": [],
    "#delimit ;\nif x {;\n};\n#delimit cr\n": [],
}


@pytest.mark.parametrize("text", FINDINGS)
def test_what_is_not_balanced_is_said(text: str) -> None:
    assert [one.rule for one in parse_do(text).findings] == FINDINGS[text]


def test_findings_of_one_kind_are_counted_when_there_are_very_many() -> None:
    found = parse_do("}\n" * 500).findings
    assert len(found) == 101
    assert "400 more findings of the kind stray-brace" in found[0].what


def test_a_statement_knows_where_it_stands() -> None:
    do = parse_do("program p, rclass\n if x {\n  su y // z\n }\nend\nif x { list y }")
    places = [(one.kind, one.text, one.depth, one.in_program, one.joined) for one in do.statements]
    assert places == [
        (Kind.COMMAND, "program p, rclass", 0, None, False),
        (Kind.COMMAND, "if x {", 0, "p", False),
        (Kind.COMMAND, "su y // z", 1, "p", False),
        (Kind.BRACE, "}", 0, "p", False),
        (Kind.COMMAND, "end", 0, "p", False),
        (Kind.COMMAND, "if x {", 0, None, False),
        (Kind.COMMAND, "list y", 1, None, True),
        (Kind.BRACE, "}", 0, None, True),
    ]
    assert do.programs == {"p"}
    assert [one.opens for one in do.statements] == [False, True, *[False] * 3, True, False, False]


def test_lines_of_other_languages_and_data_are_marked() -> None:
    do = parse_do("mata:\n x = 1\nend\ninput a\n 1\nend\n17 4 list")
    assert [(one.kind, one.text, one.block) for one in do.statements] == [
        (Kind.COMMAND, "mata:", None),
        (Kind.BLOCK_LINE, "x = 1", "mata"),
        (Kind.COMMAND, "end", "mata"),
        (Kind.COMMAND, "input a", None),
        (Kind.DATA, "1", "input"),
        (Kind.COMMAND, "end", "input"),
        (Kind.DATA, "17 4 list", None),
    ]


def test_a_prefix_gives_its_arguments_and_colon() -> None:
    text = "qui: by id (t), sort : list x"
    (one,) = parse_do(text).statements
    quietly, by = one.prefixes
    assert (quietly.arguments, quietly.colon) == (None, 3)
    assert by.arguments is not None
    assert text[slice(*by.arguments)] == " id (t), sort "
    assert (text[by.start : by.end], text[by.colon or 0], one.body) == ("by", ":", len(text) - 2)


def test_a_statement_does_not_show_the_whole_text() -> None:
    do = parse_do("list secret\nsu x")
    assert "secret" not in repr(do)
    assert repr(do.statements[0]) == "Statement(command list 0:11)"
