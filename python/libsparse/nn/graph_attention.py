"""Convolutions whose neighbours have weights by attention: GATConv, GATv2Conv.

Scores are one tensor (targets, sources, heads) in the format `dsd`: rows, their entries, and for each entry all heads.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls

from . import adjacency
from .edges import Edges
from .glorot import glorot_, linear


class _Attention(nn.Module):
    """What the two layers share: arguments, self loops, the softmax, and what follows the sum."""

    in_channels: int | tuple[int, int]
    out_channels: int
    heads: int
    concat: bool
    negative_slope: float
    dropout: float
    add_self_loops: bool
    lin_edge: Any  # a layer, or None

    def _begin(self, arguments: dict[str, Any]) -> tuple[int, int]:
        """Takes the arguments that both have; returns the columns of senders and receivers."""
        for name in ("in_channels", "out_channels", "heads", "concat", "negative_slope", "dropout", "add_self_loops"):
            setattr(self, name, arguments[name])
        self.edge_dim, self.fill_value, self.residual = (arguments[n] for n in ("edge_dim", "fill_value", "residual"))
        return self.in_channels if isinstance(self.in_channels, tuple) else (self.in_channels,) * 2

    def _end(self, receivers: int, bias: bool) -> None:
        """Makes what both have, after the rest: parameters are in PyG's order, by which optimizers save state."""
        total, wide = self.out_channels * (self.heads if self.concat else 1), self.heads * self.out_channels
        self.lin_edge = None if self.edge_dim is None else linear(self.edge_dim, wide, bias=False, glorot=True)
        self.res = linear(receivers, total, bias=False, glorot=True) if self.residual else None
        self.bias = nn.Parameter(torch.zeros(total, device="cpu")) if bias else None

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        for layer in self.children():
            layer.reset_parameters()  # type: ignore[operator]
        for name, parameter in self.named_parameters(recurse=False):
            if name != "bias":
                glorot_(parameter)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def _graph(self, A: Any, senders: Tensor, receivers: Tensor | None, edge_attr: Tensor | None) -> Edges:
        """The edges that take part, with what is known of them."""
        name = type(self).__name__
        for x in (senders, receivers):
            if x is not None and x.ndim != 2:
                raise ls.ShapeError(f"{name}: x has shape {tuple(x.shape)}; expected (nodes, columns), of one graph")
        targets = A.shape[0] if receivers is None else receivers.shape[0]
        graph = adjacency.receiving(name, A, senders.shape[0], targets)
        if self.lin_edge is None:
            if edge_attr is not None:
                raise ls.DtypeError(f"{name}: edge_attr needs a layer with edge_dim=, its columns")
            return Edges.of(graph, self.add_self_loops)
        return Edges.described(name, A, edge_attr, self.edge_dim, self.add_self_loops, self.fill_value)

    def _finish(self, scores: Any, values: Tensor, receivers: Tensor | None, weights_too: bool | None) -> Any:
        """The weighted sums of (sources, heads, channels), as PyG returns them."""
        weights = torch.softmax(scores, 1)
        if self.training and self.dropout > 0:
            weights = F.dropout(weights, self.dropout)
        out = ls.einsum("ijh,jhc->ihc", weights, values, format="ddd")
        out = out.flatten(1) if self.concat else out.mean(1)
        if self.res is not None and receivers is not None:
            out = out + self.res(receivers)
        out = out if self.bias is None else out + self.bias
        return (out, weights) if weights_too else out

    def extra_repr(self) -> str:
        """Numbers of columns and heads."""
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


class GATConv(_Attention):
    """Sums of `W x` over neighbours, weighted by `softmax(leaky_relu(a_dst W x_i + a_src W x_j))`.

    Veličković et al., "Graph Attention Networks", 2018, equations 3 and 6. PyG's arguments, defaults and state dict.
    Only the entries of A count, but for a layer with `edge_dim`.

    Args:
        in_channels: Columns of `x`, of senders and receivers where these are two; -1 takes them from the first input.
        out_channels: Columns of the result for each head.
        heads: How many.
        concat: Whether heads stand side by side; else the result is their mean.
        negative_slope: Of leaky ReLU.
        dropout: Of the weights, in training.
        add_self_loops: Whether nodes are neighbours of themselves.
        edge_dim: Columns of `edge_attr`, if edges have any.
        fill_value: What self loops have there: a number, a tensor, or how those of the node's edges are reduced
            ("mean", "add", "max", "min").
        bias: Whether there is one.
        residual: Whether `W_r x` of the receivers is added.

    Example:
        >>> A = ls.random((5, 5), 0.4)
        >>> conv = ls.nn.GATConv(4, 8, heads=2)
        >>> out, weights = conv(torch.ones(5, 4), A, return_attention_weights=True)
        >>> out.shape, weights.shape, torch.allclose(weights.sum(1), torch.ones(5, 2))
        (torch.Size([5, 16]), torch.Size([5, 5, 2]), True)
    """

    lin: Any  # one layer, or the two that follow
    lin_src: Any
    lin_dst: Any

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | Tensor | str = "mean",
        bias: bool = True,
        residual: bool = False,
    ) -> None:
        super().__init__()
        senders, receivers = self._begin(locals())
        wide = heads * out_channels
        if isinstance(in_channels, tuple):
            self.lin = None
            self.lin_src, self.lin_dst = (linear(n, wide, bias=False, glorot=True) for n in (senders, receivers))
        else:
            self.lin = linear(senders, wide, bias=False, glorot=True)
            self.lin_src = self.lin_dst = None
        shape = (1, heads, out_channels)
        self.att_src, self.att_dst = (nn.Parameter(torch.empty(shape, device="cpu")) for _ in range(2))
        self.att_edge = None if edge_dim is None else nn.Parameter(torch.empty(shape, device="cpu"))
        for parameter in (self.att_src, self.att_dst, self.att_edge):
            glorot_(parameter)
        self._end(receivers, bias)

    def forward(
        self, x: Any, A: Any, edge_attr: Tensor | None = None, return_attention_weights: bool | None = None
    ) -> Any:
        """Features (n, in_channels), or a pair of them: of senders (m, ...) and of receivers (n, ...) or None.

        Args:
            x: See above.
            A: (n, n), or (n, m); rows receive.
            edge_attr: (nnz,) or (nnz, edge_dim), for the entries of `A` in storage order.
            return_attention_weights: Whether to return the weights, a SparseTensor (n, m, heads), too.
        """
        senders, receivers = x if isinstance(x, (tuple, list)) else (x, x)
        edges = self._graph(A, senders, receivers, edge_attr)
        shape, left, described = (-1, self.heads, self.out_channels), None, None
        sent = (self.lin or self.lin_src)(senders).view(shape)
        right = (sent * self.att_src).sum(-1)
        if receivers is not None:
            shared = self.lin is not None and receivers is senders
            received = sent if shared else (self.lin or self.lin_dst)(receivers).view(shape)
            left = (received * self.att_dst).sum(-1)
        if edges.attributes is not None:
            described = (self.lin_edge(edges.attributes).view(shape) * self.att_edge).sum(-1)
        scores = _scores(edges, left, right, described, self.negative_slope)
        return self._finish(scores, sent, receivers, return_attention_weights)


