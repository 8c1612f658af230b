"""What makes the environments and jobs of this process those of a command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.activate import activate, activate_where_missing, deactivate, is_active
from millrace.common.configuration import Configuration
from millrace.datastream.settings.defaults import Submitter, set_defaults, set_submitter
from millrace.spark.jobs.listeners import PlainListener, set_listener_factory

if TYPE_CHECKING:
    from millrace.cli.settings import RunSettings
    from millrace.spark.jobs.listeners import JobListener


@contextlib.contextmanager
def hooks(
    settings: RunSettings,
    submitter: Submitter,
    listener: Callable[[], JobListener] = PlainListener,
    pyflink: bool = False,
) -> Iterator[None]:
    """Inside, environments begin with the settings, and what they execute goes to the submitter.

    :param pyflink: whether ``import pyflink`` means Millrace also where PyFlink is installed.
    """
    set_defaults(Configuration.from_dict(settings.configuration))
    set_submitter(submitter)
    set_listener_factory(listener)
    already = is_active()
    if pyflink:
        activate()
    elif not already:
        activate_where_missing(_tell)
    try:
        yield
    finally:
        set_defaults(None)
        set_submitter(None)
        set_listener_factory(PlainListener)
        if not already:
            deactivate()


def _tell() -> None:
    click.echo("PyFlink is not installed: `import pyflink` means Millrace here, as with --pyflink", err=True)
