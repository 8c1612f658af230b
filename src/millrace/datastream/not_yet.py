"""The names of ``pyflink.datastream`` that Millrace does not implement, each with its nearest alternative.

The modules and names can be imported, since programs import more than they use; calling such a class or asking it for
anything raises a ``NotImplementedError`` that says so. A name that gets implemented is deleted from the table here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["NOT_YET", "Missing", "not_yet", "module_getattr"]


def not_yet(name: str, nearest: str) -> NotImplementedError:
    """The exception to raise for ``name`` (as a PyFlink program would write it), naming the ``nearest`` thing."""
    return NotImplementedError(f"{name} is not in Millrace yet; nearest: {nearest}")


class Missing(type):
    """The metaclass of classes that can be imported but not used."""

    _refusal: tuple[str, str]

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise not_yet(*cls._refusal)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):  # which Python asks for by itself
            raise AttributeError(name)
        raise not_yet(*cls._refusal)


def module_getattr(module_name: str) -> Callable[[str], type]:
    """A ``__getattr__`` for the module ``module_name`` (``millrace.`` or ``pyflink.``).

    It gives a class that refuses to be used for the names in ``NOT_YET`` and raises AttributeError for all others.
    """
    package, _, rest = module_name.partition(".")
    pyflink_name = f"pyflink.{rest}" if package == "millrace" else module_name

    def __getattr__(name: str) -> type:
        nearest = NOT_YET.get(f"{pyflink_name}.{name}")
        if nearest is not None:
            return Missing(name, (), {"_refusal": (f"{pyflink_name}.{name}", nearest), "__module__": module_name})
        raise AttributeError(f"module {module_name!r} has no attribute {name!r}")

    return __getattr__


_PROCESS = "KeyedProcessFunction with keyed state and timers"
_SOURCE = "a source written in Python (millrace.common.source.Source)"
_DYNAMODB = "KinesisStreamsSource on a stream of Kinesis that DynamoDB sends its changes to"
_SINK = "a sink written in Python (millrace.common.sink.Sink)"

_TABLE: tuple[tuple[str, str, str], ...] = (
    # module below pyflink.datastream, nearest alternative, names
    (
        "connectors.cassandra",
        "a query with its own USING TTL (CassandraSinkBuilder.set_query)",
        "MapperOptions",
    ),
    ("connectors.kinesis", _DYNAMODB, "FlinkDynamoDBStreamsConsumer"),
    ("connectors.pulsar", _SOURCE, "PulsarSource PulsarSourceBuilder StartCursor StopCursor RangeGenerator"),
    ("connectors.pulsar", _SINK, "PulsarSink PulsarSinkBuilder MessageDelayer TopicRoutingMode"),
    # the old way to import these, which PyFlink still allows
    (
        "connectors",
        _SOURCE,
        """
        PulsarSource PulsarSourceBuilder StartCursor StopCursor
        """,
    ),
    ("connectors", _DYNAMODB, "FlinkDynamoDBStreamsConsumer"),
)

NOT_YET: dict[str, str] = {
    ".".join(filter(None, ("pyflink.datastream", module, name))): nearest
    for module, nearest, names in _TABLE
    for name in names.split()
}
"""Nearest alternative by full PyFlink name (``pyflink.datastream.window.Trigger``)."""
