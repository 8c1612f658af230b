"""What a command says while it waits for the end of an epoch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

EVERY_SECONDS = 5.0


@contextmanager
def telling(address: str | None, properties: tuple[str, ...], job: str) -> Iterator[None]:
    """On standard error, every five seconds: which epoch of the job runs, since when, and what it waits for."""
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(address, properties, job, over), daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()


def _tell(address: str | None, properties: tuple[str, ...], job: str, over: threading.Event) -> None:
    from millrace.cli.verbs.finding import jobs_at
    from millrace.cluster.remote.elsewhere import ElsewhereError

    while not over.wait(EVERY_SECONDS):
        try:
            line = jobs_at(address, properties, job).document(job).at_work
        except ElsewhereError:
            continue  # whoever waits will say so
        if line and not over.is_set():
            click.echo(f"Still waiting: {line}", err=True)
