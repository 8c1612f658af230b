"""The handle on a stream that every subtask gets, with the broadcast states that its elements may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.common.state import MapStateDescriptor
from millrace.graph.origin import user_origin

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream

__all__ = ["BroadcastStream"]


class BroadcastStream:
    """What ``DataStream.broadcast(descriptor, ...)`` gives: ``connect`` another stream with it.

        >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
        >>> told = env.from_collection([("limit", 3)]).broadcast(rules)
        >>> both = env.from_collection([2, 5]).connect(told)

    :raises TypeError: something else than a ``MapStateDescriptor``.
    :raises ValueError: two descriptors of one name, or one with a time to live, which broadcast state has not.
    """

    def __init__(self, input_stream: DataStream, broadcast_state_descriptors: Sequence[MapStateDescriptor]) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)
        names: set[str] = set()
        for descriptor in self.broadcast_state_descriptors:
            _check(descriptor, names)
            names.add(descriptor.get_name())


def _check(descriptor: MapStateDescriptor, names: set[str]) -> None:
    where = f"broadcast() at {user_origin()}"
    if not isinstance(descriptor, MapStateDescriptor):
        raise TypeError(f"{where}: broadcast state is described by a MapStateDescriptor, not {descriptor!r}")
    name = descriptor.get_name()
    if name in names:
        raise ValueError(f"{where}: two broadcast states have the name {name!r}; each needs its own")
    if descriptor.get_ttl_config() is not None:
        raise ValueError(f"{where}: broadcast state {name!r} can't have a time to live; only keyed state can")
