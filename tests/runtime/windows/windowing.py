"""What the window tests share: functions that show their windows, scripts, and the comparison with the oracle.

Elements are pairs (key, number). Every comparison is made for the operator that a job would run and for the generic
one, step by step and in all variants of the harness.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
from hypothesis import strategies as st
from tests.runtime.windows.window_oracle import MIN, Firing, Happened

from millrace.datastream.functions import AggregateFunction, ProcessWindowFunction, WindowFunction
from millrace.datastream.output_tag import OutputTag
from millrace.runtime.windows.choice import window_operator
from millrace.runtime.windows.window_operator import (
    BatchEvictingWindowOperator,
    BatchWindowOperator,
    EvictingWindowOperator,
    WindowOperator,
    WindowOperatorBase,
)
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    ProcessingTime,
    Record,
    Step,
    WatermarkStep,
    check_variants,
)
from millrace.testing.operators import window_spec

LATE = OutputTag("late")
MAX = 2**63 - 1
Make = Callable[[], OperatorHarness]


def key_of(value: Any) -> Any:
    return value[0]


# -- functions under test -----------------------------------------------------------------------------------------


class Show(ProcessWindowFunction):
    """Everything that a window function is told."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        window = context.window()
        span = (window.start, window.end) if hasattr(window, "start") else window
        yield key, span, tuple(elements), context.current_watermark()


