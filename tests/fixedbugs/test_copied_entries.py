"""`copy_`, and `load_state_dict` by it, took the values of another format in the order in which that stores them.

Nor did it take over what is not stored. In-place operators left the format of their result with the tensor.
"""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

FORMATS = ("csr", "csc", "coo", "dcsr", "ell", "sell(2)", "bsr(2,2)", "dia")


class Holder(torch.nn.Module):
    """A module with one sparse buffer."""

    def __init__(self, W: ls.SparseTensor) -> None:
        super().__init__()
        self.register_buffer("W", W)


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_values_of_another_format(target: str, source: str) -> None:
    numbers = torch.arange(1.0, 17).reshape(4, 4)
    into, given = ls.tensor(torch.ones(4, 4), format=target), ls.tensor(numbers, format=source)
    seen = into.values()
    into.copy_(given)
    assert torch.equal(into.to_dense(), numbers)
    assert into.values() is seen
    module = Holder(ls.tensor(torch.ones(4, 4), format=target))
    module.load_state_dict(Holder(given).state_dict())
    assert torch.equal(module.W.to_dense(), numbers)


def test_entries_of_another_format() -> None:
    dense = torch.tensor([[0.0, 2, 0], [3, 0, 5], [0, 0, 7]])
    for target in ("csr", "ell", "sell(2)", "csc"):
        into = ls.tensor((dense != 0).float(), format=target)
        for source in ("csr", "ell", "sell(2)", "csc", "coo"):
            into.copy_(ls.tensor(dense, format=source))
            assert torch.equal(into.to_dense(), dense)


def test_what_is_not_stored() -> None:
    dense = torch.tensor([[0.0, 2, 0], [3, 0, 5], [0, 0, 7]])
    into = ls.tensor(dense)
    view = into.detach()
    into.copy_(torch.exp(ls.tensor(dense)))
    assert torch.equal(into.to_dense(), dense.exp())
    assert torch.equal(view.to_dense(), dense.exp())
    into.copy_(ls.tensor(dense))
    assert torch.equal(into.to_dense(), dense)


@pytest.mark.parametrize("format", FORMATS)
def test_formats_of_tensors_that_are_changed_in_place(format: str) -> None:
    dense = torch.ones(4, 4).tril()
    A = ls.tensor(dense, format=format)
    A.addmm_(A, A)
    assert A.format == ls.Format(format).resolve(2)
    assert torch.equal(A.to_dense(), dense + dense @ dense)
    A += ls.tensor(torch.eye(4).flip(0))
    assert A.format == ls.Format(format).resolve(2)
    assert torch.equal(A.to_dense(), dense + dense @ dense + torch.eye(4).flip(0))
