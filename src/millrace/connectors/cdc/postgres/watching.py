"""How much the server keeps for a slot, asked now and then beside the reading."""

from __future__ import annotations

import logging
import time
from typing import Any

from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.cdc.postgres.slots import LAG_TOLD, slot_state

logger = logging.getLogger(__name__)

ASK_SECONDS = 10.0
WARN_SECONDS = 600.0


class SlotWatch:
    """Asks at most every ten seconds, and warns when half of what the server keeps is used up."""

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._next = self._warn_next = 0.0
        self._lag: int | None = None

    def lag(self, connection: Any) -> int | None:
        """Bytes between what is confirmed and the end of the log."""
        now = time.monotonic()
        if now < self._next:
            return self._lag
        self._next = now + ASK_SECONDS
        state = slot_state(connection, self._settings.slot)
        if state is None:
            return None
        self._lag = state.lag
        if state.safe is not None and state.lag > LAG_TOLD * (state.lag + state.safe) and now >= self._warn_next:
            self._warn_next = now + WARN_SECONDS
            logger.warning(
                "%s: replication slot '%s' is %d MB behind, and is lost after %d MB more (max_slot_wal_keep_size)",
                self._settings.place,
                self._settings.slot,
                state.lag >> 20,
                max(0, state.safe) >> 20,
            )
        return self._lag
