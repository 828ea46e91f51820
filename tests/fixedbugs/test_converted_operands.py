"""Operands that are read several times and converted for it: one walk over their entries, not one for each reading."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

TEXT = (
    "Y(j,i) = T(j,i) * (gt(A(i,j), sigmoid(A(i,j)) + B(j,i) * B(j,i)) + ge(A(i,j), sigmoid(A(i,j)) + B(j,i) * B(j,i)))"
)


def matrices() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    found = {
        name: torch.rand(shape, generator=generator) for name, shape in (("T", (5, 4)), ("A", (4, 5)), ("B", (5, 4)))
    }
    return {name: matrix * (matrix > 0.4) for name, matrix in found.items()}


def test_readings_of_a_converted_operand_share_a_loop() -> None:
    operands = {name: ls.tensor(matrix) for name, matrix in matrices().items()}
    assert len(str(ls.explain(TEXT, **operands, stage="c")).splitlines()) < 600  # 2,659 when each had its own


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "coo"])
def test_their_values(format: str) -> None:
    dense = matrices()
    operands = {name: ls.tensor(matrix, format=format) for name, matrix in dense.items()}
    T, A, B = dense["T"], dense["A"].T, dense["B"]
    right = A.sigmoid() + B * B
    torch.testing.assert_close(
        ls.evaluate(TEXT, **operands).to_dense(), T * ((right < A).float() + (right <= A).float())
    )


def test_the_gradient_of_a_greatest_value_is_compiled_in_seconds() -> None:
    dense = matrices()
    leaves = {name: ls.tensor(dense[name].double()).requires_grad_() for name in ("A", "B")}
    y = ls.evaluate("y(j) = max(A(i,j), sigmoid(A(i,j)) + B(j,i) * B(j,i))", **leaves)
    y.sum().backward()
    A, B = (dense[name].double().requires_grad_() for name in ("A", "B"))
    torch.maximum(A, A.sigmoid() + (B * B).T).sum().backward()
    for leaf, expected in ((leaves["A"], A), (leaves["B"], B)):
        torch.testing.assert_close(leaf.grad.to_dense(), expected.grad * (expected != 0))
