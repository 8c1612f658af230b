"""Which tasks come further: what owners tell again and again is compared."""

from __future__ import annotations

from dataclasses import replace

from millrace.spark.jobs.tasks import Progress
from millrace.spark.workers.frames import OwnerReport, TaskPosition

MAP = TaskPosition((1, 0), 7, 1, "map", 0, 2, 3_200, 12, 1_204, 3)


def told(*positions: TaskPosition, pid: int = 1) -> OwnerReport:
    return OwnerReport("host", "0", pid, positions=positions)


def watching(alive: bool = True) -> Progress:
    return Progress(0, lambda host, pid: alive)


def test_a_task_that_comes_no_further_stands_still() -> None:
    standing = watching()
    for second in range(1, 11):
        standing.see([told(replace(MAP, millis=second * 1000))], "Spark", second)
    assert [seen.position.task for seen in standing.hangs(10, 9)] == [(1, 0)]
    assert not list(standing.hangs(10, 9.5))


def test_one_that_ends_pieces_or_comes_further_in_one_does_not() -> None:
    for steps, place in ((1, 0), (0, 1)):
        standing = watching()
        for second in range(1, 11):
            standing.see([told(replace(MAP, steps=steps * second, place=place * second))], "Spark", second)
        assert not list(standing.hangs(10, 1))
        assert not standing.is_silent(10, 1)


def test_others_that_come_further_are_no_excuse() -> None:
    standing = watching()
    for second in range(1, 11):
        standing.see([told(MAP, replace(MAP, task=(1, 1), steps=second))], "Spark", second)
    assert [seen.position.task for seen in standing.hangs(10, 5)] == [(1, 0)]


def test_an_owner_that_does_not_answer_stands_still_as_long_as_it_lives() -> None:
    for alive in (True, False):
        standing = watching(alive)
        standing.see([told(MAP)], "Spark", 1)
        for second in range(2, 11):
            standing.see([told(pid=2)], "Spark", second)
        assert len(list(standing.hangs(10, 9))) == alive


def test_silence_is_broken_by_spark_alone() -> None:
    standing = watching()
    standing.see([], "stage 1", 1)
    standing.see([], "stage 1", 5)
    assert standing.is_silent(6, 5)
    standing.see([], "stage 2", 7)
    assert not standing.is_silent(8, 5)
    assert standing.line() == "it waits for stage 2"


def test_the_line_names_the_task_that_is_at_its_piece_for_the_longest_time() -> None:
    standing = watching()
    standing.see([told(replace(MAP, task=(1, 1), millis=4), MAP)], "Spark", 1)
    assert standing.line() == (
        "map (1/2), task 0 of stage 1, has been at a piece of 12 elements for 3.2 s, 1,204 elements and 3 packets "
        "before it; 1 more task at work"
    )
    reading = replace(MAP, elements=0, before=0, packets=0)
    standing.see([told(reading)], "Spark", 2)
    assert standing.line().endswith("the end of the epoch) for 3.2 s, nothing before it")
