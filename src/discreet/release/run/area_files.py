"""The files of single areas (Regionaltabellen): which there are, and how they are written.

In: the protected tables that a release remembers. Out: files that say their area, a list of
them for each table, and how many areas are shown completely. Public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, Problem, ProgrammeError, PublicationError, raise_all
from discreet.files import atomic_path, write_together
from discreet.release.inputs import Inputs
from discreet.release.programme.file import Programme
from discreet.release.run.plan import OutputFile, outputs, release_files
from discreet.release.state.memory import ReleaseState
from discreet.tables import Dimension

if TYPE_CHECKING:
    from discreet.publication import WriteOptions
    from discreet.release.programme.schema import AreasEntry
    from discreet.release.single_areas import AreaCut
    from discreet.tables import ProtectedTable


#: The cells of so many areas are put into lines at once.
_AT_ONCE = 2**18


def check_area_levels(
    programme: Programme, names: Sequence[str], spanning: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse levels of areas that there are not, before anything is counted."""
    raise_all(
        ProgrammeError,
        area_level_problems(programme, names, spanning),
        code="programme",
        many="{} tables name unknown levels",
        where=str(programme.path),
    )


def area_level_problems(
    programme: Programme, names: Sequence[str], spanning: Mapping[str, Mapping[str, Any]]
) -> list[Problem]:
    """Levels of areas that there are not."""
    problems: list[Problem] = []
    for name in names:
        areas = programme.tables[name].areas
        if areas is None:
            continue
        from discreet.release.single_areas import AreaCut

        tree = spanning[programme.source_of(name).name][str(areas.variable)]
        if isinstance(tree, str):
            continue  # flat: the values found
        trees = tuple(tree) if isinstance(tree, list | tuple) else (tree,)
        try:
            AreaCut.levels(Dimension(classifications=trees), areas.level or 1, areas.within)
        except DiscreetError as error:
            place = ("tables", name, "areas", "level")
            problems.append(programme.problem(place, error.what, error.hint))
    return problems


