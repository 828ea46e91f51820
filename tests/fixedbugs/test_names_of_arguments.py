"""torch's functions took only positional arguments, and messages named what users never see."""

from __future__ import annotations

import inspect

import pytest
import torch

import libsparse as ls


@pytest.fixture
def A() -> ls.SparseTensor:
    return ls.tensor(torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]]))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (torch.mm, {"mat2": torch.eye(3)}),
        (torch.mv, {"vec": torch.ones(3)}),
        (torch.matmul, {"other": torch.eye(3)}),
        (torch.sum, {"dim": 0}),
        (torch.mean, {"dim": 1}),
        (torch.transpose, {"dim0": 0, "dim1": 1}),
        (torch.permute, {"dims": (1, 0)}),
        (torch.t, {}),
        (torch.abs, {}),
        (torch.clone, {}),
        (torch.mul, {"other": 2}),
        (torch.div, {"other": 2}),
        (torch.remainder, {"other": 2}),
        (torch.numel, {}),
    ],
)
def test_arguments_go_by_torchs_names(A, function, arguments):
    ours, theirs = function(input=A, **arguments), function(input=A.to_dense(), **arguments)
    ours = ours.to_dense() if isinstance(ours, ls.SparseTensor) else ours
    torch.testing.assert_close(ours, theirs)


def test_products_that_add_take_torchs_names(A):
    x, m = torch.ones(3), torch.eye(3)
    torch.testing.assert_close(torch.addmv(input=x, mat=A, vec=x), torch.addmv(x, A.to_dense(), x))
    torch.testing.assert_close(torch.addmm(input=m, mat1=A, mat2=m), torch.addmm(m, A.to_dense(), m))
    torch.testing.assert_close(torch.sparse.mm(sparse=A, dense=m), A.to_dense())


def test_messages_name_what_users_see(A):
    with pytest.raises(ls.DtypeError, match=r"pattern is a NoneType; expected an ls\.Pattern"):
        ls.SparseTensor(None)
    with pytest.raises(ls.DtypeError, match=r"torch\.Tensor\.half on an ls\.SparseTensor takes 1 positional"):
        A.half(3)
    with pytest.raises(ls.DtypeError, match="transpose: dim is 'x'; expected an int"):
        A.swapaxes("x", 1)
    with pytest.raises(ls.DtypeError, match=r"input \(shape .*\) is a dense tensor"):
        torch.sparse.sampled_addmm(torch.eye(3), A, A)
    for method in (ls.SparseTensor.t, ls.SparseTensor.abs, ls.SparseTensor.permute):
        assert "Operand" not in str(inspect.signature(method))


def test_prepared_schedules_raise_what_schedules_raise():
    begun = ls.schedule("ij,j->i", ls.random((6, 5), 0.5), torch.ones(5))
    schedule = begun.split("i", "a", "b", 16, tail=16).precompute("all", "w", 2)
    with pytest.raises(ls.ShapeError, match="does not suit"):
        schedule.run()
    with pytest.raises(ls.ShapeError, match="does not suit"):
        schedule.prepare()()
