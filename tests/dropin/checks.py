"""What cases check with, on PyFlink and on Millrace."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def raises(kind: type[BaseException], text: str = "") -> Iterator[None]:
    """The block must raise this, with the text somewhere in what it says."""
    raised = None
    try:
        yield
    except kind as error:
        raised = error
    assert raised is not None, f"{kind.__name__} was not raised"
    assert text in str(raised), f"{type(raised).__name__} does not say {text!r}: {str(raised)[:2000]}"


def elements(stream: Any) -> list[Any]:
    """What a stream gives."""
    with contextlib.closing(stream.execute_and_collect()) as found:
        return list(found)
