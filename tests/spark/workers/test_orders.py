"""Orders on their way to the tasks: each finds its own, of its own epoch, and reads little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.checkpoint.folder import LocalFolder, open_folder
from millrace.runtime.bases.epoch_protocol import EpochOrder, EpochPlan, SourceOrder, TaskOrder
from millrace.runtime.coordination.checkpoints import AtOnce
from millrace.runtime.storage import version_of
from millrace.runtime.tasks.worker import StaleOrderError
from millrace.spark.workers import orders
from millrace.spark.workers.orders import KEPT, SLOT, Orders, read


def plan_of(epoch: int, width: int, stages: int = 2, splits: int = 0) -> EpochPlan:
    own = {
        (stage, partition): TaskOrder(
            version_of(epoch - 1, 7_000 + partition),
            whole=partition % 3 == 0,
            ran=version_of(epoch - 1, 8_000 + partition),
            compact=partition == 1,
            sources={} if stage else {4: SourceOrder(tuple(f"split {partition}.{n}" for n in range(splits)))},
        )
        for stage in range(stages)
        for partition in range(width)
    }
    return EpochPlan(EpochOrder(epoch, attempt=2, savepoint="there"), own)


class CountingFolder(LocalFolder):
    """Counts bytes that are read."""

    count = 0

    def read(self, path: str) -> bytes:
        raise AssertionError("the whole file was read")

    def read_range(self, path: str, begin: int, length: int) -> bytes:
        content = super().read_range(path, begin, length)
        self.count += len(content)
        return content


def test_small_orders_travel_with_the_tasks(tmp_path: Path) -> None:
    folder, plan = open_folder(str(tmp_path)), plan_of(3, 4)
    text = Orders((4, 4), folder, AtOnce()).publish(plan)
    assert list(tmp_path.iterdir()) == []
    for task, own in plan.tasks.items():
        assert read(text, folder, task) == (plan.order, own)


@pytest.mark.parametrize("splits", [0, 1, 3, 500])
def test_large_ones_go_through_a_file_of_which_each_task_reads_its_part(tmp_path: Path, splits: int) -> None:
    folder, plan = CountingFolder(str(tmp_path)), plan_of(3, 800, splits=splits)
    text = Orders((800, 800), folder, AtOnce()).publish(plan)
    assert len(text) < 512
    for task in ((0, 0), (0, 799), (1, 0), (1, 799), (0, 3)):
        folder.count = 0
        assert read(text, folder, task) == (plan.order, plan.of(task))
        assert folder.count <= SLOT + (0 if task[0] or splits <= 1 else 200 + 40 * splits)


def test_without_a_folder_everything_travels_with_the_tasks(tmp_path: Path) -> None:
    plan = plan_of(1, 300)
    text = Orders((300, 300), None, AtOnce()).publish(plan)
    assert read(text, open_folder(str(tmp_path)), (1, 299)) == (plan.order, plan.of((1, 299)))


def test_a_task_without_an_order_of_its_own(tmp_path: Path) -> None:
    plan = EpochPlan(EpochOrder(1, restore="from there"))
    text = Orders((1,), None, AtOnce()).publish(plan)
    assert read(text, open_folder(str(tmp_path)), (0, 0)) == (plan.order, TaskOrder())


def test_a_late_task_finds_its_own_order_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "INLINE", 0)
    folder = open_folder(str(tmp_path))
    driver = Orders((1,), folder, AtOnce())
    texts = [driver.publish(plan_of(epoch, 1, stages=1)) for epoch in range(1, KEPT + 3)]
    for text in texts[:2]:
        with pytest.raises(StaleOrderError, match="is gone"):
            read(text, folder, (0, 0))
    for epoch, text in enumerate(texts[2:], 3):
        assert read(text, folder, (0, 0))[0].epoch == epoch
    driver.close()
    assert folder.files() == []


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: b"\1" + content[1:]])
def test_a_damaged_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Any) -> None:
    monkeypatch.setattr(orders, "INLINE", 0)
    folder = open_folder(str(tmp_path))
    text = Orders((1,), folder, AtOnce()).publish(plan_of(1, 1, stages=1))
    (path,) = folder.files()
    folder.write(path, [damage(folder.read(path))])
    with pytest.raises(OSError, match="is damaged"):
        read(text, folder, (0, 0))
