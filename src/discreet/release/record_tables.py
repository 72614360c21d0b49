"""`RecordTable`: one table straight from records, judged by rules. CONFIDENTIAL, rules SECRET.

In: records, what spans the table, its values, and rules as a programme states them: texts
such as "p=10", or a TOML file with the keys of [rules.NAME]. Out: the table with what rules
find in each of its values, to be handed to `SharedSuppression`. Rules are never quoted.
"""

from __future__ import annotations

import os
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from discreet.classifications import TOTAL, Classification
from discreet.confidential import without_values
from discreet.errors import (
    DiscreetError,
    MicrodataError,
    Problem,
    SuppressionError,
    nearest,
    raise_all,
)
from discreet.protection.protocol import all_of
from discreet.record_batches import collected
from discreet.release.programme.rule_sections import RuleSetEntry
from discreet.rules import Primary, RuleSet, known_rules, read_bounds, rule_filters, rule_problems
from discreet.tables import Spanning, Table, ValueRelation, code_texts, to_polars

if TYPE_CHECKING:
    import polars as pl

    from discreet.protection.suppression import SharedSuppression

#: Short names of rules on the command line.
SHORT_NAMES = {"n": "minimum_frequency", "p": "p_percent", "nk": "dominance", "zero": "zeros"}


def rules_from(
    texts: Sequence[str] = (),
    file: str | os.PathLike[str] | None = None,
    *,
    missing_safe: bool = False,
    waivers: str | None = None,
) -> RuleSet:
    """Rules as texts, those of a file, or both.

    Args:
        texts: A rule each: its name or short name, its numbers, and further keys: "p=10",
            "nk=2,85", "n=3,per=holding", "request,percent=30,where=asked == 'yes'".
        file: A TOML file with the keys of [rules.NAME] in programmes.
        missing_safe: No rule marks a cell of a missing category.
        waivers: Filter of the records whose units have consented to be shown.

    >>> rules_from(["p=10", "nk=2,85"]).contributions
    2
    """
    stated: dict[str, Any] = {}
    try:
        stated = {} if file is None else tomllib.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        message = f"the file of rules cannot be read ({error.strerror})"
        raise SuppressionError(message, code="rules", where=str(file)) from None
    except (ValueError, RecursionError):
        message = "the file of rules is not TOML"
        hint = "write the keys of [rules.NAME], such as p_percent = 10"
        raise SuppressionError(message, code="rules", where=str(file), hint=hint) from None
    problems = []
    for number, text in enumerate(texts, 1):
        key, settings = _parsed(text)
        if key not in known_rules():
            short = ", ".join(f"{name} ({SHORT_NAMES[name]})" for name in SHORT_NAMES)
            hint = f"write NAME=VALUE, such as p=10; names: {short}, {', '.join(known_rules())}"
            problems.append(Problem("unknown rule", f"rule {number}", hint))
            continue
        before = stated.get(key, [])
        several = isinstance(before, list) and all(isinstance(one, dict | list) for one in before)
        stated[key] = [*(before if several else [before]), settings]
    raise_all(SuppressionError, problems, code="rules", many="{} rules are wrong")
    if missing_safe:
        stated["missing_safe"] = True
    if waivers is not None:
        stated["waivers"] = {"where": waivers}
    return checked_rules(stated, "rules" if file is None else str(file))


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """A rule of the command line: its key, and its settings."""
    name, *more = re.split(r"[=,]", text, maxsplit=1)
    name, rest = name.strip(), "".join(more)
    key = SHORT_NAMES.get(name, name.replace("-", "_"))
    bare = list(known_rules()[key].bare) if key in known_rules() else []
    settings: dict[str, Any] = {}
    for part in rest.split(",") if rest.strip() else []:
        own, equals, value = (piece.strip() for piece in part.partition("="))
        if equals:
            settings[own] = _number(value)
        else:
            settings[bare.pop(0) if bare else "(one number less)"] = _number(own)
    return key, settings


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def checked_rules(stated: Mapping[str, Any], where: str) -> RuleSet:
    """The rules, if they are in order. SECRET.

    >>> checked_rules({"minimum_frequency": 3}, "rules").contributions
    1
    """
    from discreet.microdata import parse_filter

    try:
        entry = RuleSetEntry.model_validate(dict(stated))
    except ValidationError as error:
        problems = [
            Problem(
                "unknown key of rules, or wrong value",
                str(item["loc"][0]) if item["loc"] else where,
                nearest(str(item["loc"][0]), RuleSetEntry.names()) if item["loc"] else "",
            )
            for item in error.errors(include_input=False, include_context=False)
        ]
    else:
        problems = [replace(problem, where=key) for key, problem in rule_problems(entry)]
        for key, text in rule_filters(entry):
            try:
                parse_filter(text)
            except DiscreetError as error:
                problems += [replace(problem, where=key) for problem in error.problems]
    raise_all(SuppressionError, problems, code="rules", many="{} problems with rules", where=where)
    return RuleSet(entry)


