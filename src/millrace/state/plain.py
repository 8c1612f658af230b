"""Reading values where their classes are missing: fields without the class, pickles as bytes."""

from __future__ import annotations

from typing import Any

__all__ = ["without_classes"]

Described = dict[str, Any]


def without_classes(described: Described, hashable: bool = False) -> Described:
    """The description of a column by which the values of named tuples and dataclasses are read as dicts (as tuples if
    they must be ``hashable``), members of enums as their names, and what is pickled as bytes."""
    form = described["form"]
    if form == "pickle":
        return {"form": "bytes"}
    if form == "enum":
        return {"form": "str"}
    plain = dict(described)
    if "columns" in described:
        plain["columns"] = [without_classes(column, hashable) for column in described["columns"]]
    if "class" in described:
        names = list(plain.pop("class")["fields"])
        plain = {**plain, "form": "tuple"} if hashable else {**plain, "form": "dict", "names": names}
    if "element" in described:
        plain["element"] = without_classes(described["element"], hashable)
    if form == "dicts":
        plain["key"] = without_classes(described["key"], hashable=True)
        plain["value"] = without_classes(described["value"], hashable)
    return plain
