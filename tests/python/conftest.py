"""Fixtures: the stand-in for the compiler where the real one is not built, and numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

import reference
from libsparse._compiler import kernel, native
from tuning_helper import eager, own_cache, quick_helper  # noqa: F401  # fixtures

HAVE_COMPILER = native.LIBRARY.exists() and native.EXECUTABLE.exists()
ROOT = Path(__file__).parents[2]

settings.register_profile("quick", max_examples=25, deadline=None)
settings.load_profile("quick")


@pytest.fixture(autouse=True)
def _compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    if not HAVE_COMPILER:
        monkeypatch.setattr(kernel, "find", reference.finder())


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the stand-in even where the compiler is built."""
    monkeypatch.setattr(kernel, "find", reference.finder())


@pytest.fixture
def data() -> torch.Tensor:
    """A matrix of 6 x 5 with an empty row, of which about half the entries are zero."""
    generator = torch.Generator().manual_seed(3)
    numbers = torch.randn(6, 5, dtype=torch.float64, generator=generator)
    numbers[torch.rand(6, 5, generator=generator) < 0.5] = 0
    numbers[2] = 0
    return numbers


@pytest.fixture
def without_trials(monkeypatch):
    """Compiled functions follow their traces, also where they are faster without."""
    from libsparse._fusion.trial import Trial

    monkeypatch.setattr(Trial, "is_open", False)
