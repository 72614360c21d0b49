"""Ways to run a researcher's program so that only safe output leaves. CONFIDENTIAL.

`protocol` says what each way takes, gives back and must keep to; `registry` finds the runner of
a program by its suffix; `builtin` is the small Stata of this project.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .closed_process import control_folder as control_folder
    from .protocol import FIGURES as FIGURES
    from .protocol import RunResult as RunResult
    from .protocol import StatisticShown as StatisticShown
    from .protocol import run_program as run_program
    from .protocol import write_confidential as write_confidential
    from .protocol import write_run as write_run
    from .registry import VARIABLE as VARIABLE
    from .registry import runner_for as runner_for
    from .registry import runners as runners

lazy_face(__name__)
