"""What functions find around themselves in a worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from tests.dropin.checks import elements


def _environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    return env


def _name(value: Any) -> str:
    import dropin_twice

    return str(dropin_twice.NAME)


def variables_of_the_environment_are_set() -> None:
    """The worker's interpreter and the memory that it may use, in bytes."""
    env = _environment()
    names = env.from_collection(["python", "_PYTHON_WORKER_MEMORY_LIMIT"], Types.STRING())
    python, memory = elements(names.map(lambda name: os.environ[name], Types.STRING()))
    assert "python" in os.path.basename(python)
    assert int(memory) > 1 << 20


def the_file_that_was_added_last_is_imported() -> None:
    """Of two files with a module of the same name the one that was added last wins."""
    env = _environment()
    for name in ("one", "two"):
        Path(name).mkdir()
        Path(name, "dropin_twice.py").write_text(f"NAME = {name!r}")
        env.add_python_file(os.path.abspath(f"{name}/dropin_twice.py"))
    assert elements(env.from_collection([1], Types.INT()).map(lambda each: _name(each), Types.STRING())) == ["two"]
