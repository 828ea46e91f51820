"""Arrays of NumPy, SciPy, PyData's `sparse` and torch_sparse, NetworkX's graphs; none of these is imported here."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._runtime.problem import Operand
from libsparse._storage import checks, validate
from libsparse._storage.format import Format

from .assemble import assemble, compressed_pattern, pattern_from_levels, to_format

_OPERATORS = frozenset(
    [
        "__add__",
        "__sub__",
        "__mul__",
        "__matmul__",
        "__truediv__",
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
    ]
)


def is_foreign(value: Any) -> bool:
    """Whether a value is an array of NumPy, or a sparse array of SciPy or of PyData."""
    numpy, sparse = sys.modules.get("numpy"), sys.modules.get("scipy.sparse")
    if (numpy is not None and isinstance(value, numpy.ndarray)) or (sparse is not None and sparse.issparse(value)):
        return True
    return _is_pydata(value)


def _is_pydata(value: Any) -> bool:
    """Whether a value is one of PyData's arrays: these alone have a fill value and formats."""
    return hasattr(type(value), "asformat") and hasattr(value, "fill_value")  # proxies have any attribute


def is_graph(value: Any) -> bool:
    """Whether a value is a graph of NetworkX."""
    return all(hasattr(value, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def is_of_torch_sparse(value: Any) -> bool:
    """Whether a value is a matrix of torch_sparse, which PyTorch Geometric keeps in `adj_t`."""
    return all(hasattr(type(value), name) for name in ("sparse_sizes", "coo", "fill_cache_"))


def asked_by_operator() -> bool:
    """Whether it is an operator of SciPy that asks a tensor for an array.

    SciPy asks operands that it does not know for arrays, and leaves the operation to those that have none. In products
    with sparse arrays a SparseTensor has to be one of these: its array would have the memory of its dense shape.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _package(frame) in ("libsparse", "torch"):
        frame = frame.f_back
    while frame is not None and _package(frame) == "scipy":
        if frame.f_code.co_name in _OPERATORS:
            return True
        frame = frame.f_back
    return False


def no_array() -> Any:
    """What NumPy makes of objects that are no arrays."""
    return sys.modules["numpy"].empty((), object)


def _package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def is_number(value: Any) -> bool:
    """Whether a value is a number of NumPy that has a counterpart in Python; those of float64 are Python's, too."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic) and type(value.item()) in (bool, int, float, complex)


def read(value: Any, format: str | Format | None = None) -> Operand:
    """The operand of an array for which `is_foreign` holds.

    Args:
        value: A NumPy array, whose memory is shared and not written to, or a sparse array, which is copied.
        format: The format of a sparse one; by default its own, `coo` for those that libsparse lacks.
    """
    if _is_pydata(value):
        found = _from_pydata(value)
    elif not hasattr(value, "tocoo"):
        return Operand(None, validate.tensor("an array", value, written=False))
    elif value.format in ("csr", "csc", "bsr") and value.ndim == 2:
        found = _compressed(value)
    elif value.format == "dia":
        found = _diagonals(value, format)
    else:
        coo = value.tocoo()
        coords = [_indices(c) for c in getattr(coo, "coords", (coo.row, coo.col))]
        return assemble(coords, _values(coo.data.copy()), coo.shape, format or "coo")
    return found if format is None else to_format(found, format)


def read_graph(graph: Any, format: str | Format | None) -> Operand:
    """The adjacency matrix of a graph of NetworkX, rows and columns in the order of its nodes.

    Its entries are the edges' attribute `weight`, 1 where an edge has none; parallel edges are added up. A graph of
    which no edge has a weight, and which has no parallel edges, is a pattern without values.
    """
    number = {node: place for place, node in enumerate(graph.nodes)}
    edges = [(number[source], number[target], weight) for source, target, weight in graph.edges(data="weight")]
    if not graph.is_directed():
        edges += [(target, source, weight) for source, target, weight in edges if source != target]
    places = torch.tensor([edge[:2] for edge in edges], dtype=torch.int64, device="cpu").reshape(-1, 2).t()
    weights = [edge[2] for edge in edges]
    weighted = graph.is_multigraph() or any(weight is not None for weight in weights)
    values = [1 if weight is None else weight for weight in weights]
    shape = torch.Size((len(number), len(number)))
    return assemble(list(places), validate.tensor("weight", values) if weighted else None, shape, format)


def _compressed(array: Any) -> Operand:
    """SciPy's CSR, CSC and BSR."""
    (_, pos), (_, crd) = _levels(array)
    known = compressed_pattern(array.format, validate.shape(array.shape), pos, crd, check=True)
    if known is not None and len(array.data) == known.size:  # in order, without duplicates: SciPy need not sort a copy
        return Operand(known, _values(array.data.copy()))
    array = array.copy()
    array.sum_duplicates()
    format, member = array.format, {"csr": "row", "csc": "column", "bsr": "row of blocks"}[array.format]
    if format == "bsr":
        format = "bsr({},{})".format(*array.blocksize)
    called = checks.Names("indptr", "indices", member)
    levels = _levels(array)
    return Operand(pattern_from_levels(format, array.shape, *levels, called=called), _values(array.data).reshape(-1))


def _diagonals(array: Any, format: str | Format | None) -> Operand:
    """SciPy's DIA, which keeps an element in the column where it stands, and zeros as elements."""
    values, (rows, columns) = _values(array.data)[:, : array.shape[1]], array.shape
    column = torch.arange(values.shape[1], device="cpu").expand(values.shape)
    row = column - _indices(array.offsets)[:, None]
    inside = (row >= 0) & (row < rows)
    return assemble([row[inside], column[inside]], values[inside], (rows, columns), format or "dia")


def _from_pydata(array: Any) -> Operand:
    """An array of PyData, with its fill value: compressed matrices in their format, others as `coo`."""
    axes = getattr(array, "compressed_axes", None)
    fill = array.fill_value.item()
    if array.ndim == 2 and axes is not None and len(axes) == 1:
        format, member = ("csc", "column") if axes[0] else ("csr", "row")
        called = checks.Names("indptr", "indices", member)
        pattern = pattern_from_levels(format, array.shape, *_levels(array), called=called)
        return Operand(pattern, _values(array.data.copy()), fill)
    coo = array.asformat("coo")
    found = assemble([_indices(row) for row in coo.coords], _values(coo.data.copy()), coo.shape, "coo")
    return Operand(found.pattern, found.data, fill)


def _levels(array: Any) -> tuple[list[Tensor | None], list[Tensor | None]]:
    """Positions and coordinates of a compressed matrix."""
    pos, crd = (validate.tensor("indices", found, written=False) for found in (array.indptr, array.indices))
    return [None, pos], [None, crd]


def _indices(array: Any) -> Tensor:
    return validate.tensor("coords", array, written=False).to(torch.int64)


def _values(array: Any) -> Tensor:
    values = validate.tensor("data", array)
    dtypes.code(values.dtype)  # that it is one of those that tensors have
    return values
