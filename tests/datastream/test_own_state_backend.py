"""State backends of a user's own: how a program names one, what is refused, and whole programs."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.runtime.state.store import stores
from tests.runtime.state.store.stores import FormerBackend, HalfBackend, SortedBackend, SqliteBackend

from millrace.common import Configuration, Time, Types
from millrace.datastream import CustomStateBackend, KeyedProcessFunction, StateBackend, StreamExecutionEnvironment
from millrace.datastream.job_settings import configured_backend, state_plan
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.runtime.state.store.plan import InStores
from millrace.testing import OperatorHarness, run_locally

STORES = stores.__name__


class Everything(KeyedProcessFunction):
    """Uses a state of each kind and a timer."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.by_rest = runtime_context.get_map_state(MapStateDescriptor("by-rest", Types.INT(), Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value)
        self.by_rest.put(value % 3, value)
        ctx.timer_service().register_event_time_timer(1_000_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value(), list(self.seen.get()), sorted(self.by_rest.items())


def program(env: StreamExecutionEnvironment) -> Any:
    env.set_parallelism(2)
    return env.from_collection(list(range(40))).key_by(lambda value: value % 4).process(Everything())


def expected() -> list[Any]:
    found = []
    for key in range(4):
        values = list(range(key, 40, 4))
        found.append((key, 10, values, sorted({value % 3: value for value in values}.items())))
    return found


@pytest.mark.parametrize("backend", [SortedBackend(), SqliteBackend(), CustomStateBackend(SqliteBackend)])
def test_a_program_has_the_same_results(backend: StateBackend) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_state_backend(backend)
    run = run_locally(program(env), epoch_records=5, workers=2, seed=1)
    assert sorted(run.collected) == expected()
    inner = backend.get_backend() if isinstance(backend, CustomStateBackend) else backend
    if isinstance(inner, SqliteBackend):
        assert not os.listdir(inner.directory)


def test_the_configuration_names_it(tmp_path: Any) -> None:
    settings = {"state.backend.type": f"{STORES}:SqliteBackend", "my.sqlite.directory": str(tmp_path)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    backend = env.get_state_backend()
    assert isinstance(backend, SqliteBackend)
    assert backend.directory == str(tmp_path)
    assert sorted(run_locally(program(env), epoch_records=5).collected) == expected()


def test_a_dot_will_do() -> None:
    assert isinstance(configured_backend({"state.backend": f"{STORES}.SortedBackend"}), SortedBackend)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("forst", ValueError, "there is no state backend 'forst'; use hashmap .*rocksdb .*or package.module:Class"),
        ("no.such.thing:Backend", ValueError, "module no.such.thing of .* can't be imported .ModuleNotFoundError"),
        (f"{STORES}:Missing", ValueError, f"module {STORES} has no class Missing"),
        (f"{STORES}:bisect", TypeError, "<module .*> is no class"),
        (f"{STORES}:FormerBackend", TypeError, "FormerBackend is no subclass of .*KeyValueStateBackend"),
        (f"{STORES}:HalfBackend", TypeError, r"HalfBackend lacks open_store\(\)"),
        (f"{STORES}:OddBackend", TypeError, r"from_configuration\(\) of .*:OddBackend gave 'nothing'"),
    ],
)
def test_what_is_wrong_is_said_with_the_option(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^state.backend.type: {message}"):
        configured_backend({"state.backend.type": name})


def test_an_error_while_importing_is_told(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_backend.py").write_text("raise OSError('no library')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=r"can't be imported \(OSError: no library\); is it on the path of the driver"):
        configured_backend({"state.backend.type": "broken_backend:Backend"})


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (object(), "takes a KeyValueStateBackend, its class or its name, not <object"),
        (FormerBackend, "FormerBackend is no subclass of"),
        (HalfBackend, r"HalfBackend lacks open_store\(\)"),
        (f"{STORES}:HalfBackend", r"HalfBackend lacks open_store\(\)"),
    ],
)
def test_the_wrapper_takes_backends_only(backend: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^CustomStateBackend:? {message}"):
        CustomStateBackend(backend)


def test_a_backend_without_stores_is_refused() -> None:
    class Bare(StateBackend):
        pass

    with pytest.raises(TypeError, match="Bare: one of your own has to be a KeyValueStateBackend"):
        state_plan(Bare())


def test_the_wrapper_shows_what_is_in_it() -> None:
    inner = SortedBackend()
    wrapper = CustomStateBackend(inner)
    assert wrapper.get_backend() is inner
    assert str(wrapper) == "CustomStateBackend(SortedBackend)"
    assert state_plan(wrapper) == InStores(inner)


def test_the_harness_runs_on_it() -> None:
    harness = OperatorHarness.for_windows(
        TumblingEventTimeWindows.of(Time.seconds(1)),
        reduce=lambda a, b: a + b,
        key_selector=lambda value: value % 2,
        state_backend=SortedBackend(),
    )
    with harness:
        for value in range(6):
            harness.process_element(value, timestamp=value * 300)
        harness.process_watermark(5_000)
        assert sorted(record.value for record in harness.take_output() if hasattr(record, "value")) == [2, 4, 4, 5]
