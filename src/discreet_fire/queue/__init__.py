"""The review queue: submissions, findings, decisions, releases.

In: do-files and logs of researchers (CONFIDENTIAL). Out: folders of approved outputs, and a
sealed record of who decided what and why.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .contents import StageFinding as StageFinding
    from .contents import check_contents as check_contents
    from .contents import content_problems as content_problems
    from .decisions import QueueRow as QueueRow
    from .decisions import QueueView as QueueView
    from .decisions import answer as answer
    from .decisions import approve as approve
    from .decisions import approve_subject as approve_subject
    from .decisions import ask as ask
    from .decisions import ask_for_change as ask_for_change
    from .decisions import confidential_figures as confidential_figures
    from .decisions import decide as decide
    from .decisions import links_if_held as links_if_held
    from .decisions import links_of as links_of
    from .decisions import listed as listed
    from .decisions import permit as permit
    from .decisions import reject as reject
    from .decisions import say as say
    from .decisions import view as view
    from .folder import ANSWERED as ANSWERED
    from .folder import ASKED as ASKED
    from .folder import MANIFEST as MANIFEST
    from .folder import SUMS as SUMS
    from .folder import Event as Event
    from .folder import OutputDecision as OutputDecision
    from .folder import PartVerdict as PartVerdict
    from .folder import Queue as Queue
    from .folder import QueueSettings as QueueSettings
    from .folder import Standing as Standing
    from .folder import State as State
    from .folder import SubmittedFile as SubmittedFile
    from .folder import events as events
    from .folder import queue_error as queue_error
    from .folder import submitted_files as submitted_files
    from .parts import OutputPart as OutputPart
    from .releases import folder_problem as folder_problem
    from .releases import head_of as head_of
    from .releases import open_queue as open_queue
    from .releases import release as release
    from .releases import target_of as target_of
    from .releases import verify as verify
    from .submissions import Submission as Submission
    from .submissions import SubmissionWork as SubmissionWork
    from .submissions import process as process
    from .submissions import submit as submit

lazy_face(__name__)
