"""`Classification`: the code tree of one variable, and the ways to make and keep one.

In: codes, frames or files. Out: an immutable `Classification`. Nothing here is
confidential: a classification describes what could be counted, not what was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, Unpack

from discreet.classifications import documents, grids, hrc, levels, parents
from discreet.classifications.parents import flat_tree
from discreet.classifications.text_files import (
    check_suffix,
    file_error,
    read_text,
    save_text,
)
from discreet.classifications.tree import TOTAL, CodeTree, Details
from discreet.errors import ClassificationError


@dataclass(frozen=True, kw_only=True, repr=False)
class Classification(CodeTree):
    """The code tree of one variable.

    The first code is the total; every other code has a parent that stands
    before it (tree order, children of one parent in the order given). Records
    carry leaf codes.

    Make one with `flat`, `from_parents`, `from_levels`, `from_prefixes`,
    `from_intervals`, `from_squares` or `read`. These also take ``labels``, ``titles``, ``column``,
    ``missing``, ``level_names`` and ``level_titles``, as below.

    Args:
        name: Name of the variable.
        codes: All codes in tree order; the first is the total.
        parents: Position of each code's parent; -1 for the total.
        labels: code → language → label.
        column: Column of the data that holds the leaf codes; the name if None.
        bounds: For intervals of a number: leaf k covers bounds[k] ≤ x < bounds[k+1].
        missing: Code of the category that records without a value get.
        titles: language → name of the variable as printed.
        level_names: Names of the levels below the total, coarsest first.
        level_titles: name or number of a level → language → how it is printed.
        level_columns: Columns of the data, coarsest first, the last one with a
            value holding the leaf code; empty if one column holds it.
        found: Which codes are listed only because they occur in the data: "none",
            "missing" or "all". A protected table lists those of them that have a
            published figure, since the others would tell zeros from changed zeros.

    >>> region = Classification(name="region", codes=("Total", "N", "N1", "N2", "S"),
    ...                         parents=(-1, 0, 1, 1, 0))
    >>> region.leaves
    ('N1', 'N2', 'S')
    >>> region.children("N")
    ('N1', 'N2')
    >>> region
    <Classification region: 5 codes, 2 levels>
    """

    @classmethod
    def flat(
        cls,
        name: str,
        codes: Iterable[str],
        *,
        total: str = TOTAL,
        **details: Unpack[Details],
    ) -> Self:
        """A classification of one level below the total, in the order given.

        Args:
            name: Name of the variable.
            codes: The codes, without the total.
            total: Code of the total.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.

        >>> sex = Classification.flat("sex", ["m", "w"], labels={"m": {"de": "männlich"}})
        >>> sex.codes, sex.label("m", "de")
        (('Total', 'm', 'w'), 'männlich')
        """
        return cls._of(flat_tree(name, codes, total), details)

    @classmethod
    def from_parents(
        cls,
        name: str,
        source: Mapping[str, str | None] | Sequence[tuple[str, str | None]] | Any,
        *,
        total: str = TOTAL,
        child: str = "child",
        parent: str = "parent",
        **details: Unpack[Details],
    ) -> Self:
        """A classification from a table of codes and their parents.

        Args:
            name: Name of the variable.
            source: Mapping child → parent, pairs, or a frame with a column for each
                and perhaps labels in ``label_en``, ``label_de``, … The highest codes
                have no parent (None), or the total. Order is that of first appearance.
            total: Code of the total; it may be listed, without a parent.
            child: Column of the codes, if `source` is a frame.
            parent: Column of their parents, if `source` is a frame.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.

        >>> Classification.from_parents("region", {"N1": "N", "N": None, "S": None}).codes
        ('Total', 'N', 'N1', 'S')
        """
        tree = parents.tree_from_parents(name, source, total=total, child=child, parent=parent)
        return cls._of(tree, details)

    @classmethod
    def from_levels(
        cls,
        frame: Any,
        columns: Sequence[str],
        *,
        name: str | None = None,
        total: str = TOTAL,
        **details: Unpack[Details],
    ) -> Self:
        """A classification from level columns of the data, such as state and district.

        Siblings stand in natural order, whatever the order of the rows. A code that
        repeats the one above it adds no level, nor does a missing one; where some
        rows end above the finest column, `level_columns` names the columns, since no
        single one holds the leaf codes; add one that does and name it with ``column``.
        Codes count as found in the data; say ``found="none"`` for a list that is public.

        Args:
            frame: Any frame narwhals reads, in memory or lazy.
            columns: The level columns, coarsest first.
            name: Name of the variable; that of the finest column if None.
            total: Code of the total.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.

        >>> import polars as pl
        >>> places = pl.DataFrame({"state": ["N", "N", "B"], "district": ["N2", "N1", "B"]})
        >>> region = Classification.from_levels(places, columns=["state", "district"])
        >>> region.name, region.codes
        ('district', ('Total', 'B', 'N', 'N1', 'N2'))
        """
        finest = columns[-1] if columns else ""
        tree = levels.tree_from_levels(name or finest, frame, columns, total=total)
        if not tree.level_columns and "column" not in details:
            details["column"] = finest
        details.setdefault("found", "all")
        return cls._of(tree, details)

    @classmethod
    def from_prefixes(
        cls,
        name: str,
        codes: Iterable[str],
        lengths: Sequence[int],
        *,
        total: str = TOTAL,
        **details: Unpack[Details],
    ) -> Self:
        """A classification whose inner codes are prefixes of the codes given.

        Args:
            name: Name of the variable.
            codes: The codes, in any order. One shorter than a length ends there.
            lengths: Lengths of the prefixes, rising; the last is that of full codes.
            total: Code of the total.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.

        >>> Classification.from_prefixes("region", ["01002", "01001", "11"], [2, 5]).codes
        ('Total', '01', '01001', '01002', '11')
        """
        return cls._of(levels.tree_from_prefixes(name, codes, lengths, total=total), details)

    @classmethod
    def from_intervals(
        cls,
        name: str,
        bounds: Sequence[float],
        *,
        parents: Sequence[Sequence[float]] = (),
        open_first: bool = False,
        open_last: bool = True,
        whole: bool | None = None,
        total: str = TOTAL,
        **details: Unpack[Details],
    ) -> Self:
        """A classification of a number by intervals, such as age bands.

        Each interval holds its lower bound and not its upper one.

        Args:
            name: Name of the variable.
            bounds: Rising bounds of the intervals.
            parents: Bounds of coarser intervals above them, coarsest first; they nest.
            open_first: Add an interval for everything below the first bound.
            open_last: Add an interval for everything from the last bound on.
            whole: The number has no decimals, so that [0, 6) is written 0-5; None:
                if no bound has decimals.
            total: Code of the total.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.

        >>> age = Classification.from_intervals("age", [0, 6, 18, 65], parents=[[0, 18]])
        >>> age.codes
        ('Total', '0-17', '0-5', '6-17', '18+', '18-64', '65+')
        >>> age.label("0-5"), age.bounds
        ('0–5', (0.0, 6.0, 18.0, 65.0, inf))
        """
        tree = levels.tree_from_intervals(
            name,
            bounds,
            parents=parents,
            open_first=open_first,
            open_last=open_last,
            whole=whole,
            total=total,
        )
        return cls._of(tree, details)

    @classmethod
    def from_squares(
        cls,
        name: str,
        codes: Iterable[str],
        *,
        sizes: Sequence[int] = grids.SIZES,
        total: str = TOTAL,
        short: bool = False,
        **details: Unpack[Details],
    ) -> Self:
        """A classification of squares of the European grid, such as 1 km below 10 km.

        Codes count as found in the data; say ``found="none"`` for a list that is public.

        Args:
            name: Name of the variable.
            codes: The squares of the smallest size that occur, as INSPIRE codes or short
                ones, in any order; the column of the data has the form that `short` says.
            sizes: Sides in metres, coarsest first; each is a multiple of the next.
            total: Code of the total.
            short: Whether codes of the data are short ones, such as 1kmN2684E4334.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.

        >>> Classification.from_squares("km", ["1kmN2684E4334"], sizes=[10_000, 1_000]).codes
        ('Total', 'CRS3035RES10000mN2680000E4330000', 'CRS3035RES1000mN2684000E4334000')
        """
        found = details.pop("found", "all")
        tree = grids.tree_of_squares(
            name, codes, sizes=sizes, total=total, found=found, short=short
        )
        return cls._of(tree, details)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        total: str | None = None,
        codelist: str | os.PathLike[str] | None = None,
        language: str = "en",
        lead: str | None = None,
        strip: bool = True,
        encoding: str = "utf-8",
        **details: Unpack[Details],
    ) -> Self:
        r"""Read a classification from a file: .hrc, .json, .toml or .csv, by its suffix.

        Args:
            path: The file.
            name: Name of the variable; that in the file, or of the file, if None.
            total: Code of the total; that in the file, or ``Total``, if None.
            codelist: A label file (.cdl, lines ``code,label``) to attach.
            language: Language of the labels in `codelist`.
            lead: Lead string of a .hrc file; recognised if None.
            strip: Take blanks off both ends of codes in .hrc and .cdl files; False
                keeps the leading ones, as in fixed-width data.
            encoding: Encoding of the file, such as ``cp1252``.
            details: ``labels``, ``titles``, ``column``, ``missing``, ``level_names``.

        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "region.hrc"
        >>> _ = path.write_text("N\n@N1\n@N2\nS\n")
        >>> Classification.read(path).codes
        ('Total', 'N', 'N1', 'N2', 'S')
        """
        location: object = path
        if not isinstance(location, str | os.PathLike):
            message = f"expected the path of a file, got a {type(location).__name__}"
            hint = 'such as Classification.read("region.hrc")'
            raise ClassificationError(message, code="classification-file", hint=hint)
        suffix = check_suffix(Path(path), (".hrc", *documents.READERS))
        file = read_text(path, encoding)
        if suffix == ".hrc":
            tree = hrc.read_hrc(file, name, total=total or TOTAL, lead=lead, strip=strip)
        else:
            tree = documents.READERS[suffix](file, name, total)
        if codelist is not None:
            if details.get("missing") is not None:
                tree = tree.replace(missing=details["missing"])
            texts = hrc.read_cdl(read_text(codelist, encoding), tree, strip=strip)
            labels = {c: {**tree.labels.get(c, {}), language: text} for c, text in texts.items()}
            tree = tree.replace(labels={**tree.labels, **labels})
        return cls._of(tree, details)

    def write(self, path: str | os.PathLike[str], *, lead: str = "@", language: str = "en") -> Path:
        """Write to a file by its suffix, and give its path.

        .json and .toml keep everything; .csv keeps codes, parents and labels; .hrc
        keeps codes and parents below the total; .cdl the labels in one language.

        Args:
            path: The file.
            lead: Lead string of a .hrc file.
            language: Language of a .cdl file.
        """
        target = Path(path)
        suffix = check_suffix(target, (".hrc", *documents.WRITERS, ".cdl"))
        if suffix != target.suffix.lower():
            message = "compressed files can only be read"
            raise file_error(message, target, hint="leave out .gz")
        if suffix == ".hrc":
            text = hrc.hrc_text(self, lead=lead)
        elif suffix == ".cdl":
            text = hrc.cdl_text(self, language)
        else:
            text = documents.WRITERS[suffix](self)
        save_text(target, text)
        return target

    @classmethod
    def _of(cls, tree: CodeTree, details: Details) -> Self:
        """The tree with the details given; labels are added code by code."""
        if not details:  # checked already
            classification = cls.__new__(cls)
            classification.__dict__.update(tree.fields())
            return classification
        fields = {**tree.fields(), **details}
        if "labels" in details:
            fields["labels"] = {**tree.labels, **details["labels"]}
        return cls(**fields)  # type: ignore[arg-type]


def flat(
    name: str, codes: Sequence[str], *, total: str = TOTAL, **details: Unpack[Details]
) -> Classification:
    """Short for `Classification.flat`.

    >>> flat("sex", ["m", "w"]).codes
    ('Total', 'm', 'w')
    """
    return Classification.flat(name, codes, total=total, **details)
