"""What a workload is, and what models share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from method.operands import Matrix
from peers.torch_expert import Transposed, csr
from torch import Tensor, nn

import libsparse as ls


class Model:
    """A model in training: an inference, and a step of Adam on it.

    Args:
        module: Has the parameters; called without arguments it gives the result.
        loss: Of the result.
    """

    def __init__(self, module: nn.Module, loss: Callable[[Tensor], Tensor]) -> None:
        self._module, self._loss = module, loss
        self._optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)

    def infer(self) -> Tensor:
        """The result, without gradients."""
        with torch.no_grad():
            result: Tensor = self._module()
        return result

    def step(self) -> Tensor:
        """One training step; the loss before it."""
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._loss(self._module())
        loss.backward()
        self._optimizer.step()
        return loss.detach()


@dataclass(frozen=True)
class Workload:
    """A model on some data.

    Attributes:
        name: Of the model.
        data: What it runs on.
        contenders: Makes each implementation, all with the same parameters: something with `infer` and, if it is
            trained, `step`.
        apart: Contenders that get a process of their own, as peers with another OpenMP runtime do.
    """

    name: str
    data: str
    contenders: Mapping[str, Callable[[], Any]]
    apart: frozenset[str] = frozenset({"DGL"})


class Propagate(torch.autograd.Function):
    """A X of a constant A whose transpose exists: the expert's product."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, A: Tensor, At: Tensor) -> Tensor:
        """The product."""
        ctx.At = At
        return torch.sparse.mm(A, X)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of X."""
        return torch.sparse.mm(ctx.At, grads[0]), None, None


def ours(m: Matrix) -> Callable[[Tensor], Tensor]:
    """The product with a constant matrix, on libsparse."""
    A = ls.from_csr(m.crow, m.col, m.values, m.shape)
    return lambda X: A @ X


def plain(m: Matrix) -> Callable[[Tensor], Tensor]:
    """The same on torch.sparse."""
    A = torch.sparse_csr_tensor(m.crow.long(), m.col.long(), m.values, m.shape)
    return lambda X: torch.sparse.mm(A, X)


def expert(m: Matrix) -> Callable[[Tensor], Tensor]:
    """The same on torch.sparse with int32 indices and the transpose built once."""
    A, At = csr(m), csr(Transposed(m).turned)
    return lambda X: Propagate.apply(X, A, At)


PRODUCTS = {"libsparse": ours, "torch.sparse": plain, "expert torch": expert}


def edges(m: Matrix) -> Tensor:
    """PyG's edge list of a matrix: (source, target), where targets are rows."""
    return torch.stack([m.col.long(), m.rows])


def dgl_graph(m: Matrix) -> Any:
    """DGL's graph of a matrix."""
    import dgl

    return dgl.graph((m.col, m.rows.int()), num_nodes=m.shape[0], idtype=torch.int32)


def have_dgl() -> bool:
    """Whether DGL is installed; it is imported in a process of its own only."""
    return importlib.util.find_spec("dgl") is not None


def pyg() -> Any | None:
    """torch_geometric's layers, None where they aren't installed."""
    try:
        import torch_geometric.nn
    except ImportError:
        return None
    return torch_geometric.nn
