"""``DataGeneratorSource``, which PyFlink lacks; the code is in ``millrace.connectors.generated_sources``."""

from __future__ import annotations

from millrace.connectors.generated_sources import DataGeneratorSource, GeneratorFunction
from millrace.connectors.source_base import RateLimiterStrategy

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]
