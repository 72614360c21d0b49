"""Models and their results: `regress`, `logit`, `utest`, `predict`, `estimates`, `esttab` …

In: calls. Out: safe tables of coefficients in the log; the model for later commands, models kept
by name, tables of coefficients that were shown. Of a model that is withheld nothing is kept but
its sample. CONFIDENTIAL.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from math import erf, sqrt
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet_fire.runners.builtin.data.dataset import DataVariable
from discreet_fire.runners.builtin.disclosure.record_counts import put_numbers
from discreet_fire.runners.builtin.disclosure.units import few
from discreet_fire.runners.builtin.fitted_models import (
    SAMPLE,
    FittedModel,
    ModelTerms,
    check_factors,
    terms_of,
)
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.values import MISSING, NUMBER_TYPES
from discreet_fire.runners.builtin.names import one_value
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import (
    ChosenRecords,
    choose,
    quotes_single_values,
    run_statistic,
    selected,
    show,
)
from discreet_fire.runners.builtin.state.parts import StoredResult
from discreet_fire.runners.builtin.state.session import WITHHELD, Session
from discreet_fire.statistics import Check, CheckVerdict, Grid, SafeResult, general

#: Groups of `by` whose models are withheld together have at least so many observations.
_TOGETHER = 20


@command("utest")
def utest(session: Session, call: CommandCall) -> None:
    """`utest x x2`: after `regress y x x2 …`; refitted with the square of x itself."""
    if quotes_single_values(session, call, "min", "max"):
        return
    model = session.results.model
    names = session.data.listed(call.head)
    if model is None or model.command != "regress":
        raise DoError("utest needs the results of regress", code=301)
    DoError.when(len(names) != 2, "utest takes a variable and its square", code=102)
    sample = model.sample
    if sample is None:
        raise DoError("the sample of the last model is no longer in the data", code=301)
    rows = sample == 1
    first, second = (session.data.variables[name].values[rows] for name in names)
    unlike = rows.copy()
    unlike[rows] = ~np.isclose(second, first * first, rtol=1e-6)
    if unlike.any():
        error = UnsupportedError("utest with a second variable that is not the square of the first")
        error.redacted = few(session, unlike)
        raise error
    controls = [word for word in model.terms.words[1:] if word not in names]
    UnsupportedError.when(model.terms.shifted, "utest with lagged variables")
    if "[" in model.result.command or "vce(" in model.result.command:
        raise UnsupportedError("utest after weights or other standard errors")
    chosen = choose(session, call, model.terms.needed, mask=rows)
    interval = tuple(call.number(end, 0.0) if call.has(end) else None for end in ("min", "max"))
    arguments: dict[str, Any] = {"interval": interval, "entity": chosen.entity}
    arguments |= {"fieller": call.has("fieller"), "level": call.number("level", 95.0)}
    result = run_statistic(
        session, "utest", chosen.frame, model.outcome, names[0], controls, **arguments
    )
    if result is not None:
        session.store("r", {}, safe=show(session, result, chosen, model.terms.needed))


@command("regress logit logistic probit")
def model(session: Session, call: CommandCall) -> None:
    """`[by …:] regress y [terms] [if] [in] [weight] [, robust vce(cluster x) noconstant or]`."""
    words = required(call.head.split(None, 1))
    UnsupportedError.when(words[0].startswith("("), f"several equations with {call.name}")
    terms = terms_of(session, call.head)
    outcome, *right = terms.words
    if "#" in outcome or outcome.startswith(("i.", "ib")):
        raise DoError("the outcome may not be a factor variable", code=198)
    outcome = outcome.removeprefix("c.")
    if quotes_single_values(session, call, "level"):
        return
    options = _options(session, call)
    used = selected(session, call)
    parts = (terms, outcome, right)
    if call.groups is not None:
        _by_groups(session, call, parts, options, used)
        return
    chosen, result = _fitted(session, call, parts, options, used)
    _keep(session, call.name, parts, chosen, result)
    if result is not None:
        _show(session, call, chosen, terms, result)


def _weight_kind(call: CommandCall) -> str:
    """What `[weight=…]` means for a model."""
    return "aweight" if call.name == "regress" else "fweight"


_Parts = tuple[ModelTerms, str, list[str]]


def _fitted(
    session: Session, call: CommandCall, parts: _Parts, options: dict[str, Any], rows: BoolArray
) -> tuple[ChosenRecords, SafeResult | None]:
    """Fit a safe model to some observations."""
    terms, outcome, right = parts
    check_factors(session, right, rows)
    cluster = options.get("cluster")
    names = [*terms.needed, *([cluster] if cluster else [])]
    default = _weight_kind(call)
    chosen = choose(session, call, names, more=terms.more, default=default, repeat=False, mask=rows)
    arguments = {**chosen.options, **options, "earlier": session.results.fitted[-50:]}
    result = run_statistic(session, call.name, chosen.frame, outcome, right, **arguments)
    if result is not None:
        text = re.sub(r"\[(\w+)=[^\]]*\]", r"[\1=…]", result.command)
        result = replace(result, command=text)
    return chosen, result


def _options(session: Session, call: CommandCall) -> dict[str, Any]:
    """Options of a safe model."""
    options: dict[str, Any] = {"robust": call.has("robust"), "constant": not call.has("noconstant")}
    cluster = call.argument("cluster")
    vce = (call.argument("vce") or "").split()
    if vce and vce[0] in ("cl", "clu", "clus", "clust", "cluste", "cluster"):
        cluster = " ".join(vce[1:])
    elif vce and vce[0] in ("r", "ro", "rob", "robu", "robus", "robust"):
        options["robust"] = True
    elif vce and vce[0] not in ("ols", "oim"):
        raise UnsupportedError(f"vce({vce[0]}) of {call.name}")
    if cluster is not None:
        names = session.data.listed(cluster)
        DoError.when(len(names) != 1, "one variable makes clusters", code=198)
        options["cluster"] = names[0]
    if call.has("level"):
        options["level"] = call.number("level", 95.0)
    if call.weight is not None:
        kind = call.weight.kind if call.weight.kind != "weight" else _weight_kind(call)
        options["weight_kind"] = kind
    return options


def _keep(
    session: Session, name: str, parts: _Parts, chosen: ChosenRecords, result: SafeResult | None
) -> None:
    """Keep a model for later commands, with its sample, which goes with the observations."""
    terms, outcome, _ = parts
    rows = chosen.mask.copy()
    for one in set(terms.needed) - {of for _, of in terms.shifted.values()}:
        rows &= session.data.variables[one].values < MISSING
    for values in terms.more.values():
        rows &= values < MISSING
    session.data.hidden[SAMPLE] = DataVariable(rows.astype(np.float64), "byte")
    _forget(session)
    if result is None:
        return
    session.results.fitted.append(result)
    session.results.model = FittedModel(
        session=session, command=name, outcome=outcome, terms=terms, result=result
    )
    session.store("e", {"N": float(rows.sum())}, safe=result)
    session.results.stored["e"]["cmd"] = StoredResult(name, safe=True)
    session.results.stored["e"]["depvar"] = StoredResult(outcome, safe=True)


def _forget(session: Session) -> None:
    session.results.model = None
    session.store("e", {})


def _show(
    session: Session,
    call: CommandCall,
    chosen: ChosenRecords,
    terms: ModelTerms,
    result: SafeResult,
) -> None:
    """Show a model; nothing of it may be used if it is not shown."""
    odds = call.name == "logistic" or call.has("or")
    if odds and "values" in result.evidence:
        result = replace(result, shown=f"{result.shown}\n\n{_odds(result)}")
    if show(session, result, chosen, terms.needed) is None:
        _forget(session)


def _odds(result: SafeResult) -> str:
    """Odds ratios of a logit model."""
    assert result.frame is not None
    rows = []
    for row in result.frame.filter(result.frame["coefficient"].is_not_null()).to_dicts():
        ratio = float(np.exp(row["coefficient"]))
        error = ratio * row["std_err"] if row["std_err"] is not None else None
        ends = [None if row[end] is None else float(np.exp(row[end])) for end in ("low", "high")]
        rows.append((row["term"], [general(one) for one in (ratio, error, *ends)]))
    heads = ["Odds ratio", "Std. err.", "[conf.", "interval]"]
    return str(Grid(stub="", heads=heads, blocks=[rows]))


def _by_groups(
    session: Session, call: CommandCall, parts: _Parts, options: dict[str, Any], used: BoolArray
) -> None:
    """`by …:` one model for each group.

    Where models are withheld, so are others, until those withheld are enough together: the
    moments of one group are those of all less those of the others.
    """
    assert call.groups is not None
    starts = call.groups.starts
    fitted: list[tuple[str, ChosenRecords, SafeResult | None]] = []
    for first, end in itertools.pairwise(starts):
        rows = np.zeros(session.data.rows, dtype=np.bool_)
        rows[first:end] = used[first:end]
        try:
            chosen, result = _fitted(session, call, parts, options, rows)
        except DoError as error:
            if error.rc != 2000:
                raise
            continue
        fitted.append((_title(session, call.by, int(first), chosen), chosen, result))
        if result is not None:
            session.results.fitted.append(result)
    hidden = _hidden(fitted)
    if any(title == WITHHELD for title, _, _ in fitted):
        # One line for all of them: how many there are may hang on what one person has.
        session.write("\n-> groups of few")
        session.withhold(call.name, "minimum", "groups are of too few cases")
    for at, (title, chosen, result) in enumerate(fitted):
        if title == WITHHELD:
            continue
        session.write(f"\n-> {title}")
        if result is None:
            continue
        if at in hidden and "values" in result.evidence:
            reason = "with it, the model of another group could be worked out"
            session.withhold(result.command, "secondary", reason)
        else:
            _show(session, call, chosen, parts[0], result)
    _forget(session)


def _hidden(fitted: Sequence[tuple[str, ChosenRecords, SafeResult | None]]) -> set[int]:
    results = [result for _, _, result in fitted]
    hidden = {at for at, one in enumerate(results) if one is None or "values" not in one.evidence}
    sizes = [chosen.frame.height for _, chosen, _ in fitted]
    left = sorted((size, at) for at, size in enumerate(sizes) if at not in hidden) if hidden else []
    while left and (len(hidden) < 2 or sum(sizes[at] for at in hidden) < _TOGETHER):
        hidden.add(left.pop(0)[1])
    return hidden


def _title(session: Session, names: Sequence[str], row: int, chosen: ChosenRecords) -> str:
    """The name of a group; not of a group of few, which are known by it."""
    entity = chosen.entity
    cases = chosen.frame.height if entity is None else chosen.frame[entity].n_unique()
    if cases < session.limits.minimum:
        return WITHHELD
    parts = []
    for name in names:
        value = session.data.variables[name].values[row]
        text = value if isinstance(value, str) else "." if value >= MISSING else f"{value:g}"
        parts.append(f"{name} = {text}")
    return ", ".join(parts)


@command("predict")
def predict(session: Session, call: CommandCall) -> None:
    """`predict [type] name [if] [in] [, xb residuals stdp pr]`."""
    words = call.head.split()
    kind = words.pop(0) if words and words[0] in NUMBER_TYPES else "float"
    DoError.when(len(words) != 1, "predict takes one new variable", code=198)
    name = words[0]
    session.data.check_new(name)
    model = required(session.results.model, "last estimates not found", code=301)
    binary_model = model.command != "regress"
    statistics = [word for word in ("xb", "residuals", "stdp", "pr") if call.has(word)]
    DoError.when(len(statistics) > 1, "only one statistic may be specified", code=198)
    message = statistics[0] if statistics else "pr" if binary_model else "xb"
    if (message == "pr") != binary_model and message in ("pr", "residuals"):
        raise UnsupportedError(f"predict, {message} after {model.command}")
    values = _predicted(session, model, message)
    rows = selected(session, call)
    column = np.where(rows & np.isfinite(values), values, MISSING)
    put_numbers(session, name, column, kind, [model.outcome, *model.terms.needed])


def _predicted(session: Session, model: FittedModel, statistic: str) -> FloatArray:
    if statistic == "stdp":
        _, covariance = model.fitted()
        columns = model.columns()
        squares = np.einsum("ij,jk,ik->i", columns, covariance, columns)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)
    linear = model.linear()
    if statistic == "pr":
        if model.command == "probit":
            shares = [0.5 * (1 + erf(one / sqrt(2))) for one in linear.tolist()]
            return np.array(shares, dtype=np.float64)
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-linear)), dtype=np.float64)
    if statistic == "residuals":
        name = model.outcome
        UnsupportedError.when(name in model.terms.shifted, "residuals of a lagged outcome")
        values = session.data.named(name).values
        return np.asarray(np.where(values >= MISSING, np.nan, values) - linear, dtype=np.float64)
    return linear


def noted(command: str, shown: str, stored: dict[str, float]) -> SafeResult:
    """Something worked out from coefficients that were shown."""
    check = Check(rule="model", verdict=CheckVerdict.passed, reason="from a model that is shown")
    return SafeResult(command=command, shown=shown, stored=stored, checks=[check])


_SHOWN = ("N", "r2", "r2_p", "ll", "N_clust")
_STORED = re.compile(r"e\((b|V)\)\Z")


@command("estimates")
def estimates(session: Session, call: CommandCall) -> None:
    """`estimates store name`, `restore`, `drop`, `clear`, `table [names]`."""
    words = call.text.split(",")[0].split()
    action, names = (words[0], words[1:]) if words else ("", [])
    if action in ("store", "sto"):
        DoError.when(len(names) != 1, "estimates store takes a name", code=198)
        _store(session, names[0])
    elif action in ("restore", "res"):
        if len(names) != 1 or names[0] not in session.results.estimates:
            raise DoError("estimation result not found", code=111)
        session.results.model, stored = session.results.estimates[names[0]]
        session.results.stored["e"] = dict(stored)
    elif action == "clear" or (action == "drop" and names == ["_all"]):
        session.results.estimates.clear()
    elif action == "drop":
        for name in names:
            session.results.estimates.pop(name, None)
    elif action in ("table", "tab"):
        _table(session, names, "estimates table")
    else:
        raise UnsupportedError(f"estimates {action}")


def _store(session: Session, name: str) -> None:
    UnsupportedError.when(session.trace.touched, "a name that holds single values of the data")
    model = required(session.results.model, "last estimates not found", code=301)
    key = f"sample of {name}"
    session.data.hidden[key] = session.data.hidden[SAMPLE]
    stored = dict(session.results.stored["e"])
    session.results.estimates[name] = (replace(model, key=key), stored)


def _table(session: Session, names: list[str], command_name: str) -> None:
    """Coefficients and standard errors of models side by side."""
    wanted: dict[str, tuple[FittedModel, dict[str, StoredResult]]] = {}
    stored = list(session.results.estimates) if command_name == "esttab" else []
    for name in names or stored or ["."]:
        if name == "." and session.results.model is not None:
            wanted["Active"] = session.results.model, session.results.stored["e"]
        elif name == ".":
            continue
        elif name in ("*", "_all"):
            wanted |= session.results.estimates
        elif name in session.results.estimates:
            wanted[name] = session.results.estimates[name]
        else:
            raise DoError("estimation result not found", code=111)
    DoError.when(not wanted, "no estimation results are stored", code=301)
    labels: dict[str, None] = {}
    for model, _ in wanted.values():
        labels |= dict.fromkeys(label for label in model.labels if label != "_cons")
    rows = []
    for label in [*labels, "_cons"]:
        pairs = [_pair(model, label) for model, _ in wanted.values()]
        rows.append((label, [general(value) if value is not None else "" for value, _ in pairs]))
        errors = ["" if error is None else f"({general(error)})" for _, error in pairs]
        rows.append(("", errors))
    more = []
    for name in _SHOWN:
        cells = [stored.get(name) for _, stored in wanted.values()]
        if any(cell is not None and cell.safe for cell in cells):
            more.append((name, [_cell(cell) for cell in cells]))
    grid = Grid(stub="", heads=list(wanted), blocks=[rows, more] if more else [rows])
    session.show(noted(command_name, str(grid), {}))


def _cell(result: StoredResult | None) -> str:
    if result is None:
        return ""
    return general(float(result.value), 10) if result.safe else "."


def _pair(model: FittedModel, label: str) -> tuple[float | None, float | None]:
    if label not in model.labels:
        return None, None
    return model.coefficient("b", label), model.coefficient("se", label)


@command("eststo")
def eststo(session: Session, call: CommandCall) -> None:
    """`eststo [name]`, `eststo clear`, `eststo: regress …`."""
    words = call.text.split(",")[0].split()
    if words == ["clear"]:
        session.results.estimates.clear()
        return
    _store(session, words[0] if words else f"est{len(session.results.estimates) + 1}")


@command("esttab")
def esttab(session: Session, call: CommandCall) -> None:
    """`esttab [names]`; options change nothing of what is shown, `using` is not supported."""
    words = call.text.split(",")[0].split()
    UnsupportedError.when("using" in words, "esttab using")
    if "," in call.text:
        session.note("(options of esttab do not change what is shown here)")
    _table(session, words, "esttab")


@command("ereturn sreturn")
def ereturn(session: Session, call: CommandCall) -> None:
    """`ereturn list` is withheld."""
    if call.text.split(",")[0].split()[:1] not in (["list"], ["li"], ["l"]):
        raise UnsupportedError(f"{call.name}, but for list")
    session.withhold(f"{call.name} list", "refused", "stored results may be single values")


@command("matrix")
def matrix(session: Session, call: CommandCall) -> None:
    r"""`matrix A = e(b)`, `= e(V)`, `= (1, 2 \ 3, 4)`, `= B`, `matrix drop A`."""
    words = call.text.split()
    if words[:1] in (["list"], ["li"], ["l"], ["dir"]):
        session.withhold("matrix list", "refused", "matrices may hold single values")
        return
    if words[:1] == ["drop"]:
        for name in words[1:]:
            session.results.matrices.pop(name, None)
        return
    text = re.sub(r"\A(?:def(?:ine|in|i)?|inp(?:ut|u)?)\s+", "", call.text.strip())
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise UnsupportedError("matrix, but for define, drop and list")
    stored = _STORED.match(value)
    if stored:
        session.trace.touch("e()" in session.trace.whole)
        model = required(session.results.model, "last estimates not found", code=301)
        values, covariance = model.fitted()
        session.results.matrices[name] = values[None, :] if stored[1] == "b" else covariance
    elif value in session.results.matrices:
        session.results.matrices[name] = session.results.matrices[value]
        session.trace.touch(value in session.trace.matrices)
    elif value.startswith("(") and value.endswith(")"):
        session.results.matrices[name] = _literal(session, value[1:-1])
    else:
        raise UnsupportedError("an expression of matrices")
    session.trace.mark(session.trace.matrices, name)


def _literal(session: Session, text: str) -> FloatArray:
    rows = [[one_value(session, cell) for cell in row.split(",")] for row in text.split("\\")]
    if len({len(row) for row in rows}) != 1 or any(isinstance(x, str) for r in rows for x in r):
        raise DoError("conformability error", code=503)
    return np.array(rows, dtype=np.float64)
