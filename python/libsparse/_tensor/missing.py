"""Names that a SparseTensor, a module or a torch function lacks: errors that suggest close ones."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from libsparse._lang.errors import MissingAttributeError

from . import dispatch_table

_ELSEWHERE = {
    **dict.fromkeys(("toarray", "todense"), "A.to_dense()"),
    "asformat": 'A.to_format("csr")',
    **dict.fromkeys(("tolil", "todok"), "A.to_scipy().{name}()"),
    **dict.fromkeys(("astype", "asfptype"), "A.to(dtype)"),
    "copy": "A.clone()",
    "getrow": "A[i]",
    "getcol": "A[:, i]",
    "power": "A ** n",
    "setdiag": "A.set_diag(d)",
    "get_diag": "A.diagonal()",
    "remove_diag": "A.triu(1) + A.tril(-1)",
    "getnnz": "A.nnz or, for each column, torch.count_nonzero(A, 0)",
    "rowcount": "torch.count_nonzero(A, 1)",
    "colcount": "torch.count_nonzero(A, 0)",
    "eliminate_zeros": "A.sparse_mask(ls.from_mask(A != 0))",
    "sum_duplicates": "A.coalesce()",
    **dict.fromkeys(("indptr", "rowptr", "crow"), "A.crow_indices() of a tensor in format csr"),
    **dict.fromkeys(("colptr", "ccol"), "A.ccol_indices() of a tensor in format csc"),
    **dict.fromkeys(("sparse_sizes", "sizes"), "A.shape"),
    "sparse_size": "A.size(0)",
    "sparse_reshape": "A.reshape(n, m)",
    **dict.fromkeys(("weight", "value"), "A.val"),
    **dict.fromkeys(("set_value", "set_value_"), "A.with_values(v)"),
    "has_value": "A.values(), which are true for all entries of a tensor that is only a pattern",
    "mul_nnz": "A.with_values(A.values() * v)",
    "add_nnz": "A.with_values(A.values() + v)",
    **dict.fromkeys(("spmm", "spmv"), "A @ x or, with another reduction, ls.matmul(A, x, reduce='mean')"),
    "spspmm": "A @ B",
    "is_symmetric": "torch.equal(A, A.T)",
    "to_symmetric": "torch.maximum(A, A.T)",
    "to_torch_sparse_coo_tensor": "A.to_sparse_coo()",
    "to_torch_sparse_csr_tensor": "A.to_sparse_csr()",
    "to_torch_sparse_csc_tensor": "A.to_sparse_csc()",
    "saint_subgraph": "A[nodes][:, nodes]",
    "mul_nnz_": "A.values().mul_(v)",
    "add_nnz_": "A.values().add_(v)",
    "fill_value_": "A.values().fill_(v)",
    "masked_select_nnz": "A.sparse_mask(ls.from_mask(A.with_values(mask)))",
    "sample_adj": "ls.sampling.neighbors(A, seeds, [n])",
    "random_walk": "A.col_indices()[pos[i]:pos[i + 1]], the neighbours of i, with pos = A.crow_indices()",
    "reverse_cuthill_mckee": "scipy.sparse.csgraph.reverse_cuthill_mckee(A.to_scipy())",
    "spadd": "A + B",
    **dict.fromkeys(("reduce", "smax", "smean", "smin", "sprod"), "A.values() or ls.dglsp.{name}(A, 1)"),
    "compact": "ls.dglsp.compact(A, 0)",
    "range_select": "A[start:end] or A[:, start:end]",
    "sample": "ls.sampling.neighbors(A, seeds, fanouts)",
    "has_duplicate": "A as it is: values of coordinates that come twice have been added",
}
"""What there is in place of attributes that tensors of SciPy, DGL and torch_sparse have; `{name}` is that name."""

_PLACES = "torch.stack([index, torch.arange(len(index))])"
_ITEMS = "torch.stack([torch.arange(len(index)), index])"
_SCATTER = f"matmul(ls.from_coo({_PLACES}, None, (n, len(index))), src, reduce='{{}}')"
_FUNCTIONS_ELSEWHERE = {
    **dict.fromkeys(("from_dense", "from_numpy", "to_sparse", "array", "as_tensor", "from_array"), "tensor(...)"),
    **dict.fromkeys(
        ("sparse_coo_tensor", "coo_matrix", "coo_array", "spmatrix", "from_ijv", "coo", "coo_tensor"), "from_coo(...)"
    ),
    **dict.fromkeys(
        ("sparse_csr_tensor", "csr_matrix", "csr_array", "csr", "csr_tensor"), "from_csr(...) or from_scipy(...)"
    ),
    **dict.fromkeys(("sparse_csc_tensor", "csc_matrix", "csc_array", "csc"), "from_csc(...) or from_scipy(...)"),
    **dict.fromkeys(("sparse_bsr_tensor", "bsr_matrix", "bsr_array"), "from_bsr(...)"),
    **dict.fromkeys(("load", "load_npz", "mmread", "loadtxt"), "read(path)"),
    **dict.fromkeys(("save", "save_npz", "mmwrite"), "write(path, A), or torch.save(A, path)"),
    **dict.fromkeys(("identity", "speye"), "eye(n)"),
    **dict.fromkeys(("rand", "randn", "sprand"), "random(shape, density)"),
    **dict.fromkeys(("zeros", "empty"), "from_coo([[], []], [], shape), or torch.zeros_like(A)"),
    **dict.fromkeys(("from_networkx", "from_sparse"), "tensor(...)"),
    **dict.fromkeys(("dot", "bmm"), "matmul(a, b)"),
    **dict.fromkeys(("set_num_threads", "config", "settings"), "options(...)"),
    "spspmm": "from_coo(index, value, (m, k)) @ ls.from_coo(other_index, other_value, (k, n))",
    "spadd": "from_coo(index, value, (m, n)) + ls.from_coo(other_index, other_value, (m, n))",
    "coalesce": "from_coo(index, value, (m, n)), and the indices() and values() of that",
    **dict.fromkeys(("scatter", "segment_coo"), _SCATTER.format("sum")),
    **{f"scatter_{reduce}": _SCATTER.format(reduce) for reduce in ("sum", "mean", "max", "min")},
    "scatter_add": _SCATTER.format("sum"),
    **{f"scatter_{f}": f"from_coo({_ITEMS}, src, (len(index), n)).{f}(0).values()" for f in ("softmax", "log_softmax")},
    "segment_csr": "matmul(ls.from_csr(ptr, torch.arange(n), None, (len(ptr) - 1, n)), src, reduce='sum')",
    "gather_csr": "from_csr(ptr, torch.arange(n), None, (len(ptr) - 1, n)).T @ src",
    **dict.fromkeys(("knn", "knn_graph"), "from_topk(indices, values, n) of torch.cdist(x, x).topk(k, largest=False)"),
    **dict.fromkeys(("radius", "radius_graph"), "from_mask(torch.cdist(x, x) < r)"),
    **dict.fromkeys(("sample_adj", "neighbor_sample"), "sampling.neighbors(A, seeds, fanouts)"),
    **dict.fromkeys(("saint_subgraph", "subgraph"), "sampling.subgraph(A, nodes)"),
    **dict.fromkeys(("smean", "smax", "smin", "bspmm"), "dglsp.{name}(...)"),
}
"""What torch, SciPy, NumPy, DGL and PyG call what the package has by another name; `{name}` is that name."""

_FORMATS = frozenset(["coo", "csr", "csc", "dcsr", "dcsc", "csf", "bsr", "bsc", "ell", "sell", "dia"])


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known names that are close to a name, as half a sentence; empty where there are none."""
    close = difflib.get_close_matches(name, [k for k in known if not k.startswith("_")], n=3, cutoff=0.66)
    return f"did you mean {' or '.join(close)}?" if close else ""


