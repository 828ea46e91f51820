"""Helpers of the tests that need a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python"


def start(code: str, cache: Path, **env: str) -> subprocess.Popen[str]:
    """Starts Python on `code` with a kernel cache of its own."""
    full = {**os.environ, "LIBSPARSE_CACHE_DIR": str(cache), "PYTHONPATH": str(PACKAGE), **env}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env=full,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, cache: Path, timeout: float = 120, **env: str) -> str:
    """Runs `code` and returns what it printed."""
    with start(code, cache, **env) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
    assert process.returncode == 0, err
    return out.strip()
