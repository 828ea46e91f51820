"""What the documents show runs, their links lead somewhere, and the reference has every public name."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pages
import pytest
import worked_example

import libsparse as ls

RUN = {"python", "console"}
SHOWN = {"text", "sh", "c", "json", "{eval-rst}", "{toctree}", "{include}"}
_LINK = re.compile(r"(?<!\!)\[[^\]\[]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"^(?:\.\. (?:auto\w+|py:\w+)::| *) libsparse\.(\w+)", re.MULTILINE)


def _title(page: Path) -> str:
    return str(page.relative_to(pages.ROOT))


@pytest.mark.parametrize(
    "page", [p for p in pages.PAGES if RUN & {language for language, _ in pages.fences(p)}], ids=_title
)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pages.run(page)


@pytest.mark.parametrize("page", [p for p in pages.PAGES if p.parent != pages.ROOT], ids=_title)
def test_blocks_have_a_known_language(page: Path) -> None:
    languages = {(language.split() or [""])[0] for language, _ in pages.fences(page)}
    assert languages <= RUN | SHOWN


@pytest.mark.parametrize("page", pages.PAGES, ids=_title)
def test_links_lead_somewhere(page: Path) -> None:
    for found in _LINK.finditer(_CODE.sub("", page.read_text())):
        path, _, anchor = (found[1] or found[2]).partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        there = page.parent / path if path else page
        assert there.exists(), f"{path} does not exist"
        if anchor:
            assert anchor in _anchors(there), f"{path}#{anchor} does not exist"


@pytest.mark.parametrize("page", [p for p in pages.PAGES if "<!-- table:" in p.read_text()], ids=_title)
def test_tables_are_those_of_the_program(page: Path) -> None:
    """`python docs/tables.py` writes them."""
    sys.path.append(str(pages.ROOT / "docs"))
    import tables

    found = re.findall(r"<!-- table: (\w+) -->\n(.*?)\n<!-- end -->", page.read_text(), flags=re.DOTALL)
    assert found
    wanted = tables.substitutions()
    assert all(text for _, text in found), "a table is empty"
    old = [name for name, text in found if name not in tables.OF_TORCH and text != wanted[name]]
    assert not old, f"run python docs/tables.py: {old}"


def test_the_reference_has_every_public_name_once() -> None:
    found = _NAME.findall((pages.ROOT / "docs/reference/api.md").read_text())
    assert sorted(found) == sorted(ls.__all__)


def test_the_reference_has_every_schedule_command() -> None:
    page = (pages.ROOT / "docs/reference/schedules.md").read_text()
    _, _, usage = pages.output("libsparse explain -help").partition("separated by semicolons:\n")
    commands = re.findall(r"^  (\w+)\(", usage.partition("\n\n")[0], flags=re.MULTILINE)
    assert commands
    assert commands == re.findall(r"^`(\w+)\(.*\n: ", page, flags=re.MULTILINE)


def test_the_reference_has_every_name_of_a_format() -> None:
    page = (pages.ROOT / "docs/reference/formats.md").read_text()
    names = {found["name"] for found in json.loads(pages.output("libsparse formats"))["names"]}
    assert names
    assert all(re.search(rf"^\|.*`{name}\b", page, flags=re.MULTILINE) for name in names)


def _anchors(page: Path) -> set[str]:
    included = re.match(r"```{include} (\S+)\n```$", page.read_text())
    if included:
        return _anchors(page.parent / included[1])
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("stage", sorted(worked_example.shown()))
def test_the_worked_example_is_what_the_compiler_prints(stage: str) -> None:
    if stage in ("simplified", "c") and "f32x16" not in worked_example.current("c"):
        pytest.skip("the example is of a machine with vectors of 64 bytes")
    shown, current = worked_example.shown()[stage], worked_example.current(stage)
    if stage == "schedule":  # costs depend on the random operands and on the machine
        shown, current = (re.sub(r"^#.*\n", "", text, flags=re.MULTILINE) for text in (shown, current))
    assert shown == current, "python tests/docs/worked_example.py writes what is printed now"
