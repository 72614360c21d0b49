"""What is known of each command, in data: one row for each, in which no fact may be left out.

In: the TOML files of this folder, and a centre's own policy. Out: names (`command_names`), what
reading needs to know (`commands`), verdicts (`policy`), what running changes and shows
(`execution`), what functions tell (`functions`). Nothing here is confidential.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .command_names import canonical as canonical
    from .command_names import is_community as is_community
    from .command_names import meanings as meanings
    from .command_names import prefix_kind as prefix_kind
    from .commands import SAFE as SAFE
    from .commands import command_table as command_table
    from .commands import commands_where as commands_where
    from .execution import CommandFacts as CommandFacts
    from .execution import execution_rows as execution_rows
    from .execution import facts_of as facts_of
    from .functions import check_function_names as check_function_names
    from .functions import function_table as function_table
    from .functions import statistic_facts as statistic_facts
    from .package_policy import PackageLanguage as PackageLanguage
    from .package_policy import PackagePolicy as PackagePolicy
    from .package_policy import PackageRule as PackageRule
    from .package_policy import PartRule as PartRule
    from .policy import Policy as Policy
    from .script_policy import ScriptLanguage as ScriptLanguage
    from .script_policy import ScriptPolicy as ScriptPolicy
    from .script_policy import ScriptRule as ScriptRule
    from .verdicts import Action as Action
    from .verdicts import CommandVerdict as CommandVerdict
    from .verdicts import strictest as strictest

lazy_face(__name__)
