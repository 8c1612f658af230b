"""``AsyncWaitOperator``: order, capacity, timeouts, retries, failures, the life of its event loop.

No test waits for time to pass: "later" means some turns of the event loop later, or when another element says so.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.threads import no_thread_left

from millrace.common import Time, Types
from millrace.common.functions.callables import as_flat_map
from millrace.datastream import RuntimeContext
from millrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from millrace.datastream.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    RetryPredicate,
)
from millrace.datastream.functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryStrategy,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from millrace.datastream.state import ListStateDescriptor
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.failure import Failure, OperatorError
from millrace.runtime.operators import async_wait
from millrace.testing import (
    Element,
    EndInput,
    EpochEnd,
    OperatorHarness,
    Record,
    Status,
    StatusStep,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
    run_script,
)

ORDERED, UNORDERED = AsyncFunctionDescriptor.OutputMode
BOTH = pytest.mark.parametrize("mode", [ORDERED, UNORDERED], ids=["ordered", "unordered"])


def loop_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("millrace-async")]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    with no_thread_left("millrace-async"):
        yield


def harness(
    function: AsyncFunction[Any, Any],
    mode: AsyncFunctionDescriptor.OutputMode = ORDERED,
    *,
    timeout: int = 60_000,
    capacity: int = 100,
    retry: AsyncRetryStrategy[Any] = NO_RETRY_STRATEGY,
    **settings: Any,
) -> OperatorHarness:
    described = AsyncFunctionDescriptor(function, Time.milliseconds(timeout), capacity, retry, mode)
    return OperatorHarness.for_function(described, **settings)


def run(made: OperatorHarness, *values: Any) -> OperatorHarness:
    """One chunk, one epoch; what the function's copy knows afterwards is in ``made.operator.function``."""
    with made:
        made.process_elements([(value, None) for value in values])
        made.end_epoch()
    return made


def failure(made: OperatorHarness, *values: Any) -> Failure:
    with pytest.raises(OperatorError) as caught:
        run(made, *values)
    return caught.value.failure


async def turns(count: int) -> None:
    """Let the loop go round so often."""
    for _ in range(count):
        await asyncio.sleep(0)


# -- order --------------------------------------------------------------------------------------------------------


class Later(AsyncFunction[Any, Any]):
    """(name, turns, copies): the name, so many times, after so many turns."""

    async def async_invoke(self, value: tuple[str, int, int]) -> list[str]:
        name, wait, copies = value
        await turns(wait)
        return [name] * copies


SCRIPTS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 2), st.none() | st.integers(0, 99)).map(list)
    | st.sampled_from([WatermarkStep(10), WatermarkStep(20), StatusStep(Status.IDLE), StatusStep(Status.ACTIVE)])
    | st.just(EpochEnd()),
    max_size=14,
)


def elements(steps: list[Any]) -> list[Step]:
    return [Element((f"e{n}", *step[:2]), step[2]) if isinstance(step, list) else step for n, step in enumerate(steps)]


def expected(script: list[Step]) -> list[Any]:
    """Ordered waiting is a flat_map that takes its time."""
    at_once = as_flat_map(lambda value: [value[0]] * value[2])
    return run_script(lambda: OperatorHarness.for_function(at_once), script).items


@given(SCRIPTS, st.integers(1, 5))
def test_property_ordered_in_all_variants(steps: list[Any], capacity: int) -> None:
    script = elements(steps)
    check_variants(lambda: harness(Later(), capacity=capacity), script, expected(script), random_runs=1)


def segments(items: list[Any]) -> list[Any]:
    """The marks, with the multisets of what is between them."""
    found: list[Any] = [Counter()]
    for item in items:
        if isinstance(item, Record):
            found[-1][item] += 1
        else:
            found += [item, Counter()]
    return found


@given(SCRIPTS, st.integers(1, 5), st.lists(st.integers(1, 4), min_size=1))
def test_property_unordered_never_across_a_mark(steps: list[Any], capacity: int, sizes: list[int]) -> None:
    script = elements(steps)
    with harness(Later(), UNORDERED, capacity=capacity) as made:
        chunk: list[Any] = []
        for n, step in enumerate([*script, EpochEnd()]):
            if isinstance(step, Element):
                chunk.append((step.value, step.timestamp))
                if len(chunk) < sizes[n % len(sizes)]:
                    continue
            made.process_elements(chunk)
            chunk = []
            if isinstance(step, WatermarkStep):
                made.process_watermark(step.timestamp)
            elif isinstance(step, StatusStep):
                made.process_status(step.status)
            elif isinstance(step, EpochEnd):
                made.end_epoch()
    assert segments(made.output) == segments(expected(script))


