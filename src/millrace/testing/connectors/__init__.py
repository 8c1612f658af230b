"""Tests for connectors: a source or a sink must not lose a record, and must not duplicate one.

``docs/guide/connectors.md`` builds a connector and checks it with these tests.
"""

from __future__ import annotations

from millrace.testing.connectors.sinks import SinkUnderTest, check_sink, sink_checks
from millrace.testing.connectors.sources import SourceUnderTest, check_source, source_checks

__all__ = ["SinkUnderTest", "SourceUnderTest", "check_sink", "check_source", "sink_checks", "source_checks"]
