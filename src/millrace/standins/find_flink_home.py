"""``pyflink.find_flink_home``: there is none to find."""

from __future__ import annotations

from typing import NoReturn

from millrace.standins.no_java import NoJavaError

__all__: list[str] = []


def _find_flink_home() -> NoReturn:
    """:raises NoJavaError: always."""
    raise NoJavaError("FLINK_HOME, the folder of a Flink distribution")


def _find_flink_source_root() -> NoReturn:
    """:raises NoJavaError: always."""
    raise NoJavaError("the folder of Flink's sources")
