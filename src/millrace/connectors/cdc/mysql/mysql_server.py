"""Queries to a MySQL or MariaDB server: version, settings, the end of its log, tables and their schemas.

Character sets have Python's names here.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.events import Column, TableId, TableSchema
from millrace.connectors.cdc.mysql.binlog_position import Position, file_number
from millrace.connectors.dbapi import Connection
from millrace.connectors.jdbc.dialect import Target, query_rows
from millrace.connectors.jdbc.mysql import MySqlDialect, mysql_type, pymysql

_CODECS: Mapping[str, str] = {
    "latin1": "mysql_latin1", "utf8": "utf-8", "utf8mb3": "utf-8", "utf8mb4": "utf-8", "ascii": "ascii",
    "ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be",
    "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13", "greek": "iso8859-7",
    "hebrew": "iso8859-8", "koi8r": "koi8-r", "koi8u": "koi8-u", "tis620": "cp874", "macroman": "mac-roman",
    "macce": "mac-latin2", "sjis": "shift-jis", "cp932": "cp932", "ujis": "euc-jp", "eucjpms": "euc-jp",
    "euckr": "cp949", "gb2312": "gb2312", "gbk": "gbk", "gb18030": "gb18030", "big5": "big5",
    "cp850": "cp850", "cp852": "cp852", "cp866": "cp866", "cp1250": "cp1250", "cp1251": "cp1251",
    "cp1256": "cp1256", "cp1257": "cp1257",
}  # fmt: skip


def codec_of_charset(charset: str) -> str | None:
    """Python's name of a character set; None: they are bytes.

    :raises ValueError: Python does not have it.
    """
    if charset == "binary":
        return None
    if charset not in _CODECS:
        raise ValueError(f"texts with the character set {charset} cannot be read here")
    return _CODECS[charset]


def _latin1(name: str) -> codecs.CodecInfo | None:
    """MySQL's ``latin1``: Windows' code page, whose five holes are control characters."""
    if name != "mysql_latin1":
        return None

    def decode(data: Any, errors: str = "strict", /) -> tuple[str, int]:
        data = bytes(data)
        try:
            return data.decode("cp1252"), len(data)
        except UnicodeDecodeError:
            return "".join(bytes([each]).decode("latin-1" if each in _HOLES else "cp1252") for each in data), len(data)

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        return text.encode("cp1252", errors), len(text)

    return codecs.CodecInfo(encode, decode, name=name)


_HOLES = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
codecs.register(_latin1)


_PARSE_ERROR, _NOT_ALLOWED = 1064, (1045, 1142, 1227)
_STATEMENT_SECONDS = 300
"""The most seconds that a query may take."""
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

    def position(self, connection: Connection, life: int = 0) -> Position:
        """Where the log ends now. :raises RuntimeError: there is none, or the user may not ask."""
        row = self._status(connection)
        file, offset = str(row[0]), int(row[1])
        gtids = "" if self.mariadb or len(row) < 5 else _joined(row[4])
        return self.at(file, offset, gtids, life)

    def at(self, file: str, offset: int, gtids: str = "", life: int = 0) -> Position:
        return Position(life, file_number(file), offset, 0, file, self.name, gtids)

    def _status(self, connection: Connection) -> Sequence[Any]:
        """:returns: file, offset and, of MySQL, three more."""
        try:
            if self.mariadb:
                found = query_rows(connection, "SHOW MASTER STATUS")
            else:
                try:
                    found = query_rows(connection, "SHOW BINARY LOG STATUS")
                except pymysql().err.MySQLError as error:
                    if error.args[0] != _PARSE_ERROR:
                        raise
                    found = query_rows(connection, "SHOW MASTER STATUS")
        except pymysql().err.MySQLError as error:
            raise self._refused(error, "BINLOG MONITOR" if self.mariadb else "REPLICATION CLIENT") from None
        if not found:
            raise RuntimeError(f"{self.title} at {self.place} has no binary log: {_HOW_LOG}")
        return list(found[0])

    def gtids(self, connection: Connection, file: str, offset: int) -> str:
        """Of MariaDB: which transactions are before a place of the log; empty if it does not know.

        It reads the file up to there to find out.
        """
        found = query_rows(connection, "SELECT BINLOG_GTID_POS(%s, %s)", file, offset)
        return str(found[0][0] or "")

    def files(self, connection: Connection) -> list[tuple[str, int]]:
        """The files of the log that are there, with their sizes, oldest first."""
        try:
            return [(str(row[0]), int(row[1])) for row in query_rows(connection, "SHOW BINARY LOGS")]
        except pymysql().err.MySQLError as error:
            raise self._refused(error, "BINLOG MONITOR" if self.mariadb else "REPLICATION CLIENT") from None

    def snapshot(self, connection: Any, life: int = 0) -> Position:
        """Begin a transaction of MariaDB that sees exactly what is before the place of the log that is given back."""
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        found = {
            str(name).lower(): value for name, value in query_rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'")
        }
        return self.at(str(found["binlog_snapshot_file"]), int(found["binlog_snapshot_position"]), "", life)

    # -- how it is set ------------------------------------------------------------------------------------------

    def check(self, connection: Connection) -> None:
        """:raises RuntimeError: its log does not have what is needed; with what to set."""
        rows = query_rows(
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

    def collations(self, connection: Connection) -> dict[int, str]:
        """The character set of each collation, by number."""
        table = "collations"
        if self.mariadb:
            # Since 10.10 those for all character sets at once have their numbers there only.
            other = "collation_character_set_applicability"
            query = (
                "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'information_schema' "
                "AND lower(table_name) = %s AND lower(column_name) = 'id'"
            )
            if query_rows(connection, query, other)[0][0]:
                table = other
        rows = query_rows(
            connection, f"SELECT id, character_set_name FROM information_schema.{table} WHERE id IS NOT NULL"
        )
        return {int(number): str(charset) for number, charset in rows if charset is not None}


_HOW_LOG = "start it with --log-bin, --server-id and --binlog-format=ROW"


def identify(connection: Connection, target: Target) -> Server:
    """Which server is at the other end."""
    version = str(query_rows(connection, "SELECT version()")[0][0])
    mariadb = "mariadb" in version.lower()
    variable = "server_id" if mariadb else "server_uuid"
    return Server(
        mariadb, version, str(query_rows(connection, f"SELECT @@global.{variable}")[0][0]), target.place.rstrip("/")
    )


def codec_of(collations: dict[int, str], number: int) -> str | None:
    """Python's name for the texts of a collation; None: they are bytes.

    :raises ValueError: it is not known.
    """
    if number not in collations:
        raise ValueError(f"the log has texts with a collation that the server does not know (number {number})")
    return codec_of_charset(collations[number])


def _joined(gtids: str) -> str:
    """MySQL writes each source on a line of its own; sets with tags are not understood here, and not kept."""
    text = "".join(gtids.split())
    tagged = any(
        not part.replace("-", "").isdigit() for each in text.split(",") if each for part in each.split(":")[1:]
    )
    return "" if tagged else text


_NOT_OURS = "('information_schema', 'mysql', 'performance_schema', 'sys')"
_TABLES_AT_ONCE = 200


def table_names(connection: Connection) -> list[TableId]:
    """All tables but those of the server itself."""
    rows = query_rows(
        connection,
        "SELECT table_schema, table_name FROM information_schema.tables "
        f"WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN {_NOT_OURS} ORDER BY 1, 2",
    )
    return [TableId("", str(database), str(name)) for database, name in rows]


def table_schemas(connection: Connection, tables: Sequence[TableId]) -> dict[TableId, TableSchema]:
    """The current schemas of these tables; tables that do not exist are left out."""
    found: dict[TableId, TableSchema] = {}
    for begin in range(0, len(tables), _TABLES_AT_ONCE):
        found.update(_some_schemas(connection, tables[begin : begin + _TABLES_AT_ONCE]))
    return found


def _some_schemas(connection: Connection, tables: Sequence[TableId]) -> Mapping[TableId, TableSchema]:
    columns: dict[TableId, list[Column]] = {}
    for database, table, name, native, nullable, comment, default in _rows_about(
        connection,
        tables,
        "SELECT table_schema, table_name, column_name, column_type, is_nullable, column_comment, column_default "
        "FROM information_schema.columns WHERE {} ORDER BY 1, 2, ordinal_position",
    ):
        kind = mysql_type(native) if nullable == "YES" else mysql_type(native).not_null()
        column = Column(name, kind, native, comment or None, None if default == "NULL" else default)
        columns.setdefault(TableId("", database, table), []).append(column)
    keys: dict[TableId, list[str]] = {}
    for database, table, name in _rows_about(
        connection,
        tables,
        "SELECT table_schema, table_name, column_name FROM information_schema.key_column_usage "
        "WHERE constraint_name = 'PRIMARY' AND {} ORDER BY 1, 2, ordinal_position",
    ):
        keys.setdefault(TableId("", database, table), []).append(name)
    return {table: TableSchema(tuple(each), tuple(keys.get(table, ()))) for table, each in columns.items()}


def storage_engines(connection: Connection, tables: Sequence[TableId]) -> dict[TableId, str]:
    """The storage engine of each table, such as InnoDB."""
    query = "SELECT table_schema, table_name, engine FROM information_schema.tables WHERE {}"
    return {
        TableId("", database, table): str(engine) for database, table, engine in _rows_about(connection, tables, query)
    }


def text_charsets(connection: Connection, table: TableId) -> dict[str, str | None]:
    """The character sets of the columns of a table, as Python calls them."""
    query = (
        "SELECT table_schema, table_name, column_name, character_set_name FROM information_schema.columns "
        "WHERE character_set_name IS NOT NULL AND {}"
    )
    return {name: codec_of_charset(charset) for _, _, name, charset in _rows_about(connection, [table], query)}


def column_collation(connection: Connection, table: TableId, column: str) -> str | None:
    """By which the texts of a column are ordered."""
    query = (
        "SELECT collation_name FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s AND column_name = %s"
    )
    rows = query_rows(connection, query, table.schema, table.table, column)
    return str(rows[0][0]) if rows and rows[0][0] is not None else None


def _rows_about(connection: Connection, tables: Sequence[TableId], query: str) -> list[list[Any]]:
    """A query over some tables; texts that come as bytes are decoded."""
    if not tables:
        return []
    wanted = " OR ".join(["(table_schema = %s AND table_name = %s)"] * len(tables))
    rows = query_rows(
        connection, query.format(f"({wanted})"), *(part for each in tables for part in (each.schema, each.table))
    )
    return [[value.decode() if isinstance(value, bytes) else value for value in row] for row in rows]
