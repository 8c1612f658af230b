"""The processes of a running job on a cluster, as they are found from outside."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from enum import Enum

import psutil


class Victim(Enum):
    """Who is hit."""

    EXECUTOR = "executor"
    WORKER = "worker"
    OWNER = "owner"
    DRIVER = "driver"


def find(victim: Victim, root: psutil.Process, others: list[psutil.Process]) -> list[psutil.Process]:
    """All processes of a kind.

    :param root: the command that was started, ``millrace run``.
    :param others: processes whose children may be executors: the workers of a standalone cluster.
    """
    executors = [
        process
        for parent in (root, *others)
        for process in _below(parent)
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in _command(process)
    ]
    if victim is Victim.EXECUTOR:
        return executors
    if victim is Victim.DRIVER:
        return [process for process in root.children() if "python" in _name(process)]
    daemons = [child for executor in executors for child in _children(executor)]
    children = [child for daemon in daemons for child in _children(daemon)]
    keepers = [child for child in children if _children(child) or os.getpgid(child.pid) == child.pid]
    if victim is Victim.WORKER:
        return [child for child in children if child not in keepers]
    return [owner for keeper in keepers for owner in _children(keeper)]


def kill(chosen: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        chosen.send_signal(signal.SIGKILL)


def stop_and_continue(seconds: float) -> Callable[[psutil.Process], None]:
    """Stop a process and all below it, and let them go on when others may have taken their place."""

    def hit(chosen: psutil.Process) -> None:
        everyone = [chosen, *_below(chosen)]
        for process in everyone:
            with contextlib.suppress(psutil.Error):
                process.suspend()
        time.sleep(seconds)
        for process in everyone:
            with contextlib.suppress(psutil.Error):
                process.resume()

    return hit


def choose(found: list[psutil.Process], chance: random.Random) -> psutil.Process | None:
    return chance.choice(sorted(found, key=lambda process: process.pid)) if found else None


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""
