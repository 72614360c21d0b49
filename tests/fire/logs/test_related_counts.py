"""Counts of a loop, and groups as differences of two counts: none of their figures passes alone."""

from __future__ import annotations

from discreet_fire.logs.cleaned_log import clean_log
from tests.helpers.rows import for_all_rows

_LOOP = ". forvalues k = 1/3 {{\n  2. {}\n  3. {}\n  4. }}\n{}\n"
FIGURES = ("412", "31", "87")


@for_all_rows(
    ("log", "figures"),
    [
        (". foreach k of local kinds {\n  2. count if kind == `k'\n  3. }\n  412\n  31\n  87\n",
         FIGURES),
        (_LOOP.format("quietly count if kind == `k'", 'display "kind `k\': " r(N)',
                      "kind 1: 412\nkind 2: 31\nkind 3: 87"), FIGURES),
        (_LOOP.format("quietly count if kind == `k'", "display scalar(m)", "412\n31\n87"), FIGURES),
        (". count if female == 1\n  412\n\n. count if female == 1 & id != 17\n  411\n", ("411",)),
        (". count if (id != 17) & region == \"west\"\n  411\n\n"
         ". noisily count if region==\"west\"\n  412\n", ("412",)),
        (". display r(N)\n412\n\n. capture count if female == 1 & id != 17\n\n"
         ". display r(N)\n411\n", ("412", "411")),
        (". show 1\n  412\n\n. show 2\n  31\n", ("412", "31")),
    ],
)  # fmt: skip
def test_figures_are_withheld_or_looked_at(log: str, figures: tuple[str, ...]) -> None:
    done = clean_log(log)
    # A finding names where a block of output begins.
    looked_at = [line for one in done.findings for line in one.lines]
    left = done.text.splitlines()
    for figure in figures:
        shown = [at for at, line in enumerate(left, 1) if figure in line.split()]
        assert all(any(line <= at for line in looked_at) for at in shown), (figure, done.text)
