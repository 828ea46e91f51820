"""The matrix of tests that show bugs which were fixed."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture
def dense() -> torch.Tensor:
    """A matrix with an empty row."""
    return torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]])
