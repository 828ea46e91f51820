"""`power_iteration` from vectors of integers and of complex numbers."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

A = ls.tensor([[2.0, 1.0], [1.0, 2.0]])


@pytest.mark.compiler
def test_integers_and_truth_values() -> None:
    for start in (torch.tensor([1, 0]), torch.tensor([True, False])):
        assert float(ls.linalg.power_iteration(A, start)[0]) == pytest.approx(3)
    with pytest.raises(ls.FormatError, match="x0 has the norm 0"):
        ls.linalg.power_iteration(A, torch.tensor([0, 0]))


def test_complex_numbers_need_a_complex_matrix() -> None:
    with pytest.raises(ls.DtypeError, match=r"x0 has dtype torch.complex64; expected a real one, as A"):
        ls.linalg.power_iteration(A, torch.tensor([1j, 0]))
