"""Writes docs/reference/runner.md: the subset of Stata that the runner of do-files knows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from discreet_fire.catalogue.execution import CommandOption
from discreet_fire.catalogue.functions import function_table, statistic_facts
from discreet_fire.runners.builtin.commands.egen import FUNCTIONS
from discreet_fire.runners.builtin.data.true_statistics import STATISTICS
from discreet_fire.runners.builtin.language.date_functions import DATES
from discreet_fire.runners.builtin.language.functions import CHANCES, function_names
from discreet_fire.runners.builtin.language.text_functions import TEXTS
from discreet_fire.runners.builtin.macro_expansion import EXTENDED
from discreet_fire.runners.builtin.registry import Command, commands

_GROUPS = {
    "data": "Data",
    "output": "Output",
    "models": "Models",
    "program": "Macros, scalars, programs",
    "refused": "Not run",
}
_HEAD = """\
# What the runner of do-files knows

`discreet fire run` runs the commands below, with these options and no others. Anything else stops
the run at its line. [How to run do-files](../how-to/run-do-files.md) says how it works.

Capital letters are the shortest form of an option, `()` means that something stands in brackets,
`()?` that something may. Options that only change how output looks in Stata are taken as well; the
log says that they change nothing here. Commands with a safe statistic also take `CRItical()`, the
[p of the centre's rules](../methods/output-checking-rules.md) for one command. This page is
written by `scripts/runner_reference.py` from the program.

## Language

| | |
|---|---|
| comments | `*`, `//`, `///`, `/* */`, also nested; `#delimit ;` |
| macros | `local`, `global`, `` `x' ``, `${x}`, nested, `` `=exp' ``, `` `:function' ``, `++x` |
| loops | `foreach` (`in`, `of local`, `of varlist` …), `forvalues`, `while`, `continue` |
| choice | `if` and `else` with and without braces |
| prefixes | `by`, `bysort`, `quietly`, `noisily`, `capture`, `eststo`, `xi`, `version` |
| programs | `program define`, `args`, `return`, `exit`, `error` |
| other files | `do`, `run`, `include`, inside the folder of the program |
| rows | `if`, `in`, `_n`, `_N`, `x[_n-1]`; missing values are larger than all numbers |
| factors | `i.x`, `ib3.x`, `c.x`, `x#z`, `x##z`, `i(1 2).x` in models |
| time | `L.x`, `L2.x`, `F.x`, `D.x`, `S.x`; in models also `L(1/3).x`, shown as `L1_x` |
| weights | `fweight`, `aweight`, `pweight`, `iweight` where the table says so |
"""


_COLUMNS = """\
| command | what it does | options | by | weights | taken without effect |
|---|---|---|---|---|---|"""


def markdown() -> str:
    """The page."""
    known = commands()
    parts = [_HEAD]
    for group, title in _GROUPS.items():
        rows = [one for one in known if one.facts.section == group]
        parts.append(f"\n## {title}\n\n{_COLUMNS}")
        parts += [_row(one) for one in rows]
    parts.append(f"\n{len(known)} commands.\n")
    parts.append("## Functions\n\n| where | functions |\n|---|---|")
    parts += [f"| {where} | {_names(names)} |" for where, names in _functions().items()]
    parts += ["\n## Functions of egen\n\n| function | options |\n|---|---|"]
    parts += [f"| `{name}` | {_egen_options(name)} |" for name in sorted(FUNCTIONS)]
    return "\n".join(parts) + "\n"


def _functions() -> dict[str, Iterable[str]]:
    """Names of functions by where they are used."""
    special = {*TEXTS, *DATES, *CHANCES}
    draws = function_table().drawing
    return {
        "numbers and conditions": set(function_names()) - special - draws,
        "texts": TEXTS,
        "dates": DATES,
        "distributions": CHANCES,
        "random draws": draws,
        "`collapse`, also `p1` to `p99`": [*STATISTICS, "first", "last", "percent"],
        "macros, after a colon": EXTENDED,
    }


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names, key=lambda one: (one.lower(), one)))


def _egen_options(name: str) -> str:
    facts = statistic_facts(name)
    options = sorted({*facts.options.split(), *(("by()",) if facts.groups else ())})
    return ", ".join(f"`{option}`" for option in options)


def _row(one: Command) -> str:
    options = _listed(option for option in one.facts.options if not option.effect)
    without = _listed(option for option in one.facts.options if option.effect)
    if one.facts.takes.syntax == "own" and not options:
        options = "reads its own text"
    weights = ", ".join(sorted(one.facts.takes.weights.split()))
    summary = one.facts.summary.replace("|", "\\|")
    by = "yes" if one.facts.takes.by else ""
    return f"| `{one.name}` | {summary} | {options} | {by} | {weights} | {without} |"


def _listed(options: Iterable[CommandOption]) -> str:
    return ", ".join(f"`{_written(option)}`" for option in options)


def _written(option: CommandOption) -> str:
    """An option with its shortest form in capitals.

    >>> _written(CommandOption("detail", 1, False, False, ""))
    'Detail'
    """
    name = option.name[: option.least].upper() + option.name[option.least :]
    name = option.name if option.least == len(option.name) else name
    return name + ("()" if option.argument else "") + ("?" if option.optional else "")


if __name__ == "__main__":
    place = Path(__file__).parent.parent / "docs" / "reference" / "runner.md"
    place.write_text(markdown(), encoding="utf-8")
