"""Settings and the surroundings of a program: `set`, `log`, `version`, `timer` and the like.

In: calls. Out: the number of observations, the seed, the default type; most other settings
change nothing here. A setting that would change results and is not known stops the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.single import one_value
from discreet.output_checking.running.values import MISSING
from discreet.output_checking.safe.results import Check, SafeResult, Verdict
from discreet.output_checking.safe.words import refused_line

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

#: Settings that change nothing here, with their shortest forms.
_HARMLESS = (
    ("more", 2), ("matsize", 4), ("maxvar", 4), ("memory", 3), ("scheme", 4), ("linesize", 2),
    ("rmsg", 3), ("varabbrev", 5), ("pagesize", 3), ("graphics", 1), ("logtype", 4),
    ("trace", 2), ("tracedepth", 6), ("output", 2), ("processors", 4), ("niceness", 4),
    ("min_memory", 4), ("max_memory", 4), ("segmentsize", 4), ("dp", 2), ("cformat", 7),
    ("pformat", 7), ("sformat", 7), ("showbaselevels", 8), ("showemptycells", 9),
    ("showomitted", 8), ("lstretch", 4), ("maxiter", 4), ("printcolor", 5), ("autotabgraphs", 5),
    ("fvwrap", 6), ("fvlabel", 7), ("iterlog", 4), ("reventries", 4), ("dockable", 4),
    ("rng", 3), ("sortseed", 8), ("level", 3), ("httpproxy", 4), ("checksum", 4),
)  # fmt: skip


@command("set", summary="obs, seed, type; others change nothing", raw=True, group="program")
def setting(session: Session, call: Call) -> None:
    """`set obs #`, `set seed #`, `set type kind`, `set more off` …"""
    words = call.text.replace(",", " , ").split()
    if not words:
        raise DoError("invalid syntax of set", code=198)
    name, rest = words[0], " ".join(words[1:]).split(",")[0].strip()
    if name in ("obs", "ob"):
        _set_obs(session, rest)
    elif name in ("seed", "see"):
        _set_seed(session, rest)
    elif name in ("type", "typ", "ty"):
        if rest not in ("byte", "int", "long", "float", "double"):
            raise DoError("invalid type", code=198)
        session.settings["type"] = rest
    elif not any(full.startswith(name) and len(name) >= least for full, least in _HARMLESS):
        raise UnsupportedError(f"set {name}")


def _set_obs(session: Session, text: str) -> None:
    data = session.data
    value = one_value(session, text)
    if session.trace.touched or session.trace.rests(()):
        raise DoError("the number of observations may not be a value of the data", code=198)
    if isinstance(value, str) or value >= MISSING or value != int(value):
        raise DoError("invalid number of observations", code=198)
    more = int(value) - data.rows
    if more < 0:
        raise DoError("the number of observations may not become smaller", code=198)
    data.grow(more)


def _set_seed(session: Session, text: str) -> None:
    value = one_value(session, text)
    if session.trace.touched:
        raise DoError("a seed may not be a value of the data", code=198)
    if isinstance(value, str) or not 0 <= value < 2**31:
        raise DoError("invalid seed", code=198)
    session.draw = np.random.default_rng(int(value))


@command("version log cmdlog more about adopath discard sysdir memory update which timer sleep "
         "pause mark notes query window beep", summary="change nothing here",
         raw=True, group="program")  # fmt: skip
def harmless(session: Session, call: Call) -> None:
    """`version 17`, `log using …`, `log close`, `timer on 1` …: no effect on results."""


@command("ssc net adoupdate", summary="refused: nothing is installed", raw=True, group="program")
def install(session: Session, call: Call) -> None:
    """Not run: a run loads nothing from elsewhere."""
    session.note(f"{refused_line(session.limits.language)}: {call.name}")
    check = Check(rule="refused", verdict=Verdict.fail, reason="nothing is installed in a run")
    session.remember(SafeResult(command=call.name, shown="", checks=[check]))
