"""Services that speak HTTP; the code is in ``millrace.connectors.http``. PyFlink has nothing of the kind."""

from __future__ import annotations

from millrace.connectors.http.builder import HttpSinkBuilder
from millrace.connectors.http.caller import HttpAnswer, HttpError, HttpRequest
from millrace.connectors.http.function import HttpAsyncFunction
from millrace.connectors.http.sink import HttpSink

__all__ = ["HttpAnswer", "HttpAsyncFunction", "HttpError", "HttpRequest", "HttpSink", "HttpSinkBuilder"]
