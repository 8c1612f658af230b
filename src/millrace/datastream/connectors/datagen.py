# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``DataGeneratorSource``, which PyFlink lacks; the code is in ``millrace.connectors.generated_sources``."""

from __future__ import annotations

from millrace.connectors.generated_sources import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy

__all__ = [
    "DataGeneratorSource",
    "GeneratorFunction",
    "RateLimiterStrategy",
]
