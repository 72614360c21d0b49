"""Logs of research data centres made safe to hand out.

In: a log of Stata, as text or SMCL (CONFIDENTIAL). Out: the same log without what tells
about single cases, a report of every change, findings for a person. `clean_log` works on
texts, `clean_log_file` on files, `CleaningRules` says what goes.
"""

from discreet_fire.logs.cleaned_log import CleanedLog, Correction, clean_log
from discreet_fire.logs.log_files import CleanedFile, clean_log_file, clean_log_files
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.run_evidence import MARK, RunEvidence, signing_key

__all__ = [
    "MARK",
    "CleanedFile",
    "CleanedLog",
    "CleaningRules",
    "Correction",
    "RunEvidence",
    "clean_log",
    "clean_log_file",
    "clean_log_files",
    "signing_key",
]
