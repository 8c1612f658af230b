"""Reads the cases of Flink's compiled tests anew; needs Maven and a JDK 17, and compares or keeps what they say.

    python -m tests.flink.suites.record           # are the cases still those that are kept?
    python -m tests.flink.suites.record --keep    # keep them

It takes an hour or two. With ``--folder`` each part, and the queries of each test, stay there as soon as they are
whole, and a run that is begun once more reads only what is missing.

Only facts are kept: inputs, texts of SQL, values, types and messages that the tests expect.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import tempfile
from pathlib import Path

from tests.flink import maven
from tests.flink.suites import scripts
from tests.flink.suites.reading import CASES

SCRIPTS, QUERIES = "scripts", "queries"
PARTS = ("functions", "expressions", "aggregates", "programs", QUERIES)
RECORDER = Path(__file__).with_name("recorder")
TESTS = "flink-table-planner_2.12-"
OPENED = ("lang", "lang.reflect", "util", "util.concurrent", "time", "net", "io", "nio", "text")


def recorded(folder: Path, queries: str = "") -> dict[str, str]:
    """What the recorder writes, by part.

    :param queries: a pattern of the tests whose queries are read; empty: all.
    """
    path = maven.classpath(RECORDER, folder)
    classes = maven.compiled(RECORDER, folder, path)
    # The recorder's classes stand before Flink's: one of them takes the place of a class of Flink's tests.
    path = f"{classes}{os.pathsep}{path}"
    opens = [word for package in OPENED for word in ("--add-opens", f"java.base/java.{package}=ALL-UNNAMED")]
    jar = next(each for each in path.split(os.pathsep) if TESTS in each and each.endswith("-tests.jar"))
    agent = ["-XX:+EnableDynamicAgentLoading", "-Djdk.attach.allowAttachSelf=true"]
    # As Flink runs them: a static method of a base class is hidden by that of a test.
    agent.append("-Djunit.platform.reflection.search.useLegacySemantics=true")
    agent.append(f"-Dsuites.queries={queries}")
    options = ["-Xmx3g", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", *agent, *opens, "-cp", path]
    maven.run([maven.tool("java"), *options, "suites.Record", jar, str(folder), *PARTS])
    found = {part: (folder / f"{part}.jsonl").read_text(encoding="utf-8") for part in PARTS if part != QUERIES}
    found[QUERIES] = "".join(each.read_text(encoding="utf-8") for each in sorted((folder / QUERIES).glob("*.jsonl")))
    gateway = next(each for each in path.split(os.pathsep) if "flink-sql-gateway-" in each)
    return {**found, SCRIPTS: scripts.read(Path(gateway))}


def kept(part: str) -> str:
    return lzma.decompress((CASES / f"{part}.jsonl.xz").read_bytes()).decode()


def in_no_order(text: str) -> list[str]:
    """The sets with their cases sorted: some tests go through the entries of a map of Java's hashes."""
    sets = map(json.loads, text.splitlines())
    return sorted(json.dumps({**each, "cases": sorted(map(json.dumps, each.get("cases", ())))}) for each in sets)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the cases")
    parser.add_argument("--folder", type=Path, help="where what is read stays; one of its own, which goes, by default")
    parser.add_argument("--queries", default="", help="a pattern of the tests whose queries are read; all by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-flink-suites-") as folder:
        found = recorded(given.folder or Path(folder), given.queries)
    if given.keep:
        for part, text in found.items():
            (CASES / f"{part}.jsonl.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        return 0
    others = [part for part, text in found.items() if in_no_order(text) != in_no_order(kept(part))]
    for part in others:
        print(f"Flink's tests of {part} are not those that are kept")
    return 1 if others else 0


if __name__ == "__main__":
    raise SystemExit(main())
