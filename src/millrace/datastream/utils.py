"""``ResultTypeQueryable``. PyFlink's other helpers of this module convert Java objects and have no meaning here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.common.typeinfo import TypeInformation

__all__ = ["ResultTypeQueryable"]


class ResultTypeQueryable(ABC):
    """Something that knows the type of the elements it produces: a source, a format, a deserialization schema."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the produced elements."""
