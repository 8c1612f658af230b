"""Where the client writes: results on standard output, what it says about them beside it."""

from __future__ import annotations

from collections.abc import Iterable

import click


class Console:
    """:param messages_apart: messages go to standard error, so that a pipe gets the results and nothing else."""

    def __init__(self, messages_apart: bool) -> None:
        self._apart = messages_apart

    def show(self, lines: Iterable[str]) -> None:
        """Results, line by line as they come."""
        for line in lines:
            click.echo(line)

    def write(self, parts: Iterable[bytes]) -> None:
        """Results that are no text, part by part as they come."""
        for part in parts:
            click.echo(part, nl=False)

    def info(self, text: str) -> None:
        self._say(click.style("[INFO] ", fg="blue", bold=True) + text)

    def warning(self, text: str) -> None:
        self._say(click.style("[WARNING] ", fg="yellow", bold=True) + text)

    def error(self, text: str) -> None:
        title = click.style("[ERROR] Could not execute SQL statement. Reason:", fg="red", bold=True)
        self._say(f"{title}\n{click.style(text, fg='red')}")

    def say(self, text: str) -> None:
        """A message without a mark in front."""
        self._say(text)

    def clear(self) -> None:
        click.clear()

    def _say(self, text: str) -> None:
        click.echo(text, err=self._apart)
