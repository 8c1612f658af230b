"""What makes the environments and jobs of this process those of a command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from millrace import activate, deactivate
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
    """Inside, environments begin with the settings, and what they execute goes to the submitter."""
    set_defaults(Configuration.from_dict(settings.configuration))
    set_submitter(submitter)
    set_listener_factory(listener)
    if pyflink:
        activate()
    try:
        yield
    finally:
        set_defaults(None)
        set_submitter(None)
        set_listener_factory(PlainListener)
        if pyflink:
            deactivate()
