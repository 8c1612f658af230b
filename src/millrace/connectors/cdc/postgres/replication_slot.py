"""The replication slot and the publication that the server holds for a job; and positions in its log.

The slot holds the log back to what the job's checkpoints have confirmed, the publication says of which tables changes
are sent. ``SlotWatch`` warns when the log that is held back grows. ``SnapshotSeen`` says exactly which transactions a
snapshot sees; it and ``LogPosition`` are stored in checkpoints.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace.connectors.cdc.changes import Seen
from millrace.connectors.cdc.database import PositionLost
from millrace.connectors.cdc.postgres.postgres_catalog import FoundTable, PostgresSettings, psycopg_sql, quoted
from millrace.connectors.dbapi import Connection

# Places in the log

_HALF, _WHOLE = 1 << 31, 1 << 32


class LogPosition(NamedTuple):
    """Behind a transaction, and perhaps some rows of the one that follows.

    A slot gives whole transactions in the order of their commits, and a transaction's changes always in the same order.

    :ivar lsn: the end of the last transaction that was read to its end.
    :ivar rows: changes of rows of the next one that were read, of whichever table.
    """

    lsn: int
    rows: int = 0


class Mark(NamedTuple):
    """Which transaction a change belongs to."""

    xid: int
    commit: int
    """where its commit is written"""


@dataclass(frozen=True)
class SnapshotSeen(Seen):
    """The transactions that a snapshot sees, exactly: of those below ``xmax`` all that had ended when it was taken.

    Positions would not do: a transaction is seen a moment after its commit was written, and with synchronous replicas
    much later.

    :ivar high: a place in the log behind the snapshot: whatever is committed there is not seen.
    """

    xmin: int
    xmax: int
    running: frozenset[int]
    high: int

    @staticmethod
    def of(text: str, high: int) -> SnapshotSeen:
        """:param text: what ``pg_current_snapshot()`` says."""
        xmin, xmax, running = text.split(":")
        return SnapshotSeen(int(xmin), int(xmax), frozenset(map(int, filter(None, running.split(",")))), high)

    def contains(self, mark: Mark) -> bool:
        if mark.commit >= self.high:
            return False
        # The log has the lower half of the number.
        distance = (mark.xid - self.xmax) % _WHOLE
        xid = self.xmax + (distance - _WHOLE if distance >= _HALF else distance)
        return xid < self.xmax and xid not in self.running

    def passed(self, position: LogPosition) -> bool:
        return position.lsn >= self.high


def lsn_number(text: str) -> int:
    """``0/16B3748`` as a number. :raises ValueError: it is none."""
    high, slash, low = text.partition("/")
    if not slash:
        raise ValueError(f"'{text}' is no place in PostgreSQL's log: two hexadecimal numbers with a slash between")
    return (int(high, 16) << 32) + int(low, 16)


def lsn_text(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


# The slot

logger = logging.getLogger(__name__)

PLUGIN = "pgoutput"
POLL_SECONDS = 0.05
LAG_OF_WARNING = 0.5
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


def check_usable(state: SlotState, settings: PostgresSettings) -> SlotState:
    """The slot's state, if this job can read from it.

    :raises PositionLost: the server has dropped the log from the slot's position on.
    :raises RuntimeError: the slot belongs to another plugin or database.
    """
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


def end_of_log(connection: Any, settings: PostgresSettings, seen: bool) -> int:
    """The end of the log. :param seen: what is before it shall be seen by every later snapshot."""
    found = int(connection.execute(f"SELECT {_NUMBER.format('pg_current_wal_insert_lsn()')}").fetchone()[0])
    if seen:
        wait_for_commits(connection, settings)
    return found


def wait_for_commits(connection: Connection, settings: PostgresSettings) -> None:
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
    check_usable(state, settings)
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
    """Warn, when the job starts, that the slot can fill the server's disk while the job is down."""
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


# The log that a slot holds back

ASK_SECONDS = 10.0
WARN_SECONDS = 600.0


class SlotWatch:
    """Asks at most every ten seconds, and warns when half of what the server keeps is used up."""

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._next = self._warn_next = 0.0
        self._lag: int | None = None

    def lag(self, connection: Connection) -> int | None:
        """Bytes between what is confirmed and the end of the log."""
        now = time.monotonic()
        if now < self._next:
            return self._lag
        self._next = now + ASK_SECONDS
        state = slot_state(connection, self._settings.slot)
        if state is None:
            return None
        self._lag = state.lag
        if state.safe is not None and state.lag > LAG_OF_WARNING * (state.lag + state.safe) and now >= self._warn_next:
            self._warn_next = now + WARN_SECONDS
            logger.warning(
                "%s: replication slot '%s' is %d MB behind, and is lost after %d MB more (max_slot_wal_keep_size)",
                self._settings.place,
                self._settings.slot,
                state.lag >> 20,
                max(0, state.safe) >> 20,
            )
        return self._lag


