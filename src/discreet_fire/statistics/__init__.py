"""Safe commands: statistics of microdata that may leave a research data centre.

Each command takes any frame narwhals reads and gives a `SafeResult`: the part of the
output that may be shown, laid out as Stata lays it out, checks in words, and evidence that
stays inside. The rules are in `SafeLimits`; p and k never appear in an output.

- Variables: `summarize`, `tabstat`, `codebook`, `centile`, `histogram`
- Tests: `ttest`
- Tables: `tabulate`, `table`, `count`, `levelsof`
- Relations: `correlate`, `pwcorr`
- Panels: `xtsum`, `xtdescribe`
- Models: `regress`, `logit`, `probit`, `utest`
- Refused: `inspect`
"""

from discreet_fire.statistics.centile import centile
from discreet_fire.statistics.codebook import codebook, count, inspect, levelsof
from discreet_fire.statistics.correlate import correlate, pwcorr
from discreet_fire.statistics.histogram import histogram
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.mean_tests import ttest
from discreet_fire.statistics.models import logit, probit, regress, utest
from discreet_fire.statistics.panel import xtdescribe, xtsum
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.summarize import summarize, tabstat
from discreet_fire.statistics.table import table
from discreet_fire.statistics.tabulate import tabulate

__all__ = [
    "Check",
    "CheckVerdict",
    "OutputEvidence",
    "SafeLimits",
    "SafeResult",
    "centile",
    "codebook",
    "correlate",
    "count",
    "histogram",
    "inspect",
    "levelsof",
    "logit",
    "probit",
    "pwcorr",
    "regress",
    "summarize",
    "table",
    "tabstat",
    "tabulate",
    "ttest",
    "utest",
    "xtdescribe",
    "xtsum",
]
