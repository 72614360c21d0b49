"""`Parameters`: everything that determines protected results, apart from the data.

In: sections of a programme and opened perturbation tables, or a package. Out: checked
`Parameters`, or one error that lists everything that is wrong and quotes no value; keyed
digests that are equal wherever the parameters come from. SECRET: who knows them can narrow
down original values.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from discreet.confidential import SecretValues, Unpicklable
from discreet.errors import DiscreetError, PackageError, Problem, raise_all
from discreet.files import texts_of
from discreet.keygrid import KeyGrid
from discreet.release.programme.schema import (
    FiguresEntry,
    MagnitudeEntry,
    ParametersEntry,
    PartsEntry,
    PerturbationEntry,
)
from discreet.release.programme.sources import KeysEntry
from discreet.release.programme.values import ProgrammeEntry

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.microdata import Secret
    from discreet.protection.noise import (
        MagnitudeNoise,
        MagnitudePerturbationTable,
        PerturbationTable,
    )
    from discreet.rules import Rule
    from discreet.tables import Table

#: Where things are on one computer is no parameter.
PLACES: Mapping[str, set[str]] = {
    "perturbation": {"table", "format"},
    "magnitudes": {"table", "small_table"},
    "keys": {"secret_file", "secret_env"},
}


@dataclass(frozen=True, repr=False, eq=False)
class Magnitude(SecretValues, Unpicklable):
    """The noise for sums and means of one value column. SECRET."""

    entry: MagnitudeEntry  # its section, without the places of files
    table: MagnitudePerturbationTable  # its perturbation table

    def noise(self) -> MagnitudeNoise:
        """The parameters for `perturb_magnitudes`."""
        from discreet.protection.noise import FlexStrength, MagnitudeNoise, SimpleStrength

        entry, given = self.entry, self.entry.strength
        if given is None or given.kind is None:
            raise PackageError("strength is missing", code="parameters", where="strength")
        settings = given.model_dump(exclude={"kind"}, exclude_none=True)
        strength = FlexStrength(**settings) if given.kind == "flex" else SimpleStrength(**settings)
        return MagnitudeNoise.of_settings(entry, self.table, strength)

    @property
    def contributions(self) -> int:
        """Number of largest contributions that noise and rules use."""
        return max([self.entry.top, *(int(rule.contributions) for rule in self.rules())])

    def rules(self) -> list[Rule]:
        """The rules that mark the cells which get more noise; none if there are none."""
        from discreet.rules import PQ, Dominance, MinimumFrequency, PPercent

        stated = self.entry.sensitive
        if (stated is None) != (self.entry.mu_c == 0):
            message = "mu_c and sensitive need each other"
            hint = "for example mu_c = 1 with sensitive = { p_percent = … }; or remove both"
            raise PackageError(message, code="sensitive", where="mu_c", hint=hint)
        if stated is None:
            return []
        rules: list[Rule] = []
        if stated.minimum_frequency is not None:
            rules.append(MinimumFrequency(stated.minimum_frequency, of="values"))
        if stated.dominance is not None:
            rules.append(Dominance(*stated.dominance))
        if stated.p_percent is not None:
            rules.append(PPercent(stated.p_percent))
        if stated.pq is not None:
            rules.append(PQ(*stated.pq))
        if not rules:
            raise PackageError("no rule given", code="sensitive", where="sensitive")
        return rules

    def sensitive(self, table: Table, column: str) -> npt.NDArray[np.bool_] | None:
        """The cells of a table that get more noise; None if there are no rules. CONFIDENTIAL."""
        rules = self.rules()
        if not rules:
            return None
        from discreet.rules import primary

        return primary(table, rules, value=column).sensitive

    @property
    def p_percent(self) -> float:
        """Required distance of a figure from a contribution, stated or from the rules."""
        from discreet.protection.noise import P_PERCENT

        if self.entry.p_percent is not None:
            return self.entry.p_percent
        rule = None if self.entry.sensitive is None else self.entry.sensitive.p_percent
        return P_PERCENT if rule is None else float(rule)

    def treatment(self, table: Table, column: str) -> dict[str, Any]:
        """Treatment of a column of a table by `perturb_magnitudes`. CONFIDENTIAL."""
        from discreet.protection.noise import CHANCE

        sensitive = self.sensitive(table, column)
        return {
            "publish": self.entry.publish,
            "grain": self.entry.grain,
            "sensitive": sensitive,
            "p_percent": self.p_percent,
            "chance": CHANCE if self.entry.chance is None else self.entry.chance,
            "gated": sensitive if self.entry.p_percent is None else None,
        }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Parameters(Unpicklable):
    """The parameters of a statistic. SECRET.

    Made by `open_parameters`, by `parameters_of`, or of a programme by
    `discreet.release.read_parameters`.

    Args:
        perturbation_table: The perturbation table for counts.
        rules: How it is used: zeros, suppress_below, decimals, found_codes.
        magnitudes: The noise of each value column.
        parts: Thresholds for the suppression of table parts; None if there are none.
        figures: What holds for all key figures.
        official: Cells that are published as they are, unless a programme says otherwise.
        keys: How record keys are made, and their grid; no secret.
        secret: The secret of the record keys, if the office hands that on too.
        statistic: The statistic the package is for; empty unless from a package.
        version: The version of the package; empty unless from a package.
        signer: The short name of the key that signed the package; empty if none did.
    """

    perturbation_table: PerturbationTable
    rules: PerturbationEntry
    magnitudes: Mapping[str, Magnitude]
    parts: PartsEntry | None
    figures: FiguresEntry
    official: str | None
    keys: KeysEntry
    secret: Secret | None = None
    statistic: str = ""
    version: str = ""
    signer: str = ""

    @property
    def package(self) -> dict[str, str] | None:
        """The package they come from, by what everyone may know; None if from none."""
        if not self.statistic:
            return None
        return {"statistic": self.statistic, "version": self.version, "signer": self.signer}

    @property
    def grid(self) -> KeyGrid:
        """The key grid."""
        return self.keys.grid

    @cached_property
    def noise(self) -> Mapping[str, MagnitudeNoise]:
        """The noise of each value column."""
        return {name: magnitude.noise() for name, magnitude in self.magnitudes.items()}

    def of_period(self, period: str) -> Parameters:
        """A copy with the noise of a period in columns with own keys. SECRET."""
        found = {}
        for column, magnitude in self.magnitudes.items():
            entry = magnitude.entry
            if entry.keys == "column" and entry.period not in (None, period):
                message = f"the parameters of {column!r} name another period"
                raise PackageError(message, code="parameters", where="period", hint="remove it")
            if entry.keys == "column":
                entry = entry.model_copy(update={"period": period})
            found[column] = replace(magnitude, entry=entry)
        if all(magnitude.entry.keys == "shared" for magnitude in found.values()):
            message = "a period needs a value column with separate keys"
            raise PackageError(message, code="parameters", where="period", hint="remove it")
        return replace(self, magnitudes=MappingProxyType(found))

    @property
    def thresholds(self) -> dict[str, Any] | None:
        """The thresholds for table parts; None where parts stay."""
        return self.parts.thresholds if self.parts is not None and self.parts.enabled else None

    @property
    def kinds(self) -> list[str]:
        """The kinds of parameters there are; not secret."""
        return [
            "counts",
            *(["magnitudes"] if self.magnitudes else []),
            *(["parts"] if self.parts is not None and self.parts.thresholds else []),
            "figures",
            *(["exempt cells"] if self.official else []),
            *(["secret of the record keys"] if self.secret is not None else []),
        ]

    def problems(
        self, known: Sequence[Sequence[str | int]] = ()
    ) -> Iterator[tuple[tuple[str, ...], Problem]]:
        """What does not go together, and the key of each; nothing below is known to be wrong."""
        table, nothing = self.perturbation_table, np.zeros(1, dtype=np.int64)
        if self.rules.zeros == "table" and not table.changes_zeros:
            message = "the perturbation table holds no noise for zeros"
            hint = 'use zeros = "keep", or a table with such a row 0'
            yield ("perturbation", "zeros"), Problem(message, "", hint)
        checks: list[tuple[tuple[str, ...], Callable[[], Any]]]
        checks = [(("keys", "grid"), lambda: table.lookup(nothing, nothing, self.grid))]
        if self.parts is not None:
            from discreet.protection.parts import PartRules

            # Tables may state the thresholds themselves, and only the rest here.
            stated = {"max_share_small": 1.0, **self.parts.thresholds}
            checks.append((("parts",), lambda: PartRules(**stated)))
        for column, magnitude in self.magnitudes.items():
            checks += [(("magnitudes", column), own) for own in (magnitude.noise, magnitude.rules)]
        for path, check in checks:
            if any(tuple(key[: len(path)]) == path for key in known):
                continue
            try:
                check()
            except DiscreetError as error:
                yield from ((path, problem) for problem in error.problems)

    def digests(self, key: bytes) -> dict[str, str]:
        """A keyed digest of each section; magnitudes have one per value column.

        They are equal for the files of an office and for a package made of them. The
        secret of the record keys has no part in them, for the keys are in the data. The key is
        something the reader of the digests cannot guess.
        """
        table = self.perturbation_table.digest(key)
        entries: dict[str, Any] = {
            "perturbation": [table, _stated("perturbation", self.rules)],
            "parts": _stated("parts", self.parts),
            "figures": _stated("figures", self.figures),
            "official": self.official,
            "grid": self.grid.size,
        }
        for column, magnitude in sorted(self.magnitudes.items()):
            section = _stated("magnitudes", magnitude.entry)
            # Said in any case: figures made with keys of another kind are other figures.
            parts = [magnitude.table.digest(key), section, magnitude.entry.keys]
            entries[f"magnitudes.{column}"] = parts
        return {name: _digest(key, name, entry) for name, entry in entries.items()}

    def digest(self, key: bytes) -> str:
        """One keyed digest of all of them."""
        return _digest(key, "parameters", self.digests(key))

    def sections(self) -> dict[str, Any]:
        """The sections as plain values, without the places of files. SECRET."""
        return {
            "perturbation": plain("perturbation", self.rules),
            "parts": None if self.parts is None else plain("parts", self.parts),
            "figures": plain("figures", self.figures),
            "keys": plain("keys", self.keys),
            "magnitudes": {
                column: plain("magnitudes", magnitude.entry)
                for column, magnitude in self.magnitudes.items()
            },
            "official": self.official,
        }

    def __repr__(self) -> str:
        name = f" of {self.statistic}, version {self.version}" if self.statistic else ""
        return f"<Parameters{name}: secret>"

    def _repr_html_(self) -> None:
        """Notebooks show the plain text form."""


def plain(section: str, entry: BaseModel) -> dict[str, Any]:
    """A section as values that JSON holds, without the places of files. SECRET."""
    return entry.model_dump(exclude=PLACES.get(section))


def _stated(section: str, entry: BaseModel | None) -> dict[str, Any] | None:
    """What differs from the defaults: a key that later versions add changes no digest."""
    if entry is None:
        return None
    return entry.model_dump(exclude=PLACES.get(section), exclude_defaults=True)


def _same_numbers(value: Any) -> Any:
    """1.0 and 1 are one number, however they are written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _same_numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_same_numbers(item) for item in value]
    return value


