"""``socket``: messages that a server sends, cut at a byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.common.files.file_access import record_limit, too_large
from millrace.common.source import Source
from millrace.connectors.socket_source import Server, SocketSource
from millrace.connectors.tables.table_options import TableOptions
from millrace.formats.tables.format_options import format_factory, format_names, format_options
from millrace.formats.tables.message_reading import DEAD_LETTERS, set_aside, sets_aside, with_dead_letters
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import DecodingFormat, FormatContext, TableContext, TableFactory, TableSource
from millrace.util.exceptions import TableException
from millrace.util.skipped import record_skipped

LINE_FEED = 10


class SocketRows(SocketSource[Rows]):
    """The rows of messages.

    :param places: the wanted columns among those that the format gives.
    :param blank: whether an empty message is one.
    """

    def __init__(self, server: Server, decoding: DecodingFormat, places: Sequence[int], blank: bool) -> None:
        self.server = server
        self._decoding = decoding
        self._places = tuple(places)
        self._blank = blank

    def records(self, messages: list[bytes]) -> list[Rows]:
        if not self._blank:
            messages = [message for message in messages if message]
        if not messages:
            return []
        found = self._decoding.decode(pa.array(messages, pa.binary()))
        record_skipped(found.skipped)
        decoded = found.rows
        return [decoded.with_columns([decoded.columns[place] for place in self._places])] if len(decoded) else []

    def check_large(self) -> None:
        if not sets_aside(self._decoding):
            super().check_large()

    def set_aside(self, beginning: bytes, length: int) -> None:
        record_skipped(1)
        set_aside(self._decoding, beginning, length, too_large("a message", record_limit()))


class SocketTableSource(TableSource):
    """Rows from one subtask, for as long as the server sends them."""

    bounded = False

    def __init__(self, server: Server, decoding: DecodingFormat, blank: bool) -> None:
        self._server = server
        self._decoding = decoding
        self._blank = blank
        self.kinds = decoding.kinds

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return SocketRows(self._server, self._decoding, columns, self._blank)


class SocketFactory(TableFactory):
    """``'hostname'``, ``'port'``; ``'format'``: one of messages; ``'byte-delimiter'``: the number of the byte that ends
    a message, 10 unless it is set; ``'max-retry'``: as of ``SocketSource``."""

    identifier = "socket"
    required = ("hostname", "port", "format")

    @property
    def optional(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("byte-delimiter", "max-retry", DEAD_LETTERS, *(f"{name}." for name in format_names()))

    def source(self, table: TableContext) -> TableSource:
        table.check_readable()
        options = TableOptions(table)
        delimiter = options.number("byte-delimiter")
        delimiter = LINE_FEED if delimiter is None else delimiter
        if not 0 <= delimiter < 256:
            raise options.problem("byte-delimiter", "is the number of a byte, 0 to 255")
        port = options.number("port") or 0
        try:
            server = Server(table.options["hostname"], port, bytes([delimiter]), options.number("max-retry") or 0)
        except ValueError as error:
            raise TableException(f"table {table.summary}: {error}") from None
        name = table.options["format"]
        factory = format_factory(name, table.summary)
        own = format_options(factory, name, table.options, table.summary)
        context = FormatContext(table.summary, table.columns, own, (), dict(table.configuration))
        decoding = with_dead_letters(factory.decoding(context), table.options, table.summary)
        return SocketTableSource(server, decoding, blank=name == "raw")
