"""The module of Flink's own functions, as Java gives it."""

from __future__ import annotations

from millrace.table.functions import module

__all__ = ["CoreModule"]


class CoreModule:
    """Java has one object of it."""

    INSTANCE = module.CoreModule()