def _digest(key: bytes, name: str, entry: Any) -> str:
    text = json.dumps([name, _same_numbers(entry)], sort_keys=True, allow_nan=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


#: The sections of a programme that are parameters; `official` is a text of [defaults].
SECTIONS = ("perturbation", "magnitudes", "parts", "figures", "keys", "official")

_Form = TypeVar("_Form", bound=ProgrammeEntry)


def parameters_of(
    sections: Mapping[str, Any],
    perturbation_table: PerturbationTable,
    magnitude_tables: Mapping[str, MagnitudePerturbationTable] | None = None,
    *,
    secret: Secret | None = None,
    statistic: str = "",
    version: str = "",
) -> Parameters:
    """Parameters of plain sections, as a programme has them, and of opened tables.

    Args:
        sections: Any of perturbation, magnitudes, parts, figures and keys, each with the
            keys it has in a programme, and official, a filter on codes.
        perturbation_table: The perturbation table for counts.
        magnitude_tables: Per value column in `magnitudes`, its perturbation table.
        secret: The secret of the record keys, only if it is to be handed on.
        statistic: The statistic, if these come from a package.
        version: The version, if these come from a package.

    Raises:
        PackageError: Lists everything that is wrong.

    >>> from discreet import PerturbationTable
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> parameters_of({"figures": {"bracket_above": 0.2}}, ptable)
    <Parameters: secret>
    """
    from discreet.microdata import parse_filter

    problems = [
        Problem("unknown section", name, f"known: {', '.join(SECTIONS)}")
        for name in sections
        if name not in SECTIONS
    ]
    rules = checked_entry(PerturbationEntry, "perturbation", sections.get("perturbation"), problems)
    keys = checked_entry(KeysEntry, "keys", sections.get("keys"), problems)
    figures = checked_entry(FiguresEntry, "figures", sections.get("figures"), problems)
    parts = None
    if sections.get("parts") is not None:
        parts = checked_entry(PartsEntry, "parts", sections["parts"], problems)
    magnitudes, tables = dict[str, Magnitude](), magnitude_tables or {}
    values = _keyed("magnitudes", sections.get("magnitudes"), problems)
    problems += [
        Problem("unknown section", f"magnitudes.{column}")
        for column in tables
        if column not in values
    ]
    for column, section in values.items():
        where = f"magnitudes.{column}"
        entry = checked_entry(MagnitudeEntry, where, section, problems)
        if column in tables:
            magnitudes[column] = Magnitude(entry, tables[column])
        else:
            problems.append(Problem("its perturbation table is missing", where))
    official = sections.get("official") or None
    if not isinstance(official, str | None):
        problems.append(Problem("must be a text", "official"))
    elif official is not None and (official := official.strip() or None) is not None:
        try:
            parse_filter(official)
        except DiscreetError as error:
            problems += [replace(problem, where="official") for problem in error.problems]
    parameters = Parameters(
        perturbation_table=perturbation_table,
        rules=rules,
        magnitudes=MappingProxyType(magnitudes),
        parts=parts,
        figures=figures,
        official=official,
        keys=keys,
        secret=secret,
        statistic=statistic,
        version=version,
    )
    for path, problem in [] if problems else parameters.problems():
        where = ".".join(filter(None, (*path, problem.where)))
        problems.append(replace(problem, where=where))
    many = "{} problems with the parameters"
    raise_all(PackageError, problems, code="parameters", many=many, where="")
    return parameters


def _keyed(where: str, given: Any, problems: list[Problem]) -> Mapping[str, Any]:
    """A section of keys and values."""
    if given is not None and not isinstance(given, Mapping):
        problems.append(Problem("not a section of keys and values", where))
        return {}
    return given or {}


def checked_entry(form: type[_Form], where: str, given: Any, problems: list[Problem]) -> _Form:
    """A section in its form, without the places of files."""
    places = PLACES.get(where.partition(".")[0], set())
    found = _keyed(where, given, problems)
    values = {key: value for key, value in found.items() if key not in places}
    try:
        return form.model_validate(values)
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False):
            place = ".".join(str(part) for part in (where, *details["loc"]))
            unknown = details["type"] == "unknown_key"
            message = "unknown key" if unknown else "the value cannot be used"
            hint = f"known: {', '.join(form.names())}" if unknown else ""
            problems.append(Problem(message, place, hint))
        return form()


