"""Models as safe commands: `regress`, `logit`, `probit` and `utest`.

In: a frame and a model in Stata's notation. Out: `SafeResult`: the table of coefficients if no
rule is broken, else only that it is withheld, and why.
"""

from discreet_fire.statistics.models.binary import logit, probit
from discreet_fire.statistics.models.regress import regress
from discreet_fire.statistics.models.utest import utest

__all__ = ["logit", "probit", "regress", "utest"]
