"""kill -9 of every process of a job at every point of an epoch: nothing is lost, nothing is doubled.

Each test runs the job as a command, which takes a JVM or two, so CI runs a few of them, another choice each time: the
seed is in the output, and ``MILLRACE_CRASH_SEED`` repeats it. ``make crash`` runs all.
"""

from __future__ import annotations

import itertools
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.crash.points import VARIABLE, Crash, Point, Victim, happened
from tests.crash.running import TIMEOUT, Ended, Place
from tests.rings import TAKES_DRAWS, one_of
from tests.seeds import seed_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(2 * TIMEOUT + 50)]

NTH = {
    Point.BEFORE_FIRST_COMMIT: 1,
    Point.DELTAS_WRITTEN: 8,
    Point.ACKS_THERE: 3,
    Point.METADATA_WRITTEN: 1,
    Point.COMMITTING: 1,
    Point.COMMITTED: 5,
    Point.SAVING: 1,
    Point.RESTORING: 1,
}
"""Early ones at points where a driver that dies has a first checkpoint at most."""
SOONER = {**NTH, Point.DELTAS_WRITTEN: 2, Point.COMMITTED: 2}
"""Where there are more crashes to come."""

WAYS = ("spark-jobs", "flow")
"""What carries the epochs."""
CRASHES = 2 if TAKES_DRAWS else 3
"""in a scenario of several"""
SEED = seed_of("MILLRACE_CRASH_SEED")
NOISE = ("Traceback", "py4j", "java.", "org.apache", "Exception")


@pytest.fixture(scope="module")
def halfway(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a job that was stopped with a savepoint."""
    directory = tmp_path_factory.mktemp("halfway")
    ended = Place(directory).run(savepoints=str(directory / "savepoints"), stop=True)
    # On a busy machine an epoch that takes long says so.
    said = [line for line in ended.err if not (line.startswith("job ") and " runs for " in line)]
    assert (ended.code, said) == (0, []), str(ended)
    return directory


def crash(place: Place, crashes: Sequence[Crash], way: str, halfway: Path | None = None) -> Ended:
    """Run the job with the crashes to its end, and see that all is well. With ``halfway`` it goes on from there, with
    another parallelism, and its savepoint was copied to another place. ``way``: what carries its epochs."""
    arguments: dict[str, Any] = {"properties": {"millrace.epoch.execution": way}}
    if halfway is not None:
        shutil.copytree(halfway / "ledger", place.ledger)
        (savepoint,) = (halfway / "savepoints").iterdir()
        shutil.copytree(savepoint, place.savepoints / "copied")
        arguments |= {"restore": str(place.savepoints / "copied"), "parallelism": 3}
    if any(crash.point is Point.SAVING for crash in crashes):
        arguments["savepoints"] = str(place.savepoints)
    ended = place.run(crashes, **arguments)
    assert (ended.code, ended.out[-1:]) == (0, ["finished"]), str(ended)
    assert len(happened(place.crashes)) == len(crashes), f"not all happened\n{ended}"
    place.check()
    assert_nothing_left(place)
    assert_plain(ended, crashes, way)
    return ended


def assert_nothing_left(place: Place) -> None:
    """Of a job that has finished, whatever was killed: no files but logs, no processes."""
    assert not any(place.checkpoints.rglob("*/*"))
    assert [path.name for path in place.temporary.iterdir() if path.suffix not in (".log", ".properties")] == []
    end = time.monotonic() + 30
    while (left := _processes(place)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []


def _processes(place: Place) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            if str(place.crashes) in process.environ().get(VARIABLE, ""):
                found.append(f"{process.pid} {process.cmdline()}")
        except psutil.Error:
            continue
    return found


def assert_plain(ended: Ended, crashes: Sequence[Crash], way: str) -> None:
    """A line for each restart (of the driver, or of the job in it), two more when the driver lost its JVM, and nothing
    of Spark's insides. A driver may be killed before it has noticed that its JVM was: that is one restart. In flow a
    job may come to its end without the JVM."""
    victims = [crash.victim for crash in crashes]
    jvms, drivers = victims.count(Victim.JVM), victims.count(Victim.DRIVER)
    noticed = drivers if way == "flow" else max(jvms, drivers)
    assert noticed <= sum("; restart " in line for line in ended.err) <= jvms + drivers, str(ended)
    assert len(ended.err) <= len(victims) + 2 * victims.count(Victim.JVM), str(ended)
    assert not any(noise in line for noise in NOISE for line in (*ended.err, *ended.out)), str(ended)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("victim", Victim, ids=lambda victim: victim.value)
@pytest.mark.parametrize("point", NTH, ids=lambda point: point.value)
def test_a_crash(tmp_path: Path, request: pytest.FixtureRequest, point: Point, victim: Victim, way: str) -> None:
    halfway = request.getfixturevalue("halfway") if point is Point.RESTORING else None
    crash(Place(tmp_path), [Crash(point, victim, NTH[point])], way, halfway)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("victim", Victim, ids=lambda victim: victim.value)
def test_a_crash_while_going_on_after_another(tmp_path: Path, victim: Victim, way: str) -> None:
    crash(Place(tmp_path), [Crash(Point.COMMITTED, Victim.DRIVER, 6), Crash(Point.RECOVERING, victim)], way)


@pytest.mark.slow
def test_the_user_goes_on_where_no_restart_is_allowed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ended = place.run([Crash(Point.COMMITTED, Victim.DRIVER, 6)], properties={"restart-strategy.type": "none"})
    assert (ended.code, len(ended.err)) == (137, 2), str(ended)
    assert "not restarted: " in ended.err[0]
    directory = ended.err[1].rpartition(" in ")[2]
    assert Path(directory).parent == place.checkpoints
    ended = place.run(restore=directory, options=("--claimMode", "claim"))
    assert ended.code == 0, str(ended)
    place.check()
    assert_nothing_left(place)


def chosen() -> list[list[Crash]]:
    """Some scenarios of several crashes. A restore happens at the beginning only, and the one savepoint soon after it:
    it would not wait for another crash."""
    chance = random.Random(SEED)
    pairs = list(itertools.product(NTH, Victim))
    early = (Point.RESTORING, Point.SAVING)
    scenarios = []
    for _ in WAYS:
        some = chance.sample(pairs, CRASHES)
        some.sort(key=lambda pair: early.index(pair[0]) if pair[0] in early else len(early))
        scenarios.append([Crash(point, victim, chance.randint(1, SOONER[point])) for point, victim in some])
    return scenarios


@pytest.mark.parametrize("number", one_of(range(len(WAYS))))
def test_some_crashes(tmp_path: Path, request: pytest.FixtureRequest, number: int) -> None:
    crashes = chosen()[number]
    print(f"MILLRACE_CRASH_SEED={SEED}: {crashes}")
    restoring = any(crash.point is Point.RESTORING for crash in crashes)
    crash(Place(tmp_path), crashes, WAYS[number], request.getfixturevalue("halfway") if restoring else None)
