"""Memory sizes and slot sharing groups; rules were read off PyFlink 2.3."""

from __future__ import annotations

import pickle

import pytest

from millrace.datastream.slot_sharing_group import MemorySize, SlotSharingGroup


def test_units_are_rounded_down() -> None:
    size = MemorySize(bytes_size=123456789)
    units = (
        size.get_bytes(),
        size.get_kibi_bytes(),
        size.get_mebi_bytes(),
        size.get_gibi_bytes(),
        size.get_tebi_bytes(),
    )
    assert units == (123456789, 120563, 117, 0, 0)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 kb"),
        (1536, "1536 bytes"),
        (1025 * 1024**2, "1025 mb"),
        (1024**3, "1 gb"),
        (5 * 1024**4, "5 tb"),
    ],
)
def test_text(size: int, text: str) -> None:
    assert str(MemorySize(bytes_size=size)) == text


def test_sizes_compare_by_value() -> None:
    assert MemorySize.of_mebi_bytes(1) == MemorySize(bytes_size=1024**2)
    assert len({MemorySize.of_mebi_bytes(1), MemorySize(bytes_size=1024**2)}) == 1
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2)
    assert MemorySize(1) != 1
    with pytest.raises(TypeError):
        MemorySize(1) < 2  # type: ignore[operator] # noqa: B015
    with pytest.raises(ValueError, match="bytes must be >= 0"):
        MemorySize(-1)


def test_a_group_without_resources() -> None:
    group = SlotSharingGroup.builder("a").build()
    assert group.get_name() == "a"
    assert (group.get_cpu_cores(), group.get_task_heap_memory(), group.get_managed_memory()) == (None, None, None)
    assert group.get_external_resources() == {}


def test_a_group_with_resources() -> None:
    group = (
        SlotSharingGroup.builder("a")
        .set_cpu_cores(1.5)
        .set_task_heap_memory_mb(100)
        .set_managed_memory_mb(3)
        .set_external_resource("gpu", 2.0)
        .build()
    )
    assert group.get_cpu_cores() == 1.5
    assert str(group.get_task_heap_memory()) == "100 mb"
    assert str(group.get_managed_memory()) == "3 mb"
    assert str(group.get_task_off_heap_memory()) == "0 bytes"  # unset becomes none at all once others are set
    assert group.get_external_resources() == {"gpu": 2.0}
    assert pickle.loads(pickle.dumps(group)) == group
    assert hash(group) == hash(pickle.loads(pickle.dumps(group)))
    assert group != SlotSharingGroup.builder("a").build()


def test_resources_need_cores_and_heap() -> None:
    builders = [
        SlotSharingGroup.builder("a").set_cpu_cores(1.0),
        SlotSharingGroup.builder("a").set_task_heap_memory_mb(5),
        SlotSharingGroup.builder("a").set_managed_memory_mb(1),
        SlotSharingGroup.builder("a").set_external_resource("gpu", 1.0),
    ]
    for builder in builders:
        with pytest.raises(ValueError, match="The cpu cores and task heap memory are required"):
            builder.build()


def test_bad_values_are_refused_at_once() -> None:
    builder = SlotSharingGroup.builder("a")
    with pytest.raises(ValueError, match="cpu cores should be positive"):
        builder.set_cpu_cores(0.0)
    with pytest.raises(ValueError, match="task heap memory should be positive"):
        builder.set_task_heap_memory_mb(0)
    with pytest.raises(ValueError, match="'gpu' should not be negative"):
        builder.set_external_resource("gpu", -1.0)
    with pytest.raises(TypeError, match="must be a string, not NoneType"):
        SlotSharingGroup.builder(None)  # type: ignore[arg-type]
