"""What belongs to one job is no variable of a module: two jobs may run in one process.

``global`` stands in the modules of ``PROCESS_WIDE`` only, whose variables belong to the process. The engine's threads
are ``JobThread`` and ``JobPool`` (``millrace.util.threads``), which take over the settings of the job that starts them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from scripts.house.tree import Module

PROCESS_WIDE = {
    "millrace.common.files.store_settings": "settings of stores for threads without a job",
    "millrace.cluster.publishing": "the registry of the server's metrics",
    "millrace.datastream.settings": "defaults of new environments, and what the command submits jobs with",
    "millrace.relational.functions.json_reading": "the text that was parsed last, with its value: a cache by text",
    "millrace.relational.rex": "Python's recursion limit, and how many walks need it raised",
    "millrace.spark.job_records": "the program's file of recoverable jobs, numbered for the whole process",
    "millrace.spark.jobs.listeners": "how the command shows jobs",
    "millrace.spark.sessions.own_jvm": "a JVM that was started early",
    "millrace.spark.sessions.session": "the session that programs without one share",
    "millrace.spark.workers.output": "a worker process: it serves one job at a time",
    "millrace.spark.workers.pipe": "the files of a worker process",
    "millrace.spark.workers.shipping": "a worker process: it serves one job at a time",
    "millrace.testing.services.server": "the process that ends servers of tests",
}
"""module -> what its variables hold"""
ENGINE = ("checkpoint", "connectors", "formats", "runtime", "spark.jobs")
"""packages whose threads work for a job"""


def process_state(modules: Mapping[str, Module]) -> Iterator[str]:
    """One line per variable of a module that may hold a job's settings, and per thread that would lose them."""
    unneeded = PROCESS_WIDE.keys() & modules.keys()
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Global):
                unneeded -= {module.name}
                if module.name not in PROCESS_WIDE:
                    yield f"{module.name}:{node.lineno} changes {', '.join(node.names)}: does it belong to a job?"
            elif isinstance(node, ast.Call) and _is_plain_thread(node) and _is_of_engine(module.name):
                yield f"{module.name}:{node.lineno} starts a thread that forgets its job: use millrace.util.threads"
    yield from (f"{name} changes no variable of its own any more: scripts/house/process_state.py" for name in unneeded)


def _is_of_engine(name: str) -> bool:
    return name.startswith(tuple(f"millrace.{package}." for package in ENGINE))


def _is_plain_thread(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("threading.Thread", "Thread", "ThreadPoolExecutor", "futures.ThreadPoolExecutor")