#: A version whose order is known: a word or none, then whole numbers.
_NUMBERED = re.compile(r"([^0-9]*)([0-9]+(?:[._/-][0-9]+)*)")


def is_older(version: str, last: str) -> bool:
    """Whether a version is older than another, or nobody can tell that it is not.

    >>> is_older("3", "10"), is_older("2026-2", "2026.1"), is_older("v2.0", "v2")
    (True, False, False)
    >>> is_older("final", "3")
    True
    """
    if version == last:
        return False
    match, before = _NUMBERED.fullmatch(version), _NUMBERED.fullmatch(last)
    if match is None or before is None or match[1] != before[1]:
        return True
    digits = [re.findall(r"[0-9]+", item[2]) for item in (match, before)]
    for one, other in zip_longest(*digits, fillvalue="0"):
        if int(one) != int(other):
            return int(one) < int(other)
    return False


def check_succession(
    package: Mapping[str, str] | None, last: Mapping[str, str] | None, entry: ParametersEntry | None
) -> None:
    """Raise unless a package may follow the one that a release was made with last.

    >>> last = {"statistic": "census", "version": "3", "signer": ""}
    >>> check_succession({**last, "version": "2"}, last, ParametersEntry())
    Traceback (most recent call last):
        ...
    discreet.errors.PackageError: [package-older] ...
    """
    if package is None or last is None or entry is None:
        return
    if package["statistic"] != last["statistic"] and entry.statistic is None:
        message = (
            f"the package belongs to the statistic {package['statistic']!r}, the previous one to "
            f"{last['statistic']!r}"
        )
        hint = f'to accept it, add statistic = "{package["statistic"]}" to [parameters]'
        _refuse("package-statistic", message, hint)
    if package["signer"] != last["signer"] and last["signer"]:
        if not package["signer"]:
            by = last["signer"]
            message = f"the package is not signed, the previous one was signed by {by}"
            _refuse("package-unsigned", message, "use a signed package, or another folder")
        if entry.signer is None and entry.verify_key is None:
            now, before = package["signer"], last["signer"]
            message = f"{now} signed the package, {before} the previous one"
            hint = "state the expected signer: signer or verify_key"
            _refuse("package-signer", message, hint)
    if package["statistic"] != last["statistic"] or entry.allow_older:
        return
    if is_older(package["version"], last["version"]):
        message = (
            f"the release used version {last['version']!r} of the package; "
            f"{package['version']!r} is older, or not known to be newer"
        )
        hint = "use the newer package, or add allow_older = true to [parameters]"
        _refuse("package-older", message, hint)


def _refuse(code: str, what: str, hint: str) -> NoReturn:
    raise PackageError(what, code=code, where="parameters.package", hint=hint)


def package_line(package: Mapping[str, str] | None, language: str) -> list[tuple[str, str]]:
    """Name and text of the package on pages; empty without one.

    >>> package_line({"statistic": "census", "version": "3", "signer": ""}, "en")
    [('Package of parameters', 'census, version 3, not signed')]
    """
    if package is None:
        return []
    text = texts_of("discreet.release.packages", "package", language)
    said = text["signed" if package["signer"] else "unsigned"]
    return [(text["name"], said.format(**package))]
