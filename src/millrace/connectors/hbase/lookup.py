"""``HBaseLookup``: the rows of many row keys by one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.connectors.hbase.connection import Connected, Gateway, refused
from millrace.connectors.hbase.layout import Layout
from millrace.connectors.stores.buffered import Buffering
from millrace.connectors.stores.lookup import Found, StoreLookup


class HBaseLookup(StoreLookup):
    """Gets rows by their keys."""

    def __init__(self, gateway: Gateway, layout: Layout, options: Mapping[str, str], asking: Buffering) -> None:
        super().__init__(gateway, options, asking)
        self._gateway = gateway
        self._layout = layout

    def ask(self, connection: Connected, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        layout = self._layout
        asked = [layout.key_encoder(key) if key not in ("", b"") else b"" for (key,) in keys]
        names = [cell.name for cell in layout.cells]
        try:
            found = dict(connection.table.rows([key for key in asked if key], columns=names or None))
        except Exception as error:
            if not refused(error):
                raise
            raise self._gateway.failed(error) from None
        readers = [layout.reader(place) for place in range(len(layout.columns))]
        return [[tuple(read(key, found[key]) for read in readers)] if key in found else [] for key in asked]
