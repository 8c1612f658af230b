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

URL_VIEWS = [
    window(HOME, 0, 3), window(CART, 0, 2), window(PROD, 0, 1),
    window(CART, 5, 3), window(HOME, 5, 1),
    window(PROD, 10, 4), window(HOME, 10, 1),
    window(HOME, 15, 3), window(PROD, 15, 1),
]  # fmt: skip
TOP_TWO = [
    ranking("05.0", HOME, 3, CART, 2),
    ranking("10.0", CART, 5, HOME, 4),
    ranking("15.0", PROD, 4, CART, 3),
    ranking("20.0", PROD, 5, HOME, 4),
    ranking("25.0", HOME, 3, PROD, 1),
]

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
    "fake_window": URL_VIEWS,
    "url_views": URL_VIEWS,
    "aggregating_state": [999, 999, 999],
    "top_n": TOP_TWO,
    "all_window_top_n": TOP_TWO,
    "hot_items": [
        (5_000, [(HOME, 3), (CART, 2), (PROD, 1)]),
        (10_000, [(CART, 5), (HOME, 4), (PROD, 1)]),
        (15_000, [(CART, 5), (HOME, 5), (PROD, 5)]),
        *((end, [(HOME, 8), (PROD, 6), (CART, 5)]) for end in range(20_000, 60_001, 5_000)),
        (65_000, [(HOME, 5), (PROD, 5), (CART, 3)]),
        (70_000, [(PROD, 5), (HOME, 4)]),
        (75_000, [(HOME, 3), (PROD, 1)]),
    ],
    "session_clicks": [("Bob", 3), ("Mary", 4), ("Mary", 1)],
    "early_results": [
        "Mary [0, 10000): 2 so far", "Mary [0, 10000): 4 so far", "Mary [0, 10000): 4 in all",
        "Bob [0, 10000): 2 so far", "Bob [0, 10000): 3 in all",
        "Alice [0, 10000): 2 so far", "Alice [0, 10000): 3 in all",
        *(f"{user} [10000, 20000): {views}" for user in ("Mary", "Bob", "Alice") for views in ("2 so far", "3 in all")),
    ],
    "last_clicks": [
        f"Mary until 10000: {CART} {CART}", f"Bob until 10000: {CART} {HOME}", f"Alice until 10000: {HOME} {CART}",
        f"Mary until 20000: {HOME} {HOME}", f"Bob until 20000: {PROD} {PROD}", f"Alice until 20000: {PROD} {HOME}",
    ],
    "start_end_duration": [("a", 3_600_000), ("a", 7_200_000), ("c", 10_800_000)],
    "custom_partition": [(3, "hello"), (3, "test"), (2, "world")],
    "window_json": [
        '{"user": "Mary", "amount": 17}', '{"user": "Bob", "amount": 2}',
        '{"user": "Bob", "amount": 1}', '{"user": "Mary", "amount": 5}',
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
    "window_join": [
        f"('{key}', {left})=>('{key}', {right})" for key in "ab" for left in (1000, 2000) for right in (3000, 4000)
    ],
    "co_group": [
        "[('a', 1000), ('a', 2000)] met [('a', 3000)]",
        "[('b', 1000)] came alone",
        "[('c', 3000)] came alone",
        "[('b', 6000)] met [('b', 7000), ('b', 8000)]",
    ],
    "state_ttl": [
        "Mary: ./home begins a visit", "Bob: ./cart begins a visit", "Alice: ./home begins a visit",
        "Mary: ./prod?id=1 after ./home", "Bob: ./cart after ./cart", "Alice: ./home after ./home",
        "Mary: ./cart after ./prod?id=1", "Bob: ./home after ./cart", "Alice: ./cart after ./home",
        "Mary: ./cart begins a visit", "Bob: ./prod?id=1 begins a visit", "Alice: ./prod?id=1 begins a visit",
        "Mary: ./home after ./cart", "Bob: ./prod?id=1 after ./prod?id=1", "Alice: ./prod?id=1 after ./prod?id=1",
        "Mary: ./home after ./home", "Bob: ./prod?id=1 after ./prod?id=1", "Alice: ./home after ./prod?id=1",
        "Mary: ./home after ./home",
    ],
    "broadcast_pattern": [("Bob", ("login", "buy"))],
    "async_enrichment": [
        "Bob from Lima looked into the cart at 1000",
        "Bob from Lima looked into the cart at 3000",
        "Mary from Paris looked into the cart at 5000",
        "Alice from somewhere looked into the cart at 7000",
        "Mary from Paris looked into the cart at 9000",
    ],
}  # fmt: skip
"""Module -> its results, in any mode, at any parallelism, however the input is cut into epochs."""

BATCHES = ["10: Mary Bob Alice Mary Bob Alice Mary Bob Alice Mary", "9: Bob Alice Mary Bob Alice Mary Bob Alice Mary"]
"""What the buffering sink writes, in any mode, however the input is cut into epochs."""

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
    "interval_join": [
        f"('Mary', 'order', 1200000){arrow}('Mary', 'pv', {time})"
        for arrow in ("=>", "->")
        for time in (900_000, 660_000, 1_260_000)
    ],
    "late_data": [
        "Mary [0, 5000): 2", "Mary [0, 5000): 3", "Mary [0, 5000): 4",
        "too late: Mary at 3500", "Mary [5000, 10000): 3",
    ],
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
    "interval_join": STREAMING["interval_join"],
    "late_data": ["Mary [0, 5000): 5", "Mary [5000, 10000): 3"],
    "word_count": [("hello", 4), ("world", 2), ("flink", 2)],
}
"""In batch mode, whose only watermark is the last one."""

PACED_PAGE_VIEWS = [
    "用户 Mary 的PV是:4", "用户 Bob 的PV是:4", "用户 Alice 的PV是:4",
    "用户 Mary 的PV是:7", "用户 Bob 的PV是:6", "用户 Alice 的PV是:6",
]  # fmt: skip
