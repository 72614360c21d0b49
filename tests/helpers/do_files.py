"""Do-files made at random, with commands planted in places where they run and where they do not.

`planted_do_files()` draws a `Planted`: a text, the places of all commands of the kinds in
`MARKED` that Stata would run, and those that it might run (behind a macro that may be
empty). Words of the same kinds stand in strings, comments and data, where they are nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

__all__ = ["MARKED", "Planted", "planted_do_files"]

#: Words that are planted, with the commands they stand for.
WORDS = {
    "list": "list", "l": "list", "lis": "list", "browse": "browse", "br": "browse",
    "summarize": "summarize", "su": "summarize", "sum": "summarize", "tab": "tabulate",
    "ta": "tabulate", "regress": "regress", "reg": "regress", "stem": "stem", "ins": "inspect",
    "d": "describe", "cou": "count", "hist": "histogram", "tabstat": "tabstat",
}  # fmt: skip
MARKED = frozenset(WORDS.values())

BARE = ("qui ", "quietly ", "noi ", "n ", "cap ", "capture ", "qui: ", "capture noisily ")
COLON = (
    "by id: ", "bys id (t): ", "by g, sort : ", "xi: ", "svy: ", "svy, subpop(if a==1): ",
    "eststo m1: ", "bootstrap r(mean), reps(10) saving(x:/f): ", "version 14: ",
    "statsby m=r(mean), by(g) clear: ", "mi estimate, post: ", "stepwise, pr(.2): ",
    "frame other: ", "rolling b=_b, window(4): ", "jackknife: ", "collect: ",
)  # fmt: skip
CONDITIONS = (
    "if x==1 ", "if x == 1 & (y > 2 | z) ", 'if "`a\'" == "list x" ', "if !missing(x[1]) ",
    'else if `"`b\'"\' != "" ', "else ", "if _rc ", "if inlist(x, 1, 2) /* list */ ",
    "if `n' > 3 ", "while `i' < 3 ",
)  # fmt: skip
TAILS = (
    "", " x", " x y, d", " x if y == 1", ' x if s == "list x: list"', " `v' in 1/3", " ${xs}, m",
    ' x, title("{list} a") saving(a:b, replace)', " x1-x9 c.x#i.y L(1/2).w",
    " `=strpos(\"a\", \"b\")'", ' `"a "list" b"\'', " /* list z */ x", " x /* list \n list z */ y",
    " `:word 1 of a list'",
)  # fmt: skip
QUIET = (
    "gen x = y", "replace x = a/b", "local c 3", "keep if x", "set more off", 'di "list it: list"',
    'label var x "list // of /* things"', "use c:/data//x.dta, clear", "merge 1:1 id using b",
    "local ++i", 'di `"say "list x""\'', "global g `: word 2 of list of it'", "drop _all",
    "gen z = 2 * 3 /* list */ * 4", "matrix A = (1, 2 \\ 3, 4)", "`cmd' x", "su`mm' x",
    "di {hline}", 'note: "a list"', "exit",
)  # fmt: skip
COMMENTS = (
    "* list x", "*list x", "// list x", "/* list x */", "/* a /* list */ list x */",
    "* don't list", '* "list /* x"', "/* \n list x \n su y */", "* list ///\n   of x", "//list",
    "/*/ list */", "*** list ***", "* list // x /* y",
    "* a /* list \n list x */ su", "* a /* b */ list",
)  # fmt: skip
BLOCKS = (
    'mata\nx = "list"\nlist\n// su x\nend', "mata:\nvoid f() {\n list\n/*\nend\n*/\n}\nend",
    "python\nlist = [1]\nprint(list)\nend", "input x str8 y\n1 list\n2 su\nend", "mata: list(x)",
    "input a b\nlist 1\nend", "python: list(x)", "java:\nlist x\nend",
)  # fmt: skip
LOOPS = (
    "foreach v of varlist a b {", "forvalues i = 1/3 {", "while `i' < 3 {", "quietly {",
    "capture {", "if x == 1 {", 'if "`a\'" == "{" {', "cap noi {", "foreach v in a b{", "frame f {",
)  # fmt: skip
MAYBE = ("`qui' ", "`a' `b' ", "$cap ", "`by' `x': ", "unknown x : ")


@dataclass(frozen=True)
class Planted:
    """A do-file with the places of its planted commands: start, end, full name."""

    text: str
    live: frozenset[tuple[int, int, str]]
    maybe: frozenset[tuple[int, int, str]]


class _Writer:
    """Writes a do-file, piece by piece."""

    def __init__(self, draw: Callable[..., object], line_end: str) -> None:
        self.draw = draw
        self.line_end = line_end
        self.semicolons = False
        self.text = ""
        self.live: set[tuple[int, int, str]] = set()
        self.maybe: set[tuple[int, int, str]] = set()

    def pick(self, *choices: str) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == 1

    def put(self, text: str) -> None:
        self.text += text.replace("\n", self.line_end)

    def stop(self) -> None:
        """End a statement."""
        if self.semicolons:
            self.put(self.pick(";\n", "; ", " ;\n\n", ";\n\t"))
        else:
            self.put(self.pick("\n", "\n\n", " \n", " // list it\n", "\n    ", "\t/* list */\n"))

    def word(self, *, live: bool = True) -> None:
        word = self.pick(*WORDS)
        place = (len(self.text), len(self.text) + len(word), WORDS[word])
        (self.live if live else self.maybe).add(place)
        self.put(word)

    def planted(self) -> None:
        if self.chance(6):
            self.put(self.pick(*CONDITIONS))
        for _ in range(self.draw(st.integers(0, 2))):  # type: ignore[call-overload]
            self.put(self.pick(*BARE, *COLON))
        if self.chance(8):
            self.put(self.pick("/* list */ ", "/* \n */ ", " ///\n", "/* su */"))
        self.word(live=True)
        self.put(self.pick(*TAILS))
        if self.chance(5) and not self.semicolons:
            self.put(self.pick(" ///\n  z", " /// list\n\t, d", " /// it's\n if y"))

    def statement(self, depth: int) -> None:
        kind = self.draw(st.integers(1, 12))
        if kind <= 4:
            self.planted()
        elif kind == 5:
            self.put(self.pick(*QUIET))
        elif kind in (6, 7):
            self.comment()
            return
        elif kind == 8 and depth < 3:
            self.loop(depth)
        elif kind == 9:
            self.put(self.pick(*MAYBE))
            self.word(live=False)
            self.put(" x")
        elif kind == 10 and not self.semicolons:
            self.put("mi xeq 1/3: ")
            for number in range(2):
                self.put("; " if number else "")
                self.word()
                self.put(" x")
        elif kind == 11 and not self.semicolons:
            self.put(self.pick(*BLOCKS))
        else:
            self.put("by id: gen x = _n")
        self.stop()

    def comment(self) -> None:
        comment = self.pick(*COMMENTS)
        if self.semicolons and comment.startswith("*"):
            comment = "* list of\n it"
        self.put(comment)
        if comment.startswith("//"):
            self.put("\n")
        else:
            self.stop()

    def loop(self, depth: int) -> None:
        self.put(self.pick(*LOOPS))
        if self.chance(4) and not self.semicolons:
            self.put(" ")
            self.planted_in_line()
            self.put(" }")
            return
        self.stop() if not self.semicolons else self.put(self.pick(";\n", "\n", " ;"))
        for _ in range(self.draw(st.integers(1, 3))):  # type: ignore[call-overload]
            self.statement(depth + 1)
        self.put("}")

    def planted_in_line(self) -> None:
        self.word()
        self.put(self.pick(" x", " x, d", ' x if s == "}"'))

    def program(self, number: int) -> None:
        self.put(self.pick("program define ", "program ", "pr def ") + f"prog{number}")
        self.put(self.pick("", ", rclass"))
        self.stop()
        for _ in range(self.draw(st.integers(0, 3))):  # type: ignore[call-overload]
            self.statement(1)
        self.put("\nend")
        self.stop()


@st.composite
def planted_do_files(draw: Callable[..., object]) -> Planted:
    """A do-file of nested constructs with planted commands."""
    writer = _Writer(draw, str(draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))))
    for number in range(draw(st.integers(4, 12))):  # type: ignore[call-overload]
        kind = draw(st.integers(1, 10))
        if kind == 1:
            writer.program(number)
        elif kind == 2:
            writer.put("\n" + writer.pick("#delimit ;\n", "#d ;\n", "# delimit ;\n", "#delim ; "))
            writer.semicolons = True
            for _ in range(draw(st.integers(1, 4))):  # type: ignore[call-overload]
                writer.statement(0)
            writer.semicolons = False
            writer.put("\n" + writer.pick("#delimit cr\n", "#d cr\n", "# delim cr\n"))
        else:
            writer.statement(0)
    return Planted(writer.text, frozenset(writer.live), frozenset(writer.maybe))
