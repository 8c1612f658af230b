"""Where a catalog keeps its objects: by kind, database and name."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any

DATABASE, TABLE, FUNCTION, MODEL, PARTITION = "database", "table", "function", "model", "partition"
TABLE_STATISTICS, COLUMN_STATISTICS = "table_statistics", "column_statistics"
INSIDE = (TABLE, FUNCTION, MODEL, PARTITION, TABLE_STATISTICS, COLUMN_STATISTICS)
"""kinds that lie in a database"""


class Shelf(ABC):
    """Objects by kind, database ("" for databases themselves) and name. What is given out may be changed."""

    @abstractmethod
    def names(self, kind: str, database: str) -> list[str]: ...

    @abstractmethod
    def get(self, kind: str, database: str, name: str) -> Any | None: ...

    @abstractmethod
    def put(self, kind: str, database: str, name: str, value: Any) -> None: ...

    @abstractmethod
    def remove(self, kind: str, database: str, name: str) -> None: ...

    def clear(self, database: str) -> None:
        """Remove all that lies in a database."""
        for kind in INSIDE:
            for name in self.names(kind, database):
                self.remove(kind, database, name)


class MemoryShelf(Shelf):
    """Objects of this process."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], dict[str, Any]] = {}

    def names(self, kind: str, database: str) -> list[str]:
        return list(self._objects.get((kind, database), ()))

    def get(self, kind: str, database: str, name: str) -> Any | None:
        return copy.copy(self._objects.get((kind, database), {}).get(name))

    def put(self, kind: str, database: str, name: str, value: Any) -> None:
        self._objects.setdefault((kind, database), {})[name] = copy.copy(value)

    def remove(self, kind: str, database: str, name: str) -> None:
        del self._objects[kind, database][name]
