"""The base class of bounded inputs (``InputFormat``), and of objects that know the type of their elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.common.typeinfo import TypeInformation

__all__ = ["InputFormat", "ResultTypeQueryable"]


class InputFormat(ABC):
    """Base class of bounded input formats (``env.create_input``); connectors say what theirs reads."""


class ResultTypeQueryable(ABC):
    """Something that knows the type of the elements it produces: a source, a format, a deserialization schema.

    >>> class Numbers(ResultTypeQueryable):
    ...     def get_produced_type(self):
    ...         return Types.INT()
    >>> Numbers().get_produced_type()
    Integer
    """

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the produced elements."""
