"""Logs made at random, with planted leaks: all of them go, everything else stays."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from discreet_fire.logs import CleanedLog, clean_log
from tests.helpers.places import FIRE_DATA

WIDTH = 79


@dataclass
class Part:
    """A piece of a log: its lines, what must go, what must stay."""

    lines: list[str]
    secrets: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


class Numbers:
    """Numbers that occur nowhere else in a log: six digits, so that no part is another one."""

    def __init__(self, start: int) -> None:
        self.last = start

    def __call__(self) -> str:
        self.last += 7
        return str(self.last)


def summarize(n: Numbers, cases: int) -> Part:
    mean, spread, least, most = n(), n(), n(), n()
    lines = [
        ". summarize wage",
        "",
        "    Variable |        Obs        Mean    Std. Dev.       Min        Max",
        "-------------+---------------------------------------------------------",
        f"        wage | {cases:>10} {mean:>11} {spread:>11} {least:>10} {most:>10}",
        "",
    ]
    if cases < 3:
        return Part(lines, [mean, spread, least, most])
    return Part(lines, [least, most], [mean, spread])


def detail(n: Numbers, cases: int) -> Part:
    shares = [1, 5, 10, 25, 50, 75, 90, 95, 99]
    values, ends, side = [n() for _ in shares], [n() for _ in range(8)], [n() for _ in range(3)]
    rows = [f"{share:>2}% {value:>12}" for share, value in zip(shares, values, strict=True)]
    right = ["", "", f"Obs       {cases:>13}", f"Sum of Wgt.  {cases:>10}"]
    lines = [
        ". summarize wage, detail", "", "                            Wage", "-" * 61,
        "      Percentiles      Smallest",
        *(f"{rows[i]} {ends[i]:>14}       {right[i]}".rstrip() for i in range(4)),
        "",
        f"{rows[4]}                      Mean      {side[0]:>13}",
        f"                        Largest       Std. Dev. {side[1]:>13}",
        f"{rows[5]} {ends[4]:>14}",
        f"{rows[6]} {ends[5]:>14}       Variance  {side[2]:>13}",
        f"{rows[7]} {ends[6]:>14}       Skewness       1.653434",
        f"{rows[8]} {ends[7]:>14}       Kurtosis       4.819188",
        "",
    ]  # fmt: skip
    far = [cases * min(share, 100 - share) < 300 for share in shares]
    gone = [value for value, few in zip(values, far, strict=True) if few]
    stay = [value for value, few in zip(values, far, strict=True) if not few]
    if cases < 3:
        return Part(lines, [*ends, *values, *side])
    return Part(lines, [*ends, *gone], [*stay, *side])


def listing(n: Numbers, cases: int) -> Part:
    values = [n() for _ in range(cases % 5 + 1)]
    rows = [f"  {at}. | {value} |" for at, value in enumerate(values, 1)]
    return Part([". list wage", "", "     +--------+", *rows, "     +--------+", ""], values)


def record_value(n: Numbers, cases: int) -> Part:
    value = n()
    shown = ["r(max)", "r(min)", "wage[1]", "wage[_N]"][cases % 4]
    return Part([f'. display "value " {shown}', f"value {value}", ""], [value])


def model(n: Numbers, cases: int) -> Part:
    slope, error, constant, other = n(), n(), n(), n()
    rule = "-" * 78
    lines = [
        ". logit y x", "",
        f"Logistic regression                             Number of obs     ={cases:>11}",
        "                                                LR chi2(1)        =       4.46", "",
        rule,
        "           y |      Coef.   Std. Err.      z    P>|z|     [95% Conf. Interval]",
        "-------------+----------------------------------------------------------------",
        f"           x | {slope:>10} {error:>11}     2.72   0.008      .467736    3.025382",
        f"       _cons | {constant:>10} {other:>11}     0.54   0.590    -5226.244    9118.382",
        rule, "",
    ]  # fmt: skip
    values = [slope, error, constant, other]
    return Part(lines, values, []) if cases - 2 < 10 else Part(lines, [], values)


MAKERS: list[Callable[[Numbers, int], Part]] = [
    summarize, detail, listing, record_value, model,
]  # fmt: skip


def wrapped(line: str) -> list[str]:
    """A line as Stata breaks it."""
    parts = [line[:WIDTH]]
    rest = line[WIDTH:]
    while rest:
        parts.append("> " + rest[: WIDTH - 2])
        rest = rest[WIDTH - 2 :]
    return parts


@st.composite
def logs(draw: st.DrawFn) -> tuple[str, list[Part]]:
    numbers = Numbers(draw(st.integers(100_000, 400_000)))
    chosen = draw(
        st.lists(st.tuples(st.sampled_from(MAKERS), st.sampled_from([1, 2, 3, 5, 11, 12, 30, 299,
                 300, 4711])), min_size=1, max_size=8)
    )  # fmt: skip
    parts = [make(numbers, cases) for make, cases in chosen]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = [piece for part in parts for line in part.lines for piece in wrapped(line)]
    return end.join(lines) + end, parts


def unwrapped(text: str) -> str:
    return text.replace("\r\n> ", "").replace("\n> ", "")


def outside(text: str, done: CleanedLog) -> str:
    """The text with only the listed changes carried out."""
    parts, at = [], 0
    for one in done.corrections:
        parts += [text[at : one.start], one.put]
        at = one.end
    return "".join([*parts, text[at:]])


@given(logs())
def test_planted_leaks_go_and_the_rest_stays(made: tuple[str, list[Part]]) -> None:
    text, parts = made
    done = clean_log(text)
    shown = unwrapped(done.text)
    for part in parts:
        for secret in part.secrets:
            assert secret not in shown
        for value in part.kept:
            assert value in shown


@given(logs())
def test_nothing_outside_the_listed_changes_is_changed(made: tuple[str, list[Part]]) -> None:
    text, _ = made
    done = clean_log(text)
    assert {one.round for one in done.corrections} <= {1}
    assert outside(text, done) == done.text
    assert all(text[one.start : one.end] == one.removed for one in done.corrections)


@given(logs())
def test_a_cleaned_log_stays_as_it_is(made: tuple[str, list[Part]]) -> None:
    text, _ = made
    once = clean_log(text).text
    assert clean_log(once).text == once


SNIPPETS = [*"ab1279.,|-+#>{}[]()=%: \"'`$/", "\n", "\r\n", "\n. su x\n", "\n> ", "{col 9}", "---"]
NOISE = st.lists(st.sampled_from(SNIPPETS), max_size=80).map("".join)
LOGS = [path.read_text(encoding="utf-8") for path in (FIRE_DATA / "logs").iterdir()]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A real log of which something is missing, twice there, or replaced."""
    text = draw(st.sampled_from(LOGS))
    for _ in range(draw(st.integers(1, 4))):
        a = draw(st.integers(0, len(text)))
        b = min(a + draw(st.integers(0, 400)), len(text))
        text = text[:a] + draw(st.sampled_from(["", text[a:b] * 2, "\n", "|", "{"])) + text[b:]
    return text


@given(damaged())
def test_a_damaged_log_is_cleaned_without_a_crash_and_stays_clean(text: str) -> None:
    done = clean_log(text)
    assert clean_log(done.text).text == done.text


@given(NOISE, st.booleans())
def test_any_text_is_cleaned_without_a_crash_and_stays_clean(text: str, smcl: bool) -> None:
    done = clean_log(text, smcl=smcl)
    assert clean_log(done.text, smcl=smcl).text == done.text
    if {one.round for one in done.corrections} <= {1}:
        assert outside(text, done) == done.text
