"""Convolutions that sum up the neighbours of nodes: GCNConv, SAGEConv, GINConv, APPNP."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls

from . import adjacency
from .adjacency import aggregate, nodes, receiving
from .glorot import is_plain, linear


class GCNConv(nn.Module):
    """`D^-1/2 (A + I) D^-1/2 x W + b`, the graph convolution of Kipf and Welling.

    "Semi-Supervised Classification with Graph Convolutional Networks", 2017, equation 9. PyG's arguments, defaults and
    state dict. Rows of A receive: an edge list of PyG is `ls.from_edge_index(edge_index, edge_weight, num_nodes=n).T`.

    Args:
        in_channels: Columns of `x`; -1 takes them from the first input.
        out_channels: Columns of the result.
        improved: Whether self loops weigh 2.
        cached: Whether the norm of a graph is kept for the next call with the same tensor.
        add_self_loops: Whether there are self loops where `A` has none; by default with `normalize`.
        normalize: Whether `A` is normalised; else its values are used as they are.
        bias: Whether there is one.
        aggr: "add", "mean", "max" or "min".

    Example:
        >>> A = ls.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> conv = ls.nn.GCNConv(4, 3)
        >>> conv(torch.ones(2, 4), A).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool = True,
        bias: bool = True,
        aggr: str = "add",
    ) -> None:
        super().__init__()
        if add_self_loops and not normalize:
            raise ValueError("GCNConv: add_self_loops=True needs normalize=True")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.normalize = improved, cached, normalize
        self.add_self_loops = normalize if add_self_loops is None else add_self_loops
        self.reduce = adjacency.reduction("GCNConv", aggr)
        self.lin = linear(in_channels, out_channels, bias=False, glorot=True)
        self.bias = nn.Parameter(torch.zeros(out_channels, device="cpu")) if bias else None
        self._kept = adjacency.Kept()

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        self.lin.reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        self._kept.clear()

    def forward(self, x: Any, A: Any) -> Tensor:
        """Features (n, in_channels), dense or sparse, and a graph (n, n) to (n, out_channels).

        Dense features may have leading dimensions of a batch, as the result has then.
        """
        graph = receiving("GCNConv", A, nodes(x), nodes(x))
        if self.normalize:
            graph = _normalised(self, A, graph, x.dtype, self.improved)
        if is_plain(self.lin) and adjacency.first(x, self.out_channels, self.reduce):
            return F.linear(aggregate(graph, x, self.reduce), self.lin.weight, self.bias)
        out: Tensor = aggregate(graph, self.lin(x), self.reduce)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        """Numbers of columns."""
        return f"{self.in_channels}, {self.out_channels}"


def _normalised(layer: Any, A: Any, graph: Any, dtype: torch.dtype, improved: bool) -> Any:
    """The normalised graph of a layer that may keep it."""

    def compute() -> Any:
        return adjacency.normalised(graph, dtype, layer.add_self_loops, improved)

    return layer._kept.get(A, compute) if layer.cached else compute()


