"""Shared by all tests: a kernel cache and random numbers of their own; what needs a missing compiler is skipped."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path

# Read as torch loads OpenMP: else threads that wait keep cores busy for some milliseconds, which other tests need.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest
import torch
from libsparse._compiler import native
from libsparse._ops import arranging

sys.path.insert(0, str(Path(__file__).parent))

HAVE_COMPILER = native.LIBRARY.exists() and native.EXECUTABLE.exists()
_REAL = {Path(__file__).parent / name for name in ("conformance", "docs", "fixedbugs")}  # all their kernels are real


def pytest_configure(config: pytest.Config) -> None:
    """Register markers, and keep kernels of tests out of the user's cache."""
    config.addinivalue_line("markers", "compiler: needs the built compiler")
    if "LIBSPARSE_TEST_CACHE" not in os.environ:
        os.environ["LIBSPARSE_TEST_CACHE"] = folder = tempfile.mkdtemp(prefix="libsparse-test-")
        config.add_cleanup(functools.partial(shutil.rmtree, folder, ignore_errors=True))
    os.environ["LIBSPARSE_CACHE_DIR"] = os.environ["LIBSPARSE_TEST_CACHE"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the compiler where there is none."""
    for item in items:
        if not HAVE_COMPILER and ("compiler" in item.keywords or _REAL.intersection(item.path.parents)):
            item.add_marker(pytest.mark.skip(reason="run `make build` first"))


@pytest.fixture(autouse=True)
def _seed() -> None:
    if torch.cuda.is_available():
        torch.manual_seed(0)
    else:  # without a GPU, torch keeps each such call with its traceback, for the time when it finds one
        torch.default_generator.manual_seed(0)


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    """Patterns of a test are new, also where another test had the same coordinates."""
    arranging._seen.clear()
