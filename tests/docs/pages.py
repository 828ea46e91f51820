"""Where the documents are, and how their fenced blocks are run."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

from libsparse._cli import executable
from libsparse._cli.main import main
from libsparse._compiler import native
from sybil import Document, Example
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")])

_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def run(page: Path) -> None:
    """Runs the blocks of a page in order, as one program."""
    parsers = [PythonCodeBlockParser(doctest_optionflags=_FLAGS), CodeBlockParser("console", _console)]
    document = Document.parse(str(page), *parsers)
    with contextlib.redirect_stdout(io.StringIO()):
        for example in document.examples():
            example.evaluate()


def fences(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each fenced block."""
    return [(found[2], found[3]) for found in _FENCE.finditer(page.read_text())]


def _console(example: Example) -> None:
    """Runs the lines after a dollar sign; where the block shows what they print, it has to be that."""
    command = ""
    shown: list[str] = []
    for line in [*example.parsed.splitlines(), "$ "]:
        if not line.startswith("$ "):
            shown.append(line)
            continue
        if command:
            _compare(command, output(command), "\n".join(shown), f"{example.path}:{example.line}")
        command, shown = line[2:], []


def _compare(command: str, printed: str, shown: str, where: str) -> None:
    if shown.strip() and not doctest.OutputChecker().check_output(shown.strip() + "\n", printed.strip() + "\n", _FLAGS):
        raise AssertionError(f"{where}: {command}\nshown:\n{shown}\nprinted:\n{printed}")


def output(command: str) -> str:
    """What a command prints; it has to succeed."""
    words = shlex.split(command)
    assert words[0] == "libsparse", f"{command}: pages show `libsparse` only"
    own = executable.is_meant(words[2:]) or words[1] in executable.COMMANDS
    words = ["libsparse", "help"] if own and "--help" in words else words
    if not own:  # in this process: importing torch takes seconds
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = main(words[1:])
        assert status == 0, f"{command} ended with status {status}"
        return printed.getvalue()
    done = subprocess.run(
        [native.EXECUTABLE, *words[1:]], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, f"{command} ended with status {done.returncode}:\n{done.stderr}"
    return done.stdout
