"""Modules of Millrace that have moved: stored state names its classes by where they were when it was written."""

from __future__ import annotations

_MOVED = {
    "millrace.datastream.functions": "millrace.common.functions",
    "millrace.datastream.window": "millrace.common.window",
    "millrace.datastream.state_ttl": "millrace.common.state_ttl",
}
"""package or module of an earlier version -> where it is now"""


def present_module(module: str) -> str:
    """The module that holds today what this one held."""
    for old, new in _MOVED.items():
        if module == old or module.startswith(f"{old}."):
            return new + module[len(old) :]
    return module