def spanning_of_cells(
    cells: Any, names: Sequence[str], trees: Mapping[str, Classification], totals: Mapping[str, str]
) -> list[Spanning]:
    """The spanning variables of cells, with their trees, or the codes of their totals."""
    wrong = [name for name in (*trees, *totals) if name not in names]
    wrong += [name for name in totals if name in trees]
    hint = f"spanning variables: {', '.join(names)}; a hierarchy has its own total"
    problems = [Problem("the option does not apply to this variable", name, hint) for name in wrong]
    raise_all(SuppressionError, problems, code="by")
    columns = {}
    for name, codes in _found_codes(cells, list(totals)).items():
        others = [code for code in codes if code != totals[name]]
        columns[name] = Classification.flat(name, others, total=totals[name]).replace(found="all")
    return [({**trees, **columns}).get(name, name) for name in names]


def spanning_of(
    records: Any,
    names: Sequence[str],
    trees: Mapping[str, Classification],
    prefixes: Mapping[str, str],
) -> list[Spanning]:
    """The spanning variables, with the trees that files or leading signs of codes give them."""
    lengths = {name: text.split(",") for name, text in prefixes.items()}
    problems = [
        Problem("not a spanning variable of the table", name, f"by: {', '.join(names)}")
        for name in (*trees, *prefixes)
        if name not in names
    ]
    for name, parts in lengths.items():
        if name in trees:
            problems.append(Problem("two hierarchies given", name, "use a file or prefixes"))
        if not all(part.strip().isdigit() for part in parts):
            problems.append(Problem("prefix lengths must be whole numbers", name, "1,3"))
    raise_all(SuppressionError, problems, code="by", many="{} variables are wrong")
    made = {
        name: Classification.from_prefixes(name, codes, list(map(int, lengths[name])), found="all")
        for name, codes in _found_codes(records, list(lengths)).items()
    }
    return [({**trees, **made}).get(name, name) for name in names]


def _found_codes(records: Any, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
    if not names:  # the programme is slow to load
        return {}
    from discreet.release.programme.variables import found_codes

    return found_codes(read_columns(records, names), names)


def read_columns(records: Any, wanted: Sequence[str]) -> Any:
    """The records, once they are known to have these columns."""
    from discreet.microdata import read_microdata

    frame = read_microdata(records)
    known = list(frame.collect_schema())
    problems = [
        Problem(f"column {name!r} not found", "", nearest(name, known))
        for name in wanted
        if name not in known
    ]
    raise_all(MicrodataError, problems, code="missing-column", many="{} columns not found")
    return frame


class JudgedTable(ABC):
    """A table on its way from a file to a publication. CONFIDENTIAL."""

    name: str
    values: Sequence[str]
    decimals: int
    cost: str
    #: How many totals were computed that the cells lacked.
    computed: int = 0

    @abstractmethod
    def judged(self) -> tuple[Table, list[Primary]]:
        """The table, and what is sensitive in each of its values. CONFIDENTIAL."""

    def suppressed(self, found: tuple[Table, list[Primary]], **options: Any) -> SharedSuppression:
        """The table with hidden cells, and how they came about. CONFIDENTIAL."""
        from discreet.protection.suppression import SharedSuppression

        decimals = dict.fromkeys(self.values, self.decimals)
        return SharedSuppression.of([found], decimals_of=decimals, cost=self.cost, **options)

    def decimals_problems(self) -> list[Problem]:
        """Decimals of counts."""
        wrong = Problem("decimals need a value column", "decimals", "name a value column")
        return [wrong] if self.decimals and not self.values else []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} (confidential)>"


