"""The blocks of the documents run with real kernels, in a cache of their own."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from libsparse._compiler import native

sys.path.insert(0, str(Path(__file__).parent))

HAVE_COMPILER = native.LIBRARY.exists() and native.EXECUTABLE.exists()


def pytest_configure(config: pytest.Config) -> None:
    """Keep kernels of tests out of the user's cache."""
    if "LIBSPARSE_TEST_CACHE" not in os.environ:
        os.environ["LIBSPARSE_TEST_CACHE"] = tempfile.mkdtemp(prefix="libsparse-test-")
    os.environ["LIBSPARSE_CACHE_DIR"] = os.environ["LIBSPARSE_TEST_CACHE"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip everything here where there is no compiler."""
    for item in items:
        if not HAVE_COMPILER and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="run `make build` first"))


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