def function_suggestion(name: str, known: Iterable[str]) -> str:
    """What a function of the package may be called that has another name elsewhere, as half a sentence."""
    other = _FUNCTIONS_ELSEWHERE.get(name)
    dispatch_table.load()
    if other is None and getattr(torch, name, None) in dispatch_table.handlers:
        return f"torch.{name} takes SparseTensors"
    return f"use ls.{other.replace('{name}', name)}" if other else suggestion(name, known)


class _Fallback:
    """A method `__getattr__` that torch.compile doesn't see.

    torch's compiler reads attributes of a tensor as constants unless its class has a true `__getattr__`.
    """

    def __init__(self, method: Callable[[Any, str], Any]) -> None:
        self._method = method

    def __bool__(self) -> bool:
        return False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return functools.partial(self._method, instance)


def _missing(tensor: Any, name: str) -> Any:
    """Raises the error for a name that is found nowhere; an AttributeError, so `hasattr` and defaults work."""
    message = f"an ls.SparseTensor has no attribute {name!r}"
    if name.startswith("_") or hasattr(type(tensor), name):  # torch probes for many of its own
        raise MissingAttributeError(message)
    pattern = tensor.__dict__.get("_pattern")
    facts = f" (shape {tuple(pattern.shape)}, format {pattern.format})" if pattern is not None else ""
    raise MissingAttributeError(f"{message}{facts}; {_hint(tensor.__class__, name)}")


@functools.lru_cache(maxsize=256)
def _hint(kind: Hashable, name: str) -> str:
    """What to use in place of a name that a class of sparse tensors doesn't have.

    Libraries probe every tensor for names of their own, and to compare one with all others takes 1 ms.
    """
    other = _ELSEWHERE.get(name, "").format(name=name) or _conversion(name)
    return f"use {other}" if other else suggestion(name, _served(kind)) or "dir(A) lists those that it has"


def _served(kind: Any) -> list[str]:
    """The attributes of a class of sparse tensors, without methods of torch's that refuse them."""
    known = {*dispatch_table.handlers, *dispatch_table.passed}
    found = {name: getattr(kind, name, None) for name in dir(kind)}
    own = {name: value for name, value in found.items() if value is not getattr(torch.Tensor, name, None)}
    return [name for name, value in found.items() if name in own or not callable(value) or value in known]


class NamedAttributes:
    """A missing attribute is an error that names the tensor and close attributes; mixed into `SparseTensor`."""

    if not TYPE_CHECKING:  # or every name would be one
        __getattr__ = _Fallback(_missing)


def _conversion(name: str) -> str:
    """The conversion that names such as `tocsr` and `to_coo` mean; empty for others."""
    format = name.removeprefix("to").removeprefix("_")
    if name == format or format not in _FORMATS:
        return ""
    return f'A.to_format("{format}(4,4)")' if format in ("bsr", "bsc") else f'A.to_format("{format}")'
