"""The slot: it keeps the log for this job, and knows how far the job is."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.database import PositionLost
from millrace.connectors.cdc.postgres.positions import lsn_text
from millrace.connectors.cdc.postgres.settings import PostgresSettings

logger = logging.getLogger(__name__)

PLUGIN = "pgoutput"
POLL_SECONDS = 0.05
LAG_TOLD = 0.5
"""share of what the server keeps from which on the lag is warned of"""
_NUMBER = "({} - '0/0'::pg_lsn)::bigint"
_SLOT = f"""
    SELECT plugin, database, active_pid, {_NUMBER.format("confirmed_flush_lsn")}, wal_status,
           {_NUMBER.format("pg_current_wal_insert_lsn()")} - {_NUMBER.format("confirmed_flush_lsn")}, safe_wal_size
    FROM pg_replication_slots WHERE slot_name = %s
"""
_OPEN = """
    SELECT 'process ' || pid || ' (' || COALESCE(NULLIF(application_name, ''), usename) || ', ' || state || ' since '
           || to_char(state_change, 'YYYY-MM-DD HH24:MI:SS') || '): ' || left(query, 80), backend_xid::text
    FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
    UNION ALL
    SELECT 'prepared transaction ''' || gid || ''' of ' || owner || ' since '
           || to_char(prepared, 'YYYY-MM-DD HH24:MI:SS'), transaction::text
    FROM pg_prepared_xacts
"""


@dataclass(frozen=True)
class SlotState:
    """What the server says of a slot. :ivar lag: bytes between what is confirmed and the end of the log.
    :ivar safe: bytes that may still be written until the slot is lost, None: there is no bound."""

    plugin: str
    database: str
    active: int | None
    confirmed: int
    wal_status: str
    lag: int
    safe: int | None


def slot_state(connection: Any, name: str) -> SlotState | None:
    """None: there is none."""
    found = connection.execute(_SLOT, [name]).fetchone()
    return None if found is None else SlotState(*found)


def usable(state: SlotState, settings: PostgresSettings) -> SlotState:
    """:raises PositionLost: the server has dropped what it kept. :raises RuntimeError: the slot is for something "
    "else."""
    where = f"{settings.place}: replication slot '{settings.slot}'"
    if state.plugin != PLUGIN or state.database != settings.target.database:
        raise RuntimeError(
            f"{where} is there with the plugin '{state.plugin}' for database '{state.database}'; this job needs one "
            f"with '{PLUGIN}' for '{settings.target.database}': give it another 'slot.name'"
        )
    if state.wal_status == "lost":
        raise PositionLost(
            f"{where} is lost: more was written than max_slot_wal_keep_size lets it keep. {_way_out(settings)}"
        )
    return state


def create_slot(connection: Any, settings: PostgresSettings) -> int:
    """Make the slot; the place where its log begins. Whatever was committed before is seen by every later snapshot.

    :raises TimeoutError: a transaction stays open that the server waits for; with its name.
    """
    import psycopg

    connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{int(settings.wait * 1000)}ms"])
    try:
        made = connection.execute(
            f"SELECT {_NUMBER.format('lsn')} FROM pg_create_logical_replication_slot(%s, %s)", [settings.slot, PLUGIN]
        ).fetchone()
    except psycopg.errors.QueryCanceled:
        raise TimeoutError(
            f"{settings.place}: replication slot '{settings.slot}' was not made within {settings.wait:g} s: PostgreSQL "
            f"waits until all transactions have ended that are open, which are {_open(connection)}"
        ) from None
    except psycopg.errors.ConfigurationLimitExceeded as error:
        raise RuntimeError(
            f"{settings.place}: {str(error).strip()}: raise max_replication_slots, or drop a slot that nobody needs: "
            f"SELECT slot_name, active FROM pg_replication_slots"
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise RuntimeError(
            f"{settings.place}: user '{settings.target.user}' must not make slots ({str(error).strip()}): ALTER ROLE "
            f"{settings.target.user} REPLICATION"
        ) from None
    begin = int(made[0])
    wait_for_commits(connection, settings)
    logger.info("replication slot %s: made at %s", settings.slot, lsn_text(begin))
    return begin


def here(connection: Any, settings: PostgresSettings, seen: bool) -> int:
    """The end of the log. :param seen: what is before it shall be seen by every later snapshot."""
    found = int(connection.execute(f"SELECT {_NUMBER.format('pg_current_wal_insert_lsn()')}").fetchone()[0])
    if seen:
        wait_for_commits(connection, settings)
    return found


def wait_for_commits(connection: Any, settings: PostgresSettings) -> None:
    """A transaction whose commit is written before a place in the log may not be seen yet: wait for those that run.

    :raises TimeoutError: one goes on; with its name.
    """
    until = time.monotonic() + settings.wait
    running = _running(connection)
    while running & _running(connection):
        if time.monotonic() > until:
            raise TimeoutError(
                f"{settings.place}: transactions that were open when replication slot '{settings.slot}' was begun "
                f"have not ended within {settings.wait:g} s: {_open(connection)}"
            )
        time.sleep(POLL_SECONDS)


def _running(connection: Any) -> set[int]:
    found = connection.execute("SELECT pg_snapshot_xip(pg_current_snapshot())::text::bigint").fetchall()
    return {number for (number,) in found}


def _open(connection: Any) -> str:
    connection.execute("SELECT set_config('statement_timeout', '10s', false)")
    return "; ".join(text for text, _ in connection.execute(_OPEN).fetchall()) or "gone by now: try again"


def check_position(state: SlotState | None, lsn: int, settings: PostgresSettings) -> None:
    """:raises PositionLost: the slot does not have what comes behind a place of the log."""
    where = f"{settings.place}: replication slot '{settings.slot}'"
    if state is None:
        raise PositionLost(f"{where} is gone, with what it kept behind {lsn_text(lsn)}. {_way_out(settings)}")
    usable(state, settings)
    if state.confirmed > lsn:
        raise PositionLost(
            f"{where} begins at {lsn_text(state.confirmed)}, and the checkpoint goes on at {lsn_text(lsn)}: a later "
            f"checkpoint, or another job with this slot, has confirmed what lies between. Go on from the latest "
            f"checkpoint; or, {_way_out(settings, 'if there is none')}"
        )


def drop_slot(connection: Any, settings: PostgresSettings) -> None:
    """Drop the slot; its reader must have been told to end. :raises TimeoutError: it goes on."""
    import psycopg

    until = time.monotonic() + settings.wait
    while True:
        try:
            connection.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
                [settings.slot],
            )
            return
        except psycopg.errors.ObjectInUse as error:
            if time.monotonic() > until:
                raise TimeoutError(f"{settings.place}: {str(error).strip()}: it was not dropped") from None
            time.sleep(POLL_SECONDS)


def _way_out(settings: PostgresSettings, when: str = "") -> str:
    begin = f"{when}: start" if when else "Start"
    return (
        f"{begin} the job without its checkpoint and with 'scan.startup.mode' = 'initial', which reads all rows anew "
        f"(drop the slot first if it is there: SELECT pg_drop_replication_slot('{settings.slot}')); a sink with a "
        f"primary key then has everything but deletions of the time between"
    )


def warn_of_growth(connection: Any, settings: PostgresSettings) -> None:
    """Say once, when the job starts, what becomes of the server's disk while it is down."""
    kept = connection.execute(
        "SELECT setting::bigint FROM pg_settings WHERE name = 'max_slot_wal_keep_size'"
    ).fetchone()
    if kept is None or kept[0] < 0:
        logger.warning(
            "%s: while this job is down replication slot '%s' keeps all of the log, until the server's disk is full: "
            "set max_slot_wal_keep_size",
            settings.place,
            settings.slot,
        )
