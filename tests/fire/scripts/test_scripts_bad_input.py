"""Scripts that are no scripts, documents that hide code, and texts of a million characters."""

import ast
import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet_fire.catalogue.policy import ScriptPolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.submission import (
    cookie_of,
    rewrite_files,
    rewrite_python,
    rewrite_r,
)
from discreet_fire.scripts.documents import chunks_of
from discreet_fire.scripts.tree import Node, parse_r
from tests.helpers.places import ROOT
from tests.helpers.rows import for_all_rows

CHUNK = "```{r}\n1\n```\n"


def is_stopped(text: str, *, python: bool) -> bool:
    done = rewrite_python(text) if python else rewrite_r(text)
    return any(each.severity is Severity.ERROR for each in done.findings)


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize("name", ["a.py", "a.R", "a.Rmd"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_never_taken(tmp_path: Path, name: str, encoding: str) -> None:
    text = CHUNK if name == "a.Rmd" else "x = 1\n"
    (tmp_path / name).write_bytes(text.encode(encoding))
    if encoding == "utf-16":
        (outcome,) = rewrite_files([tmp_path / name])
        assert outcome.state == "refused"
    else:
        with pytest.raises(OutputCheckError, match="zero bytes"):
            rewrite_files([tmp_path / name])
    assert [path.name for path in tmp_path.iterdir()] == [name]


@for_all_rows("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_a_coding_line_is_found_where_python_finds_it(sign: str) -> None:
    # Each of these ends a line for `splitlines`, and none does for Python.
    assert cookie_of(f"# a{sign}b\n# coding: utf-7\n") == "utf-7"


def test_a_hidden_coding_line_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# a\x0cb\n# coding: utf-7\n# +AAo-import os\n")
    (outcome,) = rewrite_files([tmp_path / "a.py"])
    assert outcome.output is None


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-8-sig"])
def test_letters_of_all_encodings_stay_what_they_are(tmp_path: Path, encoding: str) -> None:
    line = "# Löhne – „größer“\n" if encoding != "latin-1" else "# Löhne\n"
    data = f"{line}d <- read.csv('a')\nd\n".encode(encoding)
    (tmp_path / "a.R").write_bytes(data)
    (outcome,) = rewrite_files([tmp_path / "a.R"])
    assert outcome.output is not None
    assert line.encode(encoding.removesuffix("-sig")) in outcome.output.read_bytes()


def test_another_path_for_modules_goes_to_review() -> None:
    for line in ("sys.path.insert(0, 'x')", "sys.path.append('x')"):
        done = rewrite_python(f"import sys\n{line}\nimport pandas\n")
        assert done.needs_review, line


# ---------------------------------------------------------------- documents


@for_all_rows(
    "text",
    [
        "> ```{r}\n> d\n> ```\n",
        "````{r}\n1\n```\n````\n",
        "~~~{r}\n1\n~~~\n",
        "```{r}\n#| child: b.Rmd\n1\n```\n",
        "```{r}\n#| file: b.R\n1\n```\n",
        "```{r, fig.cap=paste(max(d$x))}\n1\n```\n",
        "```{r, fig.cap=top}\n1\n```\n",
        "```{r, echo=print(d)}\n1\n```\n",
        CHUNK + "`r#max(d$x)`\n",
        CHUNK + "`r\nmax(d$x)`\n",
        CHUNK + "``r max(d$x)``\n",
        CHUNK + "`{python} df.x.max()`\n",
        CHUNK + "{{< include other.qmd >}}\n",
        CHUNK + "\\input{persons.csv}\n",
        "---\nknit: (function(i, ...) print(1))\n---\n" + CHUNK,
        "---\nfilters: [show.lua]\n---\n" + CHUNK,
        CHUNK + "```{bash}\nls\n```\n",
        "```{r}\nx\n",
        "```{julia}\nx\n```\n",
        "```{r, child='b.Rmd'}\nx\n```\n",
        "---\ntitle: !r max(d$x)\n---\n```{r}\n1\n```\n",
        "```{r}\n1\n```\n```{python}\n1\n```\n",
    ],
)
def test_hidden_code_of_documents_is_refused(text: str) -> None:
    with pytest.raises(OutputCheckError):
        chunks_of(text, "a.qmd")


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: x\noutput: html_document\n---\n```{r setup, include=FALSE, dpi=5}\n1\n```\n",
        '```{r, fig.cap="A (b)", out.width=c("50%", "20%")}\n1\n```\n',
        "```{r my-label}\n1\n```\nText `x`, `data$x`.\n\n```text\nfoo\n```\n",
        "```{r}\n#| echo: false\n#| fig-cap: A figure\n1\n```\n",
    ],
)
def test_ordinary_documents_are_read(text: str) -> None:
    language, parts = chunks_of(text, "a.qmd")
    assert (language, len(parts)) == ("r", 1)


@for_all_rows("mark", ["# %%", "#%%", "  # %% load", "# In[3]:", "# <codecell>"])
def test_cell_marks_make_bare_values_count_as_shown(mark: str) -> None:
    done = rewrite_python(f"{mark}\nimport pandas as pd\ndf = pd.read_csv('a')\ndf.head()\n")
    assert any(each.severity is Severity.REFUSED for each in done.findings)


# ---------------------------------------------------------------- R as R reads it


def form(node: Node) -> str:
    """A tree in brackets, as R itself shows it."""
    parts = " ".join(map(form, node.parts))
    word = "[[" if node.kind == "index" and node.value else node.value
    return f"({word or node.kind} {parts})" if node.parts else node.value


@for_all_rows(
    ("text", "wanted"),
    [
        # Checked against R 4.2.2, by its own parser.
        ("d$x[1]", "(index ($ d x) 1)"),
        ("d$f(x)", "(call ($ d f) x)"),
        ("a@b$c", "($ (@ a b) c)"),
        ("x[i, a := 1]", "(index x i (:= a 1))"),
        ("-2^2", "(- (^ 2 2))"),
        ("a |> f() + 1", "(+ (|> a (call f)) 1)"),
        ("!a %in% b", "(! (%in% a b))"),
        ("f(\\(x) x, 1)", "(call f (function x x) 1)"),
    ],
)
def test_operators_bind_as_in_r(text: str, wanted: str) -> None:
    assert form(parse_r(text)[0]) == wanted


@pytest.mark.parametrize("text", [r"\x70rint", r"\160rint", r"\u0070rint", r"\u{70}rint"])
def test_escapes_do_not_hide_a_name(text: str) -> None:
    for line in (f'"{text}"(d)', f"`{text}`(d)"):
        found = rewrite_r(f"d <- read.csv('a')\n{line}\n").findings
        assert any(each.severity.rank >= Severity.REVIEW.rank for each in found), line


def test_the_safe_functions_of_r_are_those_of_the_policy() -> None:
    tree = parse_r((ROOT / "R" / "discreet_safe.R").read_text("utf-8"))
    defined = {
        node.parts[0].value
        for top in tree
        for node in top.walk()
        if node.kind == "binary" and node.value == "<-" and node.parts[1].kind == "function"
    }
    named = {rule.safe for rule in ScriptPolicy.default("r").rules.values() if rule.safe}
    assert named <= defined
    assert len(named) == 6


def test_the_safe_functions_of_r_are_never_taken_from_the_folder_of_the_script() -> None:
    line = rewrite_r("d <- read.csv('a')\nsummary(d)\n").text.splitlines()[0]
    assert line == 'source(file.path(Sys.getenv("DISCREET_R"), "discreet_safe.R"))'


# ---------------------------------------------------------------- size

PYTHON_LINES = {
    "prints": "print(df);",
    "letters": "'ä'; print(df);",
    "formatted": "print(f'{df.x.max()}');",
    "assignments": "x = x + df.y;",
    "calls": "df.to_csv('a');",
}
R_LINES = {
    "prints": "print(d);",
    "values": "d;",
    "assignments": "x <- x + d$y;",
    "pipes": "d |> f();",
}


def seconds(text: str, *, python: bool) -> float:
    started = time.process_time()
    (rewrite_python if python else rewrite_r)(text)
    return time.process_time() - started


@pytest.mark.parametrize(
    ("line", "python"),
    [
        pytest.param(
            line,
            lines is PYTHON_LINES,
            marks=() if name in ("letters", "formatted", "pipes") else pytest.mark.exhaustive,
        )
        for lines in (PYTHON_LINES, R_LINES)
        for name, line in lines.items()
    ],
)
def test_the_time_grows_as_the_length_of_a_line(line: str, python: bool) -> None:
    # Twice the factor of the length is allowed; four times would be the square.
    first, more = (min(seconds(line * n, python=python) for _ in range(2)) for n in (100, 400))
    assert more < 8 * first + 0.05


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("x = '" + "a" * 1_000_000 + "'", True),
        ("[" * 10_000 + "]" * 10_000, True),
        ("x <- '" + "a" * 1_000_000 + "'", False),
        ("'" * 1_000_001, False),
        ("{" * 10_000 + "}" * 10_000, False),
        ("x" + "[1]" * 20_000, False),
    ],
)
def test_a_million_characters_and_ten_thousand_brackets_are_no_crash(
    text: str, python: bool
) -> None:
    assert seconds(text, python=python) < 20
    if "(" * 9 in text or "{" in text or "f(f(" in text:
        assert is_stopped(text, python=python)


