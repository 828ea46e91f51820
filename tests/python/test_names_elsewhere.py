"""Names that other libraries' sparse tensors have: what messages propose in their place is code that works."""

from __future__ import annotations

import re
from typing import Any

import pytest
import scipy.sparse.csgraph
import torch
from libsparse._tensor import dispatch_table
from libsparse._tensor.missing import _ELSEWHERE, function_suggestion

import libsparse as ls

# The code that a message has to propose, by names; each also with what it is to give, as a dense tensor or a number.
DENSE = torch.tensor([[4.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
VALUES = DENSE[DENSE != 0]
CODE: dict[str, tuple[tuple[str, Any], ...]] = {
    "toarray todense": (("A.to_dense()", DENSE),),
    "asformat tocsr to_csr": (('A.to_format("csr")', DENSE),),
    "tocsc": (('A.to_format("csc")', DENSE),),
    "tobsr": (('A.to_format("bsr(4,4)")', DENSE),),
    "tolil": (("A.to_scipy().tolil()", None),),
    "todok": (("A.to_scipy().todok()", None),),
    "astype asfptype": (("A.to(dtype)", DENSE.double()),),
    "copy": (("A.clone()", DENSE),),
    "getrow": (("A[i]", DENSE[1]),),
    "getcol": (("A[:, i]", DENSE[:, 1]),),
    "power": (("A ** n", DENSE**2),),
    "setdiag": (("A.set_diag(d)", DENSE - DENSE.diagonal().diag() + torch.arange(3.0).diag()),),
    "get_diag": (("A.diagonal()", DENSE.diagonal()),),
    "remove_diag": (("A.triu(1) + A.tril(-1)", DENSE - DENSE.diagonal().diag()),),
    "getnnz": (("A.nnz", 4), ("torch.count_nonzero(A, 0)", torch.tensor([2, 1, 1]))),
    "rowcount": (("torch.count_nonzero(A, 1)", torch.tensor([2, 1, 1])),),
    "colcount": (("torch.count_nonzero(A, 0)", torch.tensor([2, 1, 1])),),
    "eliminate_zeros": (("A.sparse_mask(ls.from_mask(A != 0))", DENSE),),
    "sum_duplicates": (("A.coalesce()", DENSE),),
    "indptr rowptr crow": (("A.crow_indices()", torch.tensor([0, 2, 3, 4])),),
    "colptr ccol": (('A.to_format("csc").ccol_indices()', torch.tensor([0, 2, 3, 4])),),
    "sparse_sizes sizes": (("A.shape", torch.Size((3, 3))),),
    "sparse_size": (("A.size(0)", 3),),
    "sparse_reshape": (("A.reshape(n, m)", None),),
    "weight value": (("A.val", VALUES),),
    "set_value set_value_": (("A.with_values(v)", None),),
    "has_value": (("A.values()", VALUES),),
    "mul_nnz": (("A.with_values(A.values() * v)", DENSE * 2),),
    "add_nnz": (("A.with_values(A.values() + v)", torch.where(DENSE != 0, DENSE + 2, 0)),),
    "spmm spmv": (("A @ x", DENSE @ torch.ones(3, 2)), ("ls.matmul(A, x, reduce='mean')", None)),
    "spspmm": (("A @ B", DENSE @ DENSE),),
    "is_symmetric": (("torch.equal(A, A.T)", False),),
    "to_symmetric": (("torch.maximum(A, A.T)", torch.maximum(DENSE, DENSE.T)),),
    "to_torch_sparse_coo_tensor": (("A.to_sparse_coo()", DENSE),),
    "to_torch_sparse_csr_tensor": (("A.to_sparse_csr()", DENSE),),
    "saint_subgraph": (("A[nodes][:, nodes]", DENSE[[0, 2]][:, [0, 2]]),),
    "reduce": (("A.values()", VALUES), ("ls.dglsp.reduce(A, 1)", DENSE.sum(1))),
    "smax": (("A.values()", VALUES), ("ls.dglsp.smax(A, 1)", DENSE.amax(1))),
    "smin": (("A.values()", VALUES), ("ls.dglsp.smin(A, 1)", torch.tensor([2.0, 1.0, 3.0]))),
    "smean": (("A.values()", VALUES), ("ls.dglsp.smean(A, 1)", torch.tensor([3.0, 1.0, 3.0]))),
    "sprod": (("A.values()", VALUES), ("ls.dglsp.sprod(A, 1)", torch.tensor([8.0, 1.0, 3.0]))),
    "compact": (("ls.dglsp.compact(A, 0)", None),),
    "range_select": (("A[start:end]", DENSE[1:3]), ("A[:, start:end]", DENSE[:, 1:3])),
    "sample": (("ls.sampling.neighbors(A, seeds, fanouts)", None),),
    "has_duplicate": (("A", DENSE),),
    "to_torch_sparse_csc_tensor": (("A.to_sparse_csc()", DENSE),),
    "mul_nnz_": (("A.values().mul_(v)", VALUES * 2),),
    "add_nnz_": (("A.values().add_(v)", VALUES + 2),),
    "fill_value_": (("A.values().fill_(v)", None),),
    "masked_select_nnz": (("A.sparse_mask(ls.from_mask(A.with_values(mask)))", DENSE * (DENSE > 1.5)),),
    "sample_adj": (("ls.sampling.neighbors(A, seeds, [n])", None),),
    "random_walk": (("A.col_indices()[pos[i]:pos[i + 1]]", torch.tensor([0])),),
    "reverse_cuthill_mckee": (("scipy.sparse.csgraph.reverse_cuthill_mckee(A.to_scipy())", None),),
    "spadd": (("A + B", DENSE * 2),),
}
GIVEN = torch.tensor([[1.0, 5.0], [2.0, 4.0], [3.0, 0.0]])  # rows 0, 0 and 2 of what they are gathered to
FUNCTIONS: dict[str, Any] = {
    "spspmm": DENSE @ DENSE,
    "spadd": DENSE + DENSE,
    "coalesce": DENSE,
    "scatter scatter_sum scatter_add segment_coo segment_csr": [[3.0, 9.0], [0.0, 0.0], [3.0, 0.0]],
    "scatter_mean": [[1.5, 4.5], [0.0, 0.0], [3.0, 0.0]],
    "scatter_max": [[2.0, 5.0], [0.0, 0.0], [3.0, 0.0]],
    "scatter_min": [[1.0, 4.0], [0.0, 0.0], [3.0, 0.0]],
    "gather_csr": [[1.0, 5.0], [1.0, 5.0], [3.0, 0.0]],
    "radius radius_graph": [[True, True, False], [True, True, False], [False, False, True]],
    "sample_adj neighbor_sample": None,
    "saint_subgraph subgraph": DENSE[[0, 2]][:, [0, 2]],
}


def names() -> dict[str, Any]:
    """What the code uses, as messages call it."""
    A = ls.from_coo([[0, 0, 1, 2], [0, 1, 0, 2]], VALUES.clone(), (3, 3))
    given = {"A": A, "B": A, "ls": ls, "torch": torch, "x": torch.ones(3, 2), "v": torch.full((4,), 2.0), "i": 1}
    given |= {"pos": A.crow_indices(), "mask": A.values() > 1.5, "scipy": scipy}
    given |= {"n": 2, "m": 2, "d": torch.arange(3.0), "dtype": torch.float64, "start": 1, "end": 3}
    return given | {"nodes": torch.tensor([0, 2]), "seeds": torch.tensor([0]), "fanouts": [2]}


@pytest.mark.parametrize("name", [name for group in CODE for name in group.split()])
def test_code_of_messages(name: str) -> None:
    code = next(code for group, code in CODE.items() if name in group.split())
    known = names()
    with pytest.raises(AttributeError) as caught:
        getattr(known["A"], name)
    hint = str(caught.value).partition("format csr); use ")[2]
    for text, wanted in code:
        told = "A.ccol_indices() of a tensor in format csc" if "ccol_indices" in text else text
        assert told in hint
        if name == "sparse_reshape":
            known |= {"n": 1, "m": 9}
        if name == "fill_value_":
            known["v"] = 2.0
        found = eval(text, known)
        if isinstance(wanted, torch.Tensor):
            dense = found.to_dense() if hasattr(found, "to_dense") else found
            assert dense.tolist() == wanted.tolist()
        elif wanted is not None:
            assert found == wanted


@pytest.mark.parametrize("name", [name for group in FUNCTIONS for name in group.split()])
def test_code_for_functions(name: str) -> None:
    wanted = next(wanted for group, wanted in FUNCTIONS.items() if name in group.split())
    known = names() | {"n": 3, "m": 3, "k": 3, "index": torch.tensor([0, 0, 2]), "src": GIVEN, "r": 2.0}
    known |= {"ptr": torch.tensor([0, 2, 2, 3])}
    known["x"] = torch.tensor([[0.0], [1.0], [5.0]])
    if name in ("spspmm", "spadd", "coalesce"):
        index, value = known["A"].indices(), known["A"].values()
        known |= {"index": index, "value": value, "other_index": index, "other_value": value}
    code = function_suggestion(name, ()).removeprefix("use ").partition(", and")[0]
    found = eval(code, known)
    if wanted is not None:
        assert (found.to_dense() if hasattr(found, "to_dense") else found).tolist() == torch.as_tensor(wanted).tolist()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_scattered_values(name: str) -> None:
    """Their order is that of the index."""
    index, src = torch.tensor([2, 0, 2, 0]), torch.tensor([3.0, 1.0, 2.0, 2.0])
    code = function_suggestion(f"scatter_{name}", ()).removeprefix("use ")
    found = eval(code, {"ls": ls, "torch": torch, "index": index, "src": src, "n": 3})
    for row in (0, 2):
        torch.testing.assert_close(found[index == row], getattr(src[index == row], name)(0))


def test_all_names_are_tested() -> None:
    assert set(_ELSEWHERE) <= {name for group in CODE for name in group.split()}


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
def test_explicit_zeros_and_diagonals_go(format: str) -> None:
    A = ls.from_coo([[0, 1, 2, 2], [1, 0, 2, 0]], [2.0, 1.0, 3.0, 0.0], (3, 4), format).requires_grad_()
    kept = A.sparse_mask(ls.from_mask(A != 0))
    assert (kept.nnz, kept.format) == (3, format)
    (gradient,) = torch.autograd.grad(kept.sum(), A.values())
    assert gradient.sum() == 3
    off = A.triu(1) + A.tril(-1)
    assert (off.nnz, off.format) == (3, format)
    assert torch.equal(off.to_dense(), A.to_dense() * (torch.eye(3, 4) == 0))


def test_reductions_of_matmul() -> None:
    known = names()
    for call in ("A.matmul(x, reduce='mean')", "A.matmul(x, 'mean')"):
        with pytest.raises(ls.DtypeError, match=re.escape("use ls.matmul(A, x, reduce='mean')")):
            eval(call, known)


def test_close_names_are_those_that_work() -> None:
    A = names()["A"]
    for name in ("sparse_resize", "nonzeros", "spam", "todok_", "to_sparse_coos"):
        with pytest.raises(AttributeError) as caught:
            getattr(A, name)
        close = re.findall(r"\w+", str(caught.value).partition("did you mean")[2].replace(" or ", " "))
        for other in close:
            function = getattr(torch.Tensor, other, None)
            own = getattr(ls.SparseTensor, other) is not function
            assert own or not callable(function) or function in {*dispatch_table.handlers, *dispatch_table.passed}
