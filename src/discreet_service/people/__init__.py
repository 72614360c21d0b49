"""People: keys, users, sessions, logins elsewhere, and what two persons must agree on.

What is secret (passwords, keys, cookies) is kept as digests only, shown once, and never logged.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .approvals import KINDS as KINDS
    from .approvals import Approvals as Approvals
    from .approvals import Proposal as Proposal
    from .approvals import ProposalKind as ProposalKind
    from .approvals import ProposalState as ProposalState
    from .callers import ApiKey as ApiKey
    from .callers import ApiKeys as ApiKeys
    from .callers import LoginSession as LoginSession
    from .callers import NewApiKey as NewApiKey
    from .callers import Sessions as Sessions
    from .oidc import OidcLogin as OidcLogin
    from .users import PasswordCost as PasswordCost
    from .users import UserAccount as UserAccount
    from .users import Users as Users

lazy_face(__name__)