# ---------------------------------------------------------------- any text


def test_what_is_refused_within_a_text_leaves_a_program() -> None:
    done = rewrite_python("import os\nx = f'{os.system(1)}' 'b'\n")
    ast.parse(done.text)
    assert any(each.severity is Severity.REFUSED for each in done.findings)


PYTHON_WORDS = (
    *("df", "x", "=", "(", ")", "[", "]", ":", "\n", "\n    ", "'a'", "f'{x}'", "print", "import "),
    *("for ", "in ", "if ", "else", "while ", "def f():", "class A:", "lambda ", "return ", ".agg"),
    *(".query", "'to_csv'", "del ", "try:", "except:", "match ", "case ", "with ", " as "),
    *(":=", "*", ",", ".", "@", "raise ", "assert ", "getattr", "fdz_safe", "\f", "ä", "#", ";"),
    *("__x__", "to_csv", "os.system", "sys", "open('a', 'w')", "+=", "async ", "await ", "global "),
)
R_WORDS = (
    *("d", "x", "<-", "->", "=", "(", ")", "[", "]", "[[", "]]", "{", "}", "if", "else", "for"),
    *("in", "while", "repeat", "function", "\\", "|>", "%>%", "::", "$", "@", "~", "!", "-", ":="),
    *(",", ";", "\n", "\r", "'a'", '"b"', 'r"(x)"', "`q`", "1", "TRUE", "#", "print", "sapply"),
    *("lm", "summary", "break", "return", "UseMethod", "names", "rep", "max", ".fdz", "_", "?"),
)


@given(st.lists(st.sampled_from(PYTHON_WORDS), max_size=30).map(" ".join))
def test_any_words_of_python_give_a_program_or_findings(text: str) -> None:
    done = rewrite_python(text)
    if not done.refused:
        ast.parse(done.text)
    assert done.findings or not done.refused


@given(st.lists(st.sampled_from(R_WORDS), max_size=30).map(" ".join))
def test_any_words_of_r_give_a_program_or_findings(text: str) -> None:
    done = rewrite_r(text)
    if not done.refused:
        parse_r(done.text)
    assert done.findings or not done.refused


def test_a_question_mark_between_brackets_is_an_operator() -> None:
    text = rewrite_r("d <- read.csv('a')\nd ? d\n").text
    assert "invisible(d ? d)" in text
    parse_r(text)
    assert rewrite_r(text).text == text


@given(st.binary(max_size=80), st.sampled_from(["a.py", "a.R", "a.Rmd", "a.qmd"]))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    (folder / name).write_bytes(data)
    with contextlib.suppress(OutputCheckError):
        rewrite_files([folder / name])
    assert (folder / name).read_bytes() == data
