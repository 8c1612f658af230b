"""What several connectors share besides the source and sink contracts."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import Any

__all__ = ["DeliveryGuarantee", "StreamTransformer", "SupportsPreprocessing"]


class DeliveryGuarantee(enum.Enum):
    """What a sink promises when a job fails and is started again from its last checkpoint.

        >>> DeliveryGuarantee.EXACTLY_ONCE.name
        'EXACTLY_ONCE'
    """

    EXACTLY_ONCE = 0
    """Every element is visible once."""
    AT_LEAST_ONCE = 1
    """Every element is visible, some perhaps twice."""
    NONE = 2
    """Elements may be lost or appear twice."""


class StreamTransformer(ABC):
    """Changes a stream on its way into a sink.

        >>> class Upper(StreamTransformer):
        ...     def apply(self, ds):
        ...         return ds.map(str.upper)
        >>> list(Upper().apply(env.from_collection(["a"])).execute_and_collect())
        ['A']
    """

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """The transformed ``DataStream``."""


class SupportsPreprocessing(ABC):
    """A sink whose input has to go through a ``StreamTransformer`` first.

        >>> sorted(SupportsPreprocessing.__abstractmethods__)
        ['get_transformer']
    """

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """What is done with the stream before it is written; None: nothing."""
