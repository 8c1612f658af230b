# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Pulsar: a connector that is not in Millrace yet."""

from __future__ import annotations

from millrace.util.not_yet import lazy_names

_REFUSED = {
    "StartCursor": "a source written in Python (millrace.common.source.Source)",
    "StopCursor": "a source written in Python (millrace.common.source.Source)",
    "RangeGenerator": "a source written in Python (millrace.common.source.Source)",
    "PulsarSource": "a source written in Python (millrace.common.source.Source)",
    "PulsarSourceBuilder": "a source written in Python (millrace.common.source.Source)",
    "TopicRoutingMode": "a sink written in Python (millrace.common.sink.Sink)",
    "MessageDelayer": "a sink written in Python (millrace.common.sink.Sink)",
    "PulsarSink": "a sink written in Python (millrace.common.sink.Sink)",
    "PulsarSinkBuilder": "a sink written in Python (millrace.common.sink.Sink)",
}

__getattr__ = lazy_names(__name__, {}, _REFUSED)
