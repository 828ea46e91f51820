"""The class of sparse matrices that PyG's layers are given, and what they call of torch_sparse; see `geometric`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric import typing as pyg  # type: ignore[import-untyped, unused-ignore]

import libsparse as ls

from . import adjacency
from .edges import Edges


class Adjacency(pyg.SparseTensor):
    """An ls.SparseTensor whose rows receive, with the methods of torch_sparse's class that PyG calls.

    Args:
        graph: In CSR.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    @property
    def storage(self) -> Adjacency:
        """What PyG asks for `value()` and `rowcount()`."""
        return self

    def value(self) -> Tensor | None:
        """The values, None where there are none."""
        return self.graph.values() if self.has_value() else None

    def rowcount(self) -> Tensor:
        """The number of entries of each row."""
        counts: Tensor = self.csr()[0].diff()
        return counts

    def has_value(self) -> bool:
        """Whether there are values."""
        return self.graph._held is not None

    def set_value(self, value: Tensor | None, layout: str | None = None) -> Adjacency:
        """The same entries with other values (nnz, ...), or none."""
        if value is not None and value.ndim > 1:
            return Adjacency(Edges(self.graph, None).tensor(value))
        return Adjacency(self.graph.with_values(value))

    def fill_value(self, fill_value: float, dtype: torch.dtype | None = None) -> Adjacency:
        """The same entries with one value."""
        return self.set_value(torch.full((self.nnz(),), fill_value, dtype=dtype, device="cpu"))

    def csr(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Positions, columns, values; in int64, since torch's reductions of segments are wrong with int32."""
        pattern = self.graph.pattern
        found: tuple[Tensor, ...] = pattern.derive(
            ("PyG's arrays",), lambda: (self.graph.pos(1).long(), *(c.clone() for c in self.graph.indices()))
        )
        return found[0], found[2], self.value()

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Rows, columns, values."""
        self.csr()
        _, row, col = self.graph.pattern.derive(("PyG's arrays",), tuple)
        return row, col, self.value()

    def size(self, dim: int) -> int:
        """An extent."""
        return int(self.graph.shape[dim])

    def sizes(self) -> list[int]:
        """The extents."""
        return list(self.graph.shape)

    sparse_sizes = sizes

    def sparse_size(self, dim: int) -> int:
        """An extent."""
        return self.size(dim)

    def nnz(self) -> int:
        """The number of entries."""
        return int(self.graph.nnz)

    def t(self) -> Adjacency:
        """The transpose."""
        return Adjacency(self.graph.T.to_format("csr"))

    def is_cuda(self) -> bool:
        """False."""
        return False

    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def dtype(self) -> torch.dtype:
        """Of the values."""
        return self.graph.dtype  # type: ignore[no-any-return]

    def requires_grad(self) -> bool:
        """True, so that `torch_geometric.utils.spmm` calls `torch_sparse.matmul`, and not torch with a copy."""
        return True

    def __matmul__(self, other: Tensor) -> Tensor:
        return _matmul(self, other)

    matmul = spmm = __matmul__


def _matmul(src: Adjacency, other: Tensor, reduce: str = "sum") -> Tensor:
    graph = adjacency.valued(src.graph, other.dtype) if src.has_value() else src.graph
    reduce = adjacency.reduction("torch_sparse.matmul", reduce)
    if other.ndim <= 2:
        product: Tensor = adjacency.aggregate(graph, other, reduce)
        return product
    batch = other.reshape(-1, *other.shape[-2:])  # a product for each of the leading dimensions, as in torch_sparse
    parts = [adjacency.aggregate(graph, each, reduce) for each in batch]
    return torch.stack(parts).reshape(*other.shape[:-2], -1, other.shape[-1])


def _sum(src: Adjacency, dim: int | None = None) -> Tensor:
    graph = src.graph if src.has_value() else src.graph.float()
    total: Tensor = graph.sum() if dim is None else graph.sum(dim)
    return total


def _mul(src: Adjacency, other: Tensor) -> Adjacency:
    return Adjacency(src.graph * other)


def _set_diag(src: Adjacency, values: Tensor | None = None, k: int = 0) -> Adjacency:
    if k != 0:
        raise ls.UnsupportedError(f"torch_sparse.set_diag: k is {k}; expected 0 for an ls.SparseTensor")
    if values is None and not src.has_value():
        return Adjacency(Edges.of(src.graph, True).graph)
    return Adjacency(src.graph.set_diag(1 if values is None else values).to_format("csr"))


def _fill_diag(src: Adjacency, fill_value: float, k: int = 0) -> Adjacency:
    """Self loops for `gcn_norm`: those that are stored keep their values, as those of edge lists do."""
    if k != 0:
        raise ls.UnsupportedError(f"torch_sparse.fill_diag: k is {k}; expected 0 for an ls.SparseTensor")
    return Adjacency(adjacency.with_loops(src.graph, fill_value))


def _masked_select_nnz(src: Adjacency, mask: Tensor, layout: str | None = None) -> Adjacency:
    values = src.value()
    some = None if values is None else values[mask]
    return Adjacency(ls.from_coo(src.graph.indices()[:, mask], some, tuple(src.graph.shape)))


FUNCTIONS = {
    "matmul": _matmul,
    "sum": _sum,
    "mul": _mul,
    "set_diag": _set_diag,
    "fill_diag": _fill_diag,
    "masked_select_nnz": _masked_select_nnz,
}
"""The functions of torch_sparse on this class, by name."""
