"""From the options of a command line to the configuration that its environments begin with."""

from __future__ import annotations

import os
from dataclasses import dataclass

from millrace.cli.options import ProgramOptions
from millrace.cli.program import Program
from millrace.cli.shipping import import_path, shippable, zip_folder

MASTER = "millrace.master"
SPARK_MASTER = "spark.master"
PYTHON_FILES = "python.files"


@dataclass(frozen=True)
class RunSettings:
    """What a program is run with."""

    configuration: dict[str, str]
    paths: tuple[str, ...]
    """what ``sys.path`` gets after the program's folder"""


def run_settings(options: ProgramOptions, program: Program, directory: str) -> RunSettings:
    """The configuration; zip files for the workers are made in ``directory``. An option beats its -D twin."""
    configuration = dict(options.properties)
    master = options.master or configuration.pop(SPARK_MASTER, None) or configuration.get(MASTER)
    if master is not None:
        configuration[MASTER] = master
    if options.parallelism is not None:
        configuration["parallelism.default"] = str(options.parallelism)
    if options.archives:
        configuration["python.archives"] = ",".join(_absolute(archive) for archive in options.archives)
    if options.executable is not None:
        configuration["python.executable"] = options.executable
    files = options.files or tuple(filter(None, configuration.pop(PYTHON_FILES, "").split(",")))
    paths = tuple(dict.fromkeys(import_path(entry) for entry in files))
    if master is not None and not master.startswith("local"):
        # Workers on this machine share its import path, those of a cluster get files.
        shipped = [zip_folder(program.folder, directory)] if options.ship_folder else []
        shipped += [shippable(entry, directory) for entry in files]
        if shipped:
            configuration[PYTHON_FILES] = ",".join(shipped)
    return RunSettings(configuration, paths)


def _absolute(archive: str) -> str:
    path, hash_sign, target = archive.partition("#")
    return os.path.abspath(path) + hash_sign + target
