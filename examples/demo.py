"""What ``make demo`` runs: two programs on a Spark of this machine, with two workers.

python examples/demo.py
"""

from __future__ import annotations

import os
import time

import atm_timeout
import word_count_files
from rich.console import Console
from rich.table import Table

from millrace.common.jobs import JobStatus
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.listeners import EpochDone, JobStarted, set_listener
from millrace.spark.session import local_session

PARALLELISM = 2

console = Console(highlight=False)


def say(text: str) -> None:
    console.print(text, soft_wrap=True)


class Tally:
    """Listens to a job: how many elements its operators took in."""

    def __init__(self) -> None:
        self.lines = 0
        self.taken: dict[int, int] = {}

    def started(self, job: JobStarted) -> None: ...

    def epoch(self, epoch: EpochDone) -> None:
        self.lines += epoch.result.records
        for report in epoch.result.reports:
            self.taken[report.operator] = self.taken.get(report.operator, 0) + report.records_in

    def said(self, who: str, line: str) -> None: ...

    def printed(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            say(f"  {line}")

    def ended(self, status: JobStatus) -> None: ...

    @property
    def words(self) -> int:
        """No operator takes in more than the one that counts words."""
        return max(self.taken.values(), default=0)


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(PARALLELISM)


def count_words() -> None:
    folder = os.path.dirname(os.__file__)
    files = word_count_files.python_files(folder)
    say(f"\n[bold]1. Word count.[/] The input: {len(files):,} Python files below {folder}.")
    say("Each line becomes words. Each word has a count in keyed state.")
    say("A timer at the end of time sends the counts on, and the 20 largest come out.")
    tally = Tally()
    set_listener(tally)
    began = time.monotonic()
    with word_count_files.build(environment(), files).execute_and_collect("word count") as results:
        largest = list(results)
    seconds = time.monotonic() - began
    table = Table(header_style="bold")
    for title in ("word", "count") * 2:
        table.add_column(title, justify="right" if title == "count" else "left")
    half = (len(largest) + 1) // 2
    for (word, count), (other, more) in zip(largest[:half], [*largest[half:], ("", 0)]):
        table.add_row(word, f"{count:,}", other, f"{more:,}" if other else "")
    console.print(table)
    say(f"{tally.lines:,} lines and {tally.words:,} words took {seconds:.1f} s with {PARALLELISM} workers.")
    say(f"That is [bold]{tally.words / seconds:,.0f} events/s[/] through keyed state.")


def watch_machines() -> None:
    say("\n[bold]2. Event time.[/] Three cash machines tell what their customers do.")
    say("The steps come out of order, and timers put them right.")
    say("A card that nobody takes for 30 s is kept. One step comes too late.")
    set_listener(Tally())
    env = environment()
    atm_timeout.build(env).print().set_parallelism(1)
    env.execute("ATM timeout")


def main() -> None:
    began = time.monotonic()
    say("This is Millrace: Flink programs on Spark. Two programs follow.")
    session = local_session(PARALLELISM)
    say(f"A local Spark {session.version} is up after {time.monotonic() - began:.1f} s.")
    count_words()
    watch_machines()
    say(f"\nThat was all, after {time.monotonic() - began:.0f} s. The programs lie beside this one, in examples/.")


if __name__ == "__main__":
    main()
