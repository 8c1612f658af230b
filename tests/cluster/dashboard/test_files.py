"""The dashboard's files: small, complete, and with nothing from elsewhere."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from millrace.cluster.rest.settings import PAGES

LIMIT = 90_000
"""bytes, each file compressed as it travels"""
FILES = sorted(each for each in PAGES.rglob("*") if each.is_file())
SCRIPTS = [each for each in FILES if each.suffix == ".js"]
OWN = [each for each in SCRIPTS if each.parent.name != "lib"]
IMPORT = re.compile(r'(?:from|import)\s*\(?"([^"]+)"')
AT_ONCE = re.compile(r'(?:from|import)\s*"([^"]+)"')


def test_all_files_together_are_small() -> None:
    assert 10_000 < sum(len(gzip.compress(each.read_bytes(), 9)) for each in FILES) < LIMIT


def test_no_folder_is_crowded_and_no_file_is_long() -> None:
    for folder in {each.parent for each in FILES}:
        assert len([each for each in FILES if each.parent == folder]) <= 25, folder
    assert [each.name for each in OWN if len(each.read_text("utf-8").splitlines()) > 220] == []


def test_every_import_leads_to_a_file() -> None:
    wrong = [
        f"{script.relative_to(PAGES)}: {target}"
        for script in SCRIPTS
        for target in IMPORT.findall(script.read_text("utf-8"))
        if not target.startswith(".") or not (script.parent / target).is_file()
    ]
    assert wrong == []


def test_no_file_is_left_over() -> None:
    page = (PAGES / "index.html").read_text("utf-8")
    reached = {(PAGES / each).resolve() for each in re.findall(r'(?:src|href)="([^"]+)"', page)}
    front = [each for each in reached if each.suffix == ".js"]
    while front:
        script = front.pop()
        for target in IMPORT.findall(script.read_text("utf-8")):
            file = (script.parent / target).resolve()
            if file not in reached:
                reached.add(file)
                front.append(file)
    unused = {each.resolve() for each in FILES} - reached - {PAGES / "index.html"}
    assert {each.name for each in unused} == {"LICENSE.htm", "LICENSE.preact", "README.md"}


def test_what_the_first_page_needs_is_fetched_at_once() -> None:
    page = (PAGES / "index.html").read_text("utf-8")
    fetched = {(PAGES / each).resolve() for each in re.findall(r'rel="modulepreload" href="([^"]+)"', page)}
    needed: set[Path] = set()
    front = [PAGES / "app" / "main.js"]
    while front:
        script = front.pop()
        for target in AT_ONCE.findall(script.read_text("utf-8")):
            file = (script.parent / target).resolve()
            if file not in needed:
                needed.add(file)
                front.append(file)
    assert fetched == needed


def test_every_name_that_is_imported_is_exported() -> None:
    named = re.compile(r'import \{([^}]+)\} from "([^"]+)"')
    exported = re.compile(r"export (?:async )?(?:function|const|class) (\w+)")
    wrong = []
    for script in OWN:
        for names, target in named.findall(script.read_text("utf-8")):
            file = (script.parent / target).resolve()
            if file.parent.name != "lib":
                there = set(exported.findall(file.read_text("utf-8")))
                wrong += [f"{script.name}: {each.strip()}" for each in names.split(",") if each.strip() not in there]
    assert wrong == []


def test_nothing_comes_from_elsewhere_and_nothing_is_inline() -> None:
    page = (PAGES / "index.html").read_text("utf-8")
    assert "//" not in page.replace("<!doctype", "")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
    for file in [*OWN, *(each for each in FILES if each.suffix == ".css")]:
        text = file.read_text("utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\(\s*['\"]?http|\beval\(|new Function", text), file


def test_every_script_says_what_it_is() -> None:
    assert [each.name for each in OWN if not each.read_text("utf-8").startswith("// ")] == []
