"""The review queue: submissions, findings, decisions, releases.

In: do-files and logs of researchers (CONFIDENTIAL). Out: folders of approved outputs, and a
sealed record of who decided what and why.
"""

from discreet_fire.queue.decisions import (
    answer,
    approve,
    approve_subject,
    ask,
    ask_for_change,
    decide,
    permit,
    reject,
    say,
)
from discreet_fire.queue.folder import Queue
from discreet_fire.queue.parts import OutputPart
from discreet_fire.queue.record import OutputDecision, PartVerdict, Standing, State
from discreet_fire.queue.releases import head_of, open_queue, release, verify
from discreet_fire.queue.settings import QueueSettings
from discreet_fire.queue.stages import (
    STAGES,
    StageFinding,
    Submission,
    SubmissionOutcome,
    SubmissionWork,
    process,
)
from discreet_fire.queue.submissions import submit
from discreet_fire.queue.views import listed, view

__all__ = [
    "STAGES",
    "OutputPart",
    "OutputDecision",
    "PartVerdict",
    "Queue",
    "QueueSettings",
    "StageFinding",
    "Standing",
    "State",
    "Submission",
    "SubmissionOutcome",
    "SubmissionWork",
    "answer",
    "approve",
    "approve_subject",
    "ask",
    "ask_for_change",
    "decide",
    "head_of",
    "listed",
    "open_queue",
    "permit",
    "process",
    "reject",
    "release",
    "say",
    "submit",
    "verify",
    "view",
]
