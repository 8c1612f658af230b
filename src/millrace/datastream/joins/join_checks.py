"""What all joins check about their two sides before anything runs."""

from __future__ import annotations

from millrace.common.typeinfo import TypeInformation
from millrace.datastream.data_stream import OTHER_ENVIRONMENT, DataStream
from millrace.graph.nodes import GraphError
from millrace.graph.origin import user_origin


def check_environments(method: str, stream1: DataStream, stream2: DataStream) -> None:
    """Raises ``GraphError`` if the streams belong to different environments."""
    if stream1._env is not stream2._env:
        raise GraphError(f"{method} at {user_origin()}: {OTHER_ENVIRONMENT}")


def check_key_types(method: str, type1: TypeInformation | None, type2: TypeInformation | None) -> None:
    """Raises ``GraphError`` if both sides declare a type of their keys, and not the same."""
    if type1 is not None and type2 is not None and type1 != type2:
        raise GraphError(f"{method} at {user_origin()}: the keys of both sides have different types: {type1}, {type2}")
