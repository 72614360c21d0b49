"""Queries: tables that somebody asks for, protected as `discreet protect` would.

In: a `TableQuery` in a closed grammar. Out: a `ProtectedTable`, the same for every way of asking.
Modules from the bottom: `grammar`, `measures`, `canonical`, `plan`, `counts`, `presentation`,
`cache`, `evidence`, `sparse_parts`, `answers`, `formats`, `jobs`.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .answers import Answer as Answer
    from .answers import Answers as Answers
    from .answers import PreparedQuery as PreparedQuery
    from .canonical import CanonicalQuery as CanonicalQuery
    from .canonical import canonical_query as canonical_query
    from .grammar import TableQuery as TableQuery
    from .grammar import read_query as read_query
    from .plan import QueryPlan as QueryPlan
    from .plan import plan_of as plan_of

lazy_face(__name__)
