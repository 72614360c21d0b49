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

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .centile import centile as centile
    from .codebook import codebook as codebook
    from .codebook import count as count
    from .codebook import inspect as inspect
    from .codebook import levelsof as levelsof
    from .correlate import correlate as correlate
    from .correlate import pwcorr as pwcorr
    from .histogram import histogram as histogram
    from .limits import SafeLimits as SafeLimits
    from .mean_tests import ttest as ttest
    from .models.binary import logit as logit
    from .models.binary import probit as probit
    from .models.regress import regress as regress
    from .models.utest import utest as utest
    from .panel import xtdescribe as xtdescribe
    from .panel import xtsum as xtsum
    from .results import Check as Check
    from .results import CheckVerdict as CheckVerdict
    from .results import OutputEvidence as OutputEvidence
    from .results import SafeResult as SafeResult
    from .summarize import summarize as summarize
    from .summarize import tabstat as tabstat
    from .table import table as table
    from .tabulate import tabulate as tabulate

lazy_face(__name__)
