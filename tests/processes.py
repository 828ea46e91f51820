"""Programs that need a process of their own.

They are forked from a server that has imported torch and nothing else, since that import takes seconds. What the
start or the end of Python is the subject of, and what OpenMP reads from the environment as it is loaded, needs a Python
started for it: `anew`.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python"
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["torch", "pytest"])  # pytest: the main module of tests, imported by every child


class Program:
    """A program on its way."""

    def __init__(self, code: str, environment: Mapping[str, str]) -> None:
        """Start it."""
        self._printed, self._errors = (tempfile.NamedTemporaryFile("r") for _ in range(2))  # noqa: SIM115  # until `finish`
        arguments = (textwrap.dedent(code), dict(environment), self._printed.name, self._errors.name)
        self._process = _SERVER.Process(target=_execute, args=arguments)
        self._process.start()

    def finish(self, timeout: float = 120) -> str:
        """What it has printed; it has to succeed within the seconds given."""
        with self._printed, self._errors:
            self._process.join(timeout)
            late = self._process.is_alive()
            self._process.kill()
            self._process.join()
            assert not late, f"still running after {timeout} s"
            assert self._process.exitcode == 0, self._errors.read()
            return self._printed.read().strip()


def _execute(code: str, environment: Mapping[str, str], *outputs: str) -> None:
    for number, path in enumerate(outputs, 1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    os.environ.clear()
    os.environ.update(environment)
    warnings.simplefilter("ignore")
    exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})


def start(code: str, cache: Path | None = None, **env: str) -> Program:
    """Starts `code`, with a kernel cache of its own where a folder is given."""
    return Program(code, _environment(cache, env))


def run(code: str, cache: Path | None = None, timeout: float = 120, **env: str) -> str:
    """Runs `code` and returns what it printed."""
    return start(code, cache, **env).finish(timeout)


def anew(code: str, cache: Path | None = None, timeout: float = 120, **env: str) -> str:
    """Runs `code` in a Python that is started for it, and returns what it printed."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    full = _environment(cache, env)
    done = subprocess.run(command, env=full, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _environment(cache: Path | None, env: Mapping[str, str]) -> dict[str, str]:
    own = {"LIBSPARSE_CACHE_DIR": str(cache)} if cache else {}
    return {**os.environ, "PYTHONPATH": str(PACKAGE), **own, **env}
