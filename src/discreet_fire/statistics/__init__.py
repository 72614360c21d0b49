"""Safe commands: statistics of microdata that may leave a research data centre.

Each command takes any frame narwhals reads and gives a `SafeResult`: the part of the
output that may be shown, laid out as Stata lays it out, checks in words, and evidence that
stays inside. The rules are in `SafeLimits`; p and k never appear in an output.

- Variables: `summarize`, `tabstat`, `codebook`, `centile`, `histogram`
- Tests: `ttest`
- Tables: `tabulate`, `table`, `count`, `levelsof`
- Relations: `correlate`, `pwcorr`
- Over time: `xtsum`, `xtdescribe`, `survival`
- Models: `regress`, `logit`, `probit`, `utest`
- Refused: `inspect`
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .disclosure_rules import borderline_facts as borderline_facts
    from .disclosure_rules import concentrated as concentrated
    from .disclosure_rules import counts_to_hide as counts_to_hide
    from .grouped_values import GroupedValues as GroupedValues
    from .grouped_values import percentile as percentile
    from .layout import Grid as Grid
    from .layout import closed as closed
    from .layout import count_text as count_text
    from .layout import fixed as fixed
    from .layout import general as general
    from .layout import legend as legend
    from .layout import number_text as number_text
    from .layout import refused_line as refused_line
    from .layout import round_step as round_step
    from .limits import LANGUAGES as LANGUAGES
    from .limits import SafeLimits as SafeLimits
    from .limits import limits_of as limits_of
    from .models.commands import logit as logit
    from .models.commands import probit as probit
    from .models.commands import regress as regress
    from .models.commands import utest as utest
    from .models.design import Factor as Factor
    from .models.design import Term as Term
    from .models.design import parse_terms as parse_terms
    from .panel import MEASURES as MEASURES
    from .panel import survival as survival
    from .panel import xtdescribe as xtdescribe
    from .panel import xtsum as xtsum
    from .records import OTHER as OTHER
    from .records import in_memory as in_memory
    from .records import take as take
    from .relations import correlate as correlate
    from .relations import pwcorr as pwcorr
    from .relations import ttest as ttest
    from .results import Check as Check
    from .results import CheckVerdict as CheckVerdict
    from .results import OutputEvidence as OutputEvidence
    from .results import SafeResult as SafeResult
    from .results import worst as worst
    from .suppression import SumTable as SumTable
    from .suppression import count_levels as count_levels
    from .suppression import margins_of as margins_of
    from .suppression import with_margins as with_margins
    from .tables import count as count
    from .tables import levelsof as levelsof
    from .tables import table as table
    from .tables import tabulate as tabulate
    from .variables import centile as centile
    from .variables import codebook as codebook
    from .variables import histogram as histogram
    from .variables import inspect as inspect
    from .variables import summarize as summarize
    from .variables import tabstat as tabstat

lazy_face(__name__)
