"""Names in expressions that are words of C compilers, or of the generated C, made kernels that no compiler takes."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

A = ls.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]])
X = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("name", ["_Complex", "__attribute__", "__FILE__", "__linux", "tanh_f32x8", "max_i64", "f32x8"])
def test_names_are_the_users(name: str) -> None:
    dense = A.to_dense()
    made = ls.evaluate(f"Y(i,k) = tanh({name} * A(i,j) * X(j,k))", A=A, X=X, **{name: 0.1})
    torch.testing.assert_close(made, torch.tanh(0.1 * dense[:, :, None] * X).sum(1))
    made = ls.evaluate(f"{name}(i,k) = A(i,{name}) * {name}_({name},k)", A=A, **{f"{name}_": A.T})
    torch.testing.assert_close(made.to_dense(), dense @ dense.T)
