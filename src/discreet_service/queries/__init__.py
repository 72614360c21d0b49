"""Queries: tables that somebody asks for, protected as `discreet protect` would.

In: a `TableQuery` in a closed grammar. Out: a `ProtectedTable`, the same for every way of asking.
Modules from the bottom: `grammar`, `measures`, `canonical`, `plan`, `counts`, `presentation`,
`cache`, `evidence`, `sparse_parts`, `answers`, `nearest`, `effects`, `formats`, `jobs`.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .answers import Answers as Answers
    from .answers import PreparedQuery as PreparedQuery
    from .answers import QueryPlan as QueryPlan
    from .answers import plan_of as plan_of
    from .cache import AnswerCache as AnswerCache
    from .canonical import CanonicalQuery as CanonicalQuery
    from .canonical import canonical_query as canonical_query
    from .counts import filter_texts as filter_texts
    from .counts import joint_filter as joint_filter
    from .effects import PolicyEffect as PolicyEffect
    from .effects import policy_effect as policy_effect
    from .formats import ANSWER_FORMATS as ANSWER_FORMATS
    from .formats import accepted as accepted
    from .formats import asked_format as asked_format
    from .formats import file_name_of as file_name_of
    from .formats import run_query as run_query
    from .formats import written_answer as written_answer
    from .grammar import MEASURES as MEASURES
    from .grammar import TableQuery as TableQuery
    from .grammar import read_query as read_query
    from .grammar import refused as refused
    from .nearest import near_tables as near_tables
    from .presentation import said_in as said_in
    from .presentation import title_of as title_of
    from .presentation import universe_of as universe_of
    from .programme_tables import conditions_of as conditions_of
    from .programme_tables import filter_text as filter_text
    from .programme_words import programme_sentences as programme_sentences
    from .programme_words import table_sentence as table_sentence

lazy_face(__name__)
