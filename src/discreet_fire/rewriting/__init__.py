"""Programs made safe: `discreet fire pre`.

In: do-files and scripts of researchers, and a policy. Out: ``NAME_FiRe.*`` beside the originals,
with safe commands in place of unsafe ones, a manifest of every edit, and findings for the officer.
Nothing is run.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .results import described as described
    from .results import report as report
    from .results import undo as undo
    from .submission import policies_of as policies_of
    from .submission import policy_report as policy_report
    from .submission import rewrite_files as rewrite_files

lazy_face(__name__)
