# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Modules of functions, under PyFlink's path."""

from __future__ import annotations

from millrace.table.functions.function_catalog import Module, ModuleEntry
from millrace.util.not_yet import lazy_names

__all__ = [
    "Module",
    "ModuleEntry",
]

_REFUSED = {
    "HiveModule": "functions made with udf() in a Module of your own",
}

__getattr__ = lazy_names(__name__, {}, _REFUSED)
