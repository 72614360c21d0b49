"""Choices in the table builder as a query and an address. `pick.VARIABLE` of its form are codes to
show if the variable spans the table, codes to count only if not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from discreet_service.datasets import CatalogueUnit, CatalogueVariable, DataVersion
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, TableQuery
from discreet_service.service import Service
from discreet_service.web import read_address

#: Charts as addresses name them; that of areas is a file of its own.
CHARTS = ("bars", "lines", "heat-map", "pyramid", "map")
#: How a table is shown: nothing that changes a figure.
_SHOWN = ("down", "across", "sort", "order", "page", "whole", "chart", "image")
_FORM_ONLY = ("pick", "open", "find", "format", "search")
_MOST = 5_000

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class StudioView:
    """View of a table."""

    down: tuple[str, ...] | None = None  # Variables that go down, in order; None for the usual ones
    across: tuple[str, ...] | None = None  # Variables that go across
    sort: int = 0  # Number of the column that rows are sorted by, from 1; 0 for their own order
    falling: bool = True  # Whether the largest come first
    page: int = 1  # Number of the page, from 1
    whole: bool = False  # Whether pages are as long as they can be
    chart: str = ""  # The chart beside the table; none if empty

    @classmethod
    def of(cls, pairs: Pairs) -> StudioView:
        """Read from an address; meaningless parameters are ignored.

        >>> StudioView.of([("across", "sex"), ("sort", "x"), ("page", "2")]).page
        2
        """
        said = dict(pairs)
        return cls(
            down=_names(said.get("down")),
            across=_names(said.get("across")),
            sort=_number(said.get("sort"), 0),
            falling=said.get("order", "falling") != "rising",
            page=max(_number(said.get("page"), 1), 1),
            whole=said.get("whole") == "1",
            chart=said.get("chart", "") if said.get("chart") in CHARTS else "",
        )

    def at(self, page: int, *, whole: bool = False) -> StudioView:
        """A copy on another page."""
        return replace(self, page=page, whole=self.whole or whole)

    def pairs(self) -> list[tuple[str, str]]:
        """As parameters of an address."""
        found = []
        for name, names in (("down", self.down), ("across", self.across)):
            if names is not None:
                found.append((name, ",".join(names)))
        if self.sort:
            found += [("sort", str(self.sort)), ("order", "falling" if self.falling else "rising")]
        if self.page > 1:
            found.append(("page", str(self.page)))
        if self.chart:
            found.append(("chart", self.chart))
        return [*found, ("whole", "1")] if self.whole else found


@dataclass(frozen=True, kw_only=True)
class TableChoices:
    """Choices for a table."""

    version: DataVersion
    unit: CatalogueUnit
    # Per spanning variable, the numbers of its levels; none for the finest
    levels: Mapping[str, tuple[str, ...]]
    picks: Mapping[str, tuple[str, ...]]  # Per variable, the codes picked
    # Parameters that the form does not have, but the address has
    rest: tuple[tuple[str, str], ...] = ()
    measures: tuple[str, ...] = ()  # The figures, as an address names them
    totals: str = ""  # "all", "none" or names
    view: StudioView = field(default_factory=StudioView)  # How the table is shown
    opened: str = ""  # The variable whose codes are shown
    wanted: str = ""  # What its codes are searched for
    search: str = ""  # What all variables and codes are searched for

    @classmethod
    def of(cls, version: DataVersion, pairs: Pairs, *, strict: bool = False) -> TableChoices:
        """Read from an address or form."""
        pairs = pairs[:_MOST]
        said = {name: value for name, value in pairs if value}
        unit = version.units.get(said.get("unit", "")) or next(iter(version.units.values()))
        if strict and said.get("unit", unit.name) != unit.name:
            what, hint = "unit not found", f"units: {', '.join(version.units)}"
            raise ServiceError(what, "invalid-query", "unit", hint)
        levels: dict[str, list[str]] = {}
        picks: dict[str, list[str]] = {}
        rest = []
        listed = _several(pairs)
        for name, value in listed:
            head, _, variable = name.partition(".")
            if name == "by":
                spanning, _, level = value.partition(":")
                levels.setdefault(spanning, []).extend([level] if level else [])
            elif head in ("pick", "codes", "where") and variable:
                picks.setdefault(variable, []).append(value)
            elif name not in (*_SHOWN, *_FORM_ONLY, "unit", "measures", "totals", "language") and (
                head != "find"
            ):
                rest.append((name, value))
        own = {name for name in (levels.keys() | picks.keys()) if strict or name in unit.variables}
        return cls(
            version=version,
            unit=unit,
            levels={name: tuple(dict.fromkeys(levels[name])) for name in levels if name in own},
            picks={name: tuple(dict.fromkeys(picks[name])) for name in picks if name in own},
            rest=tuple(rest),
            measures=tuple(dict.fromkeys(v for n, v in listed if n == "measures")),
            totals=said.get("totals", ""),
            view=StudioView.of(
                [(name, value) for name, value in pairs if value or name in ("down", "across")]
            ),
            opened=said.get("open", ""),
            wanted=said.get(f"find.{said.get('open', '')}", ""),
            search=said.get("search", "").strip()[:100],
        )

    @classmethod
    def asked(cls, service: Service, dataset: str, pairs: Pairs) -> TableChoices:
        """Read from the address of a table of a data set; what is wrong with it is an error."""
        version = service.datasets.version(dataset, dict(pairs).get("version") or None)
        return cls.of(version, pairs, strict=True)

    @cached_property
    def level_titles(self) -> Mapping[str, Mapping[str, str]]:
        """What levels are called, by language."""
        trees = [variable.tree for variable in self.unit.variables.values()]
        titles = {level: texts for tree in trees for level, texts in tree.level_titles.items()}
        return titles | dict(self.version.description.dataset.levels)

    @property
    def complete(self) -> bool:
        """Whether there is anything to ask."""
        return bool(self.levels or self.picks)

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of the query."""
        found = [("unit", self.unit.name)]
        named = [
            f"{name}:{level}" if level else name
            for name, levels in self.levels.items()
            for level in (levels or ("",))
        ]
        if named:
            found += _listed("by", named)
        for name, codes in self.picks.items():
            found += _listed(f"{'codes' if name in self.levels else 'where'}.{name}", codes)
        if self.measures and self.measures != ("count",):
            found += _listed("measures", self.measures)
        if self.totals and self.totals != "all":
            found += _listed("totals", self.totals.split(","))
        return [*found, *self.rest]

    def query(self) -> TableQuery:
        """The query; an error lists all that is wrong with its form."""
        return read_address(self.parameters())

    def prepared(self, service: Service) -> PreparedQuery:
        """The query, ready to be judged and answered."""
        return service.answers.prepared(self.version.dataset, self.query())


