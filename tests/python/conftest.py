"""Fixtures: the stand-in for the compiler where the real one is not built, and numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

import reference
from libsparse._compiler import kernel, native
from tuning_helper import eager, own_cache, quick_helper  # noqa: F401  # fixtures

import libsparse as ls

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


@pytest.fixture
def without_c(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has kernels called, and patterns found, in Python from then on, as with a torch that lacks what C needs."""
    from libsparse._runtime import direct, discovery

    def leave() -> None:
        for module in (direct, discovery):
            monkeypatch.setattr(module, "native", None)

    return leave


@pytest.fixture
def follows_writes() -> Callable[..., None]:
    """Checks that what a function computes of a matrix follows all that is written to its values."""

    def check(A: ls.SparseTensor, work: Callable[[ls.SparseTensor], torch.Tensor]) -> None:
        shared = np.asarray(A.values())

        def by_torch() -> None:
            A.values().mul_(2)

        def by_data() -> None:
            A.values().data[3] = 7.0

        def by_numpy() -> None:
            shared[5] = -9.0

        for write in (by_torch, by_data, by_numpy):
            write()
            for _ in range(30):
                torch.testing.assert_close(work(A), work(ls.SparseTensor(A.pattern, A.values().clone())))

    return check
