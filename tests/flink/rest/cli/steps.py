"""Command lines as data: arguments, what they are about, what later ones need of their output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.flink.rest.asks.templates import MALFORMED, UNKNOWN


@dataclass(frozen=True)
class Step:
    """One command line after `flink`; "@running" is the id of a running job, as in requests."""

    args: tuple[str, ...]
    about: str
    keep: str = ""
    """name -> what the first group of KEPT finds in the output"""
    help: bool = False
    """does it list options? Then their names are kept, not the text around them"""

    @property
    def key(self) -> str:
        return " ".join((*self.args, f"({self.about})"))


JOB_ID = r"JobID ([0-9a-f]{32})"
SAVEPOINT = r"Path: (?:file:)?(\S+)"
KEPT = {
    "ran": JOB_ID,
    "detached": JOB_ID,
    "savepoint": SAVEPOINT,
    "stopped": SAVEPOINT,
}
ACTIONS = ("run", "list", "info", "stop", "cancel", "savepoint", "checkpoint")
NO_CLUSTER = ("-m", "localhost:1")


def steps() -> Iterator[Step]:
    yield from _helps()
    yield from _lists("an empty cluster")
    yield from _runs()
    yield from _lists("jobs in all states")
    yield from _savepoints()
    yield from _stops()
    yield from _cancels()
    yield from _mistakes()
    yield from _no_cluster()


def _helps() -> Iterator[Step]:
    yield Step((), "no arguments", help=True)
    for flag in ("-h", "--help"):
        yield Step((flag,), "help", help=True)
    yield Step(("help",), "no such action")
    for flag in ("-v", "--version"):
        yield Step((flag,), "version")
    for action in ACTIONS:
        yield Step((action, "-h"), "help of an action", help=True)
    yield Step(("nonsense",), "no such action")
    yield Step(("run-application", "-h"), "an action of old")


def _lists(about: str) -> Iterator[Step]:
    for flags in ((), ("-a",), ("-r",), ("-s",), ("-r", "-s"), ("--all",)):
        yield Step(("list", *flags), about)


def _runs() -> Iterator[Step]:
    program, finished, failed = "@program", "@script.finished", "@script.failed"
    yield Step(("run", "-py", program, finished), "a program that ends at once")
    yield Step(("run", "-py", program, finished, "--wait"), "a program that waits for its job", keep="ran")
    yield Step(("run", "-d", "-py", program, "@script.running"), "detached", keep="detached")
    yield Step(("run", "--detached", "--python", program, "@script.plain"), "long options")
    yield Step(("run", "-p", "2", "-py", program, finished), "with parallelism")
    yield Step(("run", "-D", "pipeline.name=renamed", "-py", program, finished), "with a setting")
    yield Step(("run", "-m", "@address", "-py", program, finished), "with an address")
    yield Step(("run", "-py", program, failed, "--wait"), "a program whose job fails")
    yield Step(("run", "-py", "@failing"), "a program that fails")
    yield Step(("run", "-py", "/nothing/here.py"), "no such program")
    yield Step(("run", "-pym", "nothing_here"), "no such module")
    yield Step(("run", "/nothing/here.jar"), "no such file")
    yield Step(("run",), "no program")
    yield Step(("run", "-p", "x", "-py", program, finished), "malformed parallelism")
    yield Step(("run", "-p", "0", "-py", program, finished), "no parallelism")
    yield Step(("run", "-p", "-1", "-py", program, finished), "parallelism below zero")
    yield Step(("run", "--nonsense", "-py", program, finished), "no such option")
    yield Step(("run", "-s", "/nothing/here", "-py", program, finished), "no such savepoint")
    yield Step(("run", "-s", "/nothing/here", "-cm", "nonsense", "-py", program, finished), "malformed claim mode")
    yield Step(("run", "-t", "nonsense", "-py", program, finished), "no such target")
    yield Step(("run", "-c"), "an option without its value")
    yield Step(("run", "-D", "nonsense", "-py", program, finished), "a setting without a value")
    yield Step(("info", "-py", program, finished), "the plan of a program")
    yield Step(("info",), "no program")
    yield Step(("info", "/nothing/here.jar"), "no such file")


def _savepoints() -> Iterator[Step]:
    job = "@running"
    yield Step(("savepoint", job, "@folder"), "a running job", keep="savepoint")
    yield Step(("savepoint", "-type", "native", job, "@folder"), "in the native format")
    yield Step(("savepoint", "-type", "canonical", job, "@folder"), "in the canonical format")
    yield Step(("savepoint", "-detached", job, "@folder"), "detached")
    yield Step(("savepoint", job), "without a folder")
    yield Step(("savepoint", "-type", "nonsense", job), "no such format")
    yield Step(("savepoint",), "no job")
    yield Step(("savepoint", UNKNOWN, "@folder"), "no such job")
    yield Step(("savepoint", MALFORMED), "a malformed job")
    yield Step(("savepoint", "@finished", "@folder"), "a finished job")
    yield Step(("savepoint", "@restarting", "@folder"), "a restarting job")
    yield Step(("savepoint", job, "/proc/nothing"), "a folder that cannot be written")
    yield Step(("savepoint", job, "@folder", "more"), "too many arguments")
    yield Step(("savepoint", "-d", "@kept.savepoint"), "disposal")
    yield Step(("savepoint", "--dispose", "@kept.savepoint"), "disposal of what is gone")
    yield Step(("savepoint", "-d"), "disposal without a path")
    yield Step(("checkpoint", job), "a running job")
    yield Step(("checkpoint", "-full", job), "a full one")
    yield Step(("checkpoint",), "no job")
    yield Step(("checkpoint", UNKNOWN), "no such job")
    yield Step(("checkpoint", MALFORMED), "a malformed job")
    yield Step(("checkpoint", "@finished"), "a finished job")
    yield Step(("checkpoint", "@plain"), "a job without checkpoints")


def _stops() -> Iterator[Step]:
    yield Step(("stop", "-p", "@folder", "@running#stop"), "a running job", keep="stopped")
    yield Step(("run", "-d", "-s", "@kept.stopped", "-py", "@program", "@script.running"), "from a savepoint")
    claimed = ("-n", "-cm", "CLAIM", "-s", "@kept.stopped")
    yield Step(("run", "-d", *claimed, "-py", "@program", "@script.running"), "claimed")
    yield Step(("stop", "--savepointPath", "@folder", "--drain", "@running#drain"), "drained")
    yield Step(("stop", "-type", "native", "-p", "@folder", "@running#native"), "in the native format")
    yield Step(("stop", "-detached", "-p", "@folder", "@running#detached"), "detached")
    yield Step(("stop", "@running#no_folder"), "without a folder")
    yield Step(("stop", "-p", "@folder", "@running#stop"), "one that was stopped")
    yield Step(("stop", "-p", "@folder", "@plain#stop"), "a job without checkpoints")
    yield Step(("stop",), "no job")
    yield Step(("stop", UNKNOWN), "no such job")
    yield Step(("stop", MALFORMED), "a malformed job")
    yield Step(("stop", "-p", "@folder", "@restarting"), "a restarting job")
    yield Step(("stop", "-p", "/proc/nothing", "@running"), "a folder that cannot be written")


def _cancels() -> Iterator[Step]:
    yield Step(("cancel", "@plain#cancel"), "a running job")
    yield Step(("cancel", "@plain#cancel"), "one that was cancelled")
    yield Step(("cancel", "-s", "@folder", "@running#cancel"), "with a savepoint")
    yield Step(("cancel", "--withSavepoint", "@running#cancel2"), "with a savepoint, without a folder")
    yield Step(("cancel", "@finished"), "a finished job")
    yield Step(("cancel", "@failed"), "a failed job")
    yield Step(("cancel", "@restarting#cancel"), "a restarting job")
    yield Step(("cancel", "@kept.detached"), "one that was run detached")
    yield Step(("cancel",), "no job")
    yield Step(("cancel", UNKNOWN), "no such job")
    yield Step(("cancel", MALFORMED), "a malformed job")
    yield Step(("cancel", "@finished", "more"), "too many arguments")


def _mistakes() -> Iterator[Step]:
    for action in ACTIONS:
        if action != "run":
            yield Step((action, "--nonsense"), "no such option")
    yield Step(("list", "more"), "too many arguments")
    yield Step(("list", "-m"), "an option without its value")


def _no_cluster() -> Iterator[Step]:
    for action, rest in (
        ("list", ()),
        ("cancel", (UNKNOWN,)),
        ("stop", (UNKNOWN,)),
        ("savepoint", (UNKNOWN,)),
        ("checkpoint", (UNKNOWN,)),
        ("run", ("-py", "@program", "@script.finished")),
    ):
        yield Step((action, *NO_CLUSTER, *rest), "no cluster there")
