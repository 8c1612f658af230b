"""A stand-in for HBase: its Thrift interface over a dictionary. ``make connectors`` runs HBase itself."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import happybase  # noqa: F401  (which loads the interface)
from Hbase_thrift import Hbase, TCell, TRegionInfo, TRowResult
from Hbase_thrift import IOError as Refused
from thriftpy2.rpc import make_server

from millrace.testing.services.server import free_ports

Table = dict[bytes, dict[bytes, bytes]]


class Handler:
    """What the connector calls, and what a client needs to make tables."""

    def __init__(self) -> None:
        self._tables: dict[bytes, Table] = {}
        self._families: dict[bytes, set[bytes]] = {}
        self._scanners: dict[int, list[Any]] = {}
        self._numbers = itertools.count(1)

    def createTable(self, name: bytes, families: list[Any]) -> None:
        self._tables[_bytes(name)] = {}
        self._families[_bytes(name)] = {_bytes(each.name).rstrip(b":") for each in families}

    def getTableRegions(self, name: bytes) -> list[Any]:
        if _bytes(name) not in self._tables:
            return []
        ends = [b"", b"m", b"\x80", b""]  # whatever rows there are
        return [TRegionInfo(startKey=low, endKey=high, name=b"r") for low, high in itertools.pairwise(ends)]

    def scannerOpenWithScan(self, name: bytes, scan: Any, attributes: Any) -> int:
        table, columns = self._table(name), set(map(_bytes, scan.columns or ()))
        low, high = _bytes(scan.startRow or b""), _bytes(scan.stopRow or b"")
        found = []
        for key in sorted(table):
            cells = {cell: value for cell, value in table[key].items() if not columns or cell in columns}
            if cells and low <= key and (not high or key < high):
                empty = bool(scan.filterString)
                found.append(_result(key, {cell: b"" if empty else value for cell, value in cells.items()}))
        number = next(self._numbers)
        self._scanners[number] = found
        return number

    def scannerGetList(self, number: int, count: int) -> list[Any]:
        some, self._scanners[number] = self._scanners[number][:count], self._scanners[number][count:]
        return some

    def scannerClose(self, number: int) -> None:
        del self._scanners[number]

    def getRowsWithColumns(self, name: bytes, keys: list[bytes], columns: Any, attributes: Any) -> list[Any]:
        table, wanted = self._table(name), set(map(_bytes, columns or ()))
        found = []
        for key in map(_bytes, keys):
            cells = {cell: value for cell, value in table.get(key, {}).items() if not wanted or cell in wanted}
            if cells:
                found.append(_result(key, cells))
        return found

    def mutateRows(self, name: bytes, batches: list[Any], attributes: Any) -> None:
        table = self._table(name)
        for batch in batches:
            row = table.setdefault(_bytes(batch.row), {})
            for change in batch.mutations:
                cell = _bytes(change.column)
                if cell.partition(b":")[0] not in self._families[_bytes(name)]:
                    raise Refused(message=f"NoSuchColumnFamilyException: {cell.decode()}\n\tat a.b.C".encode())
                if change.isDelete:
                    row.pop(cell, None)
                else:
                    row[cell] = _bytes(change.value)

    def _table(self, name: bytes) -> Table:
        if _bytes(name) not in self._tables:
            raise Refused(message=b"org.apache.hadoop.hbase.TableNotFoundException: " + _bytes(name) + b"\n\tat a.b.C")
        return self._tables[_bytes(name)]


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _result(key: bytes, cells: dict[bytes, bytes]) -> Any:
    return TRowResult(row=key, columns={cell: TCell(value=value, timestamp=1) for cell, value in cells.items()})


class StandIn:
    """The server, on a port of its own."""

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self._server = make_server(Hbase, Handler(), "127.0.0.1", self.port)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            self._server.serve()
        except OSError:  # it was closed
            return

    def stop(self) -> None:
        self._server.close()
