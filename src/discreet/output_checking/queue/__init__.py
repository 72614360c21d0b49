"""The review queue: submissions, findings, decisions, releases.

In: do-files and logs of researchers (CONFIDENTIAL). Out: folders of approved outputs, and a
sealed record of who decided what and why.
"""

from discreet.output_checking.queue.deciding import approve, ask_for_change, reject
from discreet.output_checking.queue.folder import Queue
from discreet.output_checking.queue.processing import (
    STAGES,
    Noted,
    Outcome,
    Submission,
    Work,
    process,
)
from discreet.output_checking.queue.recovering import open_queue
from discreet.output_checking.queue.releasing import release
from discreet.output_checking.queue.settings import Settings
from discreet.output_checking.queue.states import Standing, State
from discreet.output_checking.queue.submitting import submit
from discreet.output_checking.queue.verifying import head_of, verify
from discreet.output_checking.queue.viewing import listed, view

__all__ = [
    "STAGES",
    "Noted",
    "Outcome",
    "Queue",
    "Settings",
    "Standing",
    "State",
    "Submission",
    "Work",
    "approve",
    "ask_for_change",
    "head_of",
    "listed",
    "open_queue",
    "process",
    "reject",
    "release",
    "submit",
    "verify",
    "view",
]
