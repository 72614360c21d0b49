"""`Inputs`: everything that a release is made from, opened. CONFIDENTIAL.

In: a programme, and what it names, opened by `discreet.release.run.inputs`. Out: the same, as
runs and methods of protection ask for it: records, parameters, key grid, keys of digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.arrays import BoolArray
from discreet.classifications import Classification
from discreet.disclosure import RecordIdentity
from discreet.errors import DiscreetError, PublicationError, RecordKeyError
from discreet.microdata import (
    ReadingOptions,
    StoredRecords,
    distant_records,
    format_of,
    is_url,
    matching,
    parse_filter,
)
from discreet.plugins import plugin
from discreet.release.programme.file import (
    Programme,
    ProgrammeFile,
    RecordSource,
    key_line,
)
from discreet.release.programme.variables import (
    official_rule,
    rule_where_known,
    spanning_variables,
    total_codes,
    used_variables,
)
from discreet.release.report.summary import MANIFEST
from discreet.release.state.memory import EarlierTable, ReleaseKey
from discreet.release.state.seal import SealKeys

if TYPE_CHECKING:
    from discreet.key_check import KeyCheck
    from discreet.keygrid import KeyGrid
    from discreet.microdata import Secret
    from discreet.pretabular import ChangedRecords
    from discreet.publication import Boundaries
    from discreet.release.packages.parameters import Parameters
    from discreet.tables import Spanning, Table

#: What is said of a variable in files, or tells nothing of its cells.
_ELSEWHERE = {"hierarchy", "codelist", "boundaries", "boundary_key", "breaks"}

_STATE_IT = 'state it in the programme: [release] secret_file = "office.secret"'


def beside_programme(programme: ProgrammeFile, url: str) -> str:
    """A URL; the file of an SQLite database is named from the folder of the programme."""
    kind, _, name = url.partition(":///")
    if kind.partition("+")[0] != "sqlite" or not name:
        return url
    return f"{kind}:///{programme.file(name)}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Inputs:
    """Inputs of a release. CONFIDENTIAL."""

    programme: Programme
    records: Mapping[str, Any]  # per source, its records, as narwhals wraps them
    parameters: Parameters | None  # what protected results are determined by; None without any
    #: Per source, the secret of its record keys, if any are made on the way
    secrets: Mapping[str, Secret]
    trees: Mapping[str, Classification]  # the classifications that need no data
    opened: Mapping[str, Any]  # per method of protection, what it has opened
    earlier: tuple[EarlierTable, ...] = ()  # tables that were published before
    #: Per source with record keys in its data, what a test of them found
    key_checks: Mapping[str, KeyCheck] = field(default_factory=dict)
    #: Per source whose weights were calibrated, how far they moved
    calibrated: Mapping[str, ChangedRecords] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # what should be put right although it is not an error
    seals: SealKeys | None = None  # the keys that seal the release; None if there are none
    #: Variable → the boundaries of its areas
    boundaries: Mapping[str, Boundaries] = field(default_factory=dict)
    secret: Secret | None = None  # the secret that [release] states; None if it states none

    @property
    def grid(self) -> KeyGrid:
        """The key grid."""
        return self.programme.keys.grid if self.parameters is None else self.parameters.grid

    @property
    def package(self) -> Mapping[str, str] | None:
        """The package that parameters come from, by what everyone may know; None if from none."""
        return None if self.parameters is None else self.parameters.package

    def official(self, table: str) -> str:
        """The rule for official figures that holds for a table, as it is stated."""
        stated = self.programme.tables[table].official
        package = self.programme.document.parameters
        if stated is None and package is not None:
            main = self.programme.source_of(table)
            known = {*self.programme.spanning(main.name), *(package.totals or {})}
            rule = None if self.parameters is None else self.parameters.official
            stated = rule_where_known(rule, known) if main.main else None
        return (stated or "").strip()

    def official_rule(self, table: str) -> str | None:
        """The official rule for the variables of the table; None without one."""
        rule = official_rule(self.programme, table, self.totals, self.official(table))
        entry = self.programme.tables[table]
        if rule is None or entry.flows is None:
            return rule
        # The population of areas may be official; how many go from one to the other never is.
        ends = [name for name in (entry.flows.origin, entry.flows.destination) if name]
        ends = [f"`{name}` == {self.totals[name]!r}" for name in ends if name in (entry.by or [])]
        return f"({rule}) and ({' or '.join(ends)})" if len(ends) == 2 else rule

    @cached_property
    def totals(self) -> Mapping[str, str]:
        """The total code of every variable."""
        return total_codes(self.programme, self.trees)

    def spanning(self, tables: Sequence[str]) -> dict[str, dict[str, Spanning]]:
        """Per source of some tables, what spans them."""
        names: dict[str, list[str]] = {}
        for table in tables:
            source = self.programme.source_of(table).name
            names.setdefault(source, []).extend(self.programme.tables[table].by or [])
        return {
            source: spanning_variables(self.programme, by, self.trees, self.records[source])
            for source, by in names.items()
        }

    def described_variable(self, name: str) -> list[Any]:
        """An entry of [variables.*] and what its files hold."""
        entry = self.programme.variables[name].model_dump(exclude=_ELSEWHERE)
        tree = self.trees.get(name)
        if tree is None:
            return [entry]
        fields = [value for name, value in tree.fields().items() if name != "labels"]
        labels = {code: dict(texts) for code, texts in tree.labels.items()}
        plain = [dict(value) if isinstance(value, Mapping) else value for value in fields]
        return [entry, plain, labels]

    def described_variables(self, table: str) -> dict[str, list[Any]]:
        """The entries of [variables.*] that a table uses, and what their files hold."""
        used = used_variables(self.programme, table)
        return {name: self.described_variable(name) for name in used}

    def maps(self, table: str) -> dict[str, Any]:
        """Figures of the maps of a table."""
        said = self.programme.tables[table].map
        _, boundaries = self._bounded(table)
        return {
            "boundaries": boundaries,
            "level": said.level or "",
            "at": said.at,
            "breaks": said.breaks,
            "classes": said.classes,
            "show": said.show,
        }

    def mapped(self, table: str) -> tuple[str, ...]:
        """The variable of a table that has boundaries; none if there is none, or squares."""
        name, _ = self._bounded(table)
        return (name,) if name else ()

    def _bounded(self, table: str) -> tuple[str, Boundaries | None]:
        """The first variable of a table with boundaries, and these."""
        variables = self.programme.variables
        for name in self.programme.tables[table].by or []:
            stated = variables.get(name)
            for item in (name, *((stated and stated.alternatives) or ())):
                if item in self.boundaries:
                    return name, self.boundaries[item]
        return "", None

    @cached_property
    def release_keys(self) -> Mapping[str, ReleaseKey]:
        """Per source, the key of all digests of its tables; reads the data once.

        A secret is always part of it: who knows all of the data but one value would find
        that value, and the rules, by trial. Units whose keys come from their parts have a
        key that comes from both.
        """
        programme = self.programme
        used = dict.fromkeys(programme.source_of(table).name for table in programme.tables)
        lines = [key_line(programme.sources, name) for name in (programme.main.name, *used)]
        keys: dict[str, ReleaseKey] = {}
        for name in (name for line in lines for name in reversed(line)):
            if name not in keys:
                source = programme.sources[name]
                parts = keys[source.keys.inherit] if source.keys.inherit else None
                secret, address = self.secrets.get(name), source.records.address or ""
                if secret is None and parts is None:
                    secret = self.secret or self._kept_secret()
                if is_url(address) or source.records.spark is not None:
                    keys[name] = ReleaseKey.of_records(self.records[name], secret, parts)
                    continue
                place, *also = self._files(source)
                keys[name] = ReleaseKey.of_data(place, secret, parts, also=also)
        return keys

    def _files(self, source: RecordSource) -> list[Path]:
        """The file of the records, or several; then what says which column stands where."""
        records, programme = source.records, self.programme
        held = distant_records(self.records[source.name])
        if isinstance(held, StoredRecords):
            return [held.manifest_file]
        if records.cubes is not None:
            return sorted(one for each in records.cubes for one in matching(programme.file(each)))
        place, files = programme.file(records.source or ""), [programme.file(records.address or "")]
        if records.calibrate is not None:
            totals = programme.file(records.calibrate.totals or "")
            files.append(totals / MANIFEST if totals.is_dir() else totals)
        if records.metadata is not None:
            files.append(programme.file(records.metadata))
        elif place.is_file() and format_of(place, records.format) == "fixed":
            files.append(plugin("records", "fixed").description_of(place, ReadingOptions()))
        return files

    def record_identity(self, source: str) -> RecordIdentity | None:
        """Identity of records across releases; None without a secret or for distant records.

        By their identifier or key; where there is none, by all columns that the cells depend on.
        """
        from discreet.microdata import Secret

        records, keys = self.records[source], self.programme.sources[source].keys
        if distant_records(records) is not None or records.implementation.is_pyspark():
            return None
        sealing = None if self.seals is None else self.seals.secret
        secret = self.secrets.get(source) or self.secret or sealing
        if secret is None and self._secret_place.exists():
            secret = Secret.from_file(self._secret_place)
        if secret is None:
            return None
        if stated := keys.id or ([keys.column] if keys.column else []):
            return RecordIdentity(tuple(stated), secret)
        programme, columns = self.programme, set[str]()
        for variable in programme.spanning(source):
            columns |= programme.columns_behind(variable)
        for name, entry in programme.tables.items():
            if entry.where and programme.source_of(name).name == source:
                columns |= set(parse_filter(entry.where).columns)
        return RecordIdentity(tuple(sorted(columns)), secret)

    def source_before(self, before: EarlierTable) -> str | None:
        """The source whose records an earlier table counted; None if there is none."""
        only = list(self.programme.sources) if len(self.programme.sources) == 1 else []
        names = [*only, before.about["from"]]
        return names[0] if names[0] in self.records else None

    def identity_before(self, before: EarlierTable) -> RecordIdentity | None:
        """Identity of records of an earlier table, if it can be repeated."""
        source = self.source_before(before)
        own = None if source is None else self.record_identity(source)
        stated = before.identity
        if source is None or own is None or stated is None or stated.mark != own.mark:
            return None
        there = set(stated.columns) <= set(self.records[source].collect_schema().names())
        return RecordIdentity(stated.columns, own.secret) if there else None

    def other_records(self, before: EarlierTable, table: Table) -> BoolArray | None:
        """Which cells of an earlier table, counted now, have other records than they had.

        None where that is not known.
        """
        from discreet.tabulation import Query

        source, identity = self.source_before(before), self.identity_before(before)
        if source is None or identity is None or before.identity is None:
            return None
        by = [list(dimension.classifications) for dimension in table.dimensions]
        query = Query(by=by, where=before.about["where"] or None, name=table.name)
        (now,) = identity.counted(self.records[source], [query])
        differing = before.identity.differing(now)
        assert len(differing) == len(table)
        return differing

    def prints_digests(self, source: str) -> bool:
        """Whether published files may carry digests: their secret is one that the office states.

        A secret beside a programme, or that of a signing key, differs from folder to folder and
        from signer to signer, and published files may not.
        """
        line = key_line(self.programme.sources, source)
        return self.secret is not None or any(name in self.secrets for name in line)

    @contextmanager
    def secret_kept(self) -> Iterator[None]:
        """Make the secret beside the programme if digests need one; none stays of a failed run."""
        used = {self.programme.source_of(table).name for table in self.programme.tables}
        stated = self.seals is not None or all(map(self.prints_digests, used))
        if stated or self._secret_place.exists():
            yield
            return
        from discreet.microdata import Secret

        try:
            Secret.generate().write(self._secret_place)
        except RecordKeyError as error:
            message, hint = f"the secret of this release: {error.what}", _STATE_IT
            where = str(self._secret_place)
            raise PublicationError(message, code="release-secret", where=where, hint=hint) from None
        try:
            yield
        except (DiscreetError, OSError):
            self._secret_place.unlink()
            raise

    @property
    def _secret_place(self) -> Path:
        return self.programme.path.with_suffix(".secret")

    def _kept_secret(self) -> Secret:
        from discreet.microdata import Secret

        if self.seals is not None:
            return self.seals.secret
        if not self._secret_place.exists():
            message = "the secret of this release is missing"
            hint = f"restore it next to the programme; {_STATE_IT}"
            raise PublicationError(
                message, code="release-secret", where=str(self._secret_place), hint=hint
            )
        return Secret.from_file(self._secret_place)

    def __repr__(self) -> str:
        return f"<Inputs of {self.programme.name}>"
