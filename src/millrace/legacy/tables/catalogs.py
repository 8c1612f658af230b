"""Older methods of what catalogs keep."""

from __future__ import annotations

from millrace.legacy.telling import tell
from millrace.table.catalogs.objects import CatalogFunction


def is_generic(function: CatalogFunction) -> bool:
    """Whether a function is Flink's own kind and not Hive's: always, there is no other kind."""
    tell("CatalogFunction.is_generic()", "leave it out: all functions are")
    return True
