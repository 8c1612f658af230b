"""The pipelines of docs/guide/cdc-pipelines.md are pipelines, and what the page promises of them is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.cdc.running import run

from millrace.cdc.composer import compose, plan_text
from millrace.cdc.pipeline_file import parse_pipeline
from millrace.cdc.table_selection import table_id

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "cdc-pipelines.md"
BLOCKS = re.findall(r"```(yaml|python)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def block(kind: str, number: int = 0) -> str:
    return [text for found, text in BLOCKS if found == kind][number]


def test_the_whole_example(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "shop_functions.py").write_text(block("python"))
    monkeypatch.syspath_prepend(str(tmp_path))
    composed = compose(parse_pipeline(block("yaml"), "pipeline.yaml"))
    text = plan_text(composed)
    assert "password: ******" in text and "..." not in text.replace("\n", "")
    assert "function: masked returns STRING" in text
    assert "schema changes: lenient, without drop.column, drop.table" in text
    targets = {name: composed.router.targets(_table(name)) for name in ("public.orders_de", "public.customers")}
    assert {name: [str(each) for each in found] for name, found in targets.items()} == {
        "public.orders_de": ["ods.orders"],
        "public.customers": ["ods.customers"],
    }
    masked = composed.surroundings.functions["masked"].wrapper.function.eval
    assert masked("a@b.c") == "***@b.c" and masked(None) is None


def _table(name: str) -> Any:
    found = table_id(name)
    assert found is not None
    return found


def test_the_example_without_a_server() -> None:
    assert [line.partition("DataChangeEvent")[2] for line in run(block("yaml", 1)).printed if "DataChange" in line] == [
        "{tableId=shop.orders, before=[], after=[2, 30.00, 60.00], op=INSERT, meta=()}",
        "{tableId=shop.orders, before=[], after=[1, 12.00, 24.00], op=INSERT, meta=()}",
        "{tableId=shop.orders, before=[2, 30.00, 60.00, null], after=[], op=DELETE, meta=()}",
    ]
