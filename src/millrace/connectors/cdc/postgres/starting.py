"""Beginning to read a slot, which a reader that is dead or slow may still hold."""

from __future__ import annotations

import logging
import time
from typing import Any

from millrace.connectors.cdc.database import PositionLost
from millrace.connectors.cdc.postgres.connecting import connected
from millrace.connectors.cdc.postgres.positions import LogPosition, lsn_text
from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.cdc.postgres.slots import check_position, slot_state
from millrace.connectors.cdc.postgres.walsender import StreamFailed, WalStream
from millrace.connectors.stores.problems import ConnectionFailed

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 0.2
_IN_USE = "55006"
_PASSING = ("", "08", "53", "55006", "57")
"""beginnings of SQLSTATEs that are over some time: no connection, no room, in use, starting or ending"""
_READER = "SELECT application_name, client_addr::text FROM pg_stat_activity WHERE pid = %s"


def started(settings: PostgresSettings, position: LogPosition, name: str) -> WalStream:
    """The log of the slot behind a position.

    A reader of the same job that is still there (its process hangs, or the server has not noticed its end) is ended: it
    has the same name.

    :raises PositionLost: the slot is gone or begins later.
    :raises TimeoutError: it is in use by others, or the server cannot be reached, for ``settings.wait`` seconds.
    """
    until = time.monotonic() + settings.wait
    while True:
        try:
            return _once(settings, position, name)
        except ConnectionFailed as error:
            if not error.passing:
                raise
            reason: Exception = error
        except StreamFailed as error:
            if error.state and not error.state.startswith(_PASSING[1:]):
                raise PositionLost(
                    f"{settings.place}: replication slot '{settings.slot}' does not give its log behind "
                    f"{lsn_text(position.lsn)}: {error}"
                ) from None
            reason = error
        if time.monotonic() > until:
            raise TimeoutError(
                f"{settings.place}: replication slot '{settings.slot}' could not be read within {settings.wait:g} s: "
                f"{reason}"
            ) from None
        time.sleep(AGAIN_SECONDS)


def _once(settings: PostgresSettings, position: LogPosition, name: str) -> WalStream:
    with connected(settings, name) as connection:
        state = slot_state(connection, settings.slot)
        check_position(state, position.lsn, settings)
        assert state is not None
        if state.active is not None:
            _end_own(connection, state.active, name)
    stream = WalStream(settings.target, name)
    try:
        stream.start(settings.slot, settings.publication_name, position.lsn)
    except StreamFailed as error:
        stream.close()
        if error.state != _IN_USE:
            raise
        with connected(settings, name) as connection:
            raise StreamFailed(f"{error}{_who(connection, settings.slot)}", error.state) from None
    except BaseException:
        stream.close()
        raise
    return stream


def _end_own(connection: Any, process: int, name: str) -> None:
    found = connection.execute(_READER, [process]).fetchone()
    if found is not None and found[0] == name:
        logger.warning("an earlier reader of this job is still there, and is ended: process %d of the server", process)
        connection.execute("SELECT pg_terminate_backend(%s)", [process])


def _who(connection: Any, slot: str) -> str:
    state = slot_state(connection, slot)
    found = None if state is None or state.active is None else connection.execute(_READER, [state.active]).fetchone()
    return "" if found is None else f" ('{found[0]}' at {found[1]}): a slot is for one job"
