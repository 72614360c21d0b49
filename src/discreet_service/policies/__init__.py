"""Policies: what may be asked of a data version, by rules that its custodians signed.

In: an `AskedTable`, who asks, and what was released before. Out: a verdict. What a refusal says
never depends on a true count.
"""

from discreet_service.policies.asked import (
    AskedFilter,
    AskedLevel,
    AskedTable,
    AskedVariable,
    Evidence,
)

__all__ = ["AskedFilter", "AskedLevel", "AskedTable", "AskedVariable", "Evidence"]
