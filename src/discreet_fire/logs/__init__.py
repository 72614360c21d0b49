"""Logs of research data centres made safe to hand out.

In: a log of Stata, as text or SMCL (CONFIDENTIAL). Out: the same log without what tells
about single cases, a report of every change, findings for a person. `clean_log` works on
texts, `clean_log_file` on files, `CleaningRules` says what goes.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .cleaned_log import CleanedLog as CleanedLog
    from .cleaned_log import Correction as Correction
    from .cleaned_log import clean_log as clean_log
    from .log_files import CleanedFile as CleanedFile
    from .log_files import clean_log_file as clean_log_file
    from .log_files import clean_log_files as clean_log_files
    from .rules import CleaningRules as CleaningRules
    from .run_evidence import MARK as MARK
    from .run_evidence import RunEvidence as RunEvidence
    from .run_evidence import signing_key as signing_key

lazy_face(__name__)
