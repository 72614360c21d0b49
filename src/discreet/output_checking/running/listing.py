"""The subset of Stata that the runner knows, as a page of the documentation.

In: the registry. Out: Markdown, written by `scripts/runner_reference.py`.
"""

from __future__ import annotations

from discreet.output_checking.running.registry import Command, Option, commands

__all__ = ["markdown"]

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
`()?` that something may. This page is written by `scripts/runner_reference.py` from the program.

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


def markdown() -> str:
    """The page."""
    known = commands()
    parts = [_HEAD]
    for group, title in _GROUPS.items():
        rows = [one for one in known if one.group == group]
        parts.append(f"\n## {title}\n\n| command | what it does | options | by | weights |")
        parts.append("|---|---|---|---|---|")
        parts += [_row(one) for one in rows]
    parts.append(f"\n{len(known)} commands.\n")
    return "\n".join(parts)


def _row(one: Command) -> str:
    options = ", ".join(f"`{_written(option)}`" for option in one.options)
    if one.raw:
        options = "reads its own text"
    weights = ", ".join(sorted(one.weights))
    summary = one.summary.replace("|", "\\|")
    return f"| `{one.name}` | {summary} | {options} | {'yes' if one.by else ''} | {weights} |"


def _written(option: Option) -> str:
    """An option with its shortest form in capitals.

    >>> _written(Option("detail", 1, False, False))
    'Detail'
    """
    name = option.name[: option.least].upper() + option.name[option.least :]
    name = option.name if option.least == len(option.name) else name
    return name + ("()" if option.argument else "") + ("?" if option.optional else "")