@given(SCRIPTS)
def test_property_unordered_in_all_variants(steps: list[Any]) -> None:
    script = elements(steps)
    check_variants(lambda: harness(Later(), UNORDERED), script, expected(script), ordered=False, random_runs=1)


def test_unordered_results_come_as_they_are_done() -> None:
    made = run(harness(Later(), UNORDERED), ("slow", 9, 1), ("at once", 0, 1), ("soon", 3, 2))
    assert made.values == ["at once", "soon", "soon", "slow"]
    assert run(harness(Later()), ("slow", 9, 1), ("at once", 0, 1)).values == ["slow", "at once"]


@BOTH
def test_the_end_of_input_comes_behind_the_last_result(mode: Any) -> None:
    script: list[Step] = [Element(("a", 5, 1), 1), Element(("b", 0, 1), 2), EndInput()]
    found = run_script(lambda: harness(Later(), mode), script).items
    assert segments(found) == segments([Record("a", 1), Record("b", 2), Watermark(MAX_WATERMARK), Status.FINISHED])


@BOTH
def test_nothing_stays_in_flight_when_the_epoch_ends(mode: Any) -> None:
    """The task ends it for one operator after the other: those below look only then whether their input is quiet."""
    with harness(Later(), mode) as made:
        made.process_element(("a", 5, 1))
        made.process_watermark(1)
        made.operator.end_epoch()
        assert made.take_output() == [Record("a"), Watermark(1)]
        made.process_element(("from an epoch's end above", 5, 1))
        made.operator.end_epoch()
        assert made.values == ["from an epoch's end above"]


# -- how much is in flight ----------------------------------------------------------------------------------------


class Meet(AsyncFunction[Any, Any]):
    """The first element waits for the last one, which comes in a later chunk."""

    async def open(self, runtime_context: RuntimeContext) -> None:  # type: ignore[override]
        self.met = asyncio.Event()

    async def async_invoke(self, value: str) -> list[str]:
        if value == "first":
            await self.met.wait()
        elif value == "last":
            self.met.set()
        return [value]


@BOTH
def test_neither_chunks_nor_marks_wait_for_what_is_in_flight(mode: Any) -> None:
    with harness(Meet(), mode) as made:
        made.process_element("first", 1)
        made.process_watermark(1)
        made.process_element("between", 2)
        made.process_status(Status.IDLE)
        made.process_element("last", 3)
        made.end_epoch()
    marks = [Watermark(1), Status.IDLE]
    assert made.output == [Record("first", 1), marks[0], Record("between", 2), marks[1], Record("last", 3)]


@BOTH
def test_only_the_end_of_an_epoch_waits(mode: Any) -> None:
    """``wake``, ``end_slice`` and ``tick`` pass on what is ready."""
    with harness(Meet(), mode) as made:
        made.process_elements([("ready", 1), ("first", 2)])
        while not made.output:
            made.operator.wake()
        made.process_element("between", 3)
        made.operator.end_slice()
        made.set_processing_time(5)
        assert Record("first", 2) not in made.output
        made.process_element("last", 4)
        made.end_epoch()
    assert [record.value for record in made.output][:1] == ["ready"]
    assert sorted(made.values) == ["between", "first", "last", "ready"]


@BOTH
def test_a_slice_takes_what_is_ready(mode: Any) -> None:
    with harness(Meet(), mode) as made:
        made.process_elements([("ready", 1), ("first", 2)])
        while not made.output:
            made.operator.end_slice()
        assert made.take_output() == [Record("ready", 1)]
        made.process_element("last", 3)