@dataclass(frozen=True, kw_only=True, repr=False)
class MarkedTable(JudgedTable):
    """Cells whose status was decided elsewhere. CONFIDENTIAL."""

    #: Any frame, or a file of cells; totals that they lack are computed, and are not sensitive by
    #: themselves
    cells: Any
    by: Sequence[Spanning]  # the spanning variables
    status: str  # column of the status
    values: Sequence[str] = ()  # the value column; none to publish the counts
    count: str | None = None  # column of the number of contributors
    #: What statuses mean that are not known
    meaning: Mapping[str, str] = field(default_factory=dict)
    levels: Sequence[str] = ()  # columns of lower and upper protection levels
    published: str | None = None  # filter on codes: cells that are out already
    decimals: int = 0  # digits after the decimal point that are published
    cost: str = "value"  # as for `RecordTable`
    name: str = "table"  # name of the table

    @without_values
    def judged(self) -> tuple[Table, list[Primary]]:
        """The table with what its statuses say. CONFIDENTIAL."""
        from discreet.rules import marked_cells

        problems = self.decimals_problems()
        if len(self.values) > 1:
            problems.append(Problem("a status applies to one value", "", "give one of them value"))
        if len(self.levels) not in (0, 2):
            problems.append(
                Problem("levels needs two columns", "", "name the lower and the upper level")
            )
        raise_all(SuppressionError, problems, code="option")
        lower, upper = self.levels or (None, None)
        own_cost = None if self.cost in _OWN_COSTS else self.cost
        cells = to_polars(collected(read_columns(self.cells, [])))
        options: dict[str, Any] = {
            "status": self.status,
            "value": next(iter(self.values), None),
            "count": self.count,
            "meaning": self.meaning,
            "lower": lower,
            "upper": upper,
            "cost": own_cost,
            "published": self.published,
            "unit": 10.0**-self.decimals if self.values else 1.0,
            "name": self.name,
        }
        table, found = marked_cells(cells, list(self.by), **options)
        if table.parts is not None:  # totals of some levels are not there
            sums = dict.fromkeys(item for item in (*self.values, self.count, own_cost) if item)
            filled = {self.status: "safe"}
            whole = with_missing_totals(cells, list(self.by), sums=list(sums), filled=filled)
            object.__setattr__(self, "computed", whole.height - cells.height)
            table, found = marked_cells(whole, list(self.by), **options)
        return table, [found]


