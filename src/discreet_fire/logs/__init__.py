"""Logs of research data centres made safe to hand out.

In: a log of Stata, as text or SMCL (CONFIDENTIAL). Out: the same log without what tells
about single cases, a report of every change, findings for a person. `clean_log` works on
texts, `clean_log_file` on files, `CleaningRules` says what goes.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .cleaned_log import CleanedLog as CleanedLog
    from .cleaned_log import clean_log as clean_log
    from .cleaned_log import clean_log_file as clean_log_file
    from .cleaned_log import clean_log_files as clean_log_files
    from .cleaned_log import is_smcl as is_smcl
    from .lines import LogLine as LogLine
    from .lines import log_lines as log_lines
    from .outputs import blocks_of as blocks_of
    from .rules import MARK as MARK
    from .rules import CleaningRules as CleaningRules
    from .rules import RunEvidence as RunEvidence
    from .rules import signing_key as signing_key

lazy_face(__name__)
