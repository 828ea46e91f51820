"""Commands that the compiler's own executable runs."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Sequence

from libsparse._compiler import native

COMMANDS = {
    "functions": "list the functions that expressions can call",
    "formats": "describe, as JSON, the kinds of levels and the names of formats",
}
_OWN = re.compile(r"-[a-z]+(=.*)?$")  # options of the executable have one dash and several letters, or a value behind =


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether a command that both have, such as `run`, is written for the executable: `-f=A:csr`, `-check`."""
    return any(_OWN.match(word) and word not in ("-h", "-o") for word in arguments)


class Passed:
    """A command that is handed on as it is."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, _: argparse.Namespace, rest: Sequence[str]) -> int:
        """Run it, with this process's input and output."""
        if "-h" in rest or "--help" in rest:
            return call(["help"])
        if self._name == "functions" and not rest:
            return _functions()
        return call([self._name, *rest])


def call(arguments: Sequence[str]) -> int:
    """Run the executable and return its status."""
    return subprocess.run([native.EXECUTABLE, *arguments], check=False).returncode


def _functions() -> int:
    """Print a line for each function."""
    for entry in json.loads(
        subprocess.run([native.EXECUTABLE, "functions"], check=True, stdout=subprocess.PIPE).stdout
    ):
        taken = ["abc"[n] for n in range(entry["args"])]
        for n, value in enumerate(reversed(entry["defaults"] or []), 1):
            taken[-n] += f"={value:g}"
        print(f"{entry['name']}({', '.join(taken)})")
    return 0
