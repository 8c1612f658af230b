"""Memory and processors by Flink's names."""

from __future__ import annotations

from pathlib import Path

from millrace.cluster.processes.machine import Machine, wants_machine

MEMORY = """\
MemTotal:       1000 kB
MemFree:         100 kB
MemAvailable:    600 kB
SwapTotal:       200 kB
SwapFree:        150 kB
HugePages_Total:       0
"""


def test_shares_are_those_between_two_looks(tmp_path: Path) -> None:
    memory, processors = tmp_path / "meminfo", tmp_path / "stat"
    memory.write_text(MEMORY)
    processors.write_text("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 1 1 1\n")
    machine = Machine(str(memory), str(processors))
    first = {each.name: each.value for each in machine.metrics()}
    assert {name: value for name, value in first.items() if "Load" not in name} == {
        "System.Memory.Total": 1_024_000,
        "System.Memory.Available": 614_400,
        "System.Swap.Total": 204_800,
        "System.Swap.Used": 51_200,
    }
    assert {f"System.CPU.Load{each}min" for each in (1, 5, 15)} <= first.keys()
    processors.write_text("cpu  130 0 110 850 10 0 0 0 0 0\n")
    second = {each.name: each.value for each in machine.metrics()}
    found = {name.removeprefix("System.CPU."): second[name] for name in second if "CPU" in name and "Load" not in name}
    assert found == {
        "User": 30, "Nice": 0, "Sys": 10, "Idle": 50, "IOWait": 10, "Irq": 0, "SoftIrq": 0, "Usage": 40,
    }  # fmt: skip


def test_where_the_system_does_not_tell_there_is_nothing(tmp_path: Path) -> None:
    assert Machine(str(tmp_path / "none"), str(tmp_path / "none")).metrics() == ()


def test_only_who_asks_for_it_gets_it() -> None:
    assert not wants_machine({})
    assert wants_machine({"metrics.system-resource": "TRUE"})
