"""The folder of a system can be taken away: nothing else breaks but the doors under PyFlink's path that show it."""

from __future__ import annotations

import subprocess
import sys

import pytest

# system -> doors and pipelines of the system: they are about it, and lie where PyFlink and the command look for them
ABOUT = {
    "kafka": {
        "millrace.cdc.kafka_sink",
        "millrace.datastream.connectors.dynamic_kafka",
        "millrace.datastream.connectors.kafka",
        "millrace.legacy.connectors",
    },
    "redis": {"millrace.datastream.connectors.redis"},
    "search": {"millrace.datastream.connectors.elasticsearch", "millrace.datastream.connectors.opensearch"},
}
PROGRAM = """
import importlib, pkgutil, sys
hidden = sys.argv[1]

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name == hidden or name.startswith(hidden + "."):
            raise ModuleNotFoundError(f"{name} is hidden", name=name)

sys.meta_path.insert(0, Hiding())
import millrace
for module in pkgutil.walk_packages(millrace.__path__, "millrace.", onerror=lambda name: None):
    if module.name == hidden or module.name.startswith(hidden + ".") or module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith(hidden):
            raise
        print(module.name)
"""


@pytest.mark.parametrize(
    "system", ["kafka", *(pytest.param(system, marks=pytest.mark.slow) for system in ABOUT if system != "kafka")]
)
def test_nothing_else_needs_the_folder_of_a_system(system: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, f"millrace.connectors.{system}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == ABOUT[system]
