"""A newcomer's first hour, in an environment that is made for it: what each step takes, and what it may.

    python -m benchmarks.first_hour [--python python3.11] [--keep]

Builds the wheel, makes an environment with nothing in it, installs the wheel with all that it needs from the index that
pip is configured for (and pytest), and does what the first pages say: ``doctor``, the demonstration, a new project with
its test, SQL, the time line, ``lint``. No checkout is in sight of these steps. Ends with 1 if one fails or takes too
long.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Step:
    """A command, where it is given, and the seconds that it may take on two cores."""

    what: str
    command: tuple[str, ...]
    most: float
    folder: str = "."


STEPS = (
    Step("help", ("millrace", "--help"), 1),
    Step("what is here", ("millrace", "doctor"), 20),
    Step("first result of all", ("millrace", "demo"), 60),
    Step("the class archive", ("millrace", "prepare"), 90),
    Step("the same again", ("millrace", "demo"), 30),
    Step("a project", ("millrace", "new", "sensors"), 5),
    Step("its job", ("millrace", "run", "job.py"), 20, "sensors"),
    Step("its test", ("python", "-m", "pytest", "-q"), 20, "sensors"),
    Step("SQL", ("millrace", "sql", "-e", "SELECT 1 + 2 AS three"), 20),
    Step("the time line", ("millrace", "explain", "--timeline", "--format", "text", "job.py"), 10, "sensors"),
    Step("lint", ("millrace", "lint", "job.py"), 10, "sensors"),
)


def install(python: str, folder: Path) -> float:
    """Seconds from an empty folder to an environment with the wheel."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    wheels = folder / "wheels"
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(wheels), str(ROOT)], check=True)
    (wheel,) = wheels.iterdir()
    began = time.perf_counter()
    subprocess.run([python, "-m", "venv", str(folder / "env")], check=True)
    own = [str(folder / "env" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*own, "install", str(wheel), "pytest"], check=True)
    return time.perf_counter() - began


def taken(step: Step, folder: Path, environment: dict[str, str]) -> float | None:
    """Seconds; None if it failed, after what it said."""
    program = [str(folder / "env" / "bin" / step.command[0]), *step.command[1:]]
    began = time.perf_counter()
    done = subprocess.run(
        program, cwd=folder / step.folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    return time.perf_counter() - began


def hour(python: str, folder: Path) -> bool:
    """Whether every step succeeded in its time."""
    print(f"pip install: {install(python, folder):.1f} s (how fast the index answers has no limit here)", flush=True)
    outside = ("PYTHONPATH", "VIRTUAL_ENV", "MILLRACE_CONF_DIR", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in outside}
    # A home of its own: nothing is cached there yet.
    environment |= {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    good = True
    for step in STEPS:
        seconds = taken(step, folder, environment)
        said = "failed" if seconds is None else f"{seconds:.1f} s"
        print(f"{step.what}: {said}, at most {step.most:.0f} s: {' '.join(step.command)}", flush=True)
        good = good and seconds is not None and seconds <= step.most
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="makes the environment")
    parser.add_argument("--keep", action="store_true", help="leave the folder behind")
    given = parser.parse_args()
    if given.keep:
        folder = tempfile.mkdtemp(prefix="millrace-first-hour-")
        print(folder)
        sys.exit(not hour(given.python, Path(folder)))
    with tempfile.TemporaryDirectory(prefix="millrace-first-hour-") as folder:
        sys.exit(not hour(given.python, Path(folder)))


if __name__ == "__main__":
    main()
