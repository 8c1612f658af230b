"""Sends the texts of ``texts.py`` through Flink's formats; needs Maven and a JDK 17, and takes a minute.

python -m tests.flink.fields.record           # are Flink's answers still those that are kept?
python -m tests.flink.fields.record --keep    # keep them
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from tests.flink import maven
from tests.flink.fields.facts import Group, keep, kept
from tests.flink.fields.texts import groups

RECORDER = Path(__file__).with_name("recorder")


def recorded(folder: Path) -> list[Group]:
    """The groups with Flink's answers."""
    path = maven.classpath(RECORDER, folder)
    classes = maven.compiled(RECORDER, folder, path)
    given, found = folder / "texts.json", folder / "answers.json"
    given.write_text(json.dumps(list(groups())), encoding="utf-8")
    options = ["-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-cp", f"{classes}{os.pathsep}{path}"]
    maven.run([maven.tool("java"), *options, "org.apache.flink.formats.csv.Fields", str(given), str(found)])
    answered: list[Group] = json.loads(found.read_text(encoding="utf-8"))
    return answered


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the answers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-flink-fields-") as folder:
        found = recorded(Path(folder))
    if given.keep:
        keep(found)
        return 0
    if found != kept():
        print("Flink's answers about fields are not those that are kept")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
