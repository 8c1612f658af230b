"""Options of ``flink run`` that mean nothing here, or nothing yet: each is refused with what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""

_DETACHED = (
    "a job needs this process until the cluster commands (millrace list, stop, cancel) are in Millrace; nearest: put "
    "the command into the background with `&`, or with `nohup millrace run ... &` to log out"
)


@dataclass(frozen=True)
class Refused:
    """An option, and the text that refuses it."""

    names: tuple[str, ...]
    text: str
    is_flag: bool = False


REFUSED = (
    Refused(("-d", "--detached"), _DETACHED, is_flag=True),
    Refused(("-m", "--jobmanager"), "Millrace has no JobManager: Spark runs the job; nearest: --master URL"),
    Refused(("-t", "--target"), "Spark runs the job; nearest: --master local[*], spark://..., yarn or k8s://..."),
    Refused(("-c", "--class"), "Millrace runs Python programs, not jars; nearest: -pym MODULE"),
    Refused(("-C", "--classpath"), "nearest: -D spark.jars=PATH, or env.add_jars() in the program"),
    Refused(
        ("-pyclientexec", "--pyClientExecutable"),
        "the program runs in the Python of this command; nearest: PYTHON -m millrace run",
    ),
    Refused(("-pypath", "--pyPythonPath"), "not in Millrace yet; nearest: -pyfs, or PYTHONPATH for local workers"),
)


def refuse_the_rest(command: F) -> F:
    """Add the refused options, hidden from the help."""
    for refused in REFUSED:
        option = click.option(
            *refused.names,
            f"refused_{refused.names[1].lstrip('-')}",
            is_flag=refused.is_flag,
            hidden=True,
            expose_value=False,
            callback=_refuse(refused),
        )
        command = option(command)
    return command


def _refuse(refused: Refused) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value not in (None, False) and not context.resilient_parsing:
            raise click.UsageError(f"{'/'.join(refused.names)}: {refused.text}", context)

    return callback
