"""Attention in a window of 128 keys and one global token, 8 heads 32 wide."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from data import generated
from method.operands import Matrix
from peers.torch_expert import csr, gathered_attention
from torch import Tensor, nn

import libsparse as ls

from .workload import Model, Workload

_HEADS, _WIDTH, _REACH = 8, 32, 64


class Attention(nn.Module):
    """Queries, keys and values are the parameters: the operation alone."""

    def __init__(self, n: int, attend: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k, self.v = (nn.Parameter(torch.randn(_HEADS, n, _WIDTH)) for _ in range(3))
        self.attend = attend

    def forward(self) -> Tensor:
        """Attended values."""
        out: Tensor = self.attend(self.q, self.k, self.v)
        return out


def _at_once(M: Matrix) -> Any:
    mask = ls.from_csr(M.crow, M.col, torch.ones(M.nnz, dtype=torch.bool), M.shape)
    return lambda q, k, v: ls.attention(q, k, v, mask)


def _by_hand(M: Matrix) -> Any:
    mask, scale = ls.from_csr(M.crow, M.col, torch.ones(M.nnz), M.shape), _WIDTH**-0.5

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads = ((ls.sddmm(mask, q[h], k[h].T) * scale).softmax(-1) @ v[h] for h in range(_HEADS))
        return torch.stack(list(heads))

    return attend


def _dense(M: Matrix) -> Any:
    mask = csr(M, torch.ones(M.nnz)).to_dense().bool()
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask)


def _gathered(M: Matrix) -> Any:
    rows, columns = M.rows, M.col.long()
    return lambda q, k, v: gathered_attention(q, k, v, rows, columns)


def _chunked(M: Matrix) -> Any:
    """64 queries against the three blocks of keys around them and the global key; the global query by itself."""
    n, block = M.shape[0], _REACH
    count = n // block
    query, key = torch.arange(n).view(count, block, 1), torch.arange(-block, 2 * block).view(1, 1, -1)
    key = key + block * torch.arange(count).view(count, 1, 1)
    near = ((query - key).abs() <= block) & (key >= 1) & (key < n)
    seen = torch.cat([torch.ones(count, block, 1, dtype=torch.bool), near], -1)

    def blocks(t: Tensor) -> Tensor:
        padded = F.pad(t, (0, 0, block, block)).unfold(1, 3 * block, block)[:, :count].transpose(2, 3)
        return torch.cat([t[:, None, :1].expand(-1, count, -1, -1), padded], 2)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        queries = q.view(_HEADS, count, block, _WIDTH)
        out = F.scaled_dot_product_attention(queries, blocks(k), blocks(v), seen).reshape(_HEADS, n, _WIDTH)
        return torch.cat([F.scaled_dot_product_attention(q[:, :1], k, v), out[:, 1:]], 1)

    return attend


_WAYS = {
    "libsparse": _at_once,
    "libsparse by hand": _by_hand,
    "torch SDPA, dense mask": _dense,
    "torch gather/scatter": _gathered,
    "torch, chunked dense": _chunked,
}


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """1024 and 4096 tokens."""
    for n in (1024,) if options.quick else (1024, 4096):
        M = generated.window(n, _REACH, everywhere=1)

        def build(way: Any, n: int = n, M: Matrix = M) -> Model:
            return Model(Attention(n, way(M)), lambda y: y.square().mean())

        ways = {title: (lambda w=way, b=build: b(w)) for title, way in _WAYS.items()}
        yield Workload("attention", M.name, ways)
