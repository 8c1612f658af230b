"""``key_by(f, key_type_info=...)``: what Flink 1.12 called ``key_type``."""

from __future__ import annotations

from typing import Any

from millrace.legacy.telling import tell


def todays_arguments(
    function: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call with today's name of the argument."""
    tell(f"{function}(key_type_info=...)", "key_type=...")
    return args, {("key_type" if name == "key_type_info" else name): value for name, value in keywords.items()}
