"""Spans of time on a clock that may be set."""

from __future__ import annotations


def is_over(now: int, until: int, span: int) -> bool:
    """Whether a span is over that ends at a time. It is, too, where the clock was set back to before its beginning: how
    much has passed is not known then, and its end may be years away.
    """
    return now >= until or now < until - span