class ShowSorted(Show):
    """The order of elements is open when sessions become one."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        return super().process(key, context, sorted(elements))


class Apply(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> list[Any]:
        return [(key, (window.start, window.end), tuple(sorted(inputs)))]


class Total(AggregateFunction):
    """(key, how many, sum, largest)."""

    def create_accumulator(self) -> Any:
        return (None, 0, 0, None)

    def add(self, value: Any, accumulator: Any) -> Any:
        _, count, total, largest = accumulator
        number = value[1]
        return value[0], count + 1, total + number, number if largest is None else max(largest, number)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0], acc_a[1] + acc_b[1], acc_a[2] + acc_b[2], max(acc_a[3], acc_b[3])


class Collected(AggregateFunction):
    """All numbers, sorted, in a list that ``merge`` changes in place: right for any order of merging."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value[1])
        accumulator.sort()
        return accumulator

    def get_result(self, accumulator: list[Any]) -> Any:
        return tuple(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        acc_a += acc_b
        acc_a.sort()
        acc_b.clear()
        return acc_a


def add_up(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


# -- what they give for the oracle's firings ----------------------------------------------------------------------

Render = Callable[[Firing, int], Any]
"""(firing, watermark) -> the result"""


def _sorted(firing: Firing) -> tuple[Any, ...]:
    return tuple(sorted(firing.contents))


def _total(firing: Firing) -> Any:
    numbers = [value[1] for value in firing.contents]
    return firing.key, len(numbers), sum(numbers), max(numbers)


def _sum(firing: Firing) -> Any:
    return firing.key, sum(value[1] for value in firing.contents)


@dataclass(frozen=True)
class Mode:
    """What is done with the windows, and what that gives."""

    name: str
    settings: dict[str, Any]
    render: Render

    def __repr__(self) -> str:
        return self.name


PROCESS = Mode("process", {"function": Show()}, lambda f, now: (f.key, f.window, f.contents, now))
PROCESS_SORTED = Mode("process", {"function": ShowSorted()}, lambda f, now: (f.key, f.window, _sorted(f), now))
APPLY = Mode("apply", {"function": Apply()}, lambda f, now: (f.key, f.window, _sorted(f)))
REDUCE = Mode("reduce", {"reduce": add_up}, lambda f, now: _sum(f))
REDUCE_PROCESS = Mode(
    "reduce with function", {"reduce": add_up, "function": Show()}, lambda f, now: (f.key, f.window, (_sum(f),), now)
)
AGGREGATE = Mode("aggregate", {"aggregate": Total()}, lambda f, now: _total(f))
AGGREGATE_PROCESS = Mode(
    "aggregate with function",
    {"aggregate": Total(), "function": Show()},
    lambda f, now: (f.key, f.window, (_total(f),), now),
)
AGGREGATE_LIST = Mode(
    "aggregate into a list",
    {"aggregate": Collected(), "function": Show()},
    lambda f, now: (f.key, f.window, (tuple(sorted(value[1] for value in f.contents)),), now),
)
_FOLDED = [APPLY, REDUCE, REDUCE_PROCESS, AGGREGATE, AGGREGATE_PROCESS, AGGREGATE_LIST]
MODES = [PROCESS, *_FOLDED]
SESSION_MODES = [PROCESS_SORTED, *_FOLDED]


# -- the operators ------------------------------------------------------------------------------------------------


def operators_for(assigner: Any, batch: bool = False, **settings: Any) -> dict[str, Make]:
    """The operator that a job would run, and the generic one: name -> how to make a harness round it."""
    spec = window_spec(assigner, settings.pop("function", None), key_selector=key_of, **settings)
    payload = cloudpickle.dumps((spec.strategy, spec.function))
    if spec.strategy.evictor is not None:
        generic: type[WindowOperatorBase] = BatchEvictingWindowOperator if batch else EvictingWindowOperator
    else:
        generic = BatchWindowOperator if batch else WindowOperator
    kinds = {kind.__name__: kind for kind in (window_operator(spec.strategy, batch), generic)}
    return {name: _maker(kind, payload) for name, kind in kinds.items()}


def _maker(kind: type[WindowOperatorBase], payload: bytes) -> Make:
    return lambda: OperatorHarness(lambda: kind(*pickle.loads(payload)), key_selectors=[key_of])


# -- the comparison -----------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What came out at one step."""

    records: list[Record] = field(default_factory=list)
    late: list[Any] = field(default_factory=list)

    def by_key(self) -> dict[Any, list[Record]]:
        """The order counts within a key."""
        found: dict[Any, list[Record]] = {}
        for record in self.records:
            found.setdefault(key_of(record.value), []).append(record)
        return found


def run_steps(make: Make, script: Sequence[Step]) -> tuple[list[Seen], int]:
    """What comes out at every step, and how many late elements were counted."""
    steps = []
    with make() as harness:
        for step in script:
            play(harness, step)
            records = [item for item in harness.take_output() if isinstance(item, Record)]
            late = [record.value for record in harness.take_side_outputs().get(LATE.tag_id, [])]
            steps.append(Seen(records, late))
        return steps, harness.counter("numLateRecordsDropped")


def play(harness: OperatorHarness, step: Step) -> None:
    if isinstance(step, Element):
        harness.process_element(step.value, step.timestamp)
    elif isinstance(step, WatermarkStep):
        harness.process_watermark(step.timestamp)
    elif isinstance(step, ProcessingTime):
        harness.set_processing_time(step.now)
    elif isinstance(step, EndInput):
        harness.end_input()
    else:
        harness.end_epoch()


def compare(
    makers: dict[str, Make],
    script: Sequence[Step],
    expected: Sequence[Sequence[Any]],
    late: Sequence[Sequence[Any]] | None = None,
    dropped: int = 0,
) -> None:
    """Check results, late elements and the counter of every operator at every step, then all variants.

    :param expected: per step the records in the order of each key.
    """
    wanted = [Seen(list(records)).by_key() for records in expected]
    in_all = Seen([record for records in expected for record in records]).by_key()
    for name, make in makers.items():
        found, counted = run_steps(make, script)
        for place, step in enumerate(script):
            assert found[place].by_key() == wanted[place], (name, place, step)
            if late is not None:
                assert found[place].late == list(late[place]), (name, place, step)
        assert counted == dropped, name
        outcome = check_variants(make, script, key=key_of, random_runs=2)
        assert Seen(outcome.records).by_key() == in_all, (name, "in chunks")


Model = Any
"""``Oracle`` or ``SessionOracle``"""


def ask(model: Model, script: Sequence[Step]) -> list[Happened]:
    """What the oracle says about every step."""
    happened = []
    for step in script:
        if isinstance(step, Element):
            happened.append(model.element(step.value[0], step.value, step.timestamp))
        elif isinstance(step, WatermarkStep):
            happened.append(model.watermark(step.timestamp))
        else:
            assert isinstance(step, EndInput)
            happened.append(model.watermark(MAX))
    return happened


def watermarks_of(script: Sequence[Step]) -> list[int]:
    """The watermark at every step."""
    now, found = MIN, []
    for step in script:
        if isinstance(step, WatermarkStep):
            now = max(now, step.timestamp)
        elif isinstance(step, EndInput):
            now = MAX
        found.append(now)
    return found


def check_event_time(
    assigner: Any, model: Callable[[], Model], script: Sequence[Step], mode: Mode, side: bool, **settings: Any
) -> None:
    """Compare all operators with the oracle; ``side``: late elements go to a side output, else they are counted."""
    happened, now = ask(model(), script), watermarks_of(script)
    expected = [
        [Record(mode.render(firing, watermark), firing.window[1] - 1) for firing in step.fired]
        for step, watermark in zip(happened, now)
    ]
    late = [step.late for step in happened]
    makers = operators_for(assigner, **mode.settings, **settings, **({"late_tag": LATE} if side else {}))
    if side:
        compare(makers, script, expected, late)
    else:
        compare(makers, script, expected, [[] for _ in script], sum(map(len, late)))


def clears_of(script: Sequence[Step], model: Model) -> Counter[Any]:
    """The windows that are dropped in the course of a script."""
    return Counter(at for step in ask(model, script) for at in step.dropped)


# -- scripts ------------------------------------------------------------------------------------------------------


@st.composite
def scripts(
    draw: st.DrawFn, span: int = 40, spread: int = 15, start: int = 0, size: int = 14, keys: int = 2
) -> list[Step]:
    """Elements out of order by up to ``spread`` ms, some too late, with watermarks between, and the end."""
    script: list[Step] = []
    now = start
    for number in range(draw(st.integers(1, size))):
        if draw(st.integers(0, 3)) == 0:
            now += draw(st.integers(0, span // 3))
            script.append(WatermarkStep(now))
        else:
            timestamp = now + draw(st.integers(-spread, spread))
            script.append(Element((draw(st.integers(0, keys - 1)), number), timestamp))
    script.append(EndInput())
    return script
