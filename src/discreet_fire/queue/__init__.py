"""The review queue: submissions, findings, decisions, releases.

In: do-files and logs of researchers (CONFIDENTIAL). Out: folders of approved outputs, and a
sealed record of who decided what and why.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .decisions import answer as answer
    from .decisions import approve as approve
    from .decisions import approve_subject as approve_subject
    from .decisions import ask as ask
    from .decisions import ask_for_change as ask_for_change
    from .decisions import decide as decide
    from .decisions import permit as permit
    from .decisions import reject as reject
    from .decisions import say as say
    from .folder import Queue as Queue
    from .parts import OutputPart as OutputPart
    from .record import OutputDecision as OutputDecision
    from .record import PartVerdict as PartVerdict
    from .record import Standing as Standing
    from .record import State as State
    from .releases import head_of as head_of
    from .releases import open_queue as open_queue
    from .releases import release as release
    from .releases import verify as verify
    from .settings import QueueSettings as QueueSettings
    from .stages import STAGES as STAGES
    from .stages import StageFinding as StageFinding
    from .stages import Submission as Submission
    from .stages import SubmissionOutcome as SubmissionOutcome
    from .stages import SubmissionWork as SubmissionWork
    from .stages import process as process
    from .submissions import submit as submit
    from .views import listed as listed
    from .views import view as view

lazy_face(__name__)
