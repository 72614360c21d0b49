"""Safe commands: statistics of microdata that may leave a research data centre.

Each command takes any frame narwhals reads and gives a `SafeResult`: the part of the
output that may be shown, laid out as Stata lays it out, checks in words, and evidence that
stays inside. The rules are in `SafeLimits`; p and k never appear in an output.

- Variables: `summarize`, `tabstat`, `codebook`, `centile`, `histogram`
- Tables: `tabulate`, `table`, `count`, `levelsof`
- Relations: `correlate`, `pwcorr`
- Panels: `xtsum`, `xtdescribe`
- Models: `regress`, `logit`, `probit`, `utest`
- Refused: `inspect`
"""

from discreet.output_checking.safe.centile import centile
from discreet.output_checking.safe.codebook import codebook
from discreet.output_checking.safe.correlate import correlate, pwcorr
from discreet.output_checking.safe.counting import count, inspect, levelsof
from discreet.output_checking.safe.histogram import histogram
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.models import logit, probit, regress, utest
from discreet.output_checking.safe.panel import xtsum
from discreet.output_checking.safe.panel_pattern import xtdescribe
from discreet.output_checking.safe.results import Check, Evidence, SafeResult, Verdict
from discreet.output_checking.safe.summarize import summarize, tabstat
from discreet.output_checking.safe.table import table
from discreet.output_checking.safe.tabulate import tabulate

__all__ = [
    "Check",
    "Evidence",
    "SafeLimits",
    "SafeResult",
    "Verdict",
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
    "utest",
    "xtdescribe",
    "xtsum",
]
