"""Shared fixtures: a private kernel cache, and the stand-in for the compiler where the real one is not built."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

import reference
from libsparse._compiler import kernel, native

HAVE_COMPILER = native.LIBRARY.exists() and native.EXECUTABLE.exists()
ROOT = Path(__file__).parents[2]

settings.register_profile("quick", max_examples=25, deadline=None)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Register markers, and keep kernels of tests out of the user's cache."""
    config.addinivalue_line("markers", "slow: takes more than a few seconds")
    config.addinivalue_line("markers", "compiler: needs the built compiler")
    if "LIBSPARSE_TEST_CACHE" not in os.environ:
        os.environ["LIBSPARSE_TEST_CACHE"] = tempfile.mkdtemp(prefix="libsparse-test-")
    os.environ["LIBSPARSE_CACHE_DIR"] = os.environ["LIBSPARSE_TEST_CACHE"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the compiler where there is none."""
    if not HAVE_COMPILER:
        for item in items:
            if "compiler" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="run `make build` first"))


@pytest.fixture(autouse=True)
def _compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    if not HAVE_COMPILER:
        monkeypatch.setattr(kernel, "find", reference.finder())


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the stand-in even where the compiler is built."""
    monkeypatch.setattr(kernel, "find", reference.finder())
