"""The files of a release: tables, pages about them, and the list of everything.

In: protected tables and statistics on a shelf. Out: files in its stage, from where they
reach the release folder together. The internal report goes elsewhere: it is CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._version import __version__
from discreet.errors import PublicationError
from discreet.files import check_writable, file_digest, json_text, write_text
from discreet.release.inputs import Inputs
from discreet.release.packages.parameters import package_line
from discreet.release.report.summary import MANIFEST, ReleasedTable
from discreet.release.run.area_files import AreaFiles, area_files, area_listing, described_areas
from discreet.release.run.identities import write_identity
from discreet.release.run.period_checks import PeriodChecks
from discreet.release.run.plan import (
    CHANGES,
    DECISIONS,
    RELEASE,
    about_files,
    atlas_files,
    atlas_tables,
    catalogue_files,
    decision_files,
    map_digests,
    quality_files,
    quantile_outputs,
    report_files,
    table_outputs,
    workbook_files,
    workbook_tables,
)
from discreet.release.state.memory import ReleaseKey, ReleaseState, quality_of

if TYPE_CHECKING:
    from discreet.tables import ProtectedTable


def check_internal(internal: Path | None, out: Path) -> None:
    """Refuse a folder for the internal report that would be published with the rest."""
    if internal is None:
        return
    if internal.resolve().is_relative_to(out.resolve()):
        message = "the internal report must not be in the release folder"
        hint = "choose a folder outside the release; the report is confidential"
        raise PublicationError(message, code="internal-folder", where=str(internal), hint=hint)
    if internal.exists():
        check_writable(internal)


def last_package(shelf: ReleaseState) -> dict[str, str] | None:
    """Statistic, version and signer of the package that the release was made with last."""
    if RELEASE not in shelf.names():
        return None
    package: dict[str, str] | None = shelf.extras(RELEASE).get("package")
    return package


class Writer:
    """Writes the files of one release."""

    def __init__(
        self,
        inputs: Inputs,
        shelf: ReleaseState,
        *,
        digests: Mapping[str, str],
        resume: bool,
    ) -> None:
        self.inputs = inputs
        self.programme = inputs.programme
        self.shelf = shelf
        self.digests = digests
        self.resume = resume
        self.reported: dict[str, list[Mapping[str, Any]]] = {}
        #: Whether attacks on the tables stayed below limits.
        self.attacked = False
        self.periods = PeriodChecks()

    def tables(self, step: Callable[[str], None]) -> None:
        """Write each table in each format and language."""
        for name in self.programme.tables:
            self._table(name)
            step(name)

    def _table(self, name: str) -> None:
        from discreet.publication import MAPS, write

        entry, digest = self.programme.tables[name], self.digests[name]
        outputs = table_outputs(self.programme, name)
        areas = area_files(self.programme, name, self.shelf)
        beside = quantile_outputs(self.programme, name)
        files = [*(item.file for item in outputs), *areas]
        files += [item.file for every in beside.values() for item in every]
        if self.resume and self.shelf.complete(name, digest, files):
            return
        table = self.shelf.table(name)
        shown = [(table, outputs)]
        shown += [(self._quantiles(table, variable), every) for variable, every in beside.items()]
        for made, every in shown:
            for file, kind, language in every:
                path = self.shelf.stage / file
                options: dict[str, Any] = self._maps(name) if kind in MAPS else {}
                publication = self.programme.document.publication
                options |= {"csv": publication.csv} if kind == "csv" else {}
                options |= publication.conditions if kind == "sdmx-csv" else {}
                complete = entry.complete
                write(made, path, format=kind, language=language, complete=complete, **options)
        if areas:
            AreaFiles(self.programme, table).write(self.shelf.stage)
        self.shelf.add_files(name, digest, files)

    def _quantiles(self, table: ProtectedTable, variable: str) -> ProtectedTable:
        """The quantiles of a table of counts, which is all that they are made of."""
        from discreet.derived import quantiles

        name, method = table.name, self.programme.method(table.name)
        tree = self.inputs.trees[variable]
        return quantiles(
            table,
            variable,
            breaks=tree.bounds,
            deviation=partial(method.quality, self.inputs),
            name=f"{name}.{variable}",
            **self.programme.tables[name].quantiles[variable].model_dump(),
        )

    def _maps(self, name: str) -> dict[str, Any]:
        """What the maps of a table show, and which of its variables has areas."""
        return {"geo": self.inputs.mapped(name), **self.inputs.maps(name)}

    # -- about the release as a whole ------------------------------------------------

    def about(self, internal: Path | None) -> None:
        """Write the pages about the release, its workbook, and the list of its files."""
        document = self.programme.document
        released = [self.released(name) for name in self.programme.tables]
        parts = [[table.described(), self.digests[table.name]] for table in released]
        about: list[object] = [self.title, document.date, self.programme.data.version, parts]
        about += [self._versions()] if document.sources else []
        about += [document.publication.conditions] if document.publication.conditions else []
        in_workbook = workbook_tables(self.programme)
        about += [in_workbook] if in_workbook and len(in_workbook) < len(released) else []
        about += [map_digests(self.inputs, name) for name in atlas_tables(self.inputs)]
        changes = self.periods.changes
        about += [] if changes is None else [changes.listed().write_csv()]
        package = self.inputs.package
        about += [package] if package is not None else []
        digest = self._key(None).digest(about)
        files = [*about_files(self.inputs), MANIFEST]
        if not (self.resume and self.shelf.complete(RELEASE, digest, files)):
            self._in_languages()
            self._decisions()
            self._quality(internal)
            self._catalogue(released)
            if changes is not None:
                write_text(self.shelf.stage / CHANGES, changes.listed().write_csv())
            for method in self.programme.methods:
                names = self.programme.protected[method.name]
                remembered = {name: self.shelf.extras(name) for name in names}
                method.write_reports(self.inputs, remembered, self.shelf.stage)
            self._manifest(released)
            # Later runs must know which package a release was made with.
            used = self.inputs.package or last_package(self.shelf)
            kept = {} if used is None else {"package": dict(used)}
            self.shelf.add_files(RELEASE, digest, files, kept)
        elif internal is not None:
            self._quality(internal)
        if internal is not None:
            for method in self.programme.methods:
                if entries := self.reported.get(method.name):
                    method.write_internal(entries, internal)
            write_identity(self.inputs, self.digests, internal)

    def _key(self, table: str | None) -> ReleaseKey:
        """The key of the digests of a table; None for the release as a whole."""
        programme = self.programme
        source = programme.main if table is None else programme.source_of(table)
        return self.inputs.release_keys[source.name]

    def _versions(self) -> dict[str, str | None]:
        """The version of the data of each source, if there are several."""
        if not self.programme.document.sources:
            return {}
        return {name: source.records.version for name, source in self.programme.sources.items()}

    @property
    def title(self) -> Mapping[str, str]:
        """The heading of the release."""
        return self.programme.document.title or {"en": self.programme.path.stem}

    def _in_languages(self) -> None:
        """Pages about the release, workbooks and atlases: one of each per language."""
        from discreet.publication import write_report, write_workbook

        programme, table, stage = self.programme, self.shelf.table, self.shelf.stage
        drawn = atlas_tables(self.inputs)
        for at, language in enumerate(programme.languages):
            spoken: dict[str, Any] = {"title": self.title, "language": language}
            for file in report_files(programme)[at : at + 1]:
                links, package = self._links(language), package_line(self.inputs.package, language)
                tables = map(table, list(programme.tables))
                write_report(tables, stage / file, files=links, provenance=package, **spoken)
            for file in workbook_files(programme)[at : at + 1]:
                write_workbook(map(table, workbook_tables(programme)), stage / file, **spoken)
            for file in atlas_files(programme)[at : at + 1]:
                from discreet.publication import WriteOptions, title_in, write_many

                maps = [WriteOptions(language=language, **self._maps(name)) for name in drawn]
                title = title_in(self.title, language)
                write_many(list(map(table, drawn)), stage / file, title, maps)

    def _decisions(self) -> None:
        """What was decided about table parts, without a single true value."""
        if not decision_files(self.inputs):
            return
        tables = {}
        for name in self.programme.tables:
            if self.programme.method(name).parts:
                log, shares = (
                    self.shelf.extras(name)["decisions"],
                    described_areas(self.shelf, name),
                )
                # How many areas are shown completely.
                tables[name] = {**log, "area_shares": shares} if shares else log
        self._write_json(
            DECISIONS, {"format": "discreet-part-decisions", "format_version": 1, "tables": tables}
        )

    def _quality(self, internal: Path | None) -> None:
        if not quality_files(self.programme):
            return
        from discreet.publication import LANGUAGES
        from discreet.release.report.quality import write_quality
        from discreet.release.report.sections import words

        every = {
            name: self.shelf.extras(name)
            for name in self.programme.tables
            if self.programme.method(name).assessed
        }
        write_quality(
            quality_of(every, {name: self._key(name) for name in every}),
            self.shelf.stage,
            title=self.title,
            languages=self.programme.languages,
            internal=internal,
            # Units with the noise of their parts.
            remarks=[
                {item: words(item)["shared noise"].format(name, parts) for item in LANGUAGES}
                for name, source in self.programme.sources.items()
                if (parts := source.plain_parts) is not None
            ]
            + [
                dict(zip(LANGUAGES, sentences, strict=True))
                for sentences in zip(*map(self.periods.sentences, LANGUAGES), strict=True)
            ],
            tables=[self.shelf.outline(name) for name in every],
            attacked=self.attacked,
            areas={name: described_areas(self.shelf, name) for name in every},
        )

    def _catalogue(self, released: Sequence[ReleasedTable]) -> None:
        """The entry of data catalogues, as JSON-LD and as RDF/XML."""
        from discreet.release.report.catalogue import catalogue_entry, json_ld, rdf_xml

        files = catalogue_files(self.programme)
        publication = self.programme.document.publication
        if not files or publication.imprint is None:
            return
        entry = catalogue_entry(
            address=publication.address or "",
            title=self.title,
            date=self.programme.document.date,
            imprint=publication.imprint,
            languages=self.programme.languages,
            tables=[self.shelf.outline(table.name) for table in released],
            files={table.name: table.files for table in released},
        )
        for file, text in zip(files, (json_ld(entry), rdf_xml(entry)), strict=True):
            write_text(self.shelf.stage / file, text)

    def _manifest(self, released: list[ReleasedTable]) -> None:
        """The list of everything: the same release always gives the same text."""
        document, stage, versions = self.programme.document, self.shelf.stage, self._versions()
        inherited = {  # how units get their keys from those of their parts
            name: {"inherit": source.keys.inherit}
            | ({"unit": source.keys.unit} if source.keys.unit else {"inheritance": "plain"})
            for name, source in self.programme.sources.items()
            if source.keys.inherit
        }
        used = self.inputs.package
        package: dict[str, Any] = dict(used or {})
        if package:
            package["signer"] = package["signer"] or None
        unsuitable = [name for name, check in self.inputs.key_checks.items() if check.faults]
        content = {
            "format": "discreet-release",
            "format_version": 1,
            "software": f"discreet {__version__}",
            "title": dict(self.title),
            "date": document.date,
            "data_version": self.programme.data.version,
            **document.publication.conditions,
            **({"data_versions": versions} if versions else {}),
            **({"parameters": package} if package else {}),
            **({"inherited_keys": inherited} if inherited else {}),
            "languages": list(self.programme.languages),
            **({"unsuitable_record_keys": unsuitable} if unsuitable else {}),
            "reports": {file: file_digest(stage / file) for file in about_files(self.inputs)},
            "tables": [table.described() for table in released],
        }
        self._write_json(MANIFEST, content)

    def _write_json(self, file: str, content: Mapping[str, Any]) -> None:
        write_text(self.shelf.stage / file, json_text(content) + "\n")

    def _links(self, language: str) -> dict[str, list[Path]]:
        """Per table, its files in one language, as they will stand beside the page."""
        drawn, pages = atlas_tables(self.inputs), atlas_files(self.programme)
        here = self.programme.languages.index(language)
        return {
            name: [
                self.shelf.stage / file
                for file, _, spoken in table_outputs(self.programme, name)
                if spoken == language
            ]
            + [self.shelf.stage / file for file in pages[here : here + 1] if name in drawn]
            + [
                self.shelf.stage / file
                for files in quantile_outputs(self.programme, name).values()
                for file, _, spoken in files
                if spoken == language
            ]
            + [self.shelf.stage / file for file in area_listing(self.programme, name)]
            for name in self.programme.tables
        }

    def released(self, name: str, *, fresh: bool = False) -> ReleasedTable:
        """The files of a table."""
        table = self.shelf.outline(name)
        return ReleasedTable(
            name=name,
            title=table.title(self.programme.languages[0]),
            source=self.programme.source_of(name).name if self.programme.document.sources else "",
            by=tuple(dimension.name for dimension in table.spanning),
            figures=tuple(figure.name for figure in table.figures),
            cells=table.grid_size,
            digests=table.provenance.digests,
            files=self.shelf.files(name),
            fresh=fresh,
        )
