"""Makes a mistake as its author would, in this process and without Spark, and says what was shown."""

from __future__ import annotations

import logging
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.front_door.mistakes.in_process import run_jobs_in_process
from tests.front_door.mistakes.mistake import HERE, Mistake, Way

from millrace.cli.main import main
from millrace.configuration import registry
from millrace.spark.jobs import client

IMPORTS = "; ".join(
    (
        "import threading, datetime",
        "from millrace.common import Duration, Row, Time, Types, WatermarkStrategy",
        "from millrace.common.watermark_strategy import TimestampAssigner",
        "from millrace.datastream import StreamExecutionEnvironment, RuntimeExecutionMode",
        "from millrace.datastream.functions import *",
        "from millrace.datastream.state import ValueStateDescriptor, ListStateDescriptor",
        "from millrace.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows",
        "from millrace.table import DataTypes, EnvironmentSettings, StreamTableEnvironment, TableEnvironment",
        "from millrace.table.expressions import col, lit, call",
        "from millrace.table.udf import udf, udaf, udtf",
        "env = StreamExecutionEnvironment.get_execution_environment()",
        "t_env = StreamTableEnvironment.create(env)",
    )
)
"""One line, so that the lines of programs are easy to tell."""


_UNSTEADY = re.compile(r"\s*[~^]+\s*|\[INFO\] Execute statement succeeded.*")
"""lines that another version of Python shows otherwise, or that have times in them"""
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Said:
    """What was shown, without what differs from run to run and from machine to machine."""

    text: str
    exit_code: int


def make(mistake: Mistake, folder: Path) -> Said:
    """Make it in a folder that is empty."""
    with pytest.MonkeyPatch.context() as patched:
        run_jobs_in_process(patched)
        patched.chdir(folder)
        for name, text in mistake.files.items():
            (folder / name).write_text(text)
        for name, value in mistake.variables.items():
            patched.setenv(name, value.format(folder=folder))
        for package in mistake.missing:
            patched.setitem(sys.modules, package, None)
        patched.setattr(registry, "_told", set())
        patched.setattr(client, "_watchers", [])  # those of earlier tests take none of these jobs for theirs
        patched.setattr(logging.root, "handlers", [])  # those of pytest would take the warnings
        result = CliRunner().invoke(main, _arguments(mistake, folder), prog_name="millrace", catch_exceptions=False)
    return Said(_same_everywhere(result.output, folder), result.exit_code)


def _arguments(mistake: Mistake, folder: Path) -> list[str]:
    text = mistake.text.replace("{folder}", str(folder))
    options = [option.format(folder=folder, root=ROOT) for option in mistake.options]
    if mistake.way is Way.COMMAND:
        return shlex.split(text)[1:]
    if mistake.way is Way.SQL:
        (folder / "script.sql").write_text(text)
        return ["sql", *options, "-f", "script.sql"]
    (folder / "job.py").write_text(f"{IMPORTS}\n{text}")
    return ["run", "-p", "1", *options, "job.py"]


def _same_everywhere(text: str, folder: Path) -> str:
    text = re.sub(f" +{HERE}", "", text)
    text = text.replace(f"{folder}/", "").replace(str(folder), ".")
    text = re.sub(r"\bjob\.py:(\d+)", lambda found: f"job.py:{int(found[1]) - 1}", text)
    text = re.sub(r'job\.py", line (\d+)', lambda found: f'job.py", line {int(found[1]) - 1}', text)
    text = re.sub(r"import of (\w+) halted; None in sys.modules", r"No module named '\1'", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    return "".join(f"{line}\n" for line in text.splitlines() if not _UNSTEADY.fullmatch(line))
