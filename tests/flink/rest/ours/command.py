"""Our own command, against a cluster of ours."""

from __future__ import annotations

from tests.cluster.operating import Operated
from tests.flink.rest.cli.said import Done


class OurCommand:
    """Runs `millrace` with the words that came after `flink`."""

    def __init__(self, cluster: Operated) -> None:
        self._cluster = cluster

    def __call__(self, args: tuple[str, ...]) -> Done:
        # The programs import pyflink, which the tests' environment has not got.
        words = (args[0], "--pyflink", *args[1:]) if args[:1] in (("run",), ("info",)) and len(args) > 2 else args
        done = self._cluster(*words)
        return Done(done.returncode, done.stdout, done.stderr)
