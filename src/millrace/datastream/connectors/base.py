# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The bases of sources and sinks under PyFlink's names."""

from __future__ import annotations

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.sink_base import DeliveryGuarantee, StreamTransformer, SupportsPreprocessing

__all__ = [
    "Source",
    "Sink",
    "DeliveryGuarantee",
    "StreamTransformer",
    "SupportsPreprocessing",
]
