"""What mkdocstrings is told as an extension: it is loaded by its path."""

from __future__ import annotations

from typing import Any

import griffe
from scripts.site_pages.examples import on_object


class Examples(griffe.Extension):
    """Examples in docstrings become blocks of code."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if not obj.is_alias:
            on_object(obj)
