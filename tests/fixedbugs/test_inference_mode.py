"""Everything works inside of torch.inference_mode(), and leaves nothing behind that autograd can't use."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_tensors_of_torch_made_in_inference_mode(dense, layout):
    x = torch.ones(3, 2)
    with torch.inference_mode():
        C = dense.to_sparse(layout=layout)
        assert torch.equal(ls.from_torch(C) @ x, dense @ x)
        assert torch.equal(ls.einsum("ij,jk->ik", C, x), dense @ x)
        with ls.override():
            assert torch.equal(torch.mm(C, x), dense @ x)
            assert torch.equal(torch.mm((2 * dense).to_sparse(layout=layout), x), 2 * dense @ x)


def test_training_after_inference(dense):
    A, x = ls.tensor(dense), torch.ones(3, 2)

    def use(A):
        both = A + A.to_format("csc")
        parts = [A.to_format("csc").values(), A.to_dense(), A.T @ x, A @ A, both, A.sum(0), ls.einsum("ii->i", A)]
        return sum((part.values() if isinstance(part, ls.SparseTensor) else part).sum() for part in parts)

    with torch.inference_mode():
        use(A)
    values = A.values().clone().requires_grad_()
    use(A.with_values(values)).backward()
    fresh = ls.tensor(dense)
    again = fresh.values().clone().requires_grad_()
    use(fresh.with_values(again)).backward()
    torch.testing.assert_close(values.grad, again.grad)
