"""The table of PyFlink's public names: for each module and name, where it is in Millrace, or why it is not there.

From the table come ``import pyflink`` (``millrace.activate``), the thin modules under PyFlink's paths (``python -m
scripts.doors``), the names that refuse to be used, and docs/pyflink-compatibility.md.
"""

from __future__ import annotations

from millrace.pyflink_names.common_names import COMMON_NAMES
from millrace.pyflink_names.connector_names import CONNECTOR_NAMES
from millrace.pyflink_names.datastream_names import DATASTREAM_NAMES
from millrace.pyflink_names.other_names import OTHER_NAMES
from millrace.pyflink_names.public_module import PublicModule
from millrace.pyflink_names.shell_names import shell_names
from millrace.pyflink_names.table_names import TABLE_NAMES

__all__ = ["NAMES", "PublicModule"]

_BELOW_THE_SHELL = {**COMMON_NAMES, **DATASTREAM_NAMES, **CONNECTOR_NAMES, **TABLE_NAMES, **OTHER_NAMES}

NAMES: dict[str, PublicModule] = {**_BELOW_THE_SHELL, "shell": shell_names(_BELOW_THE_SHELL)}
"""Module, without ``pyflink.`` -> its names."""
