"""The kinds of tables whose content is on disk; all other tables stay completely in memory."""

from __future__ import annotations

from millrace.runtime.state.disk.list_table import DiskListTable
from millrace.runtime.state.disk.map_table import DiskMapTable
from millrace.runtime.state.disk.tables import DiskTable, DiskValueTable
from millrace.runtime.state.ttl_tables import TtlListTable, TtlMapTable, TtlValueTable


class DiskTtlValueTable(TtlValueTable, DiskValueTable):
    pass


class DiskTtlListTable(TtlListTable, DiskListTable):
    pass


class DiskTtlMapTable(TtlMapTable, DiskMapTable):
    pass


DISK_TABLES: dict[str, type[DiskTable]] = {
    table.kind: table
    for table in (
        DiskValueTable,
        DiskListTable,
        DiskMapTable,
        DiskTtlValueTable,
        DiskTtlListTable,
        DiskTtlMapTable,
    )
}
