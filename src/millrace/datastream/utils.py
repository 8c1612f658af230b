"""``ResultTypeQueryable``. PyFlink's other helpers of this module convert Java objects and have no meaning here."""

from __future__ import annotations

from millrace.common.io import ResultTypeQueryable

__all__ = ["ResultTypeQueryable"]
