"""What is said of a log that the server keeps for a slot; that it is thrown away at a bound is in ``test_failures``."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.connectors.cdc.postgres import replication_slot
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings
from millrace.connectors.cdc.postgres.replication_slot import ASK_SECONDS, WARN_SECONDS, SlotWatch
from millrace.connectors.jdbc.dialect import Target

SETTINGS = PostgresSettings(Target((("db", 5432),), "shop", "u", "p"), ("public",), (r"public\.t",), "orders")
MB = 1 << 20


class Answers:
    """A connection on which the server says how much it keeps, and how much more it would."""

    def __init__(self) -> None:
        self.behind, self.asked = 0, 0
        self.safe: int | None = None

    def execute(self, query: str, values: Any) -> Answers:
        assert "safe_wal_size" in query
        assert values == ["orders"]
        self.asked += 1
        return self

    def fetchone(self) -> Any:
        return "pgoutput", "shop", 7, 0, "reserved", self.behind * MB, None if self.safe is None else self.safe * MB


@pytest.mark.parametrize(
    ("behind", "safe", "warned"), [(49, 51, False), (51, 49, True), (99, -3, True), (5000, None, False)]
)
def test_half_of_what_may_be_kept(behind: int, safe: Any, warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    connection = Answers()
    connection.behind, connection.safe = behind, safe
    assert SlotWatch(SETTINGS).lag(connection) == behind * MB
    wanted = f"'orders' is {behind} MB behind, and is lost after {max(0, safe or 0)} MB more (max_slot_wal_keep_size)"
    assert (wanted in caplog.text) is warned
    assert len(caplog.records) == warned


def test_it_is_asked_and_said_now_and_then(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    now = 1000.0
    monkeypatch.setattr(replication_slot.time, "monotonic", lambda: now)
    connection, watch = Answers(), SlotWatch(SETTINGS)
    connection.behind, connection.safe = 60, 40
    for _ in range(3):
        watch.lag(connection)
    assert (connection.asked, len(caplog.records)) == (1, 1)
    now += ASK_SECONDS
    connection.behind = 70
    assert watch.lag(connection) == 70 * MB
    assert (connection.asked, len(caplog.records)) == (2, 1)
    now += WARN_SECONDS
    watch.lag(connection)
    assert (connection.asked, len(caplog.records)) == (3, 2)
