"""``[tool.millrace.lint]`` in pyproject.toml: which rules a project wants."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from millrace.lint.check import Chosen

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("select", "ignore")


def project_settings(folder: Path) -> Chosen:
    """What the nearest pyproject.toml above a folder says; everything, if there is none.

    :raises ValueError: it is wrong; the text names the file.
    """
    files = (each / "pyproject.toml" for each in (folder, *folder.parents))
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return Chosen()
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("millrace", {}).get("lint", {})
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: {error}") from None
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise ValueError(f"{file}: [tool.millrace.lint] has {' and '.join(_KEYS)}, and no {unknown[0]!r}")
    chosen = Chosen(*(_words(file, table, key) for key in _KEYS))
    try:
        chosen.rules()
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return chosen


def _words(file: Path, table: dict[str, Any], key: str) -> tuple[str, ...]:
    words = table.get(key, [])
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        raise ValueError(f"{file}: {key} of [tool.millrace.lint] is a list of rules, such as ['ML003']")
    return tuple(words)