class Crowd(AsyncFunction[Any, Any]):
    """Counts the calls at the same time."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def async_invoke(self, value: int) -> list[int]:
        self.now += 1
        self.most = max(self.most, self.now)
        await turns(value)
        self.now -= 1
        return [value]


@BOTH
@given(st.lists(st.lists(st.integers(1, 5), max_size=12), max_size=4), st.integers(1, 4))
def test_property_capacity(mode: Any, chunks: list[list[int]], capacity: int) -> None:
    with harness(Crowd(), mode, capacity=capacity) as made:
        for chunk in chunks:
            made.process_elements([(value, None) for value in chunk])
        made.end_epoch()
    assert sorted(made.values) == sorted(value for chunk in chunks for value in chunk)
    crowd = made.operator.function  # type: ignore[attr-defined]
    assert crowd.most <= capacity
    assert crowd.most == capacity or all(len(chunk) < capacity for chunk in chunks)


class Queue(AsyncFunction[Any, Any]):
    """The first element never ends; its timeout tells which elements had begun."""

    def __init__(self) -> None:
        self.begun: list[int] = []

    async def async_invoke(self, value: int) -> list[Any]:
        self.begun.append(value)
        if value == 0:
            await asyncio.Event().wait()
        return [value]

    def timeout(self, value: int) -> list[Any]:
        return [f"begun: {self.begun}"]


def test_results_that_wait_for_their_turn_count_too() -> None:
    made = run(harness(Queue(), timeout=30, capacity=3), *range(6))
    assert made.values == ["begun: [0, 1, 2]", 1, 2, 3, 4, 5]
    # In any order nothing waits for its turn, so the first element can wait for the last one.
    assert run(harness(Meet(), UNORDERED, capacity=2), "first", "a", "b", "last").values == ["a", "b", "last", "first"]


# -- timeouts and retries -----------------------------------------------------------------------------------------


class Patient(AsyncFunction[Any, Any]):
    """ "never" waits for ever, also when it is told to stop; others answer at once."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def __reduce__(self) -> Any:
        return (type(self), ())

    async def async_invoke(self, value: str) -> list[str]:
        if value != "at once":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                if value == "never":
                    return ["too late"]
                raise
        return [value]


class Fallback(Patient):
    def timeout(self, value: str) -> list[str]:
        return [f"instead of {value}"]


@BOTH
def test_a_timeout_has_results_of_its_own(mode: Any) -> None:
    with harness(Fallback(), mode, timeout=20) as made:
        made.process_elements([("never", 1), ("at once", 2), ("long", 3)])
        made.end_epoch()
        function = made.operator.function  # type: ignore[attr-defined]
        assert function.cancelled.wait(60)
    assert sorted(made.records, key=lambda record: record.timestamp or 0) == [
        Record("instead of never", 1),
        Record("at once", 2),
        Record("instead of long", 3),
    ]


def test_a_timeout_fails_the_job_if_nothing_else_is_said() -> None:
    failed = failure(harness(Patient(), timeout=20), "at once", "long")
    assert (failed.element, failed.during) == ("'long'", " in timeout()")
    assert failed.cause == "TimeoutError: Async function call has timed out for input: long"


class BadFallback(Patient):
    def timeout(self, value: str) -> Any:
        return None


def test_what_timeout_returns_is_checked() -> None:
    failed = failure(harness(BadFallback(), timeout=20), "long")
    assert failed.cause == (
        "TypeError: The result of AsyncFunction cannot be none: timeout() of BadFallback must return a list of results "
        "([] for none), not None"
    )


class SlowButSure(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0.03)
        return [value]


@pytest.mark.parametrize("timeout", [0, -5, 2**63 - 1])
def test_no_limit_or_one_that_is_never_reached(timeout: int) -> None:
    assert run(harness(SlowButSure(), timeout=timeout), 1, 2).values == [1, 2]


class Flaky(AsyncFunction[Any, Any]):
    """Gives the outcomes of its element one after the other; the last one from then on."""

    def __init__(self, **outcomes: list[Any]) -> None:
        self.outcomes = outcomes
        self.attempts: Counter[str] = Counter()

    async def async_invoke(self, value: str) -> Any:
        await turns(1)
        outcomes = self.outcomes[value]
        outcome = outcomes[min(self.attempts[value], len(outcomes) - 1)]
        self.attempts[value] += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def fixed(attempts: int, result: Any = empty_result_predicate, error: Any = has_exception_predicate) -> Any:
    return FixedDelayRetryStrategy(attempts, 1, result, error)


def attempts_of(made: OperatorHarness) -> dict[str, int]:
    return dict(made.operator.function.attempts)  # type: ignore[attr-defined]


@BOTH
def test_retries_until_the_outcome_is_a_good_one(mode: Any) -> None:
    function = Flaky(good=[[1]], empty=[[], [], [2]], error=[OSError(), [3]], both=[[], OSError(), [4, 5]])
    made = run(harness(function, mode, retry=fixed(5)), "good", "empty", "error", "both")
    assert sorted(made.values) == [1, 2, 3, 4, 5]
    assert attempts_of(made) == {"good": 1, "empty": 3, "error": 2, "both": 3}


