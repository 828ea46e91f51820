"""Graphs as matrices whose rows receive: checks, self loops, the symmetric norm, and sums over neighbours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls
from libsparse._storage import ordinary

EXTREMA = ("max", "min")
_REDUCTIONS = {"add": "sum", "sum": "sum", "mean": "mean", "max": "max", "min": "min"}


def reduction(layer: str, aggr: Any) -> str:
    """The reduction that PyG's argument `aggr` names.

    Raises:
        UnsupportedError: It is none of sums, means and extrema.
    """
    if not isinstance(aggr, str) or aggr not in _REDUCTIONS:
        raise ls.UnsupportedError(f"{layer}: aggr is {aggr!r}; expected one of {', '.join(_REDUCTIONS)}")
    return _REDUCTIONS[aggr]


def nodes(x: Any) -> int:
    """How many nodes have features (nodes, columns), or (batch, nodes, columns)."""
    count: int = x.shape[-2] if x.ndim > 1 else x.shape[0]
    return count


def receiving(layer: str, A: Any, sources: int, targets: int, *, csr: bool = True) -> Any:
    """The graph in CSR, or as it is where only its sums are needed.

    Args:
        layer: The name of the layer, for messages.
        A: (targets, sources).
        sources: How many nodes send.
        targets: How many receive.
        csr: Whether it is brought to CSR; a product with a graph that comes once or twice takes less time without.

    Raises:
        DtypeError: `A` is no SparseTensor.
        ShapeError: `A` has another shape.
    """
    if not isinstance(A, ls.SparseTensor):
        hint = "ls.from_torch(A) of a matrix of torch's"
        if isinstance(A, Tensor) and A.layout is torch.strided:
            hint = "ls.from_edge_index(edge_index, num_nodes=n).T of an edge list"
        raise ls.DtypeError(
            f"{layer}: A is a {type(A).__name__}; expected an ls.SparseTensor whose rows receive: {hint}"
        )
    if A.ndim != 2 or tuple(A.shape) != (targets, sources):
        rows = A.shape[0]
        block = A.ndim == 2 and A.shape[1] == sources and rows < targets
        hint = f"; of a block whose first {rows} nodes receive, x is (x, x[:{rows}])" if block else ""
        raise ls.ShapeError(
            f"{layer}: A ({A._facts()}) has rows that receive and columns that send; expected shape "
            f"({targets}, {sources}), as there are {targets} receiving and {sources} sending nodes{hint}"
        )
    if A.fill_value != 0:
        raise ls.FormatError(
            f"{layer}: A ({A._facts()}) has fill_value {A.fill_value}, so that all nodes are neighbours"
        )
    return rows_of_entries(layer, A) if csr else _of_entries(layer, A)


def rows_of_entries(layer: str, A: Any) -> Any:
    """The graph in CSR.

    Raises:
        FormatError: It is stored in blocks, diagonals or whole rows: the zeros in these would be edges.
    """
    return _of_entries(layer, A).to_format("csr")


def _of_entries(layer: str, A: Any) -> Any:
    """The graph, which stores nothing but edges."""
    if A.format.pads:
        raise ls.FormatError(
            f"{layer}: A ({A._facts()}) stores blocks, diagonals or whole rows, and the zeros in these would be edges; "
            "expected csr, coo or the like, made of the edges alone"
        )
    return A


def aggregate(A: Any, x: Any, reduce: str) -> Any:
    """For each row, the sum (mean, maximum, minimum) of A[i, j] * x[j] over its entries; 0 where it has none."""
    if reduce == "mean" and A._held is None and x.dtype.is_floating_point and not torch.compiler.is_compiling():
        A = A if A.format == "csc" else A.to_format("csr")
        A, reduce = A.with_values(_shares(A, x.dtype)), "sum"
    return A @ x if reduce == "sum" else ls.matmul(A, x, reduce=reduce)


def _shares(A: Any, dtype: torch.dtype) -> Tensor:
    """One over the number of entries of the row of each, kept with the pattern, which is CSR or CSC."""

    def compute() -> Tensor:
        if A.format == "csr":
            counts: Tensor = A.pos(1).diff()
            return counts.to(dtype).reciprocal().repeat_interleave(counts)
        rows = A.crd(1)
        return torch.bincount(rows, minlength=A.shape[0]).to(dtype).reciprocal().index_select(0, rows)

    shares: Tensor = A.pattern.derive(("shares of rows", str(dtype)), compute)
    return shares


def first(x: Any, outputs: int, reduce: str) -> bool:
    """Whether neighbours had better be summed up before a linear layer with so many outputs than after it.

    Their sum costs as much as there are columns, once more in the backward pass where autograd follows `x`. Extrema are
    not the same before and after, and sums of sparse features are slower.
    """
    if isinstance(x, ls.SparseTensor) or reduce in EXTREMA:
        return False
    once_more = torch.is_grad_enabled() and not x.requires_grad
    return bool(x.shape[-1] <= outputs * (2 if once_more else 1))


def _diagonal(rows: int, columns: int) -> Any:
    """The pattern of the main diagonal."""
    count = min(rows, columns)
    ends = torch.arange(rows + 1, dtype=torch.int32, device="cpu").clamp(max=count)
    return ls.from_csr(ends, torch.arange(count, dtype=torch.int32, device="cpu"), None, (rows, columns)).pattern


_kept_diagonal = ordinary.kept(16)(_diagonal)


def loops(rows: int, columns: int, values: Tensor) -> Any:
    """A matrix of self loops with these values."""
    pattern = _diagonal if torch.compiler.is_compiling() else _kept_diagonal
    return ls.SparseTensor(pattern(rows, columns), values)


def with_loops(A: Any, fill: float) -> Any:
    """The graph, with self loops of a value at the nodes that have none."""

    def compute() -> Tensor:
        ones = torch.ones(count, dtype=A.dtype, device="cpu")
        # A product with the identity, whose pattern is there: to take the diagonal of a pattern is to make another one.
        stored = A.with_values(None).to(A.dtype)
        there: Tensor = ls.einsum("ij,ij->i", stored, loops(count, count, ones), format="dense")
        return fill - fill * there

    count = A.shape[0]
    kept = not torch.compiler.is_compiling()
    values = A.pattern.derive(("values of loops", str(A.dtype), fill), compute) if kept else compute()
    return A + loops(count, count, values)


def valued(A: Any, dtype: torch.dtype) -> Any:
    """The graph with its values in a dtype, ones where it is only a pattern."""
    return A if A.dtype is dtype else A.to(dtype)


def _with_ones(A: Any, dtype: torch.dtype) -> Any:
    """A graph without values, with self loops at the nodes that have none: ones wherever either has an entry."""
    count = A.shape[0]
    pattern = (A.to(dtype) + loops(count, count, torch.ones(count, dtype=dtype, device="cpu"))).pattern
    return ls.SparseTensor(pattern, torch.ones(pattern.nnz, dtype=dtype, device="cpu"))


def normalised(A: Any, dtype: torch.dtype, self_loops: bool, improved: bool = False) -> Any:
    """D^-1/2 (A + I) D^-1/2, where D sums up the rows of A + I.

    Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks", 2017, section 2. Self loops
    that are stored keep their values; rows of sum 0 give 0. Of a graph without values it is kept with the pattern, for
    all layers and steps.

    Args:
        A: (n, n).
        dtype: Of the result.
        self_loops: Whether I is added.
        improved: Whether it is 2 I.
    """
    fill = 2.0 if improved else 1.0
    if torch.compiler.is_compiling() or A._held is not None or A.pattern.traced:
        graph = valued(A, dtype)
        return _scaled(with_loops(graph, fill) if self_loops else graph)

    def compute() -> tuple[Any, Tensor]:
        graph = A.to(dtype)
        if self_loops:
            graph = with_loops(graph, fill) if improved else _with_ones(A, dtype)
        found = _scaled(graph)
        return found.pattern, found.values()

    return ls.SparseTensor(*A.pattern.derive(("symmetric norm", str(dtype), self_loops, improved), compute))


def _scaled(A: Any) -> Any:
    """D^-1/2 A D^-1/2, where D sums up the rows of A."""
    scale = ls.einsum("ij->i", A).pow(-0.5)
    scale = scale.masked_fill(scale == torch.inf, 0)
    return ls.evaluate("N(i,j) = A(i,j) * d(i) * d(j)", A=A, d=scale, format="csr")


class Kept:
    """The norm of the last graph, for the layers that PyG lets keep it; of another graph it is computed anew."""

    def __init__(self) -> None:
        self._known: tuple[Any, int, Any] | None = None

    def get(self, A: Any, compute: Any) -> Any:
        """What `compute()` gives for a graph, kept until there is another one or its values change."""
        if torch.compiler.is_compiling():  # the graph is an argument of what is compiled, and may be any
            return compute()
        if A._held is not None and ordinary.is_wrapped(A._held):  # a transform's own graph, which ends with it
            return compute()
        version = 0 if A._held is None else A._held._version
        known = self._known
        if known is not None and known[0] is A and known[1] == version:
            return known[2]
        with ordinary.tensors():
            found = compute()
        if not found.requires_grad:  # or the second backward pass would find the graph of the first freed
            self._known = A, version, found
        return found

    def clear(self) -> None:
        """Forgets it."""
        self._known = None

    def __deepcopy__(self, memo: Any) -> Kept:
        """A copy of a layer computes its own."""
        return Kept()

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        """Nor is it saved."""
        return Kept, ()
