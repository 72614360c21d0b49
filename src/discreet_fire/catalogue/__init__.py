"""What is known of each command, in data: one file a language, in which each fact stands once.

In: the TOML files of this folder, and a centre's own. Out: rules (`rules` reads them for all
languages); what becomes of do-files, scripts and programs, and the names and facts of Stata
commands (`policy`). Nothing here is confidential.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .policy import SAFE as SAFE
    from .policy import Policy as Policy
    from .policy import ScriptLanguage as ScriptLanguage
    from .policy import ScriptPolicy as ScriptPolicy
    from .policy import StatisticRow as StatisticRow
    from .policy import canonical as canonical
    from .policy import commands_with as commands_with
    from .policy import is_community as is_community
    from .policy import known_commands as known_commands
    from .policy import prefix_kind as prefix_kind
    from .policy import stata_catalogue as stata_catalogue
    from .policy import statistic_row as statistic_row
    from .policy import statistic_rows as statistic_rows
    from .policy import values_of as values_of
    from .rules import Action as Action
    from .rules import CommandRule as CommandRule
    from .rules import Forms as Forms
    from .rules import PartRule as PartRule
    from .rules import form_texts as form_texts
    from .rules import strictest as strictest

lazy_face(__name__)
