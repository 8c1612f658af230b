"""How an index keeps fields, and so what can be asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from millrace.connectors.search.client import SearchClient

WHOLE = ("long", "integer", "short", "byte")


@dataclass(frozen=True)
class Field:
    """A field that can be asked for exact values.

    :ivar path: the name to ask for.
    :ivar kind: ``long``, ``keyword`` and so on.
    :ivar longest: of texts: longer ones are not found; None: all are.
    """

    path: str
    kind: str
    longest: int | None = None


def fields_of(client: SearchClient, index: str) -> dict[str, Field]:
    """The fields right in documents that can be asked for exact values, of all indexes that a pattern names: those that
    each of them keeps in the same way."""
    told = client.json("GET", f"/{quote(index, safe='*,')}/_mapping", missing=True) or {}
    found: list[dict[str, Field]] = []
    for each in told.values():
        properties = each.get("mappings", {}).get("properties", {})
        found.append({name: field for name, given in properties.items() if (field := _field(name, given)) is not None})
    if not found:
        return {}
    first, *others = found
    return {name: field for name, field in first.items() if all(each.get(name) == field for each in others)}


def _field(name: str, given: Mapping[str, Any]) -> Field | None:
    kind = given.get("type")
    if given.get("index") is False or given.get("ignore_malformed"):
        return None
    if kind == "text":
        for inner, each in given.get("fields", {}).items():
            if each.get("type") == "keyword" and each.get("index") is not False and "normalizer" not in each:
                return Field(f"{name}.{inner}", "keyword", each.get("ignore_above"))
        return None
    if kind == "keyword":
        return None if "normalizer" in given else Field(name, kind, given.get("ignore_above"))
    return Field(name, str(kind)) if kind in (*WHOLE, "boolean") else None
