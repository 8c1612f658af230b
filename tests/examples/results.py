"""What the programs of examples/tutorial/ give, as the tutorial states it or Flink printed it."""

from __future__ import annotations

from typing import Any

RULE = "=" * 40


def ranking(end: str, first: str, views: int, second: str, more: int) -> str:
    return (
        f"{RULE}\n浏览量No.1 url:{first} 浏览量:{views} 窗口结束时间:1970-01-01 00:00:{end}\n"
        f"浏览量No.2 url:{second} 浏览量:{more} 窗口结束时间:1970-01-01 00:00:{end}\n{RULE}\n\n\n"
    )


def window(url: str, start: int, views: int) -> str:
    return f"{url}:1970-01-01 00:00:{start:02d}.0~1970-01-01 00:00:{start + 5:02d}.0:{views}"


HOME, CART, PROD = "./home", "./cart", "./prod?id=1"

ANY_MODE: dict[str, list[Any]] = {
    "side_output": [1, 2, 3],
    "split_by_filter": [("Mary pv", "Mary")] * 7 + [("Bob pv", "Bob")] * 6 + [("else pv", "Alice")] * 6,
    "split_by_side_output": [("Mary pv", "Mary", "tuple")] * 7
    + [("Bob pv", "Bob", "tuple")] * 6
    + [("else", "Alice", "Click")] * 6,
    "co_map": [f"{kind}: {number}" for kind in ("Integer", "Long") for number in (1, 2, 3)],
    "bill_check": [
        "order-1 对账成功",
        "order-2对账失败,订单的第三方支付信息未到",
        "order-3对账失败,订单的app支付信息未到",
    ],
    "stateful_flat_map": ["state: 100"] * 6,
    "fake_window": [
        window(HOME, 0, 3), window(CART, 0, 2), window(PROD, 0, 1),
        window(CART, 5, 3), window(HOME, 5, 1),
        window(PROD, 10, 4), window(HOME, 10, 1),
        window(HOME, 15, 3), window(PROD, 15, 1),
    ],
    "aggregating_state": [999, 999, 999],
    "top_n": [
        ranking("05.0", HOME, 3, CART, 2),
        ranking("10.0", CART, 5, HOME, 4),
        ranking("15.0", PROD, 4, CART, 3),
        ranking("20.0", PROD, 5, HOME, 4),
        ranking("25.0", HOME, 3, PROD, 1),
    ],
    "full_join": [
        "('a', 'stream-1', 1000) => ('a', 'stream-2', 3000)",
        "('b', 'stream-1', 2000) => ('b', 'stream-2', 4000)",
    ],
    "keyed_states": [
        "Mary: 7 clicks from ./home to ./home, first 500, latest 18000, mean 8786, "
        "views ./cart 2, ./home 4, ./prod?id=1 1",
        "Bob: 6 clicks from ./cart to ./prod?id=1, first 1000, latest 16000, mean 8167, "
        "views ./cart 2, ./home 1, ./prod?id=1 3",
        "Alice: 6 clicks from ./home to ./home, first 1500, latest 17000, mean 9250, "
        "views ./cart 1, ./home 3, ./prod?id=1 2",
    ],
}  # fmt: skip
"""Module -> its results, in any mode, at any parallelism, however the input is cut into epochs."""

LOWEST = -(2**63)

STREAMING: dict[str, list[Any]] = {
    "throttled_page_views": ["用户 Mary 的PV是:7", "用户 Bob 的PV是:6", "用户 Alice 的PV是:6"],
    "timer_probe": [
        f"dup@1000 sees watermark {LOWEST}",
        "dup: timer 500 fires at watermark 999",
        "dup@5000 sees watermark 999",
        "dup: timer 4999 fires at watermark 4999",
        "dup@5001 sees watermark 4999",
        "other@9000 sees watermark 5000",
    ],
    "union_watermark": [f"当前水位线是:{mark}" for mark in (LOWEST, LOWEST, LOWEST, LOWEST, 1999, 2999)],
    "word_count": [
        ("hello", 1), ("hello", 2), ("hello", 3), ("hello", 4),
        ("world", 1), ("world", 2), ("flink", 1), ("flink", 2),
    ],
}  # fmt: skip
"""In streaming mode, when an epoch holds all input."""

BATCH: dict[str, list[Any]] = {
    "throttled_page_views": STREAMING["throttled_page_views"],
    "timer_probe": [
        *(f"{element} sees watermark {LOWEST}" for element in ("dup@1000", "dup@5000", "dup@5001", "other@9000")),
        f"dup: timer 500 fires at watermark {2**63 - 1}",
        f"dup: timer 4999 fires at watermark {2**63 - 1}",
    ],
    "union_watermark": [f"当前水位线是:{LOWEST}"] * 6,
    "word_count": [("hello", 4), ("world", 2), ("flink", 2)],
}
"""In batch mode, whose only watermark is the last one."""

PACED_PAGE_VIEWS = [
    "用户 Mary 的PV是:4", "用户 Bob 的PV是:4", "用户 Alice 的PV是:4",
    "用户 Mary 的PV是:7", "用户 Bob 的PV是:6", "用户 Alice 的PV是:6",
]  # fmt: skip
