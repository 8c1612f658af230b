"""The kinds of events of a binary log that mean something here, by their numbers in MySQL's protocol."""

from __future__ import annotations

QUERY = 2
STOP = 3
ROTATE = 4
FORMAT = 15
XID = 16
INCIDENT = 26
EXECUTE_LOAD = 18
TABLE_MAP = 19
HEARTBEAT = 27
GTID = 33
ANONYMOUS_GTID = 34
XA_PREPARE = 38
PARTIAL_UPDATE = 39
TRANSACTION_PAYLOAD = 40
HEARTBEAT_V2 = 41
TAGGED_GTID = 42
MARIADB_GTID = 162
MARIADB_START_ENCRYPTION = 164
MARIADB_QUERY_COMPRESSED = 165

INSERT, UPDATE, DELETE = "insert", "update", "delete"
ROWS = {
    23: INSERT, 24: UPDATE, 25: DELETE,
    30: INSERT, 31: UPDATE, 32: DELETE,
    166: INSERT, 167: UPDATE, 168: DELETE,
    169: INSERT, 170: UPDATE, 171: DELETE,
}  # fmt: skip
"""what rows are in the event for"""
ROWS_WITH_EXTRA = frozenset((30, 31, 32, 169, 170, 171))
"""of the second version: bytes of any number before the rows"""
ROWS_COMPRESSED = frozenset(range(166, 172))
"""MariaDB's ``log_bin_compress``"""
