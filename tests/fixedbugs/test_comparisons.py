"""What is compared has a type of its own, as in torch, whatever the truth value is multiplied with."""

import pytest
import torch

import libsparse as ls

LARGE = torch.tensor([[2**24, 0], [2**24 + 1, 0]])
BYTES = torch.full((2, 4), 100, dtype=torch.uint8)
GIVEN = {
    "A": ls.tensor(LARGE),
    "U": ls.tensor(BYTES),
    "K": torch.tensor([2**24, 2**24]),
    "u": torch.tensor([255, 3], dtype=torch.uint8),
    "x": torch.ones(2),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y(i,j) = x(i) * gt(A(i,j), K(i))", torch.tensor([[0.0, 0.0], [1.0, 0.0]])),
        ("y(i) = x(i) * gt(sum(A(i,j)), K(i))", torch.tensor([0.0, 1.0])),
        ("y(i) = gt(sum(A(i,j)), K(i))", torch.tensor([False, True])),
        ("y(i) = x(i) * lt(2, u(i) + 1)", torch.tensor([0.0, 1.0])),
        ("y(i) = lt(sum(U(i,j)), x(i) * 300)", torch.tensor([False, False])),
        ("y(i) &= lt(2, u(i) + 1)", torch.tensor([False, True])),
    ],
)
def test_comparisons_in_wider_expressions(text, expected):
    found = ls.evaluate(text, format="dense", **{name: value for name, value in GIVEN.items() if f"{name}(" in text})
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)


def test_workspace_of_a_compared_part():
    found = ls.schedule("y(i,j) = lt(x(i), U(i,j) + 200)", x=GIVEN["x"] * 280, U=BYTES)
    text = found.precompute("U(i,j) + 200", "w", at=1).run()
    assert torch.equal(text, torch.full((2, 4), True))
