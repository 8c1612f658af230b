"""``DataStream.cache`` in a program."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.connectors.result_cache import ResultCache
from millrace.runtime.jobs.specs import Spec


@dataclass(frozen=True)
class Cache(Spec):
    """A result that the next job computes (``FillCache``); later jobs have a ``Source`` in its place."""

    cache: ResultCache
