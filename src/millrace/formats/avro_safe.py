"""Reading Avro by schemas that others have written: what a schema allows may be endless."""

from __future__ import annotations

from typing import Any

__all__ = ["UNREADABLE", "is_recursive", "read_message", "reason"]

UNREADABLE = (ValueError, EOFError, IndexError, KeyError, TypeError, StopIteration, OverflowError, RecursionError)
"""what is raised for bytes that are no record of a schema"""


def reason(error: Exception) -> str:
    """What is wrong with bytes, in words: of some errors fastavro has none that say it."""
    if isinstance(error, EOFError):
        return "its bytes end in the middle of a record"
    if isinstance(error, IndexError):
        return "a record has a branch of a union, or a symbol of an enum, that the schema does not have"
    return str(error) or type(error).__name__


def read_message(stream: Any, schema: Any, recursive: bool) -> Any:
    """The record of a message without its schema.

    :param recursive: whether the schema is.
    :raises ValueError: and the others of ``UNREADABLE``.
    """
    if recursive:
        # The reader in C goes down until the stack of the process ends, and the process with it.
        from fastavro import _read_py as readers
    else:
        import fastavro as readers
    return readers.schemaless_reader(stream, schema, None)


def is_recursive(schema: Any) -> bool:
    """Whether a record of a schema can hold records of the same kind.

    :raises ValueError: it has an array of items that take no bytes: a few bytes can say that there is any number.
    """
    return _Walk().of(schema, ())


class _Walk:
    def __init__(self) -> None:
        self._named: dict[str, bool] = {}
        """a name -> whether its values take no bytes"""

    def of(self, schema: Any, inside: tuple[str, ...]) -> bool:
        if isinstance(schema, str):
            return schema in inside
        if isinstance(schema, list):
            return self._any(schema, inside)
        kind = schema["type"]
        if kind in ("record", "error"):
            names = (*inside, schema["name"], _full_name(schema))
            found = self._any([field["type"] for field in schema["fields"]], names)
            empty = all(self._is_empty(field["type"]) for field in schema["fields"])
            self._named[schema["name"]] = self._named[_full_name(schema)] = empty
            return found
        if kind == "array":
            found = self.of(schema["items"], inside)
            if self._is_empty(schema["items"]):
                raise ValueError("the schema has an array whose items take no bytes, so that it can be endless")
            return found
        if kind == "map":
            return self.of(schema["values"], inside)
        return False if isinstance(kind, str) else self.of(kind, inside)

    def _any(self, schemas: list[Any], inside: tuple[str, ...]) -> bool:
        """All are looked at, since they have names that others use."""
        found = [self.of(each, inside) for each in schemas]
        return any(found)

    def _is_empty(self, schema: Any) -> bool:
        if isinstance(schema, str):
            return schema == "null" or self._named.get(schema, False)
        if isinstance(schema, list):
            return False
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._named[schema["name"]]
        if kind == "fixed":
            return bool(schema["size"] == 0)
        return kind == "null" if isinstance(kind, str) else self._is_empty(kind)


def _full_name(schema: Any) -> str:
    space = schema.get("namespace")
    name: str = schema["name"]
    return f"{space}.{name}" if space and "." not in name else name
