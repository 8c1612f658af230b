"""Names of objects: ``database.table``, ``catalog.database.table``, with backticks where needed."""

from __future__ import annotations

import re
from functools import total_ordering

from millrace.table.values.problems import problem

_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^.`\s][^.`]*?))\s*(\.|$)")


def split_path(path: str) -> list[str]:
    """The parts of a path: ``a.`b.c``` is a, b.c.

    :raises TableException: it is no path.
    """
    parts, place = [], 0
    while True:
        match = _PART.match(path, place)
        if match is None:
            raise problem(f"no path of an object: {path!r}; e.g. my_table, db.my_table, `odd name`")
        quoted, plain, end = match.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        place = match.end()
        if not end:
            return parts


def quoted(name: str) -> str:
    """A name in backticks."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


@total_ordering
@total_ordering
class ObjectPath:
    """A database and the name of an object in it.

        >>> ObjectPath("shop", "orders").get_full_name()
        'shop.orders'
    """

    def __init__(self, database_name: str | None = None, object_name: str | None = None) -> None:
        if not database_name or not object_name:
            raise ValueError(f"a path has a database and a name, not {database_name!r} and {object_name!r}")
        self._database = database_name
        self._object = object_name

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """:raises ValueError: not of the form database.name"""
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ValueError(f"a path is database.name, not {full_name!r}")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """The name of the database."""
        return self._database

    def get_object_name(self) -> str:
        """The name of the object in the database."""
        return self._object

    def get_full_name(self) -> str:
        """Both names, with a dot between."""
        return f"{self._database}.{self._object}"

    def compare_to(self, other: ObjectPath) -> int:
        """Less than 0, 0, greater than 0."""
        return (self > other) - (self < other)

    def __str__(self) -> str:
        return self.get_full_name()

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self.get_full_name() == other.get_full_name()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath):
            return NotImplemented
        return self.get_full_name() < other.get_full_name()

    def __hash__(self) -> int:
        return hash((self._database, self._object))


class ObjectIdentifier:
    """Catalog, database and name of an object.

        >>> ObjectIdentifier.of("default_catalog", "shop", "orders").as_summary_string()
        'default_catalog.shop.orders'
    """

    UNKNOWN = "<UNKNOWN>"

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._parts = (catalog_name, database_name, object_name)

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The full name of an object."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The name of the catalog."""
        return self._parts[0]

    def get_database_name(self) -> str:
        """The name of the database."""
        return self._parts[1]

    def get_object_name(self) -> str:
        """The name of the object in the database."""
        return self._parts[2]

    def to_object_path(self) -> ObjectPath:
        """The name without the catalog."""
        return ObjectPath(self._parts[1], self._parts[2])

    def to_list(self) -> list[str]:
        """The three names."""
        return list(self._parts)

    def as_serializable_string(self) -> str:
        """In backticks, for SQL."""
        return ".".join(map(quoted, self._parts))

    def as_summary_string(self) -> str:
        """The three names, with dots between."""
        return ".".join(self._parts)

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)
