"""Reading values without their classes, which are missing or not to be trusted: fields without the class, pickles as
data."""

from __future__ import annotations

from typing import Any

from millrace.checkpoint.values.classes import Classes
from millrace.checkpoint.values.columns import INERT

__all__ = ["plain_columns", "without_classes"]

Described = dict[str, Any]

_NO_CLASSES: dict[str, type] = {}
_KEYS = frozenset({"key", "namespace", "map_key"})
"""columns whose values must have a hash"""


def without_classes(described: Described, hashable: bool = False, known: Classes = _NO_CLASSES) -> Described:
    """The description of a column by which the values of named tuples and dataclasses are read as dicts (as tuples if
    they must be ``hashable``), members of enums as their names, and what is pickled as data.

    :param known: classes that values may be instances of all the same.
    """
    form = described["form"]
    if form == "pickle":
        return {"form": INERT}
    plain = dict(described)
    if "columns" in described:
        plain["columns"] = [without_classes(column, hashable, known) for column in described["columns"]]
    if "class" in described and described["class"]["name"] not in known:
        if form == "enum":
            return {"form": "str"}
        names = list(plain.pop("class")["fields"])
        plain |= {"form": "tuple" if hashable else "dict", "names": names}
    if "element" in described:
        plain["element"] = without_classes(described["element"], hashable, known)
    if form == "dicts":
        plain["key"] = without_classes(described["key"], True, known)
        plain["value"] = without_classes(described["value"], hashable, known)
    return plain


def plain_columns(columns: dict[str, Described], known: Classes = _NO_CLASSES) -> dict[str, Described]:
    """The same for all columns of a file."""
    return {name: without_classes(column, name in _KEYS, known) for name, column in columns.items()}
