"""The worked example of ARCHITECTURE.md: what it shows of each stage, and what the compiler prints.

`python tests/docs/worked_example.py` writes what the compiler prints now into the document.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from libsparse.__main__ import main

DOCUMENT = Path(__file__).parents[2] / "ARCHITECTURE.md"
COMMAND = ["explain", "ij,jk->ik", "csr:200x100", "dense:100x32"]
WHOLE = ("notation", "steps", "formats", "concrete", "schedule", "scheduled", "lattices", "loops")
"""Stages that the document shows as they are; of the others it shows a part."""

_BLOCK = re.compile(r"^\*\*(\w+)\.\*\*(.*?)^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> dict[str, str]:
    """What the document shows of each stage."""
    return {found[1]: found[3] for found in _BLOCK.finditer(DOCUMENT.read_text())}


def printed(stage: str) -> str:
    """What the compiler prints of a stage, without notes before a listing of loops."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main([*COMMAND, "--stage", stage])
    text = out.getvalue().strip() + "\n"
    return text if stage == "schedule" else re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)


def part(stage: str) -> str:
    """The part of a later stage that the document shows."""
    text = printed(stage)
    if stage == "c":
        return text[text.index("static void kernel_compute") :]
    lines = text[text.index("      for q") : text.index("    drain")].splitlines()
    return "\n".join(line[4:] for line in lines) + "\n"


def current(stage: str) -> str:
    """What the document has to show of a stage."""
    return printed(stage) if stage in WHOLE else part(stage)


if __name__ == "__main__":
    text = DOCUMENT.read_text()
    for stage, old in shown().items():
        text = text.replace(old, current(stage), 1)
    DOCUMENT.write_text(text)
