"""Runs the cases on PyFlink itself. Runs in an environment that has apache-flink (`make flink`).

    python -m tests.dropin.on_pyflink                       # does each pass?
    python -m tests.dropin.on_pyflink --record [NAME]...    # keep what came of them; NAME is a part of a case's name

The cases share one interpreter and one JVM, as starting them takes longer than most jobs. MILLRACE_DROPIN_JARS may name
a folder of jars beside Flink's own: the cases of Avro need flink-sql-avro, flink-sql-parquet and Hadoop's client.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tests.dropin.finding import ANSWERS, PASSED, Case, answers, cases, mark_of

LIMIT_SECONDS = 300
"""for one case"""
TOLD = 300
"""characters of a failure that are kept"""


def prepare() -> None:
    """PyFlink's processes find this Python, the cases and the jars."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    if more := os.environ.get("MILLRACE_DROPIN_JARS"):
        os.environ["HADOOP_CLASSPATH"] = f"{more}/*"  # which PyFlink puts behind its own jars
    from pyflink.java_gateway import get_gateway

    get_gateway()  # before the first case: Java is not to live in a folder that will be removed


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    before, folder = os.getcwd(), tempfile.mkdtemp(prefix="millrace-dropin-")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def _too_long(number: int, frame: FrameType | None) -> NoReturn:
    raise TimeoutError(f"it did not end in {LIMIT_SECONDS} s")


def run(case: Case) -> str:
    """``PASSED``, or how it failed."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LIMIT_SECONDS)
    try:
        with own_folder():
            case.load()()
    except Exception as error:
        traceback.print_exc()
        return f"fails: {type(error).__name__}: {error}"[:TOLD]
    finally:
        signal.alarm(0)
    return PASSED


def keep(module: str, found: dict[str, str]) -> None:
    """Keep what came of cases beside what is known of the same text."""
    from pyflink.version import __version__

    known = answers(module)
    kept = known["cases"] if known.get("text") == mark_of(module) else {}
    order = [case.name for case in cases() if case.module == module]
    both = {**kept, **found}
    ordered = {name: both[name] for name in order if name in both}
    answer = {"flink": __version__, "text": mark_of(module), "cases": ordered}
    ANSWERS.mkdir(exist_ok=True)
    (ANSWERS / f"{module}.json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep what came of them")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only cases with this in their names")
    given = parser.parse_args()
    prepare()
    chosen = [case for case in cases() if not given.names or any(name in str(case) for name in given.names)]
    results: dict[str, dict[str, str]] = {}
    for case in chosen:
        begun = time.monotonic()
        result = run(case)
        results.setdefault(case.module, {})[case.name] = result
        print(f"{case}: {result} ({time.monotonic() - begun:.1f} s)", flush=True)
    if given.record:
        for module, found in results.items():
            keep(module, found)
    failed = sum(result != PASSED for found in results.values() for result in found.values())
    print(f"{len(chosen) - failed} of {len(chosen)} cases pass on PyFlink")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
