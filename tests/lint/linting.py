"""Looks at a program as the command does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from millrace.cli.main import main


def lint(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(main, ["lint", *options, str(program), *arguments])


def found_in(program: Path, *options: str) -> list[dict[str, Any]]:
    """The findings; fails if the program could not be read."""
    result = lint(program, "--format", "json", *options)
    assert result.exit_code in (0, 1), result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    assert result.exit_code == bool(found)
    return found


def written(folder: Path, text: str) -> Path:
    program = folder / "program.py"
    program.write_text(text)
    return program
