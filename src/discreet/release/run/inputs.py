"""Everything a programme needs, opened and checked before any work is done.

In: the path of a programme. Out: `Inputs` (confidential: records, perturbation
table, secret), or one error that lists every mistake with its line and key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import Problem, ProgrammeError, PublicationError
from discreet.files import toml_value
from discreet.key_check import KeyCheck, check_records
from discreet.microdata import (
    DistantCubes,
    KeyedBefore,
    StoredRecords,
    distant_records,
    matching,
)
from discreet.protection.problems import Opener, not_yet_known, present
from discreet.protection.protocol import COUNT, Place
from discreet.protection.registry import protection, protections
from discreet.record_batches import collected
from discreet.release.inputs import Inputs, beside_programme
from discreet.release.packages.programme_parameters import (
    open_parameters_of,
    parameter_warnings,
)
from discreet.release.programme.checks import check_programme, related_mixtures
from discreet.release.programme.file import (
    Programme,
    ProgrammeFile,
    RecordSource,
    load,
    raise_problems,
)
from discreet.release.programme.sources import PeriodEntry
from discreet.release.programme.variables import (
    check_codes,
    check_columns,
    fixed_classifications,
    found_codes,
    used_variables,
    with_coarser_column,
)
from discreet.release.run.counts import KeyedRecords
from discreet.release.run.identities import with_earlier_columns
from discreet.release.state.identity import EarlierIdentity, read_identity
from discreet.release.state.memory import EarlierTable, ReleaseState, contradictions, read_release
from discreet.release.state.seal import SEAL, SealKeys, read_seal
from discreet.store import Store, tree_digest
from discreet.tables import ValueRelation

if TYPE_CHECKING:
    import polars as pl

    from discreet.classifications import Classification
    from discreet.keygrid import KeyGrid
    from discreet.pretabular import ChangedRecords
    from discreet.publication import Boundaries


#: Source → the file that stands in for the one that the programme names.
OtherData = Mapping[str, str | os.PathLike[str]]


def read_programme(path: str | os.PathLike[str]) -> Programme:
    r"""Read a programme and check all that can be checked without its data.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.

    >>> import tempfile
    >>> from discreet.errors import DiscreetError
    >>> with tempfile.NamedTemporaryFile(suffix=".toml") as file:
    ...     _ = file.write(b"[tables.T1]\nby = 'sex'\nformat = ['csv']\n")
    ...     file.flush()
    ...     try:
    ...         read_programme(file.name)
    ...     except DiscreetError as error:
    ...         print(error.problems[-1])
    line 3, tables.T1.format: unknown key
      Hint: closest match: 'formats'
    """
    programme, problems = load(path)
    problems, _ = _checked(programme, problems)
    raise_problems(str(path), problems)
    return programme


def _checked(
    programme: Programme, problems: Sequence[Problem]
) -> tuple[list[Problem], dict[str, Classification]]:
    """What is wrong with a programme, and the classifications that need no data."""
    found = [*problems, *check_programme(programme)]
    trees, more = fixed_classifications(programme)
    found += not_yet_known(found, more)
    found += check_codes(programme, trees)
    return found, trees


def open_inputs(
    path: str | os.PathLike[str],
    *,
    show_values: bool = False,
    data: OtherData | None = None,
    master: str | None = None,
) -> Inputs:
    """Open and check everything a programme names.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.
    """
    programme, problems = load(path)
    programme = programme.with_data(data or {})
    return open_programme(programme, problems, show_values=show_values, master=master)


def open_programme(
    programme: Programme,
    problems: list[Problem],
    *,
    show_values: bool = False,
    master: str | None = None,
) -> Inputs:
    """Check a programme that was read, and open everything it names.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.
    """
    problems, trees = _checked(programme, problems)
    opener = Opener(programme, problems)
    # Also where a programme has parameters for no table.
    used = any("perturbation" in method.sections for method in programme.methods)
    document, parameters = programme.document, None
    if used or document.perturbation or document.parameters:
        parameters = open_parameters_of(opener)
        assert parameters is not None or problems
    if document.parameters is not None and parameters is not None:
        programme = opener.programme = programme.with_package(parameters.rules, parameters.parts)
    opened = dict[str, Any]()
    for method in protections():
        opened[method.name] = None
        with opener.placed("protection", method.name):
            if programme.understood(method):
                own = programme.protected[method.name]
                opened[method.name] = method.opened(programme, own, problems)
    sources = programme.sources.items()
    secrets = {n: opener.secret(s.keys_path, s.keys) for n, s in sources}
    records = dict[str, Any]()
    calibrated: dict[str, ChangedRecords] = {}
    for name, source in sources:
        records[name] = None
        with opener.placed(*source.place):
            records[name] = _read_with_columns(
                source, programme, show_values=show_values, master=master
            )
        with opener.placed(*source.path, "calibrate"):
            if source.records.calibrate is not None:
                records[name] = _with_calibrated_weights(
                    records[name], source, programme, trees, calibrated
                )
        if isinstance(store := distant_records(records[name]), StoredRecords):
            for each, digest in store.manifest["classifications"].items():
                tree = trees.get(each)
                if tree is not None and tree.bounds is None and tree_digest(tree) != digest:
                    message = f"the store was built with another classification {each!r}"
                    hint = "build it again with this programme: discreet store build"
                    problems.append(programme.problem(source.place, message, hint))
    signing = None
    with opener.placed("release", "sign"):
        if (file := present(programme, programme.document.release.sign)) is not None:
            from discreet.release.packages.keys import read_signing_key

            signing = read_signing_key(file)
    handed_on = None if parameters is None else parameters.secret
    # The secret of each source: its own, else that of [keys] or of the package.
    main = secrets[programme.main.name] or handed_on
    held = {
        name: secret
        for name, source in sources
        if (secret := secrets[name] or (main if source.main or not source.keys.column else None))
        is not None
    }
    office = opener.secret(("release",), programme.document.release)
    # The release is sealed with the secret of the office, or of the first source with one.
    secret = office or next((held[name] for name in programme.sources if name in held), None)
    seals = None if secret is None and signing is None else SealKeys(secret, signing)
    earlier, boundaries = _read_earlier(opener), _read_boundaries(opener, trees)
    check_earlier_periods(opener)
    schemas: dict[str, Mapping[str, Any]] = {}
    for name, frame in records.items():
        if frame is not None:
            schemas[name] = frame.collect_schema()
            distant = distant_records(frame)
            if isinstance(distant, KeyedBefore) and programme.sources[name].keys.column is None:
                # Without keys that were made before it was added up.
                kinds = schemas[name].items()
                schemas[name] = {column: k for column, k in kinds if column != distant.record_key}
    problems += check_period_keys(programme, schemas.get(programme.main.name, ()))
    problems += not_yet_known(problems, check_columns(programme, schemas))
    checks = _checked_keys(opener, records, schemas, (parameters or programme.keys).grid)
    place = programme.place
    raise_problems(place, problems)
    programme = with_found_relations(programme, records, earlier)
    raise_problems(place, [problem for _, problem in related_mixtures(programme)])
    inputs = Inputs(
        programme=programme,
        records=records,
        parameters=parameters,
        secrets=held,
        trees=trees,
        opened=opened,
        earlier=earlier,
        key_checks=checks,
        calibrated=calibrated,
        seals=seals,
        boundaries=boundaries,
        secret=office,
    )
    lost = [  # fingerprints of earlier tables that cannot be compared with records of now
        programme.problem(
            ("suppression", "earlier_identity"),
            f"the records of {before.name} cannot be identified as in the earlier release",
            "use the same secret in [release], and keep these columns: "
            + ", ".join(before.identity.columns),
        )
        for before in earlier
        if before.identity is not None and inputs.identity_before(before) is None
    ]
    raise_problems(place, lost)
    inputs = _with_merged_squares(inputs)
    inputs = with_earlier_columns(inputs) if any(item.identity for item in earlier) else inputs
    return replace(inputs, warnings=tuple(_warnings(inputs)))


def _read_boundaries(
    opener: Opener[Programme], trees: Mapping[str, Classification]
) -> dict[str, Boundaries]:
    """Per variable with boundaries, these; each level has one for all of its codes or for none."""
    found = {}
    for name, entry in opener.programme.variables.items():
        files = [present(opener.programme, file) for file in entry.boundaries or []]
        if not files or None in files:
            continue
        from discreet.publication import Boundaries, check_boundaries

        with opener.placed("variables", name, "boundaries"):
            own = Boundaries.read(*filter(None, files), key=entry.boundary_key or "code")
            found[name] = own
            if name in trees:
                check_boundaries(trees[name], own)
    return found


def _checked_keys(
    opener: Opener[Programme], records: Mapping[str, Any], schemas: Mapping[str, Any], grid: KeyGrid
) -> dict[str, KeyCheck]:
    """Per source with keys in its data, a test of them; of none that cannot be read."""
    from discreet.tabulation import checked_keys, first_records, lowest_of_all, refusals

    keys = dict[str, KeyCheck]()
    for name, source in opener.programme.sources.items():
        column = source.keys.column
        if column is not None and column in schemas.get(name, ()):
            place = (*source.keys_path, "column")
            spanning = {
                behind
                for variable in opener.programme.spanning(name)
                for behind in opener.programme.columns_behind(variable)
                if behind in schemas[name] and behind != column
            }
            check: KeyCheck | None = None
            allowed = source.keys.allow_unsuitable
            with opener.placed(*place):
                held = distant_records(records[name])
                if isinstance(held, DistantCubes):
                    check = checked_keys(held, grid, allowed=allowed)
                    check.raise_faults(column)
                elif isinstance(held, StoredRecords):
                    check = held.key_check(column, grid, allowed=allowed)
                else:
                    with refusals(filtered=False):
                        some = first_records(records[name], [column, *sorted(spanning)])
                        low = lowest_of_all(records[name], column, grid)
                    check = check_records(some, low, grid, column=column, allowed=allowed)
                keys |= {} if check is None else {name: check}
    return keys


def _warnings(inputs: Inputs) -> Iterator[str]:
    """Keys that are used although they are none, and what parameters, methods, seals lack."""
    for name, check in inputs.key_checks.items():
        if check.faults:
            allowed = "give no protection, but are accepted"
            yield f"the record keys of {name!r} {allowed}: {check.said}"
    yield from parameter_warnings(inputs.programme, inputs.parameters)
    yield from _geographies_not_compared(inputs.programme, inputs.trees)
    for method in protections():
        yield from method.warnings(inputs, inputs.programme.protected[method.name])
    programme, seals = inputs.programme, inputs.seals
    for name in programme.suppression.earlier if seals is not None else ():
        seal = read_seal(programme.file(name) / SEAL)
        if seal is None:
            yield f"the earlier release {name} is not signed: changes cannot be detected"
        elif seals is not None and seal.wrong_for(seals):
            yield f"the earlier release {name} is signed with other keys and cannot be checked"


def _geographies_not_compared(
    programme: Programme, trees: Mapping[str, Classification]
) -> Iterator[str]:
    """A warning per source with tables of grid cells and of other areas, if nothing compares them.

    Areas are variables with boundaries or files by area, those beside grid cells in one
    variable, and, as no key says what their codes are, all with several levels.
    """
    if programme.document.slivers is not None:
        return
    declared = {table.areas.variable for table in programme.tables.values() if table.areas}
    for entry in programme.variables.values():
        others = entry.alternatives or []
        if any(
            other in programme.variables and programme.variables[other].squares for other in others
        ):
            declared |= set(others)
    for source in programme.sources:
        tables = [name for name in programme.tables if programme.source_of(name).name == source]
        used = dict.fromkeys(part for name in tables for part in used_variables(programme, name))
        entries = {name: programme.variables[name] for name in used}
        squares = [name for name, entry in entries.items() if entry.squares]
        areas = [
            name
            for name, entry in entries.items()
            if not entry.squares
            and (
                name in declared
                or entry.boundaries
                or (name in trees and entry.hierarchy and trees[name].depth > 1)
                or len(entry.levels or entry.prefixes or ()) > 1
            )
        ]
        if squares and areas:
            yield (
                f"tables of the same records have grid cells ({', '.join(squares)}) and "
                f"{', '.join(areas)}: differences of areas with few records are not examined; if "
                f"these are areas, add [slivers] with areas = {toml_value([*areas, *squares])}"
            )


def _read_earlier(opener: Opener[Programme]) -> tuple[EarlierTable, ...]:
    """The tables that were published before."""
    programme = opener.programme
    tables: list[EarlierTable] = []
    for number, name in enumerate(programme.suppression.earlier):
        folder = programme.file(name)
        if folder.is_dir():
            with opener.placed("suppression", "earlier", number):
                tables += read_release(folder, number)
    identities: dict[str, EarlierIdentity] = {}
    for number, name in enumerate(programme.suppression.earlier_identity):
        path: Place = ("suppression", "earlier_identity", number)
        with opener.placed(*path):
            if programme.file(name).is_file():
                own = read_identity(programme.file(name))
                identities |= own
                if not {table.digest for table in tables} & set(own):
                    message = "the fingerprints belong to none of the earlier releases"
                    opener.problems.append(
                        programme.problem(path, message, "add the release to earlier")
                    )
    opener.problems += contradictions(programme, tables)
    return tuple(replace(one, identity=identities.get(one.digest)) for one in tables)


def read_records(
    source: RecordSource, programme: ProgrammeFile, *, show_values: bool, master: str | None = None
) -> Any:
    """The records of a source; None if they are not there, which the checks have reported."""
    from discreet.microdata import is_url, read_microdata

    data = source.records
    if data.address is None or any(data.mistakes()):
        return None
    name, stated = data.address, {**data.stated, "show_values": show_values}
    if data.cubes is not None:
        places = [place for each in data.cubes for place in matching(programme.file(each))]
        return DistantCubes.of_paths(places).plan() if places else None
    if data.store is not None:
        return Store.open(programme.file(data.store), check=True).records.plan()
    if data.spark is not None:
        from discreet.microdata import read_spark

        return read_spark(data.spark, master, programme.file)
    if data.metadata is not None:
        stated["metadata"] = programme.file(data.metadata)
    where: str | Path = programme.file(name)
    if data.source is None and is_url(name):
        where = beside_programme(programme, name)
    elif not any(sign in name for sign in "*?[") and not programme.file(name).exists():
        return None
    kind = data.format or (None if data.source is not None or is_url(name) else "duckdb")
    return read_microdata(where, format=kind, table=data.table, query=data.query, **stated)


def _read_with_columns(
    source: RecordSource, programme: Programme, *, show_values: bool, master: str | None = None
) -> Any:
    """The records of a source, with squares of coordinates and codes of coarser levels."""
    records = read_records(source, programme, show_values=show_values, master=master)
    if records is None or isinstance(distant_records(records), KeyedBefore):
        return records  # cubes and stores are made of records that have them
    tables = [name for name in programme.tables if programme.source_of(name).name == source.name]
    used = dict.fromkeys(each for name in tables for each in used_variables(programme, name))
    for name in used:
        entry = programme.variables[name]
        records = with_coarser_column(records, programme, name)
        if entry.squares is None or entry.east is None or entry.north is None:
            continue
        if distant_records(records) is not None:
            message = f"grid cells of {name} cannot be computed in a database"
            hint = f"add the column {name!r} to the records, and remove east and north"
            raise ProgrammeError(message, code="squares", where=name, hint=hint)
        from discreet.microdata import with_squares

        size = entry.squares[-1]
        records = with_squares(records, east=entry.east, north=entry.north, size=size, column=name)
    return records


def _with_calibrated_weights(
    records: Any,
    source: RecordSource,
    programme: Programme,
    trees: Mapping[str, Classification],
    done: dict[str, ChangedRecords],
) -> Any:
    """The records with weights that meet the totals; what became of them goes into `done`."""
    import narwhals as nw
    import polars as pl

    from discreet.pretabular import calibrate

    entry = source.records.calibrate
    if entry is None or records is None or not entry.totals:
        return records
    place = programme.file(entry.totals)
    if not place.exists():
        return records  # reported by the checks
    if distant_records(records) is not None or records.implementation.is_pyspark():
        message, hint = "weights can be calibrated only in memory", "name a file of records"
        raise ProgrammeError(message, code="calibrate", where=source.name, hint=hint)
    totals = [item.table for item in read_release(place)] if place.is_dir() else place
    frame = collected(records)
    codes = dict[str, pl.Series]()  # of variables of the programme, as its tables have them
    for name, stated in programme.variables.items():
        column = stated.coarser_column(name) or programme.stated_column(name)
        if column in frame.columns:
            codes[name] = _codes(frame[column], trees.get(name)).alias(name)
    known = frame.with_columns(codes.values())
    done[source.name] = calibrate(known, entry.model_copy(update={"totals": totals}))
    weights = [done[source.name].records[name] for name in done[source.name].measures]
    return nw.from_native(frame.with_columns(weights).lazy())


def _codes(values: pl.Series, tree: Classification | None) -> pl.Series:
    """The codes of a variable; intervals of a number as its tables show them."""
    import numpy as np
    import polars as pl

    from discreet.tabulation import bin_codes

    if tree is None or tree.bounds is None or not values.dtype.is_numeric():
        return values
    numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    labels = [code for code, leaf in zip(tree.codes, tree.is_leaf, strict=True) if leaf]
    places = bin_codes(numbers, np.asarray(tree.bounds))
    return pl.Series([*labels, None], dtype=pl.String).gather(places)


def _with_merged_squares(inputs: Inputs) -> Inputs:
    """The inputs with the aggregated grid cells of all records.

    Counts with the noise of the programme decide what is aggregated: the grid cells tell what
    these counts tell, and no more.
    """
    programme, records = inputs.programme, dict(inputs.records)
    used: dict[tuple[str, str], None] = {}
    for table in programme.tables:
        source = programme.source_of(table).name
        used |= {(source, name): None for name in used_variables(programme, table)}
    for source, name in used:
        column = programme.variables[name].merged_column(name)
        if column is None:
            continue
        if distant_records(records[source]) is not None:
            message = f"grid cells of {name} can be aggregated only where the records are in files"
            hint = "add a column of aggregated grid cells to the records"
            raise ProgrammeError(message, code="squares", where=name, hint=hint)
        records[source] = _merged(inputs, source, name, records[source], column)
    return replace(inputs, records=records)


def _merged(inputs: Inputs, source: str, name: str, records: Any, merged: str) -> Any:
    """The records of a source with the aggregated grid cells of one variable."""
    import narwhals as nw

    from discreet.classifications import Classification
    from discreet.pretabular import merge_squares
    from discreet.protection.noise import perturb
    from discreet.tabulation import tabulate

    entry = inputs.programme.variables[name]
    column = entry.coarser_column(name) or entry.column or name
    keyed, record_key = KeyedRecords(inputs).of(source)
    assert inputs.parameters is not None
    codes = found_codes(records, [column])[column]
    short = not any(code.startswith("CRS") for code in codes)
    tree = Classification.from_squares(
        name, codes, sizes=entry.squares or (), column=column, short=short
    )
    counts = tabulate(
        nw.to_native(keyed),
        [tree] if entry.within is None else [entry.within, tree],
        record_key=record_key,
        key_grid=inputs.grid,
        allow_unsuitable_keys=inputs.programme.sources[source].keys.allow_unsuitable,
        name=name,
    )
    rules = inputs.parameters.rules
    shown = perturb(
        counts,
        inputs.parameters.perturbation_table,
        zeros=rules.zeros,
        decimals=rules.decimals,
        suppress_below=rules.suppress_below,
    )
    squares = merge_squares(shown, entry.at_least or 0, rest=entry.rest)
    made = squares.assign(nw.to_native(records), column, area=entry.within, column=merged)
    return nw.from_native(made)


def with_found_relations(
    programme: Programme, records: Mapping[str, Any], earlier: Sequence[EarlierTable]
) -> Programme:
    """The programme with what adds up in its records, where cells are hidden or methods differ."""
    from discreet.tabulation import column_relations

    places = programme.places
    found: dict[tuple[str, str], tuple[ValueRelation, ...]] = {}
    for place in dict.fromkeys(places.values()):
        own = [name for name in programme.tables if places[name] == place]
        methods = {programme.method(name).name: programme.method(name) for name in own}
        if len(methods) < 2 and not any(method.auditable for method in methods.values()):
            continue
        source = programme.source_of(own[0]).name
        filters = dict.fromkeys(programme.tables[name].where or "" for name in own)
        for where in sorted({"", *filters}):
            passing = [n for n in own if not where or (programme.tables[n].where or "") == where]
            past = [item for item in earlier if not where or item.about["where"] == where]
            past = [item for item in past if item.is_related(programme, own[0])]
            values = dict.fromkeys(value for name in passing for value in programme.tells(name))
            known = records[source].collect_schema().names() if past else ()
            values |= {v: None for each in past for v in each.values if v in known or v == COUNT}
            if len(values) > 1:
                columns = [value for value in values if value != COUNT]
                counted = COUNT if COUNT in values else None
                relations = column_relations(
                    records[source],
                    columns,
                    count=counted,
                    where=where,
                    share=programme.suppression.related_within,
                )
                found[place, where] = tuple(relations)
    return replace(programme, found_relations=found)


_KEYS_HINT = "create the keys with: discreet keys period"


def check_period_keys(programme: Programme, columns: Iterable[str]) -> Iterator[Problem]:
    """Whether the records have keys of the option that the programme states."""
    period, column = programme.document.period, programme.main.keys.column
    if period is None or column is None:
        return
    from discreet.microdata import since_column

    there = since_column(column) in set(columns)
    if there != (period.keys != "same"):
        message = (
            f"the keys do not have the option {period.keys!r}: their first period, column "
            f"{since_column(column)!r}, is missing"
        )
        if there:
            message = f"the keys are not permanent: {since_column(column)} holds their first period"
        yield programme.problem(("period", "keys"), message, _KEYS_HINT)


def check_earlier_periods(opener: Opener[Programme]) -> None:
    """Hold the period against those of the earlier releases that the programme names."""
    programme, period = opener.programme, opener.programme.document.period
    if period is None:
        return
    names = set()
    for number, name in enumerate(period.earlier):
        path, folder = ("period", "earlier", number), programme.file(name)
        if not folder.is_dir():
            continue  # reported by the checks of the programme
        statements: list[Mapping[str, Any]] = []
        with opener.placed(*path):
            statements = [table.about for table in read_release(folder)]
        for about in {(item.get("period"), item.get("keys")): item for item in statements}.values():
            names.add(about.get("period"))
            for problem in _wrong(period, about):
                opener.problems.append(programme.problem(path, *problem))
        used = [*programme.methods, *(protection(item["protect"]) for item in statements)]
        hidden = any(one.auditable and not one.attacked for one in used)  # beside true values
        again = any(item.get("period") == period.name for item in statements)
        together = {programme.file(other).resolve() for other in programme.suppression.earlier}
        if period.revision and again and hidden and folder.resolve() not in together:
            message = "what this release suppresses or shows opens suppressed cells of its revision"
            hint = "add it to [suppression] earlier, with the largest change: earlier_change = 0.1"
            opener.problems.append(programme.problem(path, message, hint))
    if period.revision and period.earlier and period.name not in names:
        message = f"no earlier release of {period.name!r} to revise"
        opener.problems.append(programme.problem(("period", "revision"), message))


def _wrong(period: PeriodEntry, about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    before, keys = about.get("period"), about.get("keys")
    if before is None:
        hint = "run its programme again with a section [period]"
        yield "the release lacks its period", hint
    elif keys != period.keys:
        message = f"the release of {before!r} has keys of the option {keys!r}, not {period.keys!r}"
        yield message, "use one option for all periods; see docs/methods/record-keys.md"
    elif before == period.name and not period.revision:
        hint = "name another period; for corrected values of the same period add revision = true"
        yield f"the period {before!r} is published already", hint


def check_same_period(programme: Programme, state: ReleaseState) -> None:
    """Refuse a folder that holds the release of another period, or with keys of another option."""
    period = programme.document.period
    for name in state.names():
        about = state.extras(name).get("about", {})
        before, keys = about.get("period"), about.get("keys")
        if before is None or (period and (before, keys) == (period.name, period.keys)):
            continue
        message = f"the folder contains the release of {before!r}, with keys of the option {keys!r}"
        hint = "use a separate folder for each period, and add this one to [period] earlier"
        raise PublicationError(message, code="period", where=str(state.out), hint=hint)
