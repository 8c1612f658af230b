"""The keyed state of an operator: set up alike in all of them."""

from __future__ import annotations

from collections.abc import Callable

from millrace.runtime.bases.base import Operator
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import StateTime


def no_timestamp() -> None:
    """For an operator whose function is not called for single elements: the watermark is the event time."""


def keyed_backend(operator: Operator, timestamp: Callable[[], int | None] = no_timestamp) -> KeyedStateBackend:
    """Keyed state for the operator and its function. To be called in ``setup``.

    :param timestamp: the event time (ms) of the element or event-time timer at hand, None for what has none.
    """
    time = StateTime(operator.context.clock, lambda: operator.watermark, timestamp)
    runtime = operator.context.runtime
    backend = runtime.keyed = runtime.new_keyed_state(time)
    return backend
