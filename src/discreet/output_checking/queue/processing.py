"""Stages that a submission goes through: rewrite, run, clean.

In: a submission and a folder to work in. Out: an `Outcome` with outputs for release and
everything an officer must know. A stage is a function; others can be put in their place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.output_checking.findings import Finding, Severity
from discreet.output_checking.ledger import UnitKey, Universe, read_universe
from discreet.output_checking.policy import Policy
from discreet.output_checking.queue.errors import queue_error
from discreet.output_checking.queue.intake import copied, taken
from discreet.output_checking.queue.noting import take_down
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.sanitising import CleaningRules, clean_log_file
from discreet.output_checking.submission import rewrite_files

__all__ = ["STAGES", "Noted", "Outcome", "Stage", "Submission", "Work", "process"]


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What a researcher hands in, and how it is to be processed.

    Args:
        program: A do-file, or a folder with one.
        researcher: Who hands it in.
        project: What for.
        main: Which do-file of the folder is to be run.
        data: Microdata that it runs on. CONFIDENTIAL.
        log: The log, if the program ran elsewhere. CONFIDENTIAL.
        universes: Files of the units that outputs are about. CONFIDENTIAL.
        unit: The variable that says which person or firm a record is about.
        policy: What becomes of commands; the rules of the package if None.
        limits: The rules of output checking.
        rules: What is taken out of logs; the rules of the package if None.
        seconds: How long the program may run.
    """

    program: Path
    researcher: str
    project: str = ""
    main: str | None = None
    data: tuple[Path, ...] = ()
    log: Path | None = None
    universes: tuple[Path, ...] = ()
    unit: str | None = None
    policy: Policy | None = None
    limits: SafeLimits | None = field(default=None, repr=False)
    rules: CleaningRules | None = field(default=None, repr=False)
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.log is not None and self.data:
            hint = "give the data to run it here, or the log of a run elsewhere"
            raise queue_error("both a log and data were named", "submission", "", hint)
        if self.log is None and not self.data:
            hint = "name the data with --data, or the log of a run elsewhere with --log"
            raise queue_error("neither data nor a log were named", "submission", "", hint)
        for path in (*self.data, *self.universes, *([] if self.log is None else [self.log])):
            if not path.is_file():
                raise queue_error("there is no such file", "submission", str(path))


@dataclass(frozen=True, kw_only=True)
class Noted:
    """A finding of a stage, about a file. It never quotes a figure of the data."""

    stage: str
    file: str
    line: int
    severity: Severity
    rule: str
    what: str
    hint: str = ""

    @classmethod
    def of(cls, stage: str, file: str, finding: Finding | Mapping[str, Any]) -> Noted:
        """A finding of the rewriter, the runner or the log cleaner."""
        plain = finding.to_dict() if isinstance(finding, Finding) else finding
        return cls(
            stage=stage,
            file=file,
            line=int(plain["line"]),
            severity=Severity(plain["severity"]),
            rule=str(plain["rule"]),
            what=_printable(str(plain["what"])),
            hint=_printable(str(plain.get("hint", ""))),
        )


def _printable(text: str) -> str:
    """A text that cannot command the officer's screen, whatever a program holds."""
    return "".join(one if one.isprintable() else "?" for one in text)


@dataclass(kw_only=True, repr=False)
class Work:
    """A submission on its way (confidential).

    Args:
        submission: What was handed in.
        folder: Where its files are; ``program`` holds the copy of what was handed in.
        program: The do-file, its rewritten form once there is one.
        key: What digests of units are made with.
        size: The minimum of the ledger.
        log: The log, once there is one.
        outputs: What may be released, once it is approved.
        findings: What an officer must know.
        universes: Whom outputs are about.
        stopped: Whether later stages have nothing to work on.
    """

    submission: Submission
    folder: Path
    program: Path
    key: UnitKey
    size: int
    log: Path | None = None
    outputs: list[Path] = field(default_factory=list)
    findings: list[Noted] = field(default_factory=list)
    universes: list[Universe] = field(default_factory=list)
    stopped: bool = False

    def note(self, stage: str, rule: str, severity: Severity, what: str, hint: str = "") -> None:
        """Note something about the whole submission."""
        self.findings.append(
            Noted(
                stage=stage,
                file=self.program.name,
                line=0,
                severity=severity,
                rule=rule,
                what=_printable(what),
                hint=hint,
            )
        )


