"""What a server of MySQL or MariaDB is asked: what it is, where its log is, what it has not been set to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.mysql import charsets
from millrace.connectors.cdc.mysql.position import Position, file_number
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect, pymysql
from millrace.connectors.jdbc.dialects.target import Target
from millrace.connectors.jdbc.metadata.base import asked

__all__ = ["Server", "connected", "identify"]

_PARSE_ERROR, _NOT_ALLOWED = 1064, (1045, 1142, 1227)
_STATEMENT_SECONDS = 300
"""in which any question is answered"""
_IMAGE = "binlog_row_image"


@contextmanager
def connected(target: Target) -> Iterator[Any]:
    """A connection in UTC that commits each statement by itself.

    :raises ConnectionFailed: with the place, without the password.
    """
    connection = connect(target)
    try:
        yield connection
    finally:
        connection.close()


def connect(target: Target) -> Any:
    connection = MySqlDialect().connect(target)
    connection.autocommit(True)
    connection._read_timeout = _STATEMENT_SECONDS
    return connection


@dataclass(frozen=True)
class Server:
    """What a server is.

    :ivar name: that no other server has, as far as servers know.
    :ivar place: for messages.
    """

    mariadb: bool
    version: str
    name: str
    place: str

    @property
    def title(self) -> str:
        return "MariaDB" if self.mariadb else "MySQL"

    # -- the log ------------------------------------------------------------------------------------------------

    def position(self, connection: Any, life: int = 0) -> Position:
        """Where the log ends now. :raises RuntimeError: there is none, or the user may not ask."""
        row = self._status(connection)
        file, offset = str(row[0]), int(row[1])
        gtids = "" if self.mariadb or len(row) < 5 else _joined(row[4])
        return self.at(file, offset, gtids, life)

    def at(self, file: str, offset: int, gtids: str = "", life: int = 0) -> Position:
        return Position(life, file_number(file), offset, 0, file, self.name, gtids)

    def _status(self, connection: Any) -> Sequence[Any]:
        """:returns: file, offset and, of MySQL, three more."""
        try:
            if self.mariadb:
                found = asked(connection, "SHOW MASTER STATUS")
            else:
                try:
                    found = asked(connection, "SHOW BINARY LOG STATUS")
                except pymysql().err.MySQLError as error:
                    if error.args[0] != _PARSE_ERROR:
                        raise
                    found = asked(connection, "SHOW MASTER STATUS")
        except pymysql().err.MySQLError as error:
            raise self._refused(error, "BINLOG MONITOR" if self.mariadb else "REPLICATION CLIENT") from None
        if not found:
            raise RuntimeError(f"{self.title} at {self.place} has no binary log: {_HOW_LOG}")
        return list(found[0])

    def gtids(self, connection: Any, file: str, offset: int) -> str:
        """Of MariaDB: which transactions are before a place of the log; empty if it does not know.

        It reads the file up to there to find out.
        """
        found = asked(connection, "SELECT BINLOG_GTID_POS(%s, %s)", file, offset)
        return str(found[0][0] or "")

    def files(self, connection: Any) -> list[tuple[str, int]]:
        """The files of the log that are there, with their sizes, oldest first."""
        try:
            return [(str(row[0]), int(row[1])) for row in asked(connection, "SHOW BINARY LOGS")]
        except pymysql().err.MySQLError as error:
            raise self._refused(error, "BINLOG MONITOR" if self.mariadb else "REPLICATION CLIENT") from None

    def snapshot(self, connection: Any, life: int = 0) -> Position:
        """Begin a transaction of MariaDB that sees exactly what is before the place of the log that is given back."""
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        found = {str(name).lower(): value for name, value in asked(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'")}
        return self.at(str(found["binlog_snapshot_file"]), int(found["binlog_snapshot_position"]), "", life)

    # -- how it is set ------------------------------------------------------------------------------------------

    def check(self, connection: Any) -> None:
        """:raises RuntimeError: its log does not have what is needed; with what to set."""
        rows = asked(
            connection,
            "SHOW GLOBAL VARIABLES WHERE variable_name IN "
            "('log_bin', 'binlog_format', 'binlog_row_image', 'binlog_row_value_options', 'server_id')",
        )
        found = {str(name).lower(): str(value).upper() for name, value in rows}
        where = f"{self.title} at {self.place}"
        if found.get("log_bin") != "ON":
            raise RuntimeError(f"{where} has no binary log: {_HOW_LOG}")
        if found.get("server_id") == "0":
            raise RuntimeError(f"{where} has server_id = 0, with which it gives its log to nobody: set another number")
        if found.get("binlog_format", "ROW") != "ROW":
            raise RuntimeError(
                f"{where} has binlog_format = {found['binlog_format']}: its log has statements and not rows. "
                f"SET GLOBAL binlog_format = 'ROW', and in its configuration; sessions that are open keep the old one"
            )
        if found.get(_IMAGE, "FULL") != "FULL":
            raise RuntimeError(
                f"{where} has {_IMAGE} = {found[_IMAGE]}: its log lacks columns. SET GLOBAL {_IMAGE} = 'FULL', and in "
                f"its configuration; sessions that are open keep the old one"
            )
        if found.get("binlog_row_value_options", ""):
            raise RuntimeError(
                f"{where} has binlog_row_value_options = {found['binlog_row_value_options']}: its log has parts of "
                f"JSON values only. SET GLOBAL binlog_row_value_options = ''"
            )

    def refused_log(self, code: int, message: str) -> RuntimeError:
        """Why the log is not given."""
        if code in _NOT_ALLOWED:
            return RuntimeError(
                f"{self.title} at {self.place}: the user may not read the log. GRANT REPLICATION SLAVE ON *.* TO ..."
            )
        return RuntimeError(f"{self.title} at {self.place} does not give its log: {message} ({code})")

    def _refused(self, error: Exception, right: str) -> RuntimeError:
        if error.args and error.args[0] in _NOT_ALLOWED:
            return RuntimeError(
                f"{self.title} at {self.place}: the user may not ask where the log is. GRANT {right} ON *.* TO ..."
            )
        return RuntimeError(f"{self.title} at {self.place}: {error}")

    # -- texts --------------------------------------------------------------------------------------------------

    def collations(self, connection: Any) -> dict[int, str]:
        """The character set of each collation, by number."""
        table = "collations"
        if self.mariadb:
            # Since 10.10 those for all character sets at once have their numbers there only.
            other = "collation_character_set_applicability"
            query = (
                "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'information_schema' "
                "AND lower(table_name) = %s AND lower(column_name) = 'id'"
            )
            if asked(connection, query, other)[0][0]:
                table = other
        rows = asked(connection, f"SELECT id, character_set_name FROM information_schema.{table} WHERE id IS NOT NULL")
        return {int(number): str(charset) for number, charset in rows if charset is not None}


_HOW_LOG = "start it with --log-bin, --server-id and --binlog-format=ROW"


def identify(connection: Any, target: Target) -> Server:
    """Which server is at the other end."""
    version = str(asked(connection, "SELECT version()")[0][0])
    mariadb = "mariadb" in version.lower()
    variable = "server_id" if mariadb else "server_uuid"
    return Server(
        mariadb, version, str(asked(connection, f"SELECT @@global.{variable}")[0][0]), target.place.rstrip("/")
    )


def codec_of(collations: dict[int, str], number: int) -> str | None:
    """Python's name for the texts of a collation; None: they are bytes.

    :raises ValueError: it is not known.
    """
    if number not in collations:
        raise ValueError(f"the log has texts with a collation that the server does not know (number {number})")
    return charsets.codec(collations[number])


def _joined(gtids: str) -> str:
    """MySQL writes each source on a line of its own; sets with tags are not understood here, and not kept."""
    text = "".join(gtids.split())
    tagged = any(
        not part.replace("-", "").isdigit() for each in text.split(",") if each for part in each.split(":")[1:]
    )
    return "" if tagged else text
