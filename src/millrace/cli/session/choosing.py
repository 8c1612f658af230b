"""Whether a program runs on the session that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from millrace.cli.cluster.submitting import names_spark, something_runs
from millrace.cli.options import ProgramOptions
from millrace.cli.targets import Target

if TYPE_CHECKING:
    from millrace.cluster.places.run_folder import Found


def session_for(program: ProgramOptions, target: Target) -> Found | None:
    """The session that a program is to run on; None: it gets a Spark of its own, as it asks for, or as it has to."""
    if target.kind is not None or target.isolated or names_spark(program) or not something_runs():
        return None
    from millrace.cli.settings import configured

    return fitting_session(configured(program))


def fitting_session(configuration: Mapping[str, str]) -> Found | None:
    """The session that runs, if it is what a program with this configuration would start for itself; else a line says
    why it isn't used."""
    if "millrace.master" in configuration or not something_runs():
        return None
    from millrace.cluster.places import run_folder
    from millrace.cluster.places.descriptions import describe_engine
    from millrace.cluster.places.session_facts import read_facts, versions, why_not

    found = run_folder.find(run_folder.SESSION)
    if not found:
        return None
    try:
        reason = why_not(read_facts(found[0].folder), configuration, versions())
    except (OSError, ValueError):
        reason = "it cannot be read"
    if reason is None and describe_engine(found[0].folder) is None:
        reason = "its Spark is not there"
    if reason is None:
        return found[0]
    click.echo(f"not on the session: {reason}", err=True)
    return None
