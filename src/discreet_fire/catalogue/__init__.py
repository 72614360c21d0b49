"""What is known of each command, in data: one file a language, in which each fact stands once.

In: the TOML files of this folder, and a centre's own. Out: rules (`rules` reads them for all
languages), what becomes of do-files (`policy`), scripts and programs (`script_policy`), and the
names and facts of Stata commands (`commands`). Nothing here is confidential.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .commands import SAFE as SAFE
    from .commands import StatisticRow as StatisticRow
    from .commands import canonical as canonical
    from .commands import commands_with as commands_with
    from .commands import is_community as is_community
    from .commands import meanings as meanings
    from .commands import prefix_kind as prefix_kind
    from .commands import stata_catalogue as stata_catalogue
    from .commands import statistic_row as statistic_row
    from .commands import statistic_rows as statistic_rows
    from .commands import values_of as values_of
    from .policy import Policy as Policy
    from .policy import ScriptLanguage as ScriptLanguage
    from .policy import ScriptPolicy as ScriptPolicy
    from .policy import known_commands as known_commands
    from .rules import Action as Action
    from .rules import CommandRule as CommandRule
    from .rules import PartRule as PartRule
    from .rules import strictest as strictest

lazy_face(__name__)