# The publication

_FLAGS = "SELECT puballtables, pubinsert, pubupdate, pubdelete FROM pg_publication WHERE pubname = %s"
_TABLES = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
_FILTERED = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s AND rowfilter IS NOT NULL"
_WITH_FILTERS = 150_000
"""the first version that can publish some rows of a table only"""


def ensure_publication(connection: Any, settings: PostgresSettings, tables: Sequence[FoundTable]) -> None:
    """See that the publication has the tables, and all that happens to them. It has to be there before the slot is.

    :raises RuntimeError: it does not, and cannot or must not be changed.
    """
    name = settings.publication_name
    found = connection.execute(_FLAGS, [name]).fetchone()
    if found is None:
        _create(connection, settings, tables)
        return
    _, *told = found
    if not all(told):
        raise RuntimeError(
            f"{settings.place}: publication '{name}' leaves out changes: ALTER PUBLICATION {name} SET (publish = "
            f"'insert, update, delete, truncate')"
        )
    missing = _missing(connection, name, tables)
    if missing:
        if settings.autocreate != "filtered":
            raise RuntimeError(
                f"{settings.place}: publication '{name}' does not have "
                f"{', '.join(str(each.id) for each in missing)}, or has partitions in the place of a table: add what "
                f"is missing, with publish_via_partition_root = true"
            )
        _run_statement(
            connection, settings, f"ALTER PUBLICATION {_publication_table(name)} ADD TABLE {_listed_tables(missing)}"
        )
        logger.info("publication %s: added %s", name, ", ".join(str(each.id) for each in missing))
    if connection.info.server_version >= _WITH_FILTERS:
        wanted = {(each.id.schema, each.id.table) for each in tables}
        if filtered := wanted.intersection(connection.execute(_FILTERED, [name]).fetchall()):
            raise RuntimeError(
                f"{settings.place}: publication '{name}' has a WHERE for {'.'.join(min(filtered))}: rows of the "
                f"snapshot would be others than those of the log. Take a publication without"
            )


def _missing(connection: Any, name: str, tables: Sequence[FoundTable]) -> list[FoundTable]:
    there = set(connection.execute(_TABLES, [name]).fetchall())
    return [each for each in tables if (each.id.schema, each.id.table) not in there]


def _create(connection: Connection, settings: PostgresSettings, tables: Sequence[FoundTable]) -> None:
    name = settings.publication_name
    if settings.autocreate == "disabled":
        raise RuntimeError(
            f"{settings.place}: there is no publication '{name}', and it is not to be made: CREATE PUBLICATION "
            f"{name} FOR TABLE {', '.join(each.id.short for each in tables)} WITH (publish_via_partition_root = true)"
        )
    what = "ALL TABLES" if settings.autocreate == "all_tables" else f"TABLE {_listed_tables(tables)}"
    _run_statement(
        connection,
        settings,
        f"CREATE PUBLICATION {_publication_table(name)} FOR {what} WITH (publish_via_partition_root = true)",
    )
    logger.info("publication %s: made for %s", name, ", ".join(str(each.id) for each in tables))


def drop_publication(connection: Any, settings: PostgresSettings) -> None:
    """Only the one of this slot's own: others belong to others."""
    if not settings.publication:
        connection.execute(f"DROP PUBLICATION IF EXISTS {_publication_table(settings.publication_name)}")


def _run_statement(connection: Any, settings: PostgresSettings, statement: str) -> None:
    import psycopg

    try:
        connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege as error:
        raise RuntimeError(
            f"{settings.place}: user '{settings.target.user}' must not do what capturing needs "
            f"({str(error).strip()}). Let an owner of the tables run: {statement}"
        ) from None


def _listed_tables(tables: Sequence[FoundTable]) -> str:
    return ", ".join(f"{'ONLY ' if each.kind == 'r' else ''}{quoted(each.id)}" for each in tables)


def _publication_table(name: str) -> str:
    return str(psycopg_sql().Identifier(name).as_string(None))