#: Costs that need no column.
_OWN_COSTS = ("value", "count", "unity", "distance")


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordTable(JudgedTable):
    """Records, and how one table of them is made and judged. CONFIDENTIAL, rules SECRET.

    Args:
        records: Any frame, or a file of records.
        by: The spanning variables.
        rules: The rules.
        values: The value columns to publish; none for the number of records.
        weight: Column of weights.
        where: Which records count.
        shadow: Another value column for the rules to look at.
        holding: Column that says which records belong together. Every rule that can looks
            at records and at holdings, unless it says `per`; `stated` rules as they say.
        decimals: Digits after the decimal point that are published.
        cost: What hiding a cell costs: "value", "count", "unity", "distance" or a column.
        name: Name of the table.
        known: A file of what the public knows of cells; see `discreet.rules.read_bounds`.
        relations: What adds up among the values and other columns: "total = home + foreign".
        stated: Whether rules look at holdings only where they say so.

    >>> import polars as pl
    >>> firms = pl.DataFrame({"branch": [*"aaaab"], "sales": [4, 5, 6, 7, 8]})
    >>> rules = rules_from(["n=3"])
    >>> table, (found,) = RecordTable(
    ...     records=firms, by=["branch"], values=["sales"], rules=rules).judged()
    >>> found.numbers()
    {'minimum-frequency': 1}
    """

    records: Any
    by: Sequence[Spanning]
    rules: RuleSet
    values: Sequence[str] = ()
    weight: str | None = None
    where: str | None = None
    shadow: str | None = None
    holding: str | None = None
    decimals: int = 0
    cost: str = "value"
    name: str = "table"
    known: str | os.PathLike[str] | None = None
    relations: Sequence[str] = ()
    stated: bool = False
    _columns: Sequence[str] = field(init=False, default=())

    def __post_init__(self) -> None:
        extra = [item for item in (self.shadow,) if item is not None]
        extra += [] if self.cost in _OWN_COSTS else [self.cost]
        stated = [ValueRelation.read(text) for text in self.relations]
        extra += [name for each in stated for name in each.values if name != "count"]
        object.__setattr__(self, "_columns", tuple(dict.fromkeys([*self.values, *extra])))
        problems = self.decimals_problems()
        if not self.by:
            problems.append(Problem("no spanning variables given", "by", "region, branch"))
        if self.rules.holdings and self.holding is None:
            hint = "add the column of the holding"
            problems.append(
                Problem("a rule applies to holdings, but no holding is named", "", hint)
            )
        if self.holding is not None and self.weight is not None:
            hint = "remove one of them"
            message = "holdings cannot be identified in a weighted table"
            problems.append(Problem(message, self.holding, hint))
        if self.shadow is not None and not self.values:
            problems.append(Problem("counts cannot have a shadow variable", self.shadow))
        if not self.rules.judges(counts=not self.values):
            hint = "name a value column, or a rule such as n=3"
            problems.append(Problem("none of these rules applies to counts", "", hint))
        raise_all(SuppressionError, problems, code="option", many="{} options do not fit")

    @without_values
    def judged(self) -> tuple[Table, list[Primary]]:
        """The table, and what the rules find in each of its values. CONFIDENTIAL."""
        from discreet.tabulation import SpanningVariable

        axes = [axis for item in self.by for axis in SpanningVariable.of(item).axes]
        named = [column for axis in axes for column in axis.columns]
        named += [*self._columns, *(item for item in (self.weight, self.holding) if item)]
        read_columns(self.records, list(dict.fromkeys(named)))
        expanded = self.holding is not None and not self.stated
        rules = self.rules.with_holdings() if expanded else self.rules
        counted = {item: self._tabulated(all_of(self.where, item)) for item in ("", *rules.filters)}
        holdings = self._holdings()
        codes = [dimension.name for dimension in counted[""].dimensions]
        found = [
            rules.judged(
                counted,
                value=value,
                holdings=holdings,
                shadow=None if value is None else self.shadow,
                unit=10.0**-self.decimals if value is not None else 1.0,
                marks=None if self.known is None else read_bounds(self.known, codes, value=value),
            )
            for value in (self.values or (None,))
        ]
        return counted[""], found

    def suppressed(self, found: tuple[Table, list[Primary]], **options: Any) -> SharedSuppression:
        """The table with hidden cells, and how they came about. CONFIDENTIAL."""
        return super().suppressed(found, relations=self.relations, **options)

    def _tabulated(self, where: str) -> Table:
        from discreet.tabulation import tabulate

        return tabulate(
            self.records,
            list(self.by),
            values=self._columns,
            contributions=self.rules.contributions if self._columns else 0,
            weight=self.weight,
            where=where or None,
            name=self.name,
        )

    def _holdings(self) -> dict[str, Table] | None:
        """All holdings, and those of each filter of rules; None if none are named."""
        if self.holding is None:
            return None
        from discreet.rules import count_holdings

        counted: dict[str, Any] = {
            "holding": self.holding,
            "values": self._columns,
            "contributions": self.rules.contributions,
            "where": self.where,
            "name": self.name,
        }
        return {
            item: count_holdings(self.records, list(self.by), having=item or None, **counted)
            for item in ("", *self.rules.filters)
        }


