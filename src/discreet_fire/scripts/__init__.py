"""Programs in R and Python: reading them, and what rewritten ones call.

In: scripts and notebooks in source form. Out: chunks, trees and bindings; `runtime` has the safe
functions that stand in rewritten Python scripts. It is no sandbox.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from . import runtime as runtime
    from .documents import NOTEBOOK as NOTEBOOK
    from .documents import PACKAGES as PACKAGES
    from .documents import SUFFIXES as SUFFIXES
    from .documents import NotebookCode as NotebookCode
    from .documents import chunks_of as chunks_of
    from .documents import code_of as code_of
    from .documents import in_json as in_json
    from .documents import is_script as is_script
    from .documents import read_notebook as read_notebook
    from .package_syntax import PackageToken as PackageToken
    from .package_syntax import SasStatement as SasStatement
    from .package_syntax import SpssCommand as SpssCommand
    from .package_syntax import SpssPart as SpssPart
    from .package_syntax import UnnamedVariablesError as UnnamedVariablesError
    from .package_syntax import crossings as crossings
    from .package_syntax import names_spss as names_spss
    from .package_syntax import one_line as one_line
    from .package_syntax import parenthesis as parenthesis
    from .package_syntax import parse_sas as parse_sas
    from .package_syntax import parse_spss as parse_spss
    from .package_syntax import split_at as split_at
    from .package_syntax import with_depths as with_depths
    from .tree import Binding as Binding
    from .tree import Node as Node
    from .tree import ReadingError as ReadingError
    from .tree import parse_r as parse_r
    from .tree import read_python as read_python
    from .tree import read_r as read_r

lazy_face(__name__)
