"""How large one record of a file may be: a small compressed file can hold a line, or a block, that fills the memory."""

from __future__ import annotations

import os

from millrace.common.config_values import to_bytes_count

__all__ = ["BEGINNING", "VARIABLE", "record_limit", "too_large"]

VARIABLE = "MILLRACE_MAX_RECORD_SIZE"
"""The environment variable of workers that says it, as Flink writes sizes: ``512 mb``."""
DEFAULT = 256 << 20
BEGINNING = 1 << 10
"""bytes that are told of a record that is too large"""


def record_limit() -> int:
    """Bytes of a line, or of a decompressed block of Avro, at most.

    :raises ValueError: the variable has no size.
    """
    said = os.environ.get(VARIABLE)
    if not said:
        return DEFAULT
    try:
        return to_bytes_count(said)
    except ValueError as error:
        raise ValueError(f"the environment variable {VARIABLE}: {error}") from error


def too_large(what: str, limit: int) -> str:
    """The words for it."""
    return f"{what} is larger than {limit} bytes (the environment variable {VARIABLE} of the workers raises the limit)"