@dataclass(frozen=True)
class AreaFiles:
    """The files of the areas of one table."""

    programme: Programme
    table: ProtectedTable  # the protected table; an outline will do for names

    @property
    def entry(self) -> AreasEntry:
        """Their entry in the programme."""
        entry = self.programme.tables[self.table.name].areas
        assert entry is not None
        return entry

    @cached_property
    def cut(self) -> AreaCut:
        """The table, to be cut."""
        from discreet.release.single_areas import AreaCut

        return AreaCut(self.table, str(self.entry.variable))

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """Code of the area that files are named after → the areas in them."""
        return dict(self.cut.groups(self.entry.level or 1, self.entry.within))

    @cached_property
    def files(self) -> dict[str, list[OutputFile]]:
        """Files of each area: code → files."""
        from discreet.publication import MAPS
        from discreet.release.single_areas import area_words

        words = area_words(self.cut, list(self.groups), labels=self.entry.labels)
        # An area by itself is no map.
        formats = [k for k in self.programme.tables[self.table.name].formats or [] if k not in MAPS]
        endings = outputs("", formats, self.programme.languages)
        return {
            code: [
                OutputFile(f"{self.table.name}.{word}{end}", kind, language)
                for end, kind, language in endings
            ]
            for code, word in words.items()
        }

    @property
    def listing(self) -> str:
        """The file that lists all of them."""
        return area_listing(self.programme, self.table.name)[0]

    def names(self) -> list[str]:
        """All of them."""
        return [self.listing, *(each.file for files in self.files.values() for each in files)]

    def write(self, folder: Path) -> None:
        """Write every file; all are complete when this ends."""
        import polars as pl

        from discreet.publication import WriteOptions, harmless, is_complete, write

        complete = self.programme.tables[self.table.name].complete
        csv = self.programme.document.publication.csv
        for alike in zip(*self.files.values(), strict=True):  # one format, one language
            files = {code: each.file for code, each in zip(self.files, alike, strict=True)}
            _, kind, language = alike[0]
            for code, file in files.items():
                named = self.entry.within is None
                table = self.cut.table(self.groups[code], named=named, top=code)
                options: dict[str, Any] = {"csv": csv} if kind == "csv" else {}
                write(
                    table,
                    folder / file,
                    format=kind,
                    language=language,
                    complete=complete,
                    **options,
                )
                if kind == "csv" and named and code == next(iter(files)):
                    whole = is_complete(table, complete)
                    form = WriteOptions(language=language, complete=whole, csv=csv)
                    if self._write_lines(folder, files, table.grid_size, form):
                        break
        # Code, label and file of each area, for those who look for one.
        language, codes = self.programme.languages[0], self.cut.areas.codes
        rows = [
            (codes[at], self.cut.label(codes[at], language), each.file)
            for code, files in self.files.items()
            for at in self.groups[code]
            for each in files
        ]
        frame = pl.DataFrame(rows, schema=["code", "label", "file"], orient="row")
        with atomic_path(folder / self.listing) as temporary:
            frame.select(harmless(column) for column in frame).write_csv(
                temporary, line_terminator="\r\n"
            )

    def _write_lines(
        self, folder: Path, files: Mapping[str, str], size: int, options: WriteOptions
    ) -> bool:
        """Write the files of all areas as lines of one, if their columns are the same.

        Args:
            folder: Their folder, where the first stands already.
            files: Code of each area → name of its file.
            size: The cells of the grid of each.
            options: What all have in common.
        """
        from discreet.publication import lines_by_code

        if self.table.withheld is not None or self.table.cell_notes:
            return False
        first = (folder / next(iter(files.values()))).read_bytes()
        heading = first[: first.index(b"\r\n") + 2]
        positions = [at for code in files for at in self.groups[code]]
        some = max(1, _AT_ONCE // size)
        for part in range(0, len(positions), some):
            block = self.cut.table(
                positions[part : part + some], named=False, top=self.cut.areas.total
            )
            lines = lines_by_code(block, self.cut.at, options)
            names = list(files.values())[part : part + some]
            if len(lines) != len(names) or (not part and heading + lines[0] != first):
                return False
            contents = (heading + text for text in lines)
            write_together(folder, zip(names, contents, strict=True))
        return True


def area_listing(programme: Programme, name: str) -> list[str]:
    """The file that lists those of all areas; none if a table has none."""
    return [] if programme.tables[name].areas is None else [f"{name}.areas.csv"]


def area_files(programme: Programme, name: str, shelf: ReleaseState) -> list[str]:
    """The files of the areas of a table; none if it has none."""
    if programme.tables[name].areas is None:
        return []
    return AreaFiles(programme, shelf.outline(name)).names()


def check_area_files(inputs: Inputs, shelf: ReleaseState) -> list[str]:
    """The files of all areas; an error if two of the release would be one.

    Raises:
        PublicationError: If a file would be written twice.
    """
    programme = inputs.programme
    found = {name: area_files(programme, name, shelf) for name in programme.tables}
    every = [*release_files(inputs), *(file for files in found.values() for file in files)]
    often = Counter(file.lower() for file in every)
    problems = [
        Problem(f"{file!r} would be written twice", name, "give the table another name")
        for name, files in found.items()
        for file in files
        if often[file.lower()] > 1
    ]
    raise_all(
        PublicationError,
        problems,
        code="area-file",
        many="{} files of areas would be written twice",
        where=str(programme.path),
        most=10,
    )
    return [file for files in found.values() for file in files]


def described_areas(shelf: ReleaseState, name: str) -> list[dict[str, Any]]:
    """Numbers of areas shown completely, per level; empty without decisions on areas."""
    from discreet.protection.parts import PartDecisions, area_shares

    log = shelf.extras(name).get("decisions")
    decided = None if log is None else PartDecisions.from_dict(log)
    if decided is None or decided.areas is None:
        return []
    spanning = shelf.outline(name).spanning
    shares = area_shares(spanning, decided.suppressed, decided.areas)
    return [share.to_dict() for share in shares]
