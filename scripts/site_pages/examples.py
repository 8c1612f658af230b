"""Examples in docstrings as blocks of code: Markdown would take ``>>>`` for quotations."""

from __future__ import annotations

import re
import textwrap
from typing import Any

_EXAMPLE = re.compile(r"^[ ]*>>> .*\n?(?:[ ]*\S.*\n?)*", re.MULTILINE)


def fenced(text: str) -> str:
    """The docstring with a fence round each run of lines that begins with ``>>>`` and ends with a blank one."""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{textwrap.dedent(found[0]).rstrip()}\n```\n", text)


def on_object(obj: Any) -> None:
    """Change the docstring of an object of griffe's, of which these pages are made."""
    if obj.docstring is not None:
        obj.docstring.value = fenced(obj.docstring.value)
