"""The commands of output checking: ``discreet fire …``; no logic of their own."""

from pathlib import Path
from typing import Annotated

import typer

#: What all commands on a submission take.
Folder = Annotated[Path, typer.Option("--queue", help="Folder of the review queue.")]
Number = Annotated[int, typer.Argument(help="Number of the submission.", min=1)]
