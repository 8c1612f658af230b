"""All kinds of tables, by the names that deltas use for them."""

from __future__ import annotations

from millrace.runtime.state.row_buffer_table import EventBufferTable, RowBufferTable
from millrace.runtime.state.session_table import SessionTable
from millrace.runtime.state.tables import ListTable, MapTable, Table, ValueTable
from millrace.runtime.state.time_buffer_table import TimeBufferTable
from millrace.runtime.state.ttl_tables import TtlListTable, TtlMapTable, TtlValueTable
from millrace.runtime.state.window_tables import WindowListTable, WindowTable

_STATES = (ValueTable, ListTable, MapTable, TtlValueTable, TtlListTable, TtlMapTable)
_OPERATORS = (WindowTable, WindowListTable, SessionTable, TimeBufferTable, RowBufferTable, EventBufferTable)

TABLES: dict[str, type[Table]] = {table.kind: table for table in (*_STATES, *_OPERATORS)}
