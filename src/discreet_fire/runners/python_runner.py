"""Runs Python scripts on microdata in a closed process: `PythonRunner`.

In: a script that `discreet fire pre` has rewritten, data (CONFIDENTIAL), the rules. Out: a
`RunResult` whose safe outputs this process has worked out itself. What the script prints besides
is unchecked, unless it is a text that stands in it. A script that does not come to its end shows
nothing, since values may have stopped it.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

from discreet_fire.runners import python_program
from discreet_fire.runners.closed_process import ProcessLimits, ProcessPlan
from discreet_fire.runners.protocol import RunInput, RunResult
from discreet_fire.runners.script_run import ScriptRun
from discreet_fire.texts import read_source


@dataclass(frozen=True, kw_only=True)
class PythonRunner:
    """Runs Python scripts."""

    executable: Path = Path(sys.executable)  # a Python that has this package
    limits: ProcessLimits = field(default_factory=ProcessLimits)  # what a script may use
    read: tuple[Path, ...] = ()  # what else it may read

    name = "python"
    suffixes = frozenset((".py",))
    captures_universes = True
    own_commands = False
    follows_values = False

    def run(self, program: Path, **given: Unpack[RunInput]) -> RunResult:
        """Run a script."""
        source = read_source(program)
        with ScriptRun.of(source, given) as script:
            plan = ProcessPlan(
                command=[str(self.executable), "-I", python_program.__file__, script.name],
                folder=script.folder,
                read=[*self.read, *_prefixes(self.executable), *_packages()],
                data=given["data"],
                environment=script.environment,
                limits=script.within(self.limits),
            )
            return script.result(plan, literals_of(source.text))


def _packages() -> Iterator[Path]:
    for name in ("discreet", "discreet_fire"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        yield Path(spec.origin).parent


def _prefixes(executable: Path) -> Sequence[Path]:
    """Where a Python keeps its library."""
    places = [executable, executable.resolve()]
    prefixes = [place.parent.parent for place in places]
    if executable == Path(sys.executable):
        prefixes += [Path(sys.prefix), Path(sys.base_prefix)]
    return [place for place in dict.fromkeys(prefixes) if place != Path("/")]


def literals_of(text: str) -> Counter[str]:
    r"""Lines that stand in a script as texts, with how often they do.

    >>> sorted(literals_of("print('Table 1\\nWages')\nx = f'{y} made of parts'"))
    ['Table 1', 'Wages']
    """
    tree = ast.parse(text)
    parts = {id(one) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for one in ast.walk(node)}  # fmt: skip
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
    )
    return Counter(line.strip() for one in texts for line in one.split("\n") if line.strip())
