# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``ConfigOption`` and ``ConfigOptions``, under PyFlink's path."""

from __future__ import annotations

from millrace.common.configuration import ConfigOption, ConfigOptions

__all__ = [
    "ConfigOption",
    "ConfigOptions",
]
