"""The service: parts that are built from the settings when they are first used; `start` builds all,
so that what is wrong is said before the first request.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from functools import cached_property

from discreet.files import read_private
from discreet.release import Parameters, read_verify_key
from discreet_service.audit import AuditTrail, QueryLog
from discreet_service.cells import KeyWatch
from discreet_service.database import ServiceDatabase
from discreet_service.datasets import DatasetCatalogue
from discreet_service.jobs import JobInputs, JobQueue
from discreet_service.operation import ServiceMetrics
from discreet_service.parameter_sets import ParameterSets, parameter_signers
from discreet_service.people import ApiKeys, Approvals, OidcLogin, ProposalKind, Sessions, Users
from discreet_service.permissions import VISITOR, Grant, Principal
from discreet_service.policies import Policies, PoliciesInForce
from discreet_service.problems import ServiceError
from discreet_service.queries import AnswerCache, Answers
from discreet_service.releases import Publications, ReleaseCatalogue, ReleaseDraft, shelf_of
from discreet_service.reviews import ReviewDesk
from discreet_service.settings import ServiceSettings

_LEAST_SECRET = 32


def now_in_milliseconds() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Service:
    """Everything that a request needs."""

    def __init__(
        self, settings: ServiceSettings, clock: Callable[[], int] = now_in_milliseconds
    ) -> None:
        self.settings, self.clock = settings, clock
        self.metrics = ServiceMetrics()

    def __repr__(self) -> str:
        return f"<Service {self.settings.name}>"

    def key_for(self, purpose: str) -> bytes:
        """A key of its own for each purpose, from the service's secret. SECRET."""
        return hmac.new(self._secret, purpose.encode(), hashlib.sha256).digest()

    @cached_property
    def _secret(self) -> bytes:
        secret = read_private(self.settings.secret_file, "the secret of the service").strip()
        if len(secret) < _LEAST_SECRET:
            message = f"the secret of the service needs at least {_LEAST_SECRET} characters"
            hint = "create one: discreet keys secret FILE"
            raise ServiceError(message, "data-not-ready", "secret_file", hint)
        return secret

    @cached_property
    def database(self) -> ServiceDatabase:
        """The database."""
        found = ServiceDatabase.open(self.settings.database_url())
        found.lay_out()
        return found

    @cached_property
    def trail(self) -> AuditTrail:
        """The audit trail."""
        return AuditTrail(self.database, self.key_for("audit"), self.clock)

    @cached_property
    def query_log(self) -> QueryLog:
        """The query log."""
        return QueryLog(self.database, self.key_for("query log"), self.clock)

    @cached_property
    def users(self) -> Users:
        """People with a password here."""
        return Users(self.database, self.trail, self.clock)

    @cached_property
    def api_keys(self) -> ApiKeys:
        """Keys of callers."""
        return ApiKeys(self.database, self.trail, self.clock)

    @cached_property
    def sessions(self) -> Sessions:
        """Logins."""
        return Sessions(self.database, self.key_for("sessions"), self.clock,
                        hours=self.settings.session_hours,
                        idle_minutes=self.settings.session_idle_minutes)  # fmt: skip

    @cached_property
    def oidc(self) -> OidcLogin | None:
        """Login by the office's own provider; None without."""
        return None if self.settings.oidc is None else OidcLogin(self.settings.oidc, self.clock)

    @cached_property
    def approvals(self) -> Approvals:
        """Proposals that a second person approves."""
        approvals = Approvals(self.database, self.trail, self.clock)
        approvals.register(ProposalKind.parameter_activation, self.parameter_sets.activate)
        approvals.register(ProposalKind.parameter_retirement, self.parameter_sets.retire)
        return approvals

    @cached_property
    def parameter_sets(self) -> ParameterSets:
        """Packages of parameters. SECRET."""
        settings = self.settings
        return ParameterSets(
            self.database,
            self.trail,
            self.clock,
            folder=settings.parameters,
            package_key=settings.package_key_file,
            signers=parameter_signers(settings.trusted_signers, settings.studio_key_file),
        )

    @cached_property
    def key_watch(self) -> KeyWatch:
        """Watches patterns in the cells that are handed in."""
        return KeyWatch(self.key_for("key watch"), self.clock)

    @cached_property
    def policies(self) -> Policies:
        """The policies."""
        in_force = PoliciesInForce(
            self.database,
            self.trail,
            self.approvals,
            folder=self.settings.datasets,
            signers=lambda: [read_verify_key(path) for path in self.settings.trusted_signers],
            clock=self.clock,
        )
        return Policies(self.database, in_force, key=self.key_for("policies"), clock=self.clock)

    @cached_property
    def datasets(self) -> DatasetCatalogue:
        """The data sets. CONFIDENTIAL."""
        return DatasetCatalogue(self.settings.datasets, database=self.database, trail=self.trail,
                                clock=self.clock, key=self.key_for("datasets"),
                                parameters_of=self._parameters_named)  # fmt: skip

    def _parameters_named(self, name: str) -> Parameters:
        """The parameters of a set, named as statistic@version. SECRET."""
        statistic, _, version = name.partition("@")
        return self.parameter_sets.parameters(statistic, version or None)[1]

    @cached_property
    def answers(self) -> Answers:
        """The answers to queries."""
        return Answers(datasets=self.datasets, policies=self.policies,
                       cache=AnswerCache(self.settings.folder / "answers", self.key_for("answers")),
                       metrics=self.metrics, limits=self.settings.limits,
                       key=self.key_for("queries"))  # fmt: skip

    @cached_property
    def job_inputs(self) -> JobInputs:
        """Sealed inputs of jobs. CONFIDENTIAL."""
        return JobInputs(self.settings.folder / "inputs", self.key_for("job inputs"))

    @cached_property
    def jobs(self) -> JobQueue:
        """Work in the background."""
        return JobQueue(self.database, self.settings.folder / "jobs", self.clock, trail=self.trail,
                        inputs=self.job_inputs, settings=self.settings.jobs)  # fmt: skip

    @cached_property
    def releases(self) -> ReleaseCatalogue:
        """The published releases."""
        return ReleaseCatalogue(self.settings.releases, signers=self.settings.trusted_signers,
                                clock=self.clock)  # fmt: skip

    @cached_property
    def publications(self) -> Publications:
        """The publication of drafts."""
        return Publications(self.database, self.trail, self.clock, catalogue=self.releases,
                            drafts=shelf_of(self), approvals=self.approvals)  # fmt: skip

    def somebody(self, address: str) -> Principal:
        """Whoever asks from an address and does not say who they are: the public."""
        grants = [Grant(VISITOR, name) for name in self.settings.public_datasets]
        grants += [Grant("reader")] if self.settings.public_releases else []
        asks = bool(self.settings.public_datasets)
        origin = hmac.digest(self._addresses, address.encode(), "sha256").hex()[:16] if asks else ""
        return Principal(name="public", kind="anonymous", grants=tuple(grants), origin=origin)

    @cached_property
    def _addresses(self) -> bytes:
        return self.key_for("addresses")

    def check_publishable(self, draft: ReleaseDraft) -> None:
        """Raise an error if a draft's data version, or its parameter set, is no longer in use."""
        self.datasets.version(draft.summary["dataset"], draft.summary["version"])

    @cached_property
    def reviews(self) -> ReviewDesk:
        """Submissions of researchers. CONFIDENTIAL."""
        return ReviewDesk(self.settings.reviews, database=self.database, trail=self.trail,
                          jobs=self.jobs, inputs=self.job_inputs)  # fmt: skip

    def start(self) -> None:
        """Build every part now."""
        for name in _PARTS:
            getattr(self, name)

    def close(self) -> None:
        """Let go of the database."""
        if "database" in self.__dict__:
            self.database.close()


_PARTS = tuple(name for name, part in vars(Service).items() if isinstance(part, cached_property))
