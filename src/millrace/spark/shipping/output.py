"""What becomes of lines that functions print and log: they go to the log, and some of them to the driver."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from millrace.common.config_values import to_int

__all__ = ["LEVEL", "LINES", "Output", "output_wanted"]

LEVEL = "millrace.output.level"
LINES = "millrace.output.lines-per-second"
DEFAULT_LINES = 100


@dataclass(frozen=True)
class Output:
    """Travels with a job."""

    level: int = logging.INFO
    """what functions log below this level is dropped"""
    lines: int = DEFAULT_LINES
    """so many lines a second of each subtask of an operator reach the driver"""
    driver: str | None = None
    """the socket on which the driver listens, if it runs on the same machine"""


def output_wanted(configuration: Mapping[str, str]) -> Output:
    """What the configuration says.

    :raises ValueError: one of its values is nonsense.
    """
    name, lines = configuration.get(LEVEL, "INFO").upper(), configuration.get(LINES)
    return Output(logging.getLevelName(name), DEFAULT_LINES if lines is None else max(to_int(lines), 0))
