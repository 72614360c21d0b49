"""Models as safe commands: `regress`, `logit`, `probit` and `utest`.

In: a frame and a model in Stata's notation. Out: `SafeResult`: the table of coefficients if no
rule is broken, else only that it is withheld, and why.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .commands import logit as logit
    from .commands import probit as probit
    from .commands import regress as regress
    from .commands import utest as utest

lazy_face(__name__)
