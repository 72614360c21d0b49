"""A folder with the files of a program that runs.

In: a program, names of data files. Out: a folder that is gone afterwards, with copies of what lies
beside the program. The data are not there: they are put in their places as the program starts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import OutputCheckError

#: A folder of programs is small; what is larger is data.
_LARGEST = 200_000_000


@contextmanager
def program_folder(program: Path, data: Sequence[Path]) -> Iterator[Path]:
    """A new folder; gives the copy of the program in it."""
    home = program.absolute().parent
    names = {file.name for file in data}
    with tempfile.TemporaryDirectory(prefix="discreet-run-") as folder:
        place = Path(folder).resolve()
        left = _LARGEST
        for here, folders, files in os.walk(home):
            folders.sort()
            inside = place / Path(here).relative_to(home)
            inside.mkdir(exist_ok=True)
            for name in sorted(files):
                source = Path(here, name)
                if (
                    source.is_symlink()
                    or not source.is_file()
                    or (inside == place and name in names)
                ):
                    continue
                left -= source.stat().st_size
                if left < 0:
                    message = "the folder of the program holds too much to be copied"
                    hint = "put programs in a folder of their own, and name data with --data"
                    raise OutputCheckError(
                        message, code="program-folder", where=str(home), hint=hint
                    )
                shutil.copyfile(source, inside / name)
        yield place / program.name
