# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""JSON under PyFlink's names; the code is in ``millrace.formats.json``."""

from __future__ import annotations

from millrace.formats.json import (
    JsonLinesEncoder,
    JsonLinesFormat,
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

__all__ = [
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "JsonLinesEncoder",
    "JsonLinesFormat",
]