Stage = Callable[[Work], None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome:
    """What the stages gave (confidential until it is released).

    Args:
        program: The copy of the do-file as it was handed in.
        outputs: Files for release.
        findings: What an officer must know.
        universes: Whom outputs are about.
    """

    program: Path
    outputs: tuple[Path, ...]
    findings: tuple[Noted, ...]
    universes: tuple[Universe, ...]


def rewrite(work: Work) -> None:
    """Put safe commands in place of unsafe ones."""
    done = rewrite_files([work.program], policy=work.submission.policy)
    for one in done:
        name = os.path.relpath(one.source, work.folder / "program")
        work.findings += [Noted.of("rewrite", name, finding) for finding in one.findings]
    main = done[0]  # the one that was named, or the original of a result that was named
    if main.output is None:
        work.stopped = True
    else:
        work.program = main.output


def run(work: Work) -> None:
    """Run the rewritten program on the data, or take the log of a run elsewhere."""
    submission = work.submission
    target = work.folder / "log"
    target.mkdir(mode=0o700)
    if submission.log is not None:
        work.log = copied(submission.log, target / submission.log.name)
        return
    from discreet.output_checking.running.running import run_do, write_run

    result = run_do(
        work.program,
        data=submission.data,
        limits=submission.limits,
        entity=submission.unit,
        seconds=submission.seconds,
        witness=lambda told: take_down(work, told),
    )
    work.findings += [Noted.of("run", work.program.name, one) for one in result.findings]
    work.log = write_run(result, target)["log"]


def clean(work: Work) -> None:
    """Take out of the log what tells about single cases."""
    if work.log is None:
        return
    target = work.folder / "outputs"
    target.mkdir(mode=0o700)
    name = work.log.with_stem(work.log.stem.removesuffix("_FiRe") or work.log.stem).name
    done = clean_log_file(work.log, rules=work.submission.rules, out=target / name)
    found = done.described["findings"]
    work.findings += [
        Noted.of("clean", name, finding)
        for finding in found
        if not (work.submission.log is None and _is_head(work.log, finding))
    ]
    if done.out is not None:
        work.outputs.append(done.out)


def _is_head(log: Path, finding: Mapping[str, Any]) -> bool:
    """Whether a doubt is about the lines that the runner puts above its log."""
    rule = "-" * 79
    lines = log.read_text(encoding="utf-8").split("\n")[1:60]
    end = lines.index(rule) + 2 if rule in lines else 0
    return finding["rule"] == "unknown-output" and int(finding["line"]) <= end


def note_universes(work: Work) -> None:
    """Take down whom the outputs are about."""
    submission = work.submission
    for path in submission.universes:
        work.universes.append(
            read_universe(path, unit=submission.unit, key=work.key, size=work.size)
        )
    if work.outputs and not work.universes:
        what = "whom the outputs are about is not known; differences to others are not checked"
        hint = "hand in the identifiers of the units with --universe"
        work.note("ledger", "no-universe", Severity.REVIEW, what, hint)


#: What a submission goes through, in order.
STAGES: tuple[Stage, ...] = (rewrite, run, clean, note_universes)


def process(
    submission: Submission,
    folder: Path,
    *,
    key: UnitKey,
    size: int = 10,
    stages: Sequence[Stage] = STAGES,
) -> Outcome:
    """Let a submission go through all stages.

    Args:
        submission: What was handed in.
        folder: An empty private folder to work in.
        key: What digests of units are made with.
        size: The smallest number of units by which universes may differ.
        stages: What it goes through; a stage that finds nothing to work on ends it.
    """
    copy = taken(submission.program, folder / "program", submission.main)
    work = Work(submission=submission, folder=folder, program=copy, key=key, size=size)
    for stage in stages:
        if not work.stopped:
            stage(work)
    if not work.outputs:
        what = "there is no output that could be released"
        work.note("queue", "no-output", Severity.ERROR, what, "look at the other findings")
    return Outcome(
        program=copy,
        outputs=tuple(work.outputs),
        findings=tuple(work.findings),
        universes=tuple(work.universes),
    )