def _scores(edges: Edges, left: Tensor | None, right: Tensor, described: Tensor | None, slope: float) -> Any:
    """The scores of GAT: sums of numbers of both ends and of the edge, through leaky ReLU."""
    terms, operands = ["r(j,h)"], {"M": edges.graph, "r": right}
    if left is not None:
        terms.append("l(i,h)")
        operands["l"] = left
    if described is not None:
        operands["E"] = edges.tensor(described)
        text = f"e(i,j,h) = leaky_relu(E(i,j,h) + stored(M(i,j)) * ({' + '.join(terms)}), {slope!r})"
    else:
        text = f"e(i,j,h) = stored(M(i,j)) * leaky_relu({' + '.join(terms)}, {slope!r})"
    return ls.evaluate(text, **operands, format="dsd")


class GATv2Conv(_Attention):
    """Sums of `W_l x` over neighbours, weighted by `softmax(a leaky_relu(W_r x_i + W_l x_j))`.

    Brody, Alon and Yahav, "How Attentive are Graph Attention Networks?", 2022, equation 7. PyG's arguments, defaults
    and state dict: those of `GATConv`.

    Args:
        in_channels: As of `GATConv`.
        out_channels: As of `GATConv`.
        heads: As of `GATConv`.
        concat: As of `GATConv`.
        negative_slope: As of `GATConv`.
        dropout: As of `GATConv`.
        add_self_loops: As of `GATConv`.
        edge_dim: As of `GATConv`.
        fill_value: As of `GATConv`.
        bias: As of `GATConv`; `W_l` and `W_r` have one, too.
        share_weights: Whether `W_r` is `W_l`.
        residual: As of `GATConv`.

    Example:
        >>> conv = ls.nn.GATv2Conv((4, 3), 8, heads=2, add_self_loops=False)
        >>> conv((torch.ones(6, 4), torch.ones(5, 3)), ls.random((5, 6), 0.4)).shape
        torch.Size([5, 16])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | Tensor | str = "mean",
        bias: bool = True,
        share_weights: bool = False,
        residual: bool = False,
    ) -> None:
        super().__init__()
        senders, receivers = self._begin(locals())
        wide, self.share_weights = heads * out_channels, share_weights
        self.lin_l = linear(senders, wide, bias=bias, glorot=True)
        self.lin_r = self.lin_l if share_weights else linear(receivers, wide, bias=bias, glorot=True)
        self.att = nn.Parameter(torch.empty(1, heads, out_channels, device="cpu"))
        glorot_(self.att)
        self._end(receivers, bias)

    def forward(
        self, x: Any, A: Any, edge_attr: Tensor | None = None, return_attention_weights: bool | None = None
    ) -> Any:
        """As `GATConv`; receivers need features."""
        senders, receivers = x if isinstance(x, (tuple, list)) else (x, x)
        if receivers is None:
            raise ls.DtypeError("GATv2Conv: x is a pair without features of receivers; expected (senders, receivers)")
        edges, shape = self._graph(A, senders, receivers, edge_attr), (-1, self.heads, self.out_channels)
        sent = self.lin_l(senders).view(shape)
        shared = self.share_weights and senders is receivers
        received = sent if shared else self.lin_r(receivers).view(shape)
        operands = {"M": edges.graph, "a": self.att[0], "l": received, "r": sent}
        # The slope is a constant of the kernel: where it is read from memory, gcc branches on the sign of each sum.
        text = f"e(i,j,h) = stored(M(i,j)) * a(h,c) * leaky_relu(l(i,h,c) + r(j,h,c), {self.negative_slope!r})"
        if edges.attributes is not None:
            operands["E"] = edges.tensor(self.lin_edge(edges.attributes).view(shape))
            summed = "E(i,j,h,c) + stored(M(i,j)) * (l(i,h,c) + r(j,h,c))"
            text = f"e(i,j,h) = a(h,c) * leaky_relu({summed}, {self.negative_slope!r})"
        scores = ls.evaluate(text, **operands, format="dsd")
        return self._finish(scores, sent, receivers, return_attention_weights)
