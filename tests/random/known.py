"""Known differences between the modes: what a comparison looks like that shows one, and why it is there."""

from __future__ import annotations

from collections.abc import Callable

from tests.random.comparing import Compared


def _batch_fails(text: str) -> Callable[[Compared], bool]:
    return lambda compared: isinstance(compared.batch, Exception) and text in str(compared.batch)


KNOWN: tuple[tuple[Callable[[Compared], bool], str], ...] = (
    (
        _batch_fails("a FULL OUTER JOIN with a function in its condition that only Python can compute"),
        "Spark cannot run Python functions in the condition of a full join",
    ),
)
"""(whether this is one, why)"""


def reason(compared: Compared) -> str | None:
    """Why the modes differ here, if that is known."""
    return next((why for fits, why in KNOWN if fits(compared)), None)
