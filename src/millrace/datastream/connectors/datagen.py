"""``DataGeneratorSource``, which PyFlink lacks; the code is in ``millrace.connectors.datagen``."""

from __future__ import annotations

from millrace.connectors.datagen import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]