def test_after_the_last_attempt_its_result_counts() -> None:
    made = run(harness(Flaky(a=[[]], b=[["x"]]), retry=fixed(3)), "a", "b")
    assert made.values == ["x"]
    assert attempts_of(made) == {"a": 4, "b": 1}


def test_after_the_last_attempt_its_error_counts() -> None:
    made = harness(Flaky(a=[OSError("one"), OSError("two"), OSError("three")]), retry=fixed(2))
    failed = failure(made, "a")
    assert (failed.element, failed.cause) == ("'a'", "OSError: three")
    assert attempts_of(made) == {"a": 3}


def test_only_what_the_predicates_say_is_tried_again() -> None:
    strategy = fixed(5, None, partial(exception_type_predicate, expected_error_type=OSError))
    assert run(harness(Flaky(a=[[], [1]]), retry=strategy), "a").values == []
    assert run(harness(Flaky(a=[FileNotFoundError(), [1]]), retry=strategy), "a").values == [1]
    made = harness(Flaky(a=[ValueError("no"), [1]]), retry=strategy)
    assert failure(made, "a").cause == "ValueError: no"
    assert attempts_of(made) == {"a": 1}
    results_only = ExponentialBackoffDelayRetryStrategy(3, 1, 2, 1.5, empty_result_predicate)
    assert run(harness(Flaky(a=[[], [], [1]]), retry=results_only), "a").values == [1]
    assert failure(harness(Flaky(a=[OSError("no")]), retry=results_only), "a").cause == "OSError: no"


def test_none_is_no_result_to_try_again_for() -> None:
    made = harness(Flaky(a=[None, [1]]), retry=fixed(5))
    assert "not None" in failure(made, "a").cause
    assert attempts_of(made) == {"a": 1}


class Once(AsyncRetryStrategy[Any]):
    """Says by the pause that there is to be no further attempt."""

    def can_retry(self, current_attempts: int) -> bool:
        return True

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 0 if current_attempts == 1 else -1

    def get_retry_predicate(self) -> RetryPredicate[Any]:
        return RetryPredicate(empty_result_predicate, None)


def test_a_negative_pause_ends_the_attempts() -> None:
    made = run(harness(Flaky(a=[[], []]), retry=Once()), "a")
    assert (made.values, attempts_of(made)) == ([], {"a": 2})


class NeverGood(Fallback):
    """Fails at once, for ever."""

    async def async_invoke(self, value: str) -> list[str]:
        raise OSError


def test_the_timeout_includes_all_attempts() -> None:
    strategy: AsyncRetryStrategy[Any] = FixedDelayRetryStrategy(10**9, 1, None, has_exception_predicate)
    assert run(harness(NeverGood(), timeout=20, retry=strategy), "it").values == ["instead of it"]