class SAGEConv(nn.Module):
    """`W_l aggregate(x of neighbours) + b + W_r x`: GraphSAGE.

    Hamilton, Ying and Leskovec, "Inductive Representation Learning on Large Graphs", 2017, algorithm 1. PyG's
    arguments, defaults and state dict. Only the entries of A count, not its values.

    Args:
        in_channels: Columns of `x`, of senders and receivers where these are two; -1 takes them from the first input.
        out_channels: Columns of the result.
        aggr: "mean", "add", "max" or "min".
        normalize: Whether rows of the result have norm 1.
        root_weight: Whether there is `W_r`.
        project: Whether senders go through a linear layer and ReLU first (equation 3 of the paper).
        bias: Whether there is one.

    Example:
        >>> A = ls.random((3, 5), 0.5)
        >>> conv = ls.nn.SAGEConv((4, 2), 6, aggr="max")
        >>> conv((torch.ones(5, 4), torch.ones(3, 2)), A).shape
        torch.Size([3, 6])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: str = "mean",
        normalize: bool = False,
        root_weight: bool = True,
        project: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        senders, receivers = in_channels if isinstance(in_channels, tuple) else (in_channels, in_channels)
        self.reduce = adjacency.reduction("SAGEConv", aggr)
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        if project:
            self.lin = linear(senders, senders)
        self.lin_l = linear(senders, out_channels, bias=bias)
        if root_weight:
            self.lin_r = linear(receivers, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        for layer in self.children():
            layer.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Any, A: Any) -> Tensor:
        """Features (n, in_channels), or a pair of them: of senders (m, ...) and of receivers (n, ...) or None.

        `A` is (n, n) or (n, m); the result (n, out_channels). Dense features may have leading dimensions of a batch, as
        the result has then.
        """
        senders, receivers = x if isinstance(x, (tuple, list)) else (x, x)
        targets = A.shape[0] if receivers is None else nodes(receivers)
        extrema = self.reduce in adjacency.EXTREMA
        graph = receiving("SAGEConv", A, nodes(senders), targets, csr=extrema).with_values(None)
        if self.project:
            senders = self.lin(senders).relu()
        own = receivers if self.root_weight else None
        plain = is_plain(self.lin_l) and (own is None or is_plain(self.lin_r))
        if not plain or extrema or adjacency.first(senders, self.out_channels, self.reduce):
            out = self.lin_l(aggregate(graph, senders, self.reduce))
            out = out if own is None else self.lin_r(own) + out
        elif own is senders:
            sent, kept = self._mapped(senders).split(self.out_channels, -1)
            out = kept + aggregate(graph, sent, self.reduce)
        else:
            out = aggregate(graph, F.linear(senders, self.lin_l.weight), self.reduce)
            if own is not None:  # the other product adds the bias, in no pass of its own
                out = F.linear(own, self.lin_r.weight, self.lin_l.bias) + out
            elif self.lin_l.bias is not None:
                out = out + self.lin_l.bias
        return F.normalize(out, p=2.0, dim=-1) if self.normalize else out

    def _mapped(self, x: Any) -> Tensor:
        """`W_l x` and `W_r x + b` side by side: one product, which reads features of many columns once."""
        weight, bias = torch.cat([self.lin_l.weight, self.lin_r.weight]), self.lin_l.bias
        return F.linear(x, weight, None if bias is None else F.pad(bias, (self.out_channels, 0)))

    def extra_repr(self) -> str:
        """Numbers of columns, and the reduction."""
        return f"{self.in_channels}, {self.out_channels}, aggr={self.reduce}"


class GINConv(nn.Module):
    """`nn((1 + eps) x + sum of the neighbours' x)`, the graph isomorphism network.

    Xu et al., "How Powerful are Graph Neural Networks?", 2019, equation 4.1. PyG's arguments, defaults and state dict.
    Only the entries of A count, not its values.

    Args:
        nn: A module that maps the sums.
        eps: Its first value.
        train_eps: Whether it is trained.
        aggr: "add", "mean", "max" or "min".

    Example:
        >>> conv = ls.nn.GINConv(torch.nn.Linear(4, 3))
        >>> conv(torch.ones(5, 4), ls.random((5, 5), 0.3)).shape
        torch.Size([5, 3])
    """

    eps: Tensor

    def __init__(self, nn: Any, eps: float = 0.0, train_eps: bool = False, aggr: str = "add") -> None:
        super().__init__()
        self.nn, self.initial_eps, self.reduce = nn, eps, adjacency.reduction("GINConv", aggr)
        start = torch.full((1,), float(eps), device="cpu")
        if train_eps:
            self.eps = torch.nn.Parameter(start)
        else:
            self.register_buffer("eps", start)

    def reset_parameters(self) -> None:
        """Draws the parameters of `nn` anew, and sets `eps` back."""
        for layer in self.nn.modules():
            if layer is not self.nn or not list(layer.children()):
                getattr(layer, "reset_parameters", lambda: None)()
        self.eps.data.fill_(self.initial_eps)

    def forward(self, x: Any, A: Any) -> Tensor:
        """Features (n, in_channels), or a pair as `SAGEConv` takes."""
        senders, receivers = x if isinstance(x, (tuple, list)) else (x, x)
        targets = A.shape[0] if receivers is None else nodes(receivers)
        graph = receiving("GINConv", A, nodes(senders), targets, csr=self.reduce in adjacency.EXTREMA)
        out = aggregate(graph.with_values(None), senders, self.reduce)
        if receivers is not None:
            own, sparse = 1 + self.eps, isinstance(receivers, ls.SparseTensor)
            out = out + own * receivers if sparse else torch.addcmul(out, receivers, own)
        result: Tensor = self.nn(out)
        return result


class APPNP(nn.Module):
    """K times `x = (1 - alpha) N x + alpha h`, from `x = h`, where N is the normalised graph.

    Gasteiger, Bojchevski and Günnemann, "Predict then Propagate", 2019, equation 4. PyG's arguments and defaults; it
    has no parameters.

    Args:
        K: How many times.
        alpha: The share of `h`.
        dropout: The share of entries of N that each step leaves out in training.
        cached: As of `GCNConv`.
        add_self_loops: Whether there are self loops where `A` has none.
        normalize: Whether `A` is normalised.

    Example:
        >>> ls.nn.APPNP(K=10, alpha=0.1)(torch.ones(5, 4), ls.random((5, 5), 0.3)).shape
        torch.Size([5, 4])
    """

    def __init__(
        self,
        K: int,
        alpha: float,
        dropout: float = 0.0,
        cached: bool = False,
        add_self_loops: bool = True,
        normalize: bool = True,
    ) -> None:
        super().__init__()
        self.K, self.alpha, self.dropout = K, alpha, dropout
        self.cached, self.add_self_loops, self.normalize = cached, add_self_loops, normalize
        self._kept = adjacency.Kept()

    def reset_parameters(self) -> None:
        """Forgets the norm that is kept."""
        self._kept.clear()

    def forward(self, x: Tensor, A: Any) -> Tensor:
        """Features (..., n, channels) and a graph (n, n) to (..., n, channels)."""
        graph = receiving("APPNP", A, nodes(x), nodes(x))
        if self.normalize:
            graph = _normalised(self, A, graph, x.dtype, False)
        graph, start = adjacency.valued(graph, x.dtype), x
        for _ in range(self.K):
            used = graph
            if self.dropout > 0 and self.training:
                used = graph.with_values(F.dropout(graph.values(), self.dropout))
            if x.ndim > 2:
                x = self.alpha * start + (1 - self.alpha) * (used @ x)
            else:
                x = torch.addmm(start, used, x, beta=self.alpha, alpha=1 - self.alpha)
        return x

    def extra_repr(self) -> str:
        """How many steps, and the share."""
        return f"K={self.K}, alpha={self.alpha}"
