"""What goes wrong with a server."""

from __future__ import annotations


class ServiceUnavailable(Exception):
    """A server cannot be had here: no Java, no network, or it did not start. The message says what to do."""
