"""The quality of a whole release: tallies, sums over tables, public statements.

In: true and protected tables, or ingredients of key figures, one table after another.
Out: `QualityLog` and `Overall`, CONFIDENTIAL; `QualityStatement`s, which are public.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .log import SUPPORT as SUPPORT
    from .log import Overall as Overall
    from .log import QualityLog as QualityLog
    from .log import QualityStatement as QualityStatement
    from .log import statements as statements
    from .pairs import MILLION as MILLION
    from .pairs import SIZE_CLASSES as SIZE_CLASSES

lazy_face(__name__)
