"""Do-files before and after, as an officer would compare them."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_fire.catalogue.policy import Policy
from discreet_fire.catalogue.rules import Action
from discreet_fire.findings import Severity
from discreet_fire.rewriting.changes import Edit, Rewriting
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.stata.parser import parse_do
from discreet_fire.stata.statements import DoStatement, Kind, Why
from tests.helpers.do_files import Planted, planted_do_files
from tests.helpers.everyday import REFUSED as NO
from tests.helpers.everyday import rules
from tests.helpers.rows import for_all_rows

#: Name, before, after.
CASES = [
    ("plain", "summarize wage, detail", "fdzsummarize wage, detail"),
    ("abbreviation", "su wage if age>15", "fdzsummarize wage if age>15"),
    ("prefixes", "cap noi by id: su x", "cap noi by id: fdzsummarize x"),
    ("sorted by", "bys a (b): reg y x", "bys a (b): fdzregress y x"),
    ("estimates", "eststo m1: reg y x", "eststo m1: fdzregress y x"),
    ("estimation", "logit y x, or", "fdzestimate logit y x, or"),
    ("imputation", "mi estimate: regress y x", "fdzestimate mi estimate: regress y x"),
    ("chain", "mi xeq: list x; su y // all", f"{NO}: mi xeq: list x, su y\n // all"),
    (
        "end of a chain",
        "mi xeq: su x; list y; su z",
        f"mi xeq: fdzsummarize x\n{NO}: , list y, su z",
    ),
    ("each imputation", "mi xeq: reg y x", "mi xeq: fdzregress y x"),
    ("stepwise", "stepwise, pr(.2): reg y x z", "fdzestimate stepwise, pr(.2): reg y x z"),
    ("distinct values", "levelsof g, local(l)", "quietly levelsof g, local(l)"),
    ("quiet already", "qui levelsof g, local(l)", "qui levelsof g, local(l)"),
    ("loud inside quiet", "qui noi levelsof g", "qui noi quietly levelsof g"),
    ("refused", "list id wage in 1/10", f"{NO}: list id wage in 1/10"),
    ("refused with prefix", "by id: list x", f"{NO}: by id: list x"),
    ("shell", "!dir c:", f"{NO}: !dir c:"),
    ("comment stays", "list x // all of them", f"{NO}: list x\n // all of them"),
    ("two lines", "list x ///\n  y\nsu x", f"{NO}: list x / / /\n*FDZ: y\nfdzsummarize x"),
    ("windows", "su x\r\nlist ///\r\n y\r\n", f"fdzsummarize x\r\n{NO}: list / / /\r\n*FDZ: y\r\n"),
    ("old mac", "su x\rlist y\r", f"fdzsummarize x\r{NO}: list y\r"),
    ("quotes and macros", 'list "`x\'" $y', f"{NO}: list ''x'' $ y"),
    ("if in one line", "if a list y\nelse su y", f"if a {{\n{NO}: list y\n}}\nelse fdzsummarize y"),
    ("else in one line", "else list y", f"else {{\n{NO}: list y\n}}"),
    ("braces in one line", "if a { list y }", f"if a {{ \n{NO}: list y\n }}"),
    ("loop", "foreach v in a b {\n list `v'\n}", f"foreach v in a b {{\n {NO}: list 'v'\n}}"),
    ("semicolons", "#d ;\nlist x\n y; su z;", f"#d ;\n{NO}: list x\n*FDZ: y; fdzsummarize z;"),
    (
        "two in a line",
        "#d ;\nlist x; l y ; su z;",
        f"#d ;\n{NO}: list x; {NO}: l y ; fdzsummarize z;",
    ),
    ("if with semicolons", "#d ;\nif a list y;", f"#d ;\nif a {{ ; {NO}: list y ; }};"),
    ("back to lines", "#d ;\nsu x;\n#d cr\nl y", f"#d ;\nfdzsummarize x;\n#d cr\n{NO}: l y"),
    ("macro command", "`cmd' wage", "fdzrun `cmd' wage"),
    ("perhaps a prefix", "`qui' su wage", "fdzrun `qui' fdzsummarize wage"),
    ("perhaps a prefix of refused", "`qui' list x", f"{NO}: 'qui' list x"),
    ("under a prefix", "by a: `cmd' x", "by a: fdzrun `cmd' x"),
    (
        "program",
        "program mine\nargs v\nsu `v'\nend\nmine wage",
        "program mine\nargs v\nfdzsummarize `v'\nend\nmine wage",
    ),
    (
        "comments",
        "* list x\n// list y\n/* list z\n*/ su x",
        "* list x\n// list y\n/* list z\n*/ fdzsummarize x",
    ),
    ("nested comments", "/* a /* list */ list */ su x", "/* a /* list */ list */ fdzsummarize x"),
    ("strings", 'di "list x; su y"', 'di "list x; su y"'),
    ("variables named like commands", "gen list = su + regress", "gen list = su + regress"),
    (
        "options named like commands",
        "merge 1:1 id using x, keep(list)",
        "merge 1:1 id using x, keep(list)",
    ),
    (
        "data lines",
        "input list su\n1 2\nend\nsu list",
        "input list su\n1 2\nend\nfdzsummarize list",
    ),
    ("mata", "mata:\nlist = 1\nend\nl x", f"mata:\nlist = 1\nend\n{NO}: l x"),
    (
        "second word",
        "duplicates l id\nduplicates report id",
        f"{NO}: duplicates l id\nduplicates report id",
    ),
    ("trace", "set trace on\nset more off", f"{NO}: set trace on\nset more off"),
    ("plot", "tw (lfit y x) (sc y x)", f"{NO}: tw (lfit y x) (sc y x)"),
    ("plot with bars", "twoway lfit y x || scatter y x", f"{NO}: twoway lfit y x || scatter y x"),
    ("option", "cor x y, m\ncor x y, cov", f"{NO}: cor x y, m\ncor x y, cov"),
    (
        "parameters are not the researcher's",
        "fdzsummarize x, critical(1)",
        f"{NO}: fdzsummarize x, critical(1)",
    ),
    (
        "safe commands stay",
        "fdzsummarize x\nfdzrun `c' x\nfdzestimate logit y x",
        "fdzsummarize x\nfdzrun `c' x\nfdzestimate logit y x",
    ),
    ("safe command misused", "fdzestimate list x", f"{NO}: fdzestimate list x"),
    ("after many prefixes", "version 9: qui xi: reg y x", "version 9: qui xi: fdzregress y x"),
    ("do", "do sub/clean", "do sub/clean_FiRe"),
    ("run with quotes", 'run "sub/clean.do" 1 2', 'run "sub/clean_FiRe.do" 1 2'),
    ("include", 'include `"clean.do"\'', 'include `"clean_FiRe.do"\''),
    ("rewritten already", "do clean_FiRe.do", "do clean_FiRe.do"),
    ("up and away", "do ../clean", f"{NO}: do ../clean"),
    ("network", 'do "https://x.org/a.do"', f"{NO}: do 'https:/ /x.org/a.do'"),
    ("other computer", r'do "\\server\a.do"', NO + r": do '\\server\a.do'"),
    ("macro for a file", 'do "`f\'.do"', f"{NO}: do ''f'.do'"),
    (
        "a block of java",
        "java:\nlist\nend\nsu x",
        f"{NO}: java:\n*FDZ: list\n*FDZ: end\nfdzsummarize x",
    ),
]


@for_all_rows(("before", "after"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_before_and_after(before: str, after: str) -> None:
    done = rewrite(before)
    assert done.text == after
    assert rewrite(after).text == after  # a second time changes nothing
    assert undone(done) == before


def undone(done: Rewriting) -> str:
    """The original, from the edits alone."""
    text = done.text
    for edit in done.edits:
        assert text[edit.start : edit.start + len(edit.after)] == edit.after
        text = text[: edit.start] + edit.before + text[edit.start + len(edit.after) :]
    return text


#: Readings that are told and stay as they are, since they stand in strings.
TOLD = (Why.ARGUMENT, Why.TEXT)


def live(text: str) -> list[DoStatement]:
    """All commands of a program, those of other readings too."""
    found: list[DoStatement] = []
    waiting = list(parse_do(text).statements)
    while waiting:
        one = waiting.pop(0)
        if one.kind is Kind.COMMAND:
            found.append(one)
        if one.command is None or one.command.text != "fdzestimate":  # a model stands behind it
            waiting += [again.statement for again in one.readings if again.why not in TOLD]
    return found


@for_all_rows("before", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_braces_and_programs_stay_balanced(before: str) -> None:
    old, new = parse_do(before), parse_do(rewrite(before).text)
    open_ones = (
        "open-brace", "stray-brace", "open-program", "stray-end", "open-block", "open-comment",
    )  # fmt: skip
    assert [f.rule for f in new.findings if f.rule in open_ones] == [
        f.rule for f in old.findings if f.rule in open_ones
    ]
    assert old.programs == new.programs


def test_the_wording_may_be_german() -> None:
    text = rewrite("list x\n", language="de").text
    assert text == "*FDZ: Befehl in der Datenfernverarbeitung nicht erlaubt: list x\n"


@for_all_rows(
    ("text", "rule"),
    [
        ("mystery x", "unknown-command"),
        ("mata: st_view(1)", "command"),
        ("contract a\nsave results, replace", "command"),
        ("table a b", "command"),
        ("`loop' {\n}", "macro-block"),
        ('#d ;\ndi "a; list x";', "command-in-text"),
        ("program tabulate\nend", "program-name"),
        ("svy: tab a b", "prefix"),
        ('do "$p/a.do"', "path"),
        ("do C:/x/a.do", "path"),
        ('di "open\nlist x', "open-quote"),
    ],
)
def test_what_needs_a_look_is_told(text: str, rule: str) -> None:
    assert rule in rules(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("program fdzsummarize\nlist x\nend", "program-name"),
        ("mata\nx = 1\n", "open-block"),
    ],
)
def test_what_makes_a_program_unreadable_is_an_error(text: str, rule: str) -> None:
    assert rule in rules(text, Severity.ERROR)
    assert rewrite(text).refused


def test_a_command_in_a_macro_runs_under_the_policy() -> None:
    done = rewrite('local c "list x"\n`c\'\n')
    assert done.text == 'local c "list x"\nfdzrun `c\'\n'
    assert done.findings == ()


def test_commands_hidden_by_an_open_quote_are_not_live() -> None:
    text = rewrite('di "open\nlist x\nsu y\n').text
    assert "\nlist" not in text
    assert "fdzsummarize y" in text


def test_a_comment_that_goes_on_is_read_both_ways() -> None:
    assert rewrite("* note ///\nlist x\n").text == f"* note ///\n{NO}: list x\n"


def test_a_policy_of_the_centre_counts(tmp_path: Path) -> None:
    path = tmp_path / "centre.toml"
    path.write_text('[commands]\nmypanel = "refused"\nlist = "allowed"\npython = "refused"\n')
    policy = Policy.read(path)
    text = "mypanel x\nlist y\npython:\nprint(1)\nend\nsu x\n"
    assert rewrite(text, policy).text == (
        f"{NO}: mypanel x\nlist y\n{NO}: python:\n*FDZ: print(1)\n*FDZ: end\nfdzsummarize x\n"
    )


def not_permitted(text: str) -> list[str]:
    """Commands that would still run although the policy does not let them run as they are."""
    policy = Policy.default()
    found = []
    for one in live(text):
        command = one.command
        if command is None or command.canonical is None:
            continue
        verdict = policy.verdict(command.canonical)
        quiet = bool(one.prefixes) and one.prefixes[-1].canonical == "quietly"
        hidden = quiet and "quietly" in verdict.safe
        wrapped = verdict.action is Action.WRAPPED and not hidden
        if verdict.action is Action.REFUSED or wrapped:
            found.append(one.text)
    return found


def kept(text: str, edits: tuple[Edit, ...]) -> list[str]:
    """Strings and comments of a program outside what was commented out."""
    gone = [(edit.start, edit.end) for edit in edits if edit.action is Action.REFUSED]
    return [
        text[span.start : span.end]
        for one in parse_do(text).statements
        for span in one.spans
        if span.kind in ("string", "comment")
        and span.end <= one.end
        and not any(first <= span.start < last for first, last in gone)
    ]


@given(planted_do_files())
def test_random_programs_are_rewritten_as_promised(planted: Planted) -> None:
    """No live command is missed, no string or comment changed; idempotent and invertible."""
    done = rewrite(planted.text)
    assert undone(done) == planted.text
    assert not_permitted(done.text) == []
    again = rewrite(done.text)
    assert again.text == done.text
    new = iter(kept(done.text, ()))
    assert all(part in new for part in kept(planted.text, done.edits))  # in order


@given(planted_do_files())
def test_every_planted_command_meets_its_verdict(planted: Planted) -> None:
    policy = Policy.default()
    done = rewrite(planted.text)
    refused = [(edit.start, edit.end) for edit in done.edits if edit.action is Action.REFUSED]
    starts = {(edit.start, edit.end) for edit in done.edits}
    for start, end, name in planted.live:
        inside = any(first <= start < last for first, last in refused)
        action = policy.verdict(name).action
        if action is Action.REFUSED:
            assert inside
        elif action is Action.WRAPPED:
            # A model under `svy:` and its like keeps its name behind `fdzestimate`.
            assert inside or (start, end) in starts or name == "regress"


@given(st.text(alphabet="list su`'\"$/*;{}#\n\r :=xdo(),", max_size=80))
def test_any_text_is_rewritten_without_a_crash(text: str) -> None:
    done = rewrite(text)
    assert undone(done) == text
    again = rewrite(done.text)
    assert undone(again) == done.text


def test_the_time_grows_as_the_length() -> None:
    corpus = "".join(f"{case[1]}\n#d cr\n" for case in CASES if "/*" not in case[1])
    rewrite(corpus)

    def seconds(times: int) -> float:
        text = corpus * times
        begin = time.process_time()
        rewrite(text)
        return time.process_time() - begin

    assert seconds(40) < 10 * max(seconds(8), 0.05)


@pytest.mark.parametrize(
    "text",
    [
        "ta sex if age>0 /// note\nbys sex: su wage\n",
        "su :if y==1 list x\n",
        "xtsum wage: list x\n",
    ],
)
def test_a_safe_command_is_read_like_the_one_it_stands_for(text: str) -> None:
    """Colons behind it make it no prefix; otherwise a second run would go on."""
    done = rewrite(text)
    assert rewrite(done.text).text == done.text


@for_all_rows(
    ("given", "actions"),
    [
        ("", ["allowed"]),
        ("gettoken folder : 0\n", ["review"]),
        ("args folder\n", ["review"]),
        ("local folder : word 1 of `0'\n", ["review"]),
        ("foreach folder in a ../b {\n}\n", ["review"]),
        ('local other "b"\n', ["allowed"]),
    ],
)
def test_a_folder_is_known_only_if_nothing_else_gives_it(given: str, actions: list[str]) -> None:
    done = rewrite(f'local folder "sub"\n{given}do "`folder\'/a.do"\n')
    assert [call.action.value for call in done.calls] == actions


@for_all_rows(
    "start",
    [
        "local a", "mata", 'local a "b', "foreach v in a", "display", "program p\nlocal a",
        "forvalues i = 1/3 {\nscalar define", "putexcel A1 =", "file write f",
        "file open f using x.txt,", "tempfile a\nsave `a',", "log using", "putdocx text (",
    ],
)  # fmt: skip
def test_no_run_of_blanks_takes_long(start: str) -> None:
    begin = time.process_time()
    rewrite(f"{start}{' ' * 60_000}!\n")
    assert time.process_time() - begin < 5
