"""The base of bounded inputs that connectors describe."""

from __future__ import annotations

from abc import ABC

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """Base class of bounded input formats (``env.create_input``); connectors say what theirs reads."""
