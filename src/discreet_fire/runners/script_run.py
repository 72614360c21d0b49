"""Scripts in Python and R that run on microdata in a closed process: `PythonRunner`, `RRunner`.

In: a script that `discreet fire pre` has rewritten, data (CONFIDENTIAL), the rules. Out: a
`RunResult` whose safe outputs this process has worked out itself. What the script prints besides is
unchecked, unless it is a text that stands in it. A script that does not come to its end shows
nothing, since values may have stopped it.

It runs in a folder that is gone afterwards, with copies of what lies beside it. Lines of the
program itself begin with a bar in the log, so that none can pass for a command or for safe output.
A line that is written in the program as it is tells nothing by itself, as often as it is written
there: how often a loop prints it may be a value. Empty lines and blanks around texts are left out,
since their number may be a value, too. Which lines come, and in which order, may tell of a few
persons as well: each program runs again on data in which values and names are exchanged, and shows
only what comes in all of these runs.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from pydantic import Field

import discreet
from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.runners import python_program
from discreet_fire.runners.asked_statistics import (
    AskedStatistic,
    AskedStatistics,
    BrokenRequestError,
    token,
)
from discreet_fire.runners.closed_process import (
    Place,
    ProcessEnd,
    ProcessLimits,
    ProcessPlan,
    run_closed,
)
from discreet_fire.runners.confinement import PROGRAM
from discreet_fire.runners.protocol import (
    RedactedError,
    RunInput,
    RunResult,
    ShownOutput,
)
from discreet_fire.runners.value_sources import (
    LOST,
    NAMES,
    RENAMED,
    ExchangedData,
    changed,
    parts_for,
    rests_on_few,
)
from discreet_fire.scripts import ReadingError, parse_r
from discreet_fire.statistics import Check, CheckVerdict, SafeResult
from discreet_fire.texts import SourceText, read_source

#: A folder of programs is small; what is larger is data.
_LARGEST = 200_000_000
#: What a script in Python needs besides its library.
_PACKAGES = [Path(str(discreet.__file__)).parent, Path(__file__).parents[1]]

_TEXT = Check(
    rule="text", verdict=CheckVerdict.passed, reason="the text stands in the program as it is"
)
_LEFT_OUT = SafeResult(
    command="text",
    shown="lines that depend on few records; they were left out",
    checks=[Check(
        rule="way", verdict=CheckVerdict.fail,
        reason="with other data the program shows other lines, which were left out: show the same "
        "lines whatever the values",
    )],
)  # fmt: skip
_BAR = "| "


@dataclass(kw_only=True, repr=False)
class ScriptLog:
    """Lines and outputs of a log; whether all its lines belong to outputs."""

    lines: list[str] = field(default_factory=list)
    outputs: list[ShownOutput] = field(default_factory=list)
    checked: bool = True


def script_log(
    lines: Sequence[str], answered: Sequence[AskedStatistic], literals: Mapping[str, int]
) -> ScriptLog:
    r"""The log of the lines that a script wrote.

    >>> done = script_log(["Table 1", "81250.5"], (), {"Table 1": 1})
    >>> done.lines, done.checked
    (['. * text of the program', '| Table 1', '| 81250.5'], False)
    """
    log, shown = ScriptLog(), set[tuple[int, str, str]]()
    judged = _judged(lines, answered, literals)
    for is_text, part in groupby(judged, key=lambda one: one[1] is None):
        if is_text:
            _put_text(log, part)
            continue
        for one in (one for _, one, _ in part if one is not None):
            place_and_text = (one.line, one.result.command, one.result.shown)
            log.checked &= place_and_text not in shown
            shown.add(place_and_text)
            log.lines += [f". {one.result.command}", *one.result.shown.split("\n")]
            log.outputs.append(ShownOutput(one.line, one.result.command, one.result))
    return log


#: A line, the statistic that it stands for, and whether it may pass: as one, or as a text that
#: stands in the program.
_JudgedLine = tuple[str, AskedStatistic | None, bool]


def _judged(
    lines: Sequence[str], answered: Sequence[AskedStatistic], literals: Mapping[str, int]
) -> Iterator[_JudgedLine]:
    tokens = {token(at): one for at, one in enumerate(answered, start=1)}
    left = Counter(literals)
    for line in lines:
        one, text = tokens.get(line), _literal(line)
        left[text] -= one is None
        known = one is not None or left[text] >= 0
        yield text if known else line, one, known


def written_lines(output: bytes) -> list[str]:
    """The lines that a script wrote, but for empty ones."""
    text = output.decode("utf-8", "replace").replace("\r\n", "\n")
    return [line for line in text.split("\n") if line.strip()]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Way:
    """What a program showed on its way through the data (confidential)."""

    lines: list[str]
    answered: list[AskedStatistic]

    def steps(self, literals: Mapping[str, int]) -> dict[int, str | tuple[int, str]]:
        """The lines that may pass, by their numbers, in a form that other data change only if the
        program goes another way: statistics by their places and words, texts as they are.
        """
        judged = enumerate(_judged(self.lines, self.answered, literals))
        return {
            at: text if one is None else (one.line, one.result.command)
            for at, (text, one, known) in judged
            if known
        }


def _put_text(log: ScriptLog, lines: Iterable[_JudgedLine]) -> None:
    """Text of the program between two outputs."""
    log.lines.append(". * text of the program")
    for known, part in groupby(lines, key=lambda one: one[2] and one[0].isprintable()):
        shown = [f"{_BAR}{_printable(text)}".rstrip() for text, *_ in part]
        log.lines += shown
        log.checked &= known
        if known:
            result = SafeResult(command="text", shown="\n".join(shown), checks=[_TEXT])
            log.outputs.append(ShownOutput(0, "text", result))


def _literal(line: str) -> str:
    """The text of a line, without the marks that R puts around texts."""
    text = line.strip()
    if text.startswith("[1] "):
        text = text[4:].strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _printable(line: str) -> str:
    return "".join(one if one.isprintable() else " " for one in line.expandtabs())


#: Why a program did not finish.
_ENDS = {
    "time": "its time was over",
    "output": "it wrote too much",
    "memory": "it used too much memory",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class ScriptRun:
    """A script that is about to run (confidential)."""

    source: SourceText  # the script
    copy: Path  # its copy, in a folder of its own
    given: RunInput  # what it runs on

    @classmethod
    @contextmanager
    def of(cls, source: SourceText, given: RunInput) -> Iterator[ScriptRun]:
        """A run with a folder of its own, which is gone afterwards.

        What lies beside the program is copied; data are put in their places as the program starts.
        """
        home, left = source.path.absolute().parent, _LARGEST
        names = {file.name for file in given["data"]}
        with TemporaryDirectory(prefix="discreet-run-") as folder:
            place = Path(folder).resolve()
            for here, folders, files in os.walk(home):
                folders.sort()
                inside = place / Path(here).relative_to(home)
                inside.mkdir(exist_ok=True)
                ours = names if inside == place else ()
                for name in sorted({*files}.difference(ours)):
                    file = Path(here, name)
                    if file.is_symlink() or not file.is_file():
                        continue
                    left -= file.stat().st_size
                    if left < 0:
                        message = "the folder of the program holds too much to be copied"
                        hint = "put programs in a folder of their own, and name data with --data"
                        raise OutputCheckError(
                            message, code="program-folder", where=str(home), hint=hint
                        )
                    shutil.copyfile(file, inside / name)
            yield cls(source=source, copy=place / source.path.name, given=given)

    @property
    def name(self) -> str:
        """Name of the script in its folder."""
        return self.copy.name

    @property
    def folder(self) -> Path:
        """Folder of its files; it runs on a copy."""
        return self.copy.parent

    @property
    def environment(self) -> dict[str, str]:
        """All of its environment; the first data file is named there."""
        data, seed = self.given["data"], str(self.given["seed"])
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": PROGRAM,
            "LANG": "C.UTF-8",
            "DISCREET_SEED": seed,
            "DISCREET_DATA": data[0].name if data else "",
        }

    def result(self, plan: ProcessPlan, literals: Mapping[str, int]) -> RunResult:
        """Run it, and put its log together."""
        given = self.given
        try:
            end, answered = self._run(plan, given["data"])
        except BrokenRequestError:
            return self.stopped("")
        if end.code != 0:
            return self.stopped(end.over)
        way = _Way(lines=written_lines(end.output), answered=answered)
        lines, answered, one_way = self._of_many(plan, way, literals)
        for one in answered:
            if not one.is_withheld and given["witness"] is not None:
                given["witness"](one.told(given["limits"].digits))
        log = script_log(lines, answered, literals)
        if not one_way:  # said whichever way it went here: that alone could tell a value
            log.lines.append(f". * {_LEFT_OUT.shown}")
            log.outputs.append(ShownOutput(0, "text", _LEFT_OUT))
        return self.logged(log)

    def logged(self, log: ScriptLog) -> RunResult:
        """The result with a log."""
        return RunResult.of(self.source, self.given["data"], **vars(log))

    def _run(
        self, plan: ProcessPlan, files: Sequence[Path]
    ) -> tuple[ProcessEnd, list[AskedStatistic]]:
        """Run it on files; what it asked for."""
        entity, limits = self.given["entity"], self.given["limits"]
        statistics = AskedStatistics(files, limits, entity)
        return run_closed(replace(plan, data=files), statistics.serve), statistics.answered

    def _of_many(
        self, plan: ProcessPlan, way: _Way, literals: Mapping[str, int]
    ) -> tuple[list[str], list[AskedStatistic], bool]:
        """The lines that do not hang on few, and the statistics without those whose values are
        copies of what few have: both by what it shows on other data; and whether it goes the same
        way there, with neither fewer nor more to show.
        """
        given, least, answered = self.given, self.given["limits"].minimum, way.answered
        parts, steps = parts_for(least), way.steps(literals)
        left = {at: one for at, one in enumerate(answered) if one.has_own_columns}
        data = ExchangedData(
            given["data"], given["entity"], parts=parts, least=least, seed=given["seed"]
        )
        reasons: dict[int, str | None] = {}
        runs: list[dict[int, AskedStatistic | None]] = []
        passing, one_way = list(steps), True
        for change in (*RENAMED, *range(parts), "ends", "half", "other half"):
            other = self._again(plan, data, change)
            both = [steps[at] for at in passing], [*other.steps(literals).values()]
            unchecked = len(other.lines) > len(both[1]) and len(way.lines) == len(steps)
            one_way = one_way and both[0] == both[1] and not unchecked
            blocks = SequenceMatcher(None, *both, autojunk=False).get_matching_blocks()
            passing = [passing[at] for one in blocks for at in range(one.a, one.a + one.size)]
            records_of = dict(zip_longest(range(len(answered)), other.answered[: len(answered)]))
            if change not in RENAMED:
                runs.append(records_of)
                continue
            for at, one in list(left.items()):
                if changed(one, records_of[at], data.size, data.names):
                    reasons[at] = LOST if records_of[at] is None else NAMES
                    del left[at]
        for at, one in left.items():
            reasons[at] = rests_on_few(
                one, [run[at] for run in runs], data.part, least=least, size=data.size
            )
        gone = steps.keys() - passing
        return (
            [line for at, line in enumerate(way.lines) if at not in gone],
            [
                one if (reason := reasons.get(at)) is None else one.withheld(reason)
                for at, one in enumerate(answered)
            ],
            one_way,
        )

    def _again(self, plan: ProcessPlan, data: ExchangedData, change: int | str) -> _Way:
        """What the script shows when it runs on exchanged data."""
        with suppress(DiscreetError), TemporaryDirectory(prefix="discreet-data-") as folder:
            end, answered = self._run(plan, data.written(Path(folder), change))
            return _Way(lines=written_lines(end.output), answered=answered)
        return _Way(lines=[], answered=[])

    def stopped(self, over: str) -> RunResult:
        """The result of a script that did not finish; values may have stopped it."""
        why = _ENDS.get(over, "it ended with an error")
        error = RedactedError(
            f"the program did not finish: {why}; its output is withheld",
            "time-limit" if over == "time" else "program",
            "values of the data may have led to it; try it on data that are not confidential",
        )
        return RunResult.of(self.source, self.given["data"], error=error)


class CentreEngine(ProcessLimits):
    """A program of the centre that runs those of researchers, and what they may use."""

    executable: Place
    read: list[Place] = Field(default_factory=list)  # what else they may read, as packages


@dataclass(frozen=True)
class ScriptRunner(ABC):
    """Runs programs of a centre's engine in a closed process."""

    engine: CentreEngine

    own_commands = False
    follows_values = False

    def run(self, program: Path, **given: Unpack[RunInput]) -> RunResult:
        """Run a program on copies of what lies beside it."""
        with ScriptRun.of(read_source(program), given) as script:
            return self.result_of(script)

    @abstractmethod
    def result_of(self, script: ScriptRun) -> RunResult:
        """Run what is about to run."""

    def plan(
        self, script: ScriptRun, words: list[str], read: Iterable[Path], **environment: str
    ) -> ProcessPlan:
        """The process of a program, with what it reads besides its data."""
        most, seconds = self.engine.seconds, script.given["seconds"]
        return ProcessPlan(
            command=[str(self.engine.executable), *words],
            folder=script.folder,
            read=[*self.engine.read, *read],
            data=script.given["data"],
            environment={**script.environment, **environment},
            limits=self.engine.model_copy(
                update={"seconds": most if seconds is None else min(seconds, most)}
            ),
        )


