"""Stored results that Stata has and the runner has not, and results of an earlier command.

In: a session after a command, or a name that is not stored. Out: no result of an earlier
command is left where Stata would replace it; a name that Stata would know stops the run
instead of standing for a missing value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.output_checking.running.errors import UnsupportedError

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Result, Session

__all__ = ["refuse_known", "settle_results"]

#: Commands that replace `r()`, even where nothing can be stored here.
_REPLACING = frozenset(
    ["summarize", "tabstat", "centile", "codebook", "count", "correlate", "pwcorr", "describe",
     "ds", "lookfor", "levelsof", "misstable", "tabulate", "tab1", "tab2", "table", "ttest",
     "xtdescribe", "xtsum", "duplicates", "histogram", "kdensity", "test", "testparm", "lincom",
     "pctile", "_pctile", "xtset", "tsset"]
)  # fmt: skip
_MODEL = (
    r"ll|ll_0|rank|N_clust|N_cds|N_cdf|vce|vcetype|clustvar|cmdline|title|model|predict|"
    r"properties|estat_cmd|wtype|wexp|k|k_eq|converged|rc|ic|chi2type|b|V|df_r|r2_a|mss"
)
#: Results of Stata by command, those that are stored here among them.
_OF_STATA = {
    "tabstat": r"Stat(Total|Mis|\d+)|name\d+", "correlate": r"C|cov_12|Var_[12]|rho",
    "pwcorr": r"C|sig", "centile": r"n_cent|[lu]b_\d+|c_\d+",
    "describe": r"width|sortlist|datalabel",
    "xtset": r"[it]m(in|ax)s?|tdelta|gaps|balanced|unit1?|tsfmt",
    "tsset": r"[it]m(in|ax)s?|tdelta|gaps|balanced|unit1?|tsfmt", "misstable": r"\w+",
    "codebook": r"\w+", "table": r"\w+", "xtdescribe": r"\w+", "xtsum": r"\w+",
    "histogram": r"bin|width|start|area", "kdensity": r"bwidth|n|width|scale",
    "ttest": r"(N|mu|sd)_[12]|sd|t|p|p_[lu]|se|df_t", "duplicates": r"sum",
    "regress": rf"{_MODEL}|r2|F|rmse|rss", "logit": rf"{_MODEL}|r2_p|chi2|p",
    "logistic": rf"{_MODEL}|r2_p|chi2|p", "probit": rf"{_MODEL}|r2_p|chi2|p",
    "mean": r"\w+", "proportion": r"\w+",
}  # fmt: skip
#: Commands that replace the last estimates without keeping a model.
_ESTIMATING = frozenset(("mean", "proportion"))


def settle_results(session: Session, name: str, before: dict[str, dict[str, Result]]) -> None:
    """Note which command the stored results are of.

    Args:
        session: The session after the command.
        name: The command.
        before: The stored results before it.
    """
    if name in _ESTIMATING:
        session.model = None
        session.store("e", {})
    if name in _REPLACING and session.stored["r"] is before["r"]:
        session.store("r", {})
    for kind in ("r", "e"):
        if session.stored[kind] is not before[kind]:
            session.origin[kind] = name


def refuse_known(session: Session, kind: str, name: str) -> None:
    """Stop where a result is not stored that Stata would have stored.

    Raises:
        UnsupportedError: It would be a number in Stata.
    """
    command = session.origin.get(kind, "")
    pattern = _OF_STATA.get(command)
    if pattern and re.fullmatch(pattern, name):
        raise UnsupportedError(f"{kind}({name}) of {command}")