def test_a_predicate_that_fails() -> None:
    failed = failure(harness(Flaky(a=[[1]]), retry=fixed(1, lambda result: 1 // 0)), "a")
    assert (failed.element, failed.cause[:17]) == ("'a'", "ZeroDivisionError")
    assert "1 // 0" in (failed.location or "")


# -- what comes back ----------------------------------------------------------------------------------------------


class Give(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("results", [[1, 2], (1, 2), range(1, 3), {1: "x", 2: "y"}], ids=repr)
def test_results_are_a_list_or_something_like_it(results: Any) -> None:
    assert run(harness(Give()), results).values == [1, 2]


@pytest.mark.parametrize(
    ("results", "shown"), [(None, "None"), (5, "int 5"), ("text", "str 'text'"), (b"x", "bytes b'x'")], ids=repr
)
def test_what_is_no_list(results: Any, shown: str) -> None:
    failed = failure(harness(Give()), [1], results)
    assert failed.element == repr(results)
    problem = "cannot be none" if results is None else "should be of list type"
    assert failed.cause == (
        f"TypeError: The result of AsyncFunction {problem}: async_invoke() of Give must return a list of results "
        f"([] for none), not {shown}"
    )


def test_the_declared_type_converts_and_checks() -> None:
    assert run(harness(Give(), output_type=Types.FLOAT()), [1]).values == [1.0]
    assert "declared type" in failure(harness(Give(), output_type=Types.INT()), ["x"]).during


def test_keys_do_not_matter() -> None:
    made = harness(Give(), key_selector=lambda value: value[0])
    assert run(made, ["a", 1], ["b", 2]).values == ["a", 1, "b", 2]


# -- failures -----------------------------------------------------------------------------------------------------


class Breaks(AsyncFunction[Any, Any]):
    """``bad`` fails while the others wait; they take note when they are given up."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.all_given_up = threading.Event()
        self.given_up: list[str] = []
        self.given_up_at_close: list[str] = []

    def __reduce__(self) -> Any:
        return (type(self), ())

    async def async_invoke(self, value: str) -> list[str]:
        try:
            if value == "two":
                self.begun.set()
            await turns(3)
            if value == "bad":
                raise KeyError(value)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await turns(5)
            self.given_up.append(value)
            if len(self.given_up) == 2:
                self.all_given_up.set()
            raise
        return []

    def close(self) -> None:
        self.given_up_at_close = list(self.given_up)


@BOTH
def test_a_failure_names_the_element_and_ends_the_others(mode: Any) -> None:
    made = harness(Breaks(), mode, capacity=3)
    failed = failure(made, "one", "bad", "two", "not begun")
    assert (failed.operator, failed.element, failed.cause) == ("AsyncWaitOperator", "'bad'", "KeyError: 'bad'")
    assert "test_async_wait.py" in (failed.location or "")
    assert "in async_invoke: raise KeyError(value)" in (failed.location or "")
    function = made.operator.function  # type: ignore[attr-defined]
    assert sorted(function.given_up) == sorted(function.given_up_at_close) == ["one", "two"]


def test_a_failure_ends_the_others_before_anybody_looks() -> None:
    with harness(Breaks()) as made:
        function = made.operator.function  # type: ignore[attr-defined]

        def process() -> None:
            # On a busy machine the failure may be there as soon as the elements are.
            made.process_elements([("one", None), ("two", None), ("bad", None)])
            assert function.all_given_up.wait(60)
            made.process_watermark(1)

        with pytest.raises(OperatorError, match="KeyError"):
            process()
        assert function.all_given_up.wait(60)


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "perhaps not begun"])
def test_calls_in_flight_end_when_something_else_fails(begun: bool) -> None:
    with harness(Breaks(), capacity=2) as made:
        function = made.operator.function  # type: ignore[attr-defined]
        made.process_elements([("one", None), ("two", None)])
        assert not begun or function.begun.wait(60)
    assert function.given_up == function.given_up_at_close
    assert sorted(function.given_up) == ["one", "two"] or not begun


class Leaves(AsyncFunction[Any, Any]):
    """Ends in ways that are no ordinary exception."""

    async def async_invoke(self, value: str) -> list[str]:
        if value == "exit":
            sys.exit(3)
        elif value == "cancelled":
            answer = asyncio.get_running_loop().create_future()
            answer.cancel()
            await answer
        elif value == "stop":
            asyncio.get_running_loop().stop()
        elif value == "background":
            self.background = asyncio.get_running_loop().create_task(self.leave())
            await turns(2)
            assert isinstance(self.background.exception(), SystemExit)
        await turns(3)
        return [value]

    async def leave(self) -> None:
        sys.exit(3)


@pytest.mark.parametrize(("value", "cause"), [("exit", "SystemExit: 3"), ("cancelled", "CancelledError")])
def test_leaving_is_a_failure(value: str, cause: str) -> None:
    failed = failure(harness(Leaves()), "fine", value)
    assert (failed.element, failed.cause.rpartition(".")[2]) == (repr(value), cause)


def test_nobody_ends_the_loop() -> None:
    assert run(harness(Leaves()), "stop", "fine", "background", "stop", "fine").values == [
        "stop", "fine", "background", "stop", "fine",
    ]  # fmt: skip


class Blocks(AsyncFunction[Any, Any]):
    """Waits as ordinary code does, in the midst of the event loop."""

    begun = threading.Event()
    until = threading.Event()

    async def async_invoke(self, value: str) -> list[str]:
        self.begun.set()
        self.until.wait()  # this line
        return [value]


def test_a_blocked_loop_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_wait, "BLOCKED_SECONDS", 0.05)
    try:
        with harness(Blocks(), timeout=20) as made:
            made.process_elements([("a", None), ("b", None)])
            assert Blocks.begun.wait(60)
            with pytest.raises(OperatorError) as caught:
                made.end_epoch()
    finally:
        Blocks.until.set()
        for thread in loop_threads():
            thread.join()
    failed = caught.value.failure
    assert failed.during == " to run its event loop"
    assert failed.cause == (
        "TimeoutError: no call has ended for 0.07 s though each may take 0.02 s: something in the event loop does not "
        "give control back; await what takes long, or use asyncio.to_thread() for it"
    )
    assert "in async_invoke: self.until.wait()  # this line" in (failed.location or "")


# -- open and close -----------------------------------------------------------------------------------------------


class Plain(AsyncFunction[Any, Any]):
    """open and close as in PyFlink."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_task_name()
        self.opened = threading.current_thread()

    async def async_invoke(self, value: Any) -> list[Any]:
        assert threading.current_thread() is not self.opened
        return [(self.name, value)]

    def close(self) -> None:
        self.closed = threading.current_thread()


def test_plain_open_and_close_run_in_the_thread_of_the_task() -> None:
    made = run(harness(Plain()), 1)
    assert made.values == [("AsyncWaitOperator", 1)]
    function = made.operator.function  # type: ignore[attr-defined]
    assert function.opened is function.closed is threading.current_thread()


class Client(AsyncFunction[Any, Any]):
    """Has something that belongs to the event loop."""

    async def open(self, runtime_context: RuntimeContext) -> None:  # type: ignore[override]
        await turns(1)
        self.loop = asyncio.get_running_loop()
        self.closed = False

    async def async_invoke(self, value: Any) -> list[Any]:
        assert asyncio.get_running_loop() is self.loop
        return [value]

    async def close(self) -> None:  # type: ignore[override]
        await turns(1)
        assert asyncio.get_running_loop() is self.loop
        self.closed = True


def test_coroutines_open_and_close_run_in_the_loop() -> None:
    made = run(harness(Client()), 1)
    assert made.values == [1]
    assert made.operator.function.closed  # type: ignore[attr-defined]


class BadHooks(Client):
    def __init__(self, which: str) -> None:
        self.which = which

    async def open(self, runtime_context: RuntimeContext) -> None:  # type: ignore[override]
        await super().open(runtime_context)
        if self.which == "open":
            raise OSError("no connection")

    async def close(self) -> None:  # type: ignore[override]
        if self.which == "close":
            raise OSError("still busy")


@pytest.mark.parametrize(("which", "message"), [("open", "no connection"), ("close", "still busy")])
def test_hooks_that_fail(which: str, message: str) -> None:
    failed = failure(harness(BadHooks(which)), 1)
    assert (failed.during, failed.cause) == (f" in {which}()", f"OSError: {message}")
    assert "raise OSError" in (failed.location or "")


def test_closing_twice_or_unopened_and_epochs_after_the_end() -> None:
    made = harness(Client())
    made.operator.close()
    made.operator.end_epoch()
    run(made, 1)
    made.operator.end_slice()
    made.operator.wake()
    made.operator.tick(0)
    made.operator.end_epoch()
    made.operator.close()
    assert made.values == [1]


class Background(AsyncFunction[Any, Any]):
    """Leaves something running."""

    def __init__(self) -> None:
        self.ended = False

    async def async_invoke(self, value: Any) -> list[Any]:
        self.task = asyncio.get_running_loop().create_task(self.watch())
        return [value]

    async def watch(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


def test_what_the_function_left_running_ends_with_the_loop() -> None:
    made = run(harness(Background()), 1)
    assert made.operator.function.ended  # type: ignore[attr-defined]


VARIABLE = contextvars.ContextVar("VARIABLE", default="clean")


class Scoped(AsyncFunction[Any, Any]):
    """Sets a context variable for itself."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.token = VARIABLE.set("of the task")

    def __reduce__(self) -> Any:
        return (type(self), ())

    async def async_invoke(self, value: int) -> list[Any]:
        before = VARIABLE.get()
        VARIABLE.set(f"of {value}")
        await turns(2)
        return [(before, VARIABLE.get())]

    def close(self) -> None:
        VARIABLE.reset(self.token)


@pytest.mark.parametrize("capacity", [1, 2, 10])
def test_context_variables_of_one_call_are_not_seen_by_others(capacity: int) -> None:
    made = run(harness(Scoped(), capacity=capacity), *range(5))
    assert made.values == [("of the task", f"of {value}") for value in range(5)]


class Numbered(AsyncFunction[Any, Any], CheckpointedFunction):
    """Counts in operator state: another copy is opened anew when it takes over."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("count", Types.LONG())
        self.state = context.get_operator_state_store().get_list_state(descriptor)
        self.count = sum(self.state.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([self.count])

    async def async_invoke(self, value: str) -> list[tuple[str, int]]:
        self.count += 1
        return [(value, self.count)]


def test_operator_state_in_all_variants() -> None:
    check_variants(
        lambda: harness(Numbered()),
        [Element(letter) for letter in "abcdef"],
        [(letter, number) for number, letter in enumerate("abcdef", start=1)],
    )