class PythonRunner(ScriptRunner):
    """Runs Python scripts, in a Python that has this package."""

    name = "python"
    suffixes = frozenset((".py",))

    def result_of(self, script: ScriptRun) -> RunResult:
        """Run a script in Python."""
        words = ["-I", python_program.__file__, script.name]
        plan = self.plan(script, words, [*_prefixes(self.engine.executable), *_PACKAGES])
        return script.result(plan, literals_of(script.source.text))


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
    return _lines_of(texts)


def _lines_of(texts: Iterable[str]) -> Counter[str]:
    return Counter(line.strip() for one in texts for line in one.split("\n") if line.strip())


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


class RRunner(ScriptRunner):
    """Runs R scripts by the program Rscript."""

    name = "r"
    suffixes = frozenset((".r",))

    def result_of(self, script: ScriptRun) -> RunResult:
        """Run a script in R."""
        seed, text = script.given["seed"] % 2**31, script.source.text
        script.copy.write_text(f"set.seed({seed})\n{text}", encoding="utf-8")
        words = ["--vanilla", script.name]
        plan = self.plan(script, words, [_FUNCTIONS], DISCREET_R=str(_FUNCTIONS))
        return script.result(plan, _r_literals(text))


def _r_literals(text: str) -> Counter[str]:
    """Lines that stand in a script as texts, or that its safe functions may say, with how often."""
    try:
        nodes = [node for top in parse_r(text) for node in top.walk()]
    except (ReadingError, RecursionError):
        return Counter()
    texts = [node.value for node in nodes if node.kind == "string"]
    return Counter(dict.fromkeys(_SAID, text.count("fdz_"))) + _lines_of(texts)
