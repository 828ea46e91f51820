"""RGCNConv: a convolution with a weight for each relation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

import libsparse as ls

from . import adjacency
from .glorot import glorot_


class RGCNConv(nn.Module):
    """The sum over relations of `aggregate_r(x of neighbours) W_r`, and `x W_0 + b`.

    Schlichtkrull et al., "Modeling Relational Data with Graph Convolutional Networks", 2018, equation 2. PyG's
    arguments, defaults and state dict. Only the entries of A count.

    Args:
        in_channels: Columns of `x`, of senders and receivers where these are two; the number of nodes where there is
            no `x`.
        out_channels: Columns of the result.
        num_relations: How many relations there are.
        num_bases: Each weight is a sum of so many matrices (equation 3).
        num_blocks: Each weight is a diagonal of so many blocks (equation 4).
        aggr: "mean", "add", "max" or "min", of the neighbours of each relation.
        root_weight: Whether there is `W_0`.
        bias: Whether there is one.

    Example:
        >>> graphs = [ls.random((5, 5), 0.3) for _ in range(2)]
        >>> conv = ls.nn.RGCNConv(4, 3, num_relations=2)
        >>> conv(torch.ones(5, 4), torch.stack(graphs)).shape
        torch.Size([5, 3])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        num_relations: int,
        num_bases: int | None = None,
        num_blocks: int | None = None,
        aggr: str = "mean",
        root_weight: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_bases is not None and num_blocks is not None:
            raise ValueError("RGCNConv: give num_bases or num_blocks, not both")
        self.in_channels, self.out_channels, self.num_relations = in_channels, out_channels, num_relations
        self.num_bases, self.num_blocks = num_bases, num_blocks
        self.reduce = adjacency.reduction("RGCNConv", aggr)
        senders, receivers = in_channels if isinstance(in_channels, tuple) else (in_channels, in_channels)
        shape: tuple[int, ...] = (num_bases or num_relations, senders, out_channels)
        if num_blocks is not None:
            if senders % num_blocks or out_channels % num_blocks:
                raise ls.ShapeError(f"RGCNConv: num_blocks={num_blocks} does not divide {senders} and {out_channels}")
            shape = (num_relations, num_blocks, senders // num_blocks, out_channels // num_blocks)
        self.weight = nn.Parameter(torch.empty(shape, device="cpu"))
        self.comp = nn.Parameter(torch.empty(num_relations, num_bases, device="cpu")) if num_bases else None
        self.root = nn.Parameter(torch.empty(receivers, out_channels, device="cpu")) if root_weight else None
        self.bias = nn.Parameter(torch.zeros(out_channels, device="cpu")) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        for parameter in (self.weight, self.comp, self.root):
            glorot_(parameter)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Any, A: Any, edge_type: Tensor | None = None) -> Tensor:
        """Features and a graph to (n, out_channels).

        Args:
            x: (n, in_channels); or node numbers (n,) or None, for a weight that has a row for each node; or a pair of
                these, of senders (m, ...) and receivers (n, ...).
            A: One matrix (n, m) a relation, as a SparseTensor (num_relations, n, m) or a sequence; or one matrix whose
                entries have their relation in `edge_type` or, as integers, in their values.
            edge_type: (nnz,), the relation of each entry in storage order.
        """
        senders, receivers = x if isinstance(x, (tuple, list)) else (x, x)
        if senders is None:
            senders = torch.arange(self.weight.shape[-2] * (self.num_blocks or 1), device="cpu")
        receivers = senders if receivers is None else receivers
        out = None
        for relation, graph in enumerate(self._graphs(A, edge_type)):
            graph = adjacency.receiving("RGCNConv", graph, senders.shape[0], receivers.shape[0]).with_values(None)
            part = self._relation(graph, senders, relation)
            out = part if out is None else out + part
        if out is None:
            out = self.weight.new_zeros(receivers.shape[0], self.out_channels)
        if self.root is not None:
            out = out + (receivers @ self.root if receivers.is_floating_point() else self.root[receivers])
        return out if self.bias is None else out + self.bias

    def _relation(self, graph: Any, senders: Tensor, relation: int) -> Tensor:
        """What the neighbours of one relation contribute."""
        if self.num_blocks is not None:
            if not senders.is_floating_point():
                raise ls.DtypeError("RGCNConv: num_blocks= needs features; x has numbers of nodes")
            summed = adjacency.aggregate(graph, senders, self.reduce)
            return torch.einsum(
                "nbi,bio->nbo", summed.unflatten(-1, (self.num_blocks, -1)), self.weight[relation]
            ).flatten(1)
        weight = self.weight[relation] if self.comp is None else torch.tensordot(self.comp[relation], self.weight, 1)
        if not senders.is_floating_point():
            return adjacency.aggregate(graph, weight[senders], self.reduce)  # type: ignore[no-any-return]
        if self.reduce in adjacency.EXTREMA or adjacency.first(senders, self.out_channels, self.reduce):
            product: Tensor = adjacency.aggregate(graph, senders, self.reduce) @ weight
            return product
        return adjacency.aggregate(graph, senders @ weight, self.reduce)  # type: ignore[no-any-return]

    def _graphs(self, A: Any, edge_type: Tensor | None) -> list[Any]:
        """The matrix of each relation."""
        count = self.num_relations
        if isinstance(A, Sequence):
            graphs = list(A)
        elif isinstance(A, ls.SparseTensor) and A.ndim == 3:
            graphs = list(A.pattern.derive(("matrices",), lambda: _parts(A.indices(), A.shape[1:], A.shape[0])))
        elif isinstance(A, ls.SparseTensor) and A.ndim == 2:
            kind = A.values() if edge_type is None else edge_type
            if kind.is_floating_point() or kind.dtype is torch.bool or kind.shape != (A.nnz,):
                raise ls.DtypeError(
                    f"RGCNConv: the relation of each of the {A.nnz} entries of A is expected as an integer, in "
                    f"edge_type or the values of A; found {tuple(kind.shape)} of {kind.dtype}"
                )
            if kind.numel() and not (int(kind.min()) >= 0 and int(kind.max()) < count):
                raise ls.IndexBoundsError(
                    f"RGCNConv: relations are from {kind.min()} to {kind.max()}; expected 0 to {count - 1}"
                )
            graphs = _parts(torch.cat([kind[None].long(), A.indices()]), A.shape, count)
        else:
            raise ls.DtypeError(
                f"RGCNConv: A is a {type(A).__name__}; expected an ls.SparseTensor of 2 or 3 dimensions"
            )
        if len(graphs) != count:
            raise ls.ShapeError(f"RGCNConv: A has {len(graphs)} relations, the layer {count}")
        return graphs


def _parts(indices: Tensor, shape: Any, count: int) -> list[Any]:
    """The matrices of the relations, of coordinates (3, nnz) whose first is the relation."""
    kind = indices[0]
    return [ls.from_coo(indices[1:, kind == number], None, tuple(shape)) for number in range(count)]
