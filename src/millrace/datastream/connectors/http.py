# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Sources and sinks for HTTP services; the code is in ``millrace.connectors.http``. Not in PyFlink."""

from __future__ import annotations

from millrace.connectors.http.http_client import HttpAnswer, HttpAsyncFunction, HttpError, HttpRequest
from millrace.connectors.http.http_sink import HttpSink, HttpSinkBuilder

__all__ = [
    "HttpAnswer",
    "HttpAsyncFunction",
    "HttpError",
    "HttpRequest",
    "HttpSink",
    "HttpSinkBuilder",
]
