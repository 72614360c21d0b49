"""The schema: all tables of the service for SQLite and PostgreSQL, and the triggers that keep trail
and log as written. Times are milliseconds since 1970 UTC, facts JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

#: Number of this form of the schema; a database with a higher one belongs to a newer service.
VERSION = 1

METADATA = sa.MetaData()

#: Numbers that the database gives itself.
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _table(name: str, *columns: sa.schema.SchemaItem, **options: Any) -> sa.Table:
    return sa.Table(name, METADATA, *columns, **options)


def _texts(*names: str, **options: Any) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text(), **{"nullable": False, **options}) for name in names]


def _wholes(*names: str, **options: Any) -> list[sa.Column[Any]]:
    """Whole numbers; times are milliseconds since 1970."""
    return [sa.Column(name, sa.BigInteger(), **{"nullable": False, **options}) for name in names]


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False, default=False)


def _serial(name: str) -> sa.Column[int]:
    return sa.Column(name, _NUMBER, primary_key=True, autoincrement=True)


SERVICE_SCHEMA = _table(
    "service_schema", *_wholes("version", primary_key=True, autoincrement=False)
)


#: One row: a number that every change of what seldom changes counts up, whoever makes it, and how
#: many batches of answers were written.
SERVICE_CHANGES = _table("service_changes",
    *_wholes("id", primary_key=True, autoincrement=False), *_wholes("number", "batches"),
)  # fmt: skip

AUDIT_ENTRIES = _table("audit_entries",
    *_wholes("seq", primary_key=True, autoincrement=False), *_wholes("at"),
    *_texts("kind", "person", "about", "facts", "previous", "digest"),
    *(sa.Index(f"audit_entries_{name}", name) for name in ("person", "about", "kind")),
)  # fmt: skip

AUDIT_HEADS = _table("audit_heads",
    _serial("id"), *_wholes("seq"), *_texts("digest"), *_wholes("at"),
    *_texts("key_id", "signature"), sqlite_autoincrement=True,
)  # fmt: skip

QUERY_LOG = _table("query_log",
    _serial("id"), *_wholes("at"),
    *_texts("principal", "caller_key", "mode", "dataset", "version", "query"),
    *_texts("digest", "parameters", "verdict", "rules"), *_wholes("cells", "milliseconds"),
    _flag("cache_hit"), *_wholes("bytes"), _flag("pseudonymised"),
    *(sa.Index(f"query_log_{name}", name) for name in ("at", "principal", "digest")),
    sqlite_autoincrement=True,
)  # fmt: skip


USERS = _table("users",
    *_texts("id", primary_key=True), *_texts("name", "look", unique=True), *_texts("kind"),
    *_texts("issuer", "subject", "password", nullable=True), _flag("one_time"),
    *_wholes("password_until", nullable=True), _flag("disabled"), *_wholes("created_at"),
    *_texts("created_by"), sa.UniqueConstraint("issuer", "subject"),
)  # fmt: skip

USER_GRANTS = _table("user_grants",
    sa.Column("user_id", sa.Text(), sa.ForeignKey("users.id"), primary_key=True),
    *_texts("role", "dataset", "source", primary_key=True), *_texts("granted_by"),
    *_wholes("granted_at"),
)  # fmt: skip

LOGIN_DELAYS = _table(
    "login_delays", *_texts("digest", primary_key=True), *_wholes("failures", "next_at")
)

SESSIONS = _table("sessions",
    *_texts("digest", primary_key=True),
    sa.Column("user_id", sa.Text(), sa.ForeignKey("users.id"), nullable=False),
    *_wholes("created_at", "seen_at", "ends_at"), sa.Index("sessions_user", "user_id"),
)  # fmt: skip

LOGIN_ATTEMPTS = _table("login_attempts",
    *_texts("digest", primary_key=True), *_texts("state", "nonce", "verifier"),
    *_wholes("begun_at", "ends_at"),
)  # fmt: skip

API_KEYS = _table("api_keys",
    *_texts("id", primary_key=True), *_texts("digest", unique=True),
    sa.Column("user_id", sa.Text(), sa.ForeignKey("users.id"), nullable=False),
    *_texts("name", "family"), *_texts("successor", nullable=True), *_texts("grants"),
    *_wholes("created_at"), *_texts("created_by"), *_wholes("expires_at"),
    *_wholes("last_used_at", "revoked_at", nullable=True), *_texts("revoked_by", nullable=True),
    sa.Index("api_keys_user", "user_id"), sa.Index("api_keys_family", "family"),
)  # fmt: skip

PROPOSALS = _table(
    "proposals",
    *_texts("id", primary_key=True),
    *_texts("kind", "subject", "dataset", "digest", "reason", "proposer"),
    *_wholes("proposed_at", "expires_at"),
    *_texts("state", "decider"),
    *_wholes("decided_at", nullable=True),
    *_texts("remark"),
    sa.Index("proposals_state", "state", "kind"),
    # One that is open for the same thing at a time, whatever is asked at once.
    sa.Index(
        "proposals_open",
        "kind",
        "subject",
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    ),
)


PARAMETER_SETS = _table("parameter_sets",
    *_texts("name", "version", primary_key=True), *_texts("digest", "file", "signer", "state"),
    *_wholes("imported_at"), *_texts("imported_by"),
    *_wholes("activated_at", "retired_at", nullable=True),
)  # fmt: skip

DATA_VERSIONS = _table("data_versions",
    *_texts("dataset", "version", primary_key=True), *_texts("fingerprint", "state", "facts"),
    *_wholes("published_at"), *_texts("published_by"), *_wholes("retired_at", nullable=True),
)  # fmt: skip

POLICIES = _table("policies",
    *_texts("digest", primary_key=True),
    *_texts("dataset", "version", "document", "signature", "signer", "state"),
    *_wholes("activated_at", "retired_at", nullable=True),
    sa.Index("policies_dataset", "dataset", "version"),
)  # fmt: skip

RELEASED_UNIVERSES = _table("released_universes",
    *_texts("dataset", "version", "unit", "universe", primary_key=True), *_texts("variables"),
    sa.Column("sketch", sa.LargeBinary(), nullable=True), *_texts("facts"), *_wholes("released_at"),
)  # fmt: skip

RATE_COUNTERS = _table("rate_counters",
    *_texts("subject", "measure", primary_key=True),
    *_wholes("window_start", primary_key=True, autoincrement=False), *_wholes("amount"),
)  # fmt: skip

# When each task of upkeep was done last, by whichever process.
UPKEEP_RUNS = _table("upkeep_runs", *_texts("task", primary_key=True), *_wholes("at"))

# Per release, its last publication: begun until its files are in their place.
PUBLICATIONS = _table("publications",
    *_texts("release", primary_key=True),
    *_texts("programme", "draft", "seal", "replaces", "origin"), *_wholes("at"), _flag("begun"),
)  # fmt: skip

# What was asked and released, as policies judge it.
RELEASED_TABLES = _table("released_tables",
    _serial("id"), *_texts("dataset", "version", "unit", "digest", "shape"),
    *_wholes("cells", "released_at"), sa.UniqueConstraint("dataset", "version", "digest"),
)  # fmt: skip

ASKED_PATTERNS = _table("asked_patterns",
    *_texts("dataset", "version", "principal", "kind", "subject", "item", primary_key=True),
    *_wholes("at"), sa.Index("asked_patterns_at", "at"),
    sa.Index("asked_patterns_subject", "dataset", "version", "kind", "subject"),
)  # fmt: skip

POLICY_ALERTS = _table("policy_alerts",
    _serial("id"), *_wholes("at"), *_texts("dataset", "version", "principal", "kind"),
    *_wholes("number"), _flag("stopped"), sa.Index("policy_alerts_version", "dataset", "version"),
)  # fmt: skip

REFUSED_TABLES = _table("refused_tables",
    *_texts("dataset", "version", "digest", primary_key=True), *_texts("principal", "rules"),
    *_wholes("refused_at"),
)  # fmt: skip

REFUSAL_OVERRIDES = _table("refusal_overrides",
    *_texts("dataset", "version", "digest", primary_key=True), *_texts("proposal"),
    *_wholes("until"),
)  # fmt: skip


JOBS = _table(
    "jobs",
    *_texts("id", primary_key=True),
    *_texts("kind", "owner", "request"),
    *_texts("state"),
    sa.CheckConstraint(
        "state IN ('queued', 'running', 'done', 'failed', 'cancelled', 'expired')",
        name="jobs_state_known",
    ),
    *_wholes("priority", "attempt"),
    *_texts("worker"),
    *_wholes("lease_until", nullable=True),
    _flag("cancel_asked"),
    *_wholes("progress"),
    *_texts("step"),
    *_texts("problem", "result_file", "result_digest", "file_name", "media_type", nullable=True),
    *_wholes("result_bytes", nullable=True),
    *_wholes("created_at"),
    *_wholes("started_at", "finished_at", "expires_at", nullable=True),
    sa.Index("jobs_waiting", "state", "priority", "created_at"),
    sa.Index("jobs_owner", "owner", "created_at"),
)

JOB_EVENTS = _table("job_events",
    sa.Column("job", sa.Text(), sa.ForeignKey("jobs.id"), primary_key=True),
    *_wholes("seq", primary_key=True, autoincrement=False), *_wholes("at"),
    *_texts("kind", "facts"),
)  # fmt: skip

IDEMPOTENCY_KEYS = _table("idempotency_keys",
    *_texts("owner", "key", primary_key=True), *_texts("request_digest", "job"), *_wholes("at"),
    sa.Index("idempotency_keys_at", "at"),
)  # fmt: skip


#: What the database says when somebody would change what was written down.
REFUSAL = "logged entries cannot be changed"

#: Table → what makes an UPDATE or a DELETE of its rows allowed; no condition, never.
APPEND_ONLY: Mapping[str, Mapping[str, str]] = {
    "audit_entries": {"UPDATE": "", "DELETE": ""},
    "audit_heads": {"UPDATE": "", "DELETE": ""},
    # A row may lose its names once, and only then be deleted.
    "query_log": {
        "UPDATE": " AND ".join(
            [
                "NOT OLD.pseudonymised",
                "NEW.pseudonymised",
                *(
                    f"NEW.{column.name} = OLD.{column.name}"
                    for column in QUERY_LOG.columns
                    if column.name not in ("principal", "caller_key", "pseudonymised")
                ),
            ]
        ),
        "DELETE": "OLD.pseudonymised",
    },
}

#: Tables that seldom change, and what of them is no change for those who remember it.
WATCHED: Mapping[str, tuple[str, ...]] = {
    "api_keys": ("last_used_at",),
    "data_versions": (),
    "parameter_sets": (),
    "policies": (),
    "refusal_overrides": (),
    "user_grants": (),
    "users": (),
}
_COUNTED_UP = "UPDATE service_changes SET number = number + 1"

#: Entries have the numbers 1, 2, 3 …, and none takes the place of another.
_NEXT = "NEW.seq = (SELECT COALESCE(MAX(seq), 0) + 1 FROM audit_entries)"


def triggers(dialect: str) -> Mapping[str, str]:
    """Name → statement of each trigger.

    >>> sorted(triggers("sqlite"))[0]
    'api_keys_delete_counted'
    """
    triggers = {}
    conditions = [
        (table, change, allowed)
        for table, changes in APPEND_ONLY.items()
        for change, allowed in changes.items()
    ]
    conditions.append(("audit_entries", "INSERT", _NEXT))
    # In SQLite REPLACE takes the place of a row without a DELETE that a trigger could see.
    conditions += [
        (table, "INSERT", f"NOT EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)")  # noqa: S608
        for table in ("audit_heads", "query_log")
        if dialect == "sqlite"
    ]
    for table, change, allowed in conditions:
        name = f"{table}_{change.lower()}"
        if dialect == "sqlite":
            when = f"WHEN NOT ({allowed}) " if allowed else ""
            triggers[name] = (
                f"CREATE TRIGGER {name} BEFORE {change} ON {table} {when}"
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
        else:
            back = "OLD" if change == "DELETE" else "NEW"
            triggers[f"{name}_check"] = (
                f"CREATE OR REPLACE FUNCTION {name}_check() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN IF NOT ({allowed or 'FALSE'}) THEN RAISE EXCEPTION '{REFUSAL}'; END IF; "
                f"RETURN {back}; END $$"
            )
            triggers[name] = (
                f"CREATE TRIGGER {name} BEFORE {change} ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION {name}_check()"
            )
    for table, apart in WATCHED.items():
        changed = ", ".join(one.name for one in METADATA.tables[table].c if one.name not in apart)
        for change, of in (("INSERT", ""), ("UPDATE", f" OF {changed}"), ("DELETE", "")):
            name = f"{table}_{change.lower()}_counted"
            head = f"CREATE TRIGGER {name} AFTER {change}{of} ON {table}"
            if dialect == "sqlite":
                triggers[name] = f"{head} BEGIN {_COUNTED_UP}; END"
            else:
                triggers[name] = f"{head} FOR EACH STATEMENT EXECUTE FUNCTION count_change()"
    if dialect == "postgresql":
        counting = "CREATE OR REPLACE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql"
        counting += f" AS $$ BEGIN {_COUNTED_UP}; RETURN NULL; END $$"
        triggers = {"count_change": counting, **triggers}
        triggers["append_only_truncate"] = (
            "CREATE OR REPLACE FUNCTION append_only_truncate() RETURNS trigger LANGUAGE plpgsql "
            f"AS $$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
        )
        triggers |= {
            f"{table}_truncate": f"CREATE TRIGGER {table}_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION append_only_truncate()"
            for table in APPEND_ONLY
        }
    return triggers


def grants_sql(role: str) -> tuple[str, ...]:
    """SQL that grants a PostgreSQL role only the rights that the service needs.

    The tables belong to another role, which lays them out. The running service can add to the
    trail and never change it, even with its triggers gone.

    >>> grants_sql("discreet")[-1]
    'GRANT UPDATE (principal, caller_key, pseudonymised) ON query_log TO "discreet"'
    """
    quoted = '"' + role.replace('"', '""') + '"'
    # `service_schema` is read only: who runs the service does not change its form.
    kept = {*APPEND_ONLY, SERVICE_SCHEMA.name}
    free = ", ".join(sorted(name for name in METADATA.tables if name not in kept))
    return (
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {quoted}",
        f"REVOKE CREATE ON SCHEMA public FROM {quoted}",
        f"GRANT USAGE ON SCHEMA public TO {quoted}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {quoted}",
        f"GRANT SELECT ON {SERVICE_SCHEMA.name} TO {quoted}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {free} TO {quoted}",
        f"GRANT SELECT, INSERT ON audit_entries, audit_heads TO {quoted}",
        f"GRANT SELECT, INSERT, DELETE ON query_log TO {quoted}",
        f"GRANT UPDATE (principal, caller_key, pseudonymised) ON query_log TO {quoted}",
    )
