"""The ``millrace`` command: one file for each of its commands."""

from __future__ import annotations

import click

from millrace.cli.cdc import cdc
from millrace.cli.cluster.command import cluster
from millrace.cli.demo.command import demo
from millrace.cli.doctor.command import doctor
from millrace.cli.gateway.command import sql_gateway
from millrace.cli.history.command import history_server
from millrace.cli.lint.command import lint
from millrace.cli.new.command import new
from millrace.cli.plans.explain import explain
from millrace.cli.plans.info import info
from millrace.cli.prepare import prepare
from millrace.cli.run import run, run_application
from millrace.cli.session.command import session
from millrace.cli.sql.command import sql
from millrace.cli.state import state
from millrace.cli.testing.command import test
from millrace.cli.texts.actions import Actions
from millrace.cli.texts.versions import show_versions
from millrace.cli.verbs.cancel import cancel
from millrace.cli.verbs.checkpoint import checkpoint
from millrace.cli.verbs.list import list_jobs
from millrace.cli.verbs.plot import plot
from millrace.cli.verbs.savepoint import savepoint
from millrace.cli.verbs.stop import stop


@click.group(cls=Actions, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    "-v",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_versions,
    help="Show the versions of Millrace and of what it runs on.",
)
def main() -> None:
    """Flink programs on Spark."""


main.add_command(run)
main.add_command(run_application)
main.add_command(sql)
main.add_command(sql_gateway)
main.add_command(info)
main.add_command(explain)
main.add_command(list_jobs)
main.add_command(cancel)
main.add_command(stop)
main.add_command(savepoint)
main.add_command(checkpoint)
main.add_command(state)
main.add_command(plot)
main.add_command(prepare)
main.add_command(lint)
main.add_command(test)
main.add_command(doctor)
main.add_command(new)
main.add_command(demo)
main.add_command(cdc)
main.add_command(cluster)
main.add_command(session)
main.add_command(history_server)