def first_variables(unit: CatalogueUnit) -> list[CatalogueVariable]:
    """Variables of a first table: a place, and something else."""
    of_kind = {one.geography: one for one in reversed([*unit.variables.values()])}
    return [of_kind[place] for place in (True, False) if place in of_kind]


def _several(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters that are lists, item by item: a single one is divided at its commas."""
    found, counts = [], dict[str, int]()
    pairs = list(pairs)
    for name, _ in pairs:
        counts[name] = counts.get(name, 0) + 1
    for name, value in pairs:
        whole = counts[name] > 1 or name in _SHOWN or name.startswith(("pick.", "find."))
        found += [(name, item) for item in ([value] if whole else value.split(",")) if item]
    return found


def _listed(name: str, values: Sequence[str]) -> list[tuple[str, str]]:
    """A list as parameters: one, unless an item has a comma of its own."""
    if any("," in value for value in values):
        # One alone would be divided; an empty one beside it is passed over.
        return [*((name, value) for value in values), *([(name, "")] if len(values) == 1 else [])]
    return [(name, ",".join(values))]


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part for part in text.split(",") if part)[:20]


def _number(text: str | None, otherwise: int) -> int:
    fits = text is not None and text.isascii() and text.isdigit() and len(text) < 7
    return int(text or 0) if fits else otherwise
