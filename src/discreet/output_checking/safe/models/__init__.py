"""Models as safe commands: `regress`, `logit`, `probit` and `utest`.

In: a frame and a model in Stata's notation. Out: `SafeResult`: the table of coefficients if no
rule is broken, else only that it is withheld, and why.
"""

from discreet.output_checking.safe.models.binary import logit, probit
from discreet.output_checking.safe.models.regress import regress
from discreet.output_checking.safe.models.utest import utest

__all__ = ["logit", "probit", "regress", "utest"]
