"""``LoopThread``: asking the loop from outside, ending it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Iterator

import pytest

from millrace.runtime.functions.asynchronous import LoopBlocked, LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    thread = LoopThread("under test")
    thread.start()
    yield thread
    thread.close()
    for left in threading.enumerate():
        if left.name == "under test":  # it was blocked
            left.join(60)
            assert not left.is_alive()


async def name_of_thread() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def fail(error: Exception) -> None:
    raise error


def test_results_and_exceptions_come_back(loop: LoopThread) -> None:
    assert loop.wait_for(name_of_thread()) == "under test"
    for error in (KeyError("mine"), concurrent.futures.TimeoutError("mine")):
        with pytest.raises(type(error), match="mine"):
            loop.wait_for(fail(error), 60)
    assert not loop.blocked


def test_a_blocked_loop_is_asked_only_once(loop: LoopThread) -> None:
    until = threading.Event()
    loop.post(until.wait)
    try:
        with pytest.raises(LoopBlocked):
            loop.wait_for(name_of_thread(), 0.01)
        with pytest.raises(LoopBlocked):
            loop.wait_for(name_of_thread())
        where = loop.where()
        names = []
        while where is not None:
            names.append(where.tb_frame.f_code.co_name)
            where = where.tb_next
        assert names.index("_run") < names.index("run_forever") < names.index("wait")
    finally:
        until.set()


def test_closing(loop: LoopThread) -> None:
    LoopThread("never started").close()
    seen: list[str] = []

    async def clean_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            seen.append("task")

    async def numbers() -> object:
        try:
            yield 1
        finally:
            seen.append("generator")

    async def begin() -> None:
        generator = numbers()
        seen.append(f"{await generator.__anext__()}")  # type: ignore[attr-defined]
        tasks.append(asyncio.get_running_loop().create_task(clean_up()))
        tasks.append(generator)  # type: ignore[arg-type]
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    loop.wait_for(begin())
    loop.close()
    loop.close()
    assert seen == ["1", "task", "generator"]
    assert loop.loop is not None and loop.loop.is_closed()
    assert loop.where() is None
