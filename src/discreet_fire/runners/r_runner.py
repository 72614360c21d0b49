"""Runs R scripts on microdata in a closed process: `RRunner`.

In: a script that `discreet fire pre` has rewritten, data (CONFIDENTIAL), the rules. Out: a
`RunResult` whose safe outputs this process has worked out itself. What the script prints besides
is unchecked, unless it is a text that stands in it. A script that does not come to its end shows
nothing, since values may have stopped it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

from discreet_fire.runners.closed_process import ProcessLimits, ProcessPlan
from discreet_fire.runners.protocol import RunInput, RunResult
from discreet_fire.runners.script_run import ScriptRun
from discreet_fire.scripts import RSyntaxError, parse_r
from discreet_fire.texts import read_source

#: The folder of `discreet_safe.R` for scripts that a runner runs.
_FUNCTIONS = Path(__file__).parent / "r_functions"
#: What its functions say where there is no safe form; texts of the program, too.
_SAID = frozenset(
    ["FDZ: percentiles as of type 6"]
    + [
        f"FDZ: no safe form of this: {what}"
        for what in (
            "trimmed mean", "these percentiles", "correlations of ranks", "correlations of this",
            "table of more than two variables", "this kind of model", "a model with weights",
            "this model", "summary of texts", "tabstat", "centile", "correlate", "pwcorr",
            "tabulate", "regress", "logit", "probit", "summarize",
        )
    ]
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RRunner:
    """Runs R scripts."""

    executable: Path = Path("/usr/bin/Rscript")  # the program Rscript
    limits: ProcessLimits = field(default_factory=ProcessLimits)  # what a script may use
    read: tuple[Path, ...] = ()  # what else it may read, such as folders of packages

    name = "r"
    suffixes = frozenset((".r",))
    captures_universes = True
    own_commands = False
    follows_values = False

    def run(self, program: Path, **given: Unpack[RunInput]) -> RunResult:
        """Run a script."""
        source = read_source(program)
        with ScriptRun.of(source, given) as script:
            seed = f"set.seed({given['seed'] % 2**31})"
            script.copy.write_text(f"{seed}\n{source.text}", encoding="utf-8")
            plan = ProcessPlan(
                command=[str(self.executable), "--vanilla", script.name],
                folder=script.folder,
                read=[*self.read, _FUNCTIONS],
                data=given["data"],
                environment={**script.environment, "DISCREET_R": str(_FUNCTIONS)},
                limits=script.within(self.limits),
            )
            return script.result(plan, _literals(source.text))


def _literals(text: str) -> Counter[str]:
    """Lines that stand in a script as texts, or that its safe functions may say, with how often."""
    try:
        nodes = [node for top in parse_r(text) for node in top.walk()]
    except (RSyntaxError, RecursionError):
        return Counter()
    texts = [node.value for node in nodes if node.kind == "string"]
    literals = dict.fromkeys(_SAID, text.count("fdz_"))
    return Counter(literals) + Counter(
        line.strip() for one in texts for line in one.split("\n") if line.strip()
    )
