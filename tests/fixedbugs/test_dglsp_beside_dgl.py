"""Programs for DGL's sparse matrices, with the results that DGL 2.1 has: `dglsp` had others, or no such name."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import libsparse.dglsp as dglsp
import pytest
import torch

import libsparse as ls

ROW, COL, VAL = torch.tensor([2, 0, 1, 0]), torch.tensor([0, 2, 1, 0]), torch.tensor([1.0, 2, 3, 4])
VECTORS = torch.arange(8.0).view(4, 2)


def made(val: torch.Tensor = VAL) -> dglsp.SparseMatrix:
    return dglsp.spmatrix(torch.stack([ROW, COL]), val, (3, 3))


def twice() -> dglsp.SparseMatrix:
    return dglsp.spmatrix(torch.tensor([[1, 0, 0, 0, 1], [1, 1, 1, 2, 2]]), torch.arange(5.0))


def shows(A: Any, row: list[int], col: list[int], val: list[Any]) -> None:
    assert isinstance(A, dglsp.SparseMatrix)
    assert (A.row.tolist(), A.col.tolist()) == (row, col)
    torch.testing.assert_close(A.val, torch.tensor(val).to(A.val.dtype), rtol=1e-4, atol=1e-4)
    places = torch.zeros(*A.shape[:2], *A.val.shape[1:], dtype=A.dtype)
    torch.testing.assert_close(A.to_dense(), places.index_put((A.row.long(), A.col.long()), A.val, accumulate=True))


GIVEN: dict[str, tuple[Any, list[Any]]] = {
    "made": (lambda A: A, [1, 2, 3, 4]),
    "double": (lambda A: A.double(), [1, 2, 3, 4]),
    "int": (lambda A: A.int(), [1, 2, 3, 4]),
    "to": (lambda A: A.to("cpu", torch.float64), [1, 2, 3, 4]),
    "neg": (lambda A: -A, [-1, -2, -3, -4]),
    "neg of a name": (lambda A: A.neg(), [-1, -2, -3, -4]),
    "number": (lambda A: 2 * A, [2, 4, 6, 8]),
    "tensor of one number": (lambda A: A * torch.tensor(2.0), [2, 4, 6, 8]),
    "true quotient": (lambda A: A.long() / 2, [0.5, 1, 1.5, 2]),
    "quotient of zero": (lambda A: A / 0, [torch.inf] * 4),
    "power": (lambda A: A**-1, [1, 1 / 2, 1 / 3, 1 / 4]),
    "quotient": (lambda A: A / (A * 2), [0.5] * 4),
    "softmax": (lambda A: A.softmax(), [1.0, 0.1192, 1.0, 0.8808]),
    "softmax of columns": (lambda A: A.softmax(0), [0.0474, 1.0, 1.0, 0.9526]),
    "sddmm": (lambda A: dglsp.sddmm(A, torch.ones(3, 2), torch.ones(2, 3)), [2, 4, 6, 8]),
    "sp_add_v": (lambda A: dglsp.sp_add_v(A, torch.tensor([10.0, 20, 30])), [11, 32, 23, 14]),
    "sp_mul_v": (lambda A: dglsp.sp_mul_v(A, torch.tensor([[1.0], [2], [3]])), [3, 2, 6, 4]),
    "diagonal from the left": (lambda A: dglsp.diag(torch.tensor([1.0, 2, 3])) @ A, [3, 2, 6, 4]),
    "diagonal from the right": (lambda A: A @ dglsp.diag(torch.tensor([1.0, 2, 3])), [1, 6, 6, 4]),
    "transposed twice": (lambda A: (A.T * 2).transpose(), [2, 4, 6, 8]),
    "copy": (copy.copy, [1, 2, 3, 4]),
    "deep copy": (copy.deepcopy, [1, 2, 3, 4]),
    "pickle": (lambda A: pickle.loads(pickle.dumps(A)), [1, 2, 3, 4]),
    "torch": (lambda A: dglsp.from_torch_sparse(dglsp.to_torch_sparse_coo(A)), [1, 2, 3, 4]),
    "vectors": (lambda A: dglsp.val_like(A, VECTORS), VECTORS.tolist()),
    "numbers of vectors": (lambda A: dglsp.val_like(dglsp.val_like(A, VECTORS), VAL), [1, 2, 3, 4]),
    "vectors times two": (lambda A: dglsp.val_like(A, VECTORS) * 2, (VECTORS * 2).tolist()),
    "bsddmm": (lambda A: dglsp.bsddmm(A, torch.ones(3, 2, 2), torch.ones(2, 3, 2)), [[2, 2], [4, 4], [6, 6], [8, 8]]),
    "sddmm of three dimensions": (
        lambda A: dglsp.sddmm(A, torch.ones(3, 2, 1), torch.ones(2, 3, 1)),
        [[2], [4], [6], [8]],
    ),
    "bsddmm of vectors": (
        lambda A: dglsp.bsddmm(dglsp.val_like(A, VECTORS), torch.ones(3, 2, 2), torch.ones(2, 3, 2)),
        (VECTORS * 2).tolist(),
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_entries_keep_the_order_in_which_they_were_given(name):
    function, expected = GIVEN[name]
    shows(function(made()), ROW.tolist(), COL.tolist(), expected)
    transposed = function(made().T.T).T
    shows(transposed, COL.tolist(), ROW.tolist(), expected)


def test_values_are_those_that_were_given():
    val = VAL.clone().requires_grad_()
    A = made(val)
    assert A.val is val
    assert A.T.val is val
    (gradient,) = torch.autograd.grad(((A * 2).softmax() @ torch.eye(3))[0, 0], val)
    share = torch.sigmoid(torch.tensor(4.0))
    torch.testing.assert_close(gradient, torch.stack([share * 0, -1 * share, share * 0, share]) * 2 * (1 - share))
    weights = torch.tensor([5.0, 6, 7, 8], requires_grad=True)
    out = dglsp.val_like(A, weights) @ torch.tensor([1.0, 10, 100])
    assert out.tolist() == [608, 70, 5]
    assert torch.autograd.grad(out.sum(), weights)[0].tolist() == [1, 100, 10, 1]


def test_arrays_of_csr_and_csc_name_the_entries():
    A = made()
    assert [a.tolist() for a in A.csr()] == [[0, 2, 3, 4], [2, 0, 1, 0], [1, 3, 2, 0]]
    assert [a.tolist() for a in A.csc()] == [[0, 2, 3, 4], [2, 0, 1, 0], [0, 3, 2, 1]]
    assert [a.tolist() for a in A.T.csr()] == [[0, 2, 3, 4], [2, 0, 1, 0], [0, 3, 2, 1]]
    row, col = A.coo()
    assert (row.tolist(), col.tolist()) == (ROW.tolist(), COL.tolist())
    assert A.indices().tolist() == [ROW.tolist(), COL.tolist()]
    rows = dglsp.from_csr(torch.tensor([0, 2, 4]), torch.tensor([2, 0, 1, 0]), VAL)
    shows(rows, [0, 0, 1, 1], [2, 0, 1, 0], [1, 2, 3, 4])
    shows(
        dglsp.from_csc(torch.tensor([0, 2, 4]), torch.tensor([2, 0, 1, 0]), VAL),
        [2, 0, 1, 0],
        [0, 0, 1, 1],
        [1, 2, 3, 4],
    )
    assert [a.tolist() for a in rows.csc()] == [[0, 2, 3, 4], [0, 1, 1, 0], [1, 3, 2, 0]]
    shows(rows.coalesce(), [0, 0, 1, 1], [0, 2, 0, 1], [2, 1, 4, 3])


def test_coordinates_that_come_twice():
    D = twice()
    shows(D, [1, 0, 0, 0, 1], [1, 1, 1, 2, 2], [0, 1, 2, 3, 4])
    assert D.has_duplicate()
    assert D.nnz == 5
    shows(D.coalesce(), [0, 0, 1, 1], [1, 2, 1, 2], [3, 3, 0, 4])
    assert not D.coalesce().has_duplicate()
    assert [a.tolist() for a in D.csr()] == [[0, 3, 5], [1, 1, 2, 1, 2], [1, 2, 3, 0, 4]]
    assert (D @ torch.ones(3)).tolist() == D.sum(1).tolist() == [6, 4]
    assert D.smax(1).tolist() == [3, 4]
    assert D.smean(0).tolist() == [0, 1, 3.5]
    assert D.sprod(1).tolist() == [6, 0]
    order = [1, 0, 0, 0, 1], [1, 1, 1, 2, 2]
    shows(D.softmax(1), *order, [0.0180, 0.0900, 0.2447, 0.6652, 0.9820])
    shows(dglsp.sddmm(D, torch.ones(2, 2), torch.ones(2, 3)), *order, [0, 2, 4, 6, 8])
    shows(D**2, *order, [0, 1, 4, 9, 16])
    shows(D.double(), *order, [0, 1, 2, 3, 4])
    shows(D.T.T, *order, [0, 1, 2, 3, 4])
    shows(copy.deepcopy(D), *order, [0, 1, 2, 3, 4])
    shows(dglsp.from_torch_sparse(dglsp.to_torch_sparse_coo(D)), *order, [0, 1, 2, 3, 4])
    shows(D + D, [0, 0, 1, 1], [1, 2, 1, 2], [6, 6, 0, 8])
    shows(D.index_select(0, torch.tensor([1, 0])), [0, 0, 1, 1, 1], [1, 2, 1, 1, 2], [0, 4, 1, 2, 3])
    shows(D.range_select(1, slice(2, 3)), [0, 1], [0, 0], [3, 4])
    rest, columns = D.compact(1)
    shows(rest, [1, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 1, 2, 3, 4])
    assert columns.tolist() == [1, 2]
    with pytest.raises(ls.ShapeError, match="twice"):
        D / D


def test_vectors_as_values():
    H, val = dglsp.val_like(made(), VECTORS), VECTORS
    assert H.nnz == 4
    assert H.val is val
    assert H.sum(1).tolist() == [[8, 10], [4, 5], [0, 1]]
    assert H.sum().tolist() == [12, 16]
    assert H.smean(0).tolist() == [[3, 4], [4, 5], [2, 3]]
    assert H.smax(1).tolist() == [[6, 7], [4, 5], [0, 1]]
    shows(H.T, COL.tolist(), ROW.tolist(), VECTORS.tolist())
    shows(H + H, [0, 0, 1, 2], [0, 2, 1, 0], [[12, 14], [4, 6], [8, 10], [0, 2]])
    X = torch.randn(3, 2, 2)
    for product in (H @ X, dglsp.matmul(H, X), dglsp.spmm(H, X), dglsp.bspmm(H, X)):
        assert type(product) is torch.Tensor
        torch.testing.assert_close(product, torch.einsum("lmk,mnk->lnk", H.to_dense(), X))
    for refused in (lambda: H @ torch.ones(3, 2), lambda: H @ torch.ones(2, 2, 2), lambda: H @ H, lambda: H + made()):
        with pytest.raises(ls.ShapeError):
            refused()
    square = dglsp.val_like(made(), torch.ones(4, 3))
    with pytest.raises(ls.ShapeError, match="differ in shape"):
        square + made()
    with pytest.raises(ls.ShapeError, match="no vectors"):
        square @ square
    assert square.softmax(-1).val.tolist() == square.softmax(1).val.tolist()


def test_reductions_count_what_is_stored_only():
    A = dglsp.spmatrix(torch.tensor([[0, 0, 2], [1, 2, 0]]), torch.tensor([-1.0, -2.0, -3.0]), (3, 3))
    assert A.smax(1).tolist() == [-1, 0, -3]
    assert A.smin(0).tolist() == [-3, -1, -2]
    assert A.sprod(1).tolist() == [2, 0, -3]
    small = dglsp.val_like(A, torch.tensor([255, 254, 253], dtype=torch.uint8))
    assert small.sum().item() == 762  # in int64, as torch's sums
    assert small.sum(1).dtype == small.smax().dtype == torch.uint8
    empty = dglsp.spmatrix(torch.empty(2, 0, dtype=torch.int64), shape=(2, 3))
    assert empty.smax(1).tolist() == empty.sprod(1).tolist() == [0, 0]
    assert empty.sprod().item() == 1
    assert empty.smean().isnan()
    with pytest.raises(ls.ShapeError, match="no entries"):
        empty.smax()
    with pytest.raises(ls.ShapeError, match="dim is 2"):
        A.softmax(2)


def test_inverses_and_diagonals():
    D = dglsp.diag(torch.tensor([2.0, 4.0]))
    assert D.inv().val.tolist() == dglsp.inv(D).val.tolist() == [0.5, 0.25]
    assert (D**-0.5).to_dense()[0, 1] == 0
    assert D.is_diag()
    assert not made().is_diag()
    assert dglsp.identity((2, 3), device="cpu").is_diag()
    for wrong in (made(), dglsp.identity((2, 3)), dglsp.identity((2, 2), d=2)):
        with pytest.raises(ls.ShapeError, match="inv"):
            dglsp.inv(wrong)
    for val, shape in ((torch.ones(3), (2, 2)), (torch.ones(2), (3, 4)), (torch.ones(2, 2, 2), (2, 2))):
        with pytest.raises(ls.ShapeError, match="diag"):
            dglsp.diag(val, shape)


def test_assignment_makes_a_new_matrix():
    A = B = made()
    A += A
    A *= 2
    A @= dglsp.identity((3, 3))
    assert B.val.tolist() == [1, 2, 3, 4]
    assert A.val.tolist() == [16, 8, 12, 4]


WRONG: dict[str, tuple[Any, type[Exception]]] = {
    "a sparse matrix for a dense": (lambda A: dglsp.spmm(A, A), ls.DtypeError),
    "a dense matrix for a sparse": (lambda A: dglsp.spspmm(A, torch.ones(3, 3)), ls.DtypeError),
    "two dense matrices": (lambda _: dglsp.spmm(torch.ones(3, 3), torch.ones(3, 3)), ls.DtypeError),
    "a number for values": (lambda A: dglsp.val_like(A, 2.0), ls.DtypeError),
    "no tensors": (lambda A: dglsp.spmatrix((ROW, COL), VAL), ls.DtypeError),
    "one row of indices": (lambda A: dglsp.spmatrix(ROW, VAL), ls.ShapeError),
    "few columns": (lambda A: dglsp.from_coo(ROW, COL[:2]), ls.ShapeError),
    "values of three dimensions": (lambda A: dglsp.val_like(A, torch.ones(4, 1, 1)), ls.ShapeError),
    "positions of another shape": (
        lambda A: dglsp.from_csc(torch.tensor([0, 1]), ROW[:1], shape=(3, 3)),
        ls.ShapeError,
    ),
    "positions past the end": (lambda A: dglsp.from_csr(torch.tensor([0, 9]), COL), ls.ShapeError),
    "positions that fall": (lambda A: dglsp.from_csr(torch.tensor([0, 3, 2, 4]), COL), ls.FormatError),
    "a dense tensor of torch": (lambda A: dglsp.from_torch_sparse(torch.eye(2)), ls.FormatError),
    "another shape": (lambda A: A + dglsp.spmatrix(torch.zeros(2, 1, dtype=torch.int64), shape=(1, 3)), ls.ShapeError),
    "a number divided by a matrix": (lambda A: dglsp.div(2, A), ls.DtypeError),
    "a dimension": (lambda A: A.index_select(2, ROW), ls.ShapeError),
    "a list": (lambda A: A.index_select(0, [1]), ls.DtypeError),
    "a row": (lambda A: A.index_select(0, torch.tensor([7])), ls.IndexBoundsError),
    "a step": (lambda A: A.range_select(0, slice(0, 3, 2)), ls.UnsupportedError),
    "no slice": (lambda A: A.range_select(0, 2), ls.DtypeError),
    "a long slice": (lambda A: A.range_select(0, slice(0, 9)), ls.IndexBoundsError),
    "a row to sample": (lambda A: A.sample(0, 2, torch.tensor([3])), ls.IndexBoundsError),
    "weights below zero": (lambda A: (-A).sample(0, 2, bias=True), ls.UnsupportedError),
    "weights of vectors": (lambda A: dglsp.val_like(A, VECTORS).sample(0, 2, bias=True), ls.ShapeError),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_dgl_refuses_is_refused(name):
    function, error = WRONG[name]
    with pytest.raises(error):
        function(made())


def test_a_matrix_is_shown_as_in_dgl():
    assert repr(dglsp.val_like(made(), VECTORS)) == (
        "SparseMatrix(indices=tensor([[2, 0, 1, 0],\n"
        "                             [0, 2, 1, 0]]),\n"
        "             values=tensor([[0., 1.],\n"
        "                            [2., 3.],\n"
        "                            [4., 5.],\n"
        "                            [6., 7.]]),\n"
        "             shape=(3, 3), nnz=4, val_size=(2,))"
    )


def test_layers_and_functions_of_the_package_take_the_entries_sorted():
    A = made()
    assert isinstance(A, ls.SparseTensor)
    assert type(A.to_format("csr")) is ls.SparseTensor
    assert torch.softmax(A, 1).values().tolist() == A.softmax().coalesce().val.tolist()
    layer, x = ls.nn.GCNConv(2, 2), torch.randn(3, 2)
    torch.testing.assert_close(layer(x, A), layer(x, ls.from_coo(torch.stack([ROW, COL]), VAL, (3, 3))))
    for attention in (lambda M: dglsp.sddmm(M, x, x.T).softmax() @ x, lambda M: (M @ M.T).smax(1)):
        torch.testing.assert_close(ls.compile(attention)(A), attention(A))


def test_tensors_that_are_given_stay_what_they_are():
    P, none = ls.tensor(torch.eye(3)), ls.from_coo([[], []], torch.empty(0), (3, 3))
    for function in (dglsp.add, dglsp.sub, dglsp.mul, dglsp.spspmm, lambda A, _: A, lambda A, _: dglsp.mul(A, 1)):
        for first, second in ((P, none), (none, P), (P, P)):
            function(first, second)
            assert type(first) is type(second) is ls.SparseTensor
    A = made()
    for function in (A.coalesce, A.clone, A.detach, A.contiguous, lambda: A + none, lambda: A.to_format("csr")):
        function()
        shows(A, ROW.tolist(), COL.tolist(), VAL.tolist())


def test_gradients_of_torchs_layouts():
    val = VAL.clone().requires_grad_()
    for layout in ("coo", "csr", "csc"):
        converted = getattr(dglsp, f"to_torch_sparse_{layout}")(made(val))
        assert converted.requires_grad
        leaf = converted.detach()
        leaf = (leaf.coalesce() if layout == "coo" else leaf).requires_grad_()
        assert dglsp.from_torch_sparse(leaf).val.requires_grad


def test_torch_compile_takes_sorted_matrices():
    x = torch.randn(3, 2)
    for function in (
        lambda M: M.softmax(1) @ x,
        lambda M: dglsp.softmax(dglsp.val_like(M, M.val * 2)) @ x,
        lambda M: (-M * 2).values() + dglsp.div(M, M).values(),
        lambda M: M.sum(1) + dglsp.smax(M, 1),
        lambda M: dglsp.bspmm(dglsp.bsddmm(M, x[..., None], x.T[..., None]), x[..., None]),
        lambda M: dglsp.spmm(dglsp.add(M, dglsp.sddmm(M, x, x.T)), x),
    ):
        torch._dynamo.reset()
        for A in (made().coalesce(), made().to_format("csr")):
            found = torch.compile(function, backend="aot_eager", fullgraph=True)(A)
            torch.testing.assert_close(found, function(A))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="coalesce"):
        torch.compile(lambda M: M @ x, backend="aot_eager")(made())
