"""Known differences between the modes: what a comparison looks like that shows one, and why it is there."""

from __future__ import annotations

from collections.abc import Callable

from tests.random.comparing import Compared

KNOWN: tuple[tuple[Callable[[Compared], bool], str], ...] = ()


def reason(compared: Compared) -> str | None:
    """Why the modes differ here, if that is known."""
    return next((why for fits, why in KNOWN if fits(compared)), None)