def with_missing_totals(
    cells: pl.DataFrame,
    by: Sequence[Spanning],
    *,
    sums: Sequence[str],
    largest: Sequence[str] = (),
    filled: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """The cells, and below them the totals of levels that have no row.

    >>> import polars as pl
    >>> with_missing_totals(pl.DataFrame({"sex": ["m", "w"], "n": [3, 4]}), ["sex"], sums=["n"])[
    ...     "n"].to_list()
    [3, 4, 7]
    """
    import polars as pl

    above = {str(getattr(item, "name", item)): _parents(cells, item) for item in by}
    names = list(above)
    cells = cells.with_columns(code_texts(cells[name], name).alias(name) for name in names)
    for item in by:
        if isinstance(item, str):
            _refuse_other_total(cells, item, [entry for entry in names if entry != item], sums)
    level = [
        pl.col(name).replace_strict(_levels(own), default=None, return_dtype=pl.Int64)
        for name, own in above.items()
    ]
    values = cells.select(level).unique()
    every, start = cells.sort(names), cells.height
    pooled = pl.concat_list(largest).list.explode().drop_nulls() if largest else None
    for name, own in above.items():
        depth = {code: _depth(own, code) for code in own}
        for deep in range(max(depth.values(), default=0), 0, -1):
            parents = {code: own[code] for code, at in depth.items() if at == deep}
            added = (
                every.with_columns(
                    pl.col(name).replace_strict(parents, default=None, return_dtype=pl.String)
                )
                .filter(pl.col(name).is_not_null())
                .group_by(names, maintain_order=True)
                .agg(
                    *(pl.col(column).sum() for column in sums),
                    *(
                        []
                        if pooled is None
                        else [
                            pooled.sort_by(pooled.abs(), descending=True)
                            .get(at, null_on_oob=True)
                            .alias(column)
                            for at, column in enumerate(largest)
                        ]
                    ),
                )
                .join(every, on=names, how="anti")
                .with_columns(pl.lit(value).alias(key) for key, value in (filled or {}).items())
            )
            fresh = added.select(level)
            new = fresh.join(values.with_columns(there=True), on=names, how="left")["there"]
            every = pl.concat([every, added.filter(new.is_null())], how="diagonal_relaxed")
    return pl.concat([cells, every[start:]], how="diagonal_relaxed")


def _refuse_other_total(
    cells: pl.DataFrame, name: str, others: Sequence[str], sums: Sequence[str]
) -> None:
    """Ask for the code of the total where one code is everywhere the sum of the others."""
    import polars as pl

    codes = cells[name].unique().drop_nulls().to_list()
    if TOTAL in codes or len(codes) < 3:
        return
    whole = [pl.col(item).sum().over(others) if others else pl.col(item).sum() for item in sums]
    half = [
        (2 * pl.col(each) - total).abs() <= 1e-9 * total.abs()
        for each, total in zip(sums, whole, strict=True)
    ]
    marked = cells.with_columns(pl.all_horizontal(half).alias("half"))
    alike = marked.group_by(name).agg(pl.col("half").all()).filter("half")[name].sort()
    if len(alike) and cells[sums[0]].sum():
        message = f"code {alike[0]!r} is always the sum of the other codes"
        hint = (
            f"declare it as the total: --total {name}={alike[0]}, or totals of the request; "
            f"otherwise add rows of the code {TOTAL!r}"
        )
        raise SuppressionError(message, code="total-code", where=name, hint=hint)


def _parents(cells: pl.DataFrame, item: Any) -> dict[str, str | None]:
    """The code above each code of a variable."""
    if isinstance(item, Classification):
        codes = item.codes
        pairs = zip(codes, item.parents, strict=True)
        return {code: None if above < 0 else codes[above] for code, above in pairs}
    found = code_texts(cells[item], item).unique().to_list()
    return {code: TOTAL for code in found if code != TOTAL} | {TOTAL: None}


def _depth(parents: Mapping[str, str | None], code: str) -> int:
    above = parents[code]
    return 0 if above is None else 1 + _depth(parents, above)


def _levels(parents: Mapping[str, str | None]) -> dict[str, int]:
    """The level of each code; finest codes share one, whatever their depth."""
    inner = set(parents.values())
    return {code: _depth(parents, code) if code in inner else -1 for code in parents}
