"""The schema: all tables of the service, declared once for SQLite and PostgreSQL.

In: nothing. Out: tables, and the triggers that keep trail and log as they were written. Times are
milliseconds since 1970 UTC, ids of 128 random bits in hexadecimal digits, further facts JSON.
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


def _text(name: str, *more: sa.schema.SchemaItem, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), *more, **{"nullable": False, **options})


def _whole(name: str, **options: Any) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), **{"nullable": False, **options})


#: A time: milliseconds since 1970.
_time = _whole


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False, default=False)


def _serial(name: str) -> sa.Column[int]:
    return sa.Column(name, _NUMBER, primary_key=True, autoincrement=True)


SERVICE_SCHEMA = _table("service_schema", _whole("version", primary_key=True, autoincrement=False))

# Audit trail and query log ---------------------------------------------------------------------

AUDIT_ENTRIES = _table(
    "audit_entries",
    _whole("seq", primary_key=True, autoincrement=False),
    _time("at"),
    _text("kind"),
    _text("person"),
    _text("about"),
    _text("facts"),
    _text("previous"),
    _text("digest"),
    sa.Index("audit_entries_person", "person"),
    sa.Index("audit_entries_about", "about"),
    sa.Index("audit_entries_kind", "kind"),
)

AUDIT_HEADS = _table(
    "audit_heads",
    _serial("id"),
    _whole("seq"),
    _text("digest"),
    _time("at"),
    _text("key_id"),
    _text("signature"),
    sqlite_autoincrement=True,
)

QUERY_LOG = _table(
    "query_log",
    _serial("id"),
    _time("at"),
    _text("principal"),
    _text("caller_key"),
    _text("mode"),
    _text("dataset"),
    _text("version"),
    _text("query"),
    _text("digest"),
    _text("parameters"),
    _text("verdict"),
    _text("rules"),
    _whole("cells"),
    _whole("milliseconds"),
    _flag("cache_hit"),
    _whole("bytes"),
    _flag("pseudonymised"),
    sa.Index("query_log_at", "at"),
    sa.Index("query_log_principal", "principal"),
    sa.Index("query_log_digest", "digest"),
    sqlite_autoincrement=True,
)

# People ----------------------------------------------------------------------------------------

USERS = _table(
    "users",
    _text("id", primary_key=True),
    _text("name", unique=True),
    _text("look", unique=True),
    _text("kind"),
    _text("issuer", nullable=True),
    _text("subject", nullable=True),
    _text("password", nullable=True),
    _flag("one_time"),
    _time("password_until", nullable=True),
    _flag("disabled"),
    _time("created_at"),
    _text("created_by"),
    sa.UniqueConstraint("issuer", "subject"),
)

USER_GRANTS = _table(
    "user_grants",
    _text("user_id", sa.ForeignKey("users.id"), primary_key=True),
    _text("role", primary_key=True),
    _text("dataset", primary_key=True),
    _text("source", primary_key=True),
    _text("granted_by"),
    _time("granted_at"),
)

LOGIN_DELAYS = _table(
    "login_delays", _text("digest", primary_key=True), _whole("failures"), _time("next_at")
)

SESSIONS = _table(
    "sessions",
    _text("digest", primary_key=True),
    _text("user_id", sa.ForeignKey("users.id")),
    _time("created_at"),
    _time("seen_at"),
    _time("ends_at"),
    sa.Index("sessions_user", "user_id"),
)

LOGIN_ATTEMPTS = _table(
    "login_attempts",
    _text("digest", primary_key=True),
    _text("state"),
    _text("nonce"),
    _text("verifier"),
    _time("begun_at"),
    _time("ends_at"),
)

API_KEYS = _table(
    "api_keys",
    _text("id", primary_key=True),
    _text("digest", unique=True),
    _text("user_id", sa.ForeignKey("users.id")),
    _text("name"),
    _text("family"),
    _text("successor", nullable=True),
    _text("grants"),
    _time("created_at"),
    _text("created_by"),
    _time("expires_at"),
    _time("last_used_at", nullable=True),
    _time("revoked_at", nullable=True),
    _text("revoked_by", nullable=True),
    sa.Index("api_keys_user", "user_id"),
    sa.Index("api_keys_family", "family"),
)

PROPOSALS = _table(
    "proposals",
    _text("id", primary_key=True),
    _text("kind"),
    _text("subject"),
    _text("dataset"),
    _text("digest"),
    _text("reason"),
    _text("proposer"),
    _time("proposed_at"),
    _time("expires_at"),
    _text("state"),
    _text("decider"),
    _time("decided_at", nullable=True),
    _text("remark"),
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

# Parameters, data, policies --------------------------------------------------------------------

PARAMETER_SETS = _table(
    "parameter_sets",
    _text("name", primary_key=True),
    _text("version", primary_key=True),
    _text("digest"),
    _text("file"),
    _text("signer"),
    _text("state"),
    _time("imported_at"),
    _text("imported_by"),
    _time("activated_at", nullable=True),
    _time("retired_at", nullable=True),
)

DATA_SETS = _table("data_sets", _text("id", primary_key=True), _text("facts"), _time("created_at"))

DATA_VERSIONS = _table(
    "data_versions",
    _text("dataset", primary_key=True),
    _text("version", primary_key=True),
    _text("fingerprint"),
    _text("state"),
    _text("facts"),
    _time("published_at"),
    _text("published_by"),
    _time("retired_at", nullable=True),
)

POLICIES = _table(
    "policies",
    _text("digest", primary_key=True),
    _text("dataset"),
    _text("version"),
    _text("document"),
    _text("signature"),
    _text("signer"),
    _text("state"),
    _time("activated_at", nullable=True),
    _time("retired_at", nullable=True),
    sa.Index("policies_dataset", "dataset", "version"),
)

RELEASED_UNIVERSES = _table(
    "released_universes",
    _text("dataset", primary_key=True),
    _text("version", primary_key=True),
    _text("unit", primary_key=True),
    _text("universe", primary_key=True),
    _text("variables"),
    sa.Column("sketch", sa.LargeBinary(), nullable=True),
    _text("facts"),
    _time("released_at"),
)

ANSWERS = _table(
    "answers",
    _text("digest", primary_key=True),
    _text("dataset"),
    _text("version"),
    _text("fingerprint"),
    _text("file"),
    _text("file_digest"),
    _whole("cells"),
    _whole("bytes"),
    _time("created_at"),
    _time("used_at"),
    sa.Index("answers_version", "dataset", "version"),
    sa.Index("answers_used", "used_at"),
)

RATE_COUNTERS = _table(
    "rate_counters",
    _text("subject", primary_key=True),
    _text("measure", primary_key=True),
    _time("window_start", primary_key=True, autoincrement=False),
    _whole("amount"),
)

# When each task of upkeep was done last, by whichever process.

UPKEEP_RUNS = _table("upkeep_runs", _text("task", primary_key=True), _time("at"))

# Per release, its last publication: begun until its files are in their place.

PUBLICATIONS = _table(
    "publications",
    _text("release", primary_key=True),
    _text("programme"),
    _text("draft"),
    _text("seal"),
    _text("replaces"),
    _text("origin"),
    _time("at"),
    _flag("begun"),
)

# What was asked and released, as policies judge it.

RELEASED_TABLES = _table(
    "released_tables",
    _serial("id"),
    _text("dataset"),
    _text("version"),
    _text("unit"),
    _text("digest"),
    _text("shape"),
    _whole("cells"),
    _time("released_at"),
    sa.UniqueConstraint("dataset", "version", "digest"),
)

ASKED_PATTERNS = _table(
    "asked_patterns",
    _text("dataset", primary_key=True),
    _text("version", primary_key=True),
    _text("principal", primary_key=True),
    _text("kind", primary_key=True),
    _text("subject", primary_key=True),
    _text("item", primary_key=True),
    _time("at"),
    sa.Index("asked_patterns_at", "at"),
)

POLICY_ALERTS = _table(
    "policy_alerts",
    _serial("id"),
    _time("at"),
    _text("dataset"),
    _text("version"),
    _text("principal"),
    _text("kind"),
    _whole("number"),
    _flag("stopped"),
    sa.Index("policy_alerts_version", "dataset", "version"),
)

REFUSED_TABLES = _table(
    "refused_tables",
    _text("dataset", primary_key=True),
    _text("version", primary_key=True),
    _text("digest", primary_key=True),
    _text("principal"),
    _text("rules"),
    _time("refused_at"),
)

REFUSAL_OVERRIDES = _table(
    "refusal_overrides",
    _text("dataset", primary_key=True),
    _text("version", primary_key=True),
    _text("digest", primary_key=True),
    _text("proposal"),
    _time("until"),
)

# Jobs ------------------------------------------------------------------------------------------

JOBS = _table(
    "jobs",
    _text("id", primary_key=True),
    _text("kind"),
    _text("owner"),
    _text("request"),
    _text(
        "state",
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed', 'cancelled', 'expired')",
            name="jobs_state_known",
        ),
    ),
    _whole("priority"),
    _whole("attempt"),
    _text("worker"),
    _time("lease_until", nullable=True),
    _flag("cancel_asked"),
    _whole("progress"),
    _text("step"),
    _text("problem", nullable=True),
    _text("result_file", nullable=True),
    _text("result_digest", nullable=True),
    _text("file_name", nullable=True),
    _text("media_type", nullable=True),
    _whole("result_bytes", nullable=True),
    _time("created_at"),
    _time("started_at", nullable=True),
    _time("finished_at", nullable=True),
    _time("expires_at", nullable=True),
    sa.Index("jobs_waiting", "state", "priority", "created_at"),
    sa.Index("jobs_owner", "owner", "created_at"),
)

JOB_EVENTS = _table(
    "job_events",
    _text("job", sa.ForeignKey("jobs.id"), primary_key=True),
    _whole("seq", primary_key=True, autoincrement=False),
    _time("at"),
    _text("kind"),
    _text("facts"),
)

IDEMPOTENCY_KEYS = _table(
    "idempotency_keys",
    _text("owner", primary_key=True),
    _text("key", primary_key=True),
    _text("request_digest"),
    _text("job"),
    _time("at"),
    sa.Index("idempotency_keys_at", "at"),
)

# What keeps trail and log as they were written -------------------------------------------------

#: What the database says when somebody would change what was written down.
REFUSAL = "what was written down is never changed"

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

#: Entries have the numbers 1, 2, 3 …, and none takes the place of another.
_NEXT = "NEW.seq = (SELECT COALESCE(MAX(seq), 0) + 1 FROM audit_entries)"


def triggers(dialect: str) -> Mapping[str, str]:
    """Name → statement of each trigger.

    >>> sorted(triggers("sqlite"))[0]
    'audit_entries_delete'
    """
    made = {}
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
            made[name] = (
                f"CREATE TRIGGER {name} BEFORE {change} ON {table} {when}"
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
        else:
            back = "OLD" if change == "DELETE" else "NEW"
            made[f"{name}_check"] = (
                f"CREATE OR REPLACE FUNCTION {name}_check() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN IF NOT ({allowed or 'FALSE'}) THEN RAISE EXCEPTION '{REFUSAL}'; END IF; "
                f"RETURN {back}; END $$"
            )
            made[name] = (
                f"CREATE TRIGGER {name} BEFORE {change} ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION {name}_check()"
            )
    if dialect == "postgresql":
        made["append_only_truncate"] = (
            "CREATE OR REPLACE FUNCTION append_only_truncate() RETURNS trigger LANGUAGE plpgsql "
            f"AS $$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
        )
        made |= {
            f"{table}_truncate": f"CREATE TRIGGER {table}_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION append_only_truncate()"
            for table in APPEND_ONLY
        }
    return made


def grants_sql(role: str) -> tuple[str, ...]:
    """What gives a role of PostgreSQL the rights that the service needs to run, and no more.

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
