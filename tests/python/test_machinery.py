"""torch's machinery around tensors: autocast, checkpoints, hooks, files, modules, loaders, processes, profilers."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import processes
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize, prune
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader
from torch.utils.flop_counter import FlopCounterMode

import libsparse as ls


def matrix(n: int = 30, **options: Any) -> ls.SparseTensor:
    return ls.random((n, n), 0.2, generator=torch.Generator().manual_seed(0), **options)


A, X = matrix(), torch.randn(30, 8, generator=torch.Generator().manual_seed(0))

PRODUCTS = {
    "@": lambda A, x: A @ x,
    "mm": torch.mm,
    "sparse @ sparse": lambda A, x: A @ A,
    "sddmm": lambda A, x: ls.sddmm(A, x, x.T),
    "linear": lambda A, x: F.linear(x.T, A),
    "einsum": lambda A, x: ls.einsum("ij,jk->ik", A, x),
    "addmm": lambda A, x: torch.addmm(torch.zeros(8, dtype=torch.bfloat16), A, x),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_autocast(name: str) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert PRODUCTS[name](A, X).dtype == torch.bfloat16
        B, x = A.clone().requires_grad_(), X.clone().requires_grad_()
        (A.double() @ X.double()).dtype is torch.float64  # noqa: B015
    assert PRODUCTS[name](A, X).dtype == torch.float32 or name == "addmm"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = B @ x
    out.float().sum().backward()
    assert B.grad is not None
    assert x.grad is not None
    assert B.grad.dtype == x.grad.dtype == torch.float32


def test_autocast_leaves_other_functions_alone() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.relu(A).dtype == torch.float32
        assert A.sum(1).dtype == torch.float32
        assert (A.double() @ X.double()).dtype == torch.float64


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant: bool) -> None:
    B, C = A.clone().requires_grad_(), A.clone().requires_grad_()
    out = checkpoint(lambda v, x: torch.relu(B.with_values(v) @ x), B.values(), X, use_reentrant=reentrant)
    out.sum().backward()
    torch.relu(C @ X).sum().backward()
    assert torch.equal(B.values().grad, C.values().grad)


def test_checkpoint_of_a_sparse_argument() -> None:
    B, C = A.clone().requires_grad_(), A.clone().requires_grad_()
    checkpoint(lambda B, x: torch.softmax(B, 1) @ x, B, X, use_reentrant=False).square().sum().backward()
    (torch.softmax(C, 1) @ X).square().sum().backward()
    assert torch.equal(B.values().grad, C.values().grad)


def test_hooks_and_accumulation() -> None:
    B, seen = A.clone().requires_grad_(), []
    B.register_hook(lambda grad: seen.append("grad"))
    B.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.format))
    out = (B @ X).sum()
    out.backward(retain_graph=True)
    assert B.grad is not None
    once = B.grad.values().clone()
    out.backward()
    torch.testing.assert_close(B.grad.values(), 2 * once)
    assert seen == ["grad", "csr"] * 2


def test_inference_mode() -> None:
    with torch.inference_mode():
        B = (A @ A) * 2
        y = B @ X
    torch.testing.assert_close(y, (A.to_dense() @ A.to_dense() * 2) @ X)
    (A @ X.clone().requires_grad_()).sum().backward()  # what inference mode has prepared serves autograd, too


def saved(value: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("kind", ["plain", "with gradient", "pattern only", "ell", "of a graph"])
def test_files_and_copies(kind: str) -> None:
    B: Any = A
    if kind == "with gradient":
        B = A.clone().requires_grad_()
    elif kind == "pattern only":
        B = A.with_values(None)
    elif kind == "of a graph":
        B = torch.compile(lambda A: A * 2, backend="aot_eager")(A)
    elif kind == "ell":
        B = A.to_format("ell")
    for other in (saved({"B": B})["B"], copy.deepcopy(B), copy.copy(B), pickle.loads(pickle.dumps(B))):
        assert isinstance(other, ls.SparseTensor)
        assert other.requires_grad == B.requires_grad
        assert other.format == B.format
        assert torch.equal(other.to_dense(), B.to_dense())


class Layer(nn.Module):
    def __init__(self, B: ls.SparseTensor) -> None:
        super().__init__()
        self.register_buffer("B", B)

    def forward(self, x: Tensor) -> Tensor:
        return self.B @ x


def test_buffers() -> None:
    layer, other = Layer(A.clone()), Layer(A * 0)
    other.load_state_dict(saved(layer.state_dict()))
    assert torch.equal(other(X), layer(X))
    assert layer.double().B.dtype == torch.float64
    assert copy.deepcopy(layer.float()).B.pattern is layer.B.pattern
    assert layer.to(torch.bfloat16)(X.bfloat16()).dtype == torch.bfloat16
    with pytest.raises(RuntimeError, match="same entries"):
        Layer(ls.eye(30)).load_state_dict(layer.float().state_dict())


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop])
def test_parameters_train(optimizer: Any) -> None:
    class Weight(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(A.clone())

        def forward(self, x: Tensor) -> Tensor:
            return self.weight @ x

    module = Weight()
    assert [name for name, _ in module.named_parameters()] == ["weight"]
    steps, losses = optimizer(module.parameters(), lr=0.01), []
    for _ in range(3):
        steps.zero_grad()
        loss = module(X).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 10.0)
        steps.step()
        losses.append(float(loss.detach()))
    assert losses[2] < losses[0]
    assert module.weight.pattern is A.pattern


def test_pruned_weights_and_parametrizations() -> None:
    linear, x = nn.Linear(30, 20), X.T
    prune.random_unstructured(linear, "weight", 0.8)
    torch.testing.assert_close(F.linear(x, ls.tensor(linear.weight), linear.bias), linear(x))

    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mask = ls.from_mask(torch.rand(20, 30) > 0.8)

        def forward(self, weight: Tensor) -> Tensor:
            return (self.mask.float() * weight).to_dense()

    linear = nn.Linear(30, 20)
    parametrize.register_parametrization(linear, "weight", Masked())
    linear(x).sum().backward()
    assert linear.parametrizations.weight.original.grad.count_nonzero() > 0


def test_counters_and_profilers_see_operations() -> None:
    with FlopCounterMode(display=False) as counter:
        A @ X
    assert counter.get_total_flops() == 2 * A.nnz * 8
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        A @ X
    assert "libsparse::ij,jk->ik" in {event.key for event in profile.key_averages()}


@pytest.mark.parametrize("workers", [0, 2])
def test_default_collate(workers: int) -> None:
    items = [ls.random((4, 5), density) for density in (0.2, 0.5, 0.7, 0.9)]
    batches = list(DataLoader(items, batch_size=2, num_workers=workers))  # type: ignore[arg-type]
    assert [batch.shape for batch in batches] == [(2, 4, 5)] * 2
    assert torch.equal(torch.cat([b.to_dense() for b in batches]), torch.stack([i.to_dense() for i in items]))


DDP = """
import os, torch, libsparse as ls, torch.distributed as dist
from torch import nn
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING"], rank=rank, world_size=2)
A = ls.random((20, 20), 0.3, generator=torch.Generator().manual_seed(0))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.values, self.linear = nn.Parameter(A.values().clone()), nn.Linear(4, 3)
    def forward(self, x):
        return A.with_values(self.values) @ self.linear(x)
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(Net())
x = torch.randn(2, 20, 4)
net(x[rank]).square().sum().backward()
alone = Net(); alone.load_state_dict(net.module.state_dict())
(sum(alone(x[r]).square().sum() for r in range(2)) / 2).backward()
for p, q in zip(net.parameters(), alone.parameters()):
    torch.testing.assert_close(p.grad, q.grad)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_ddp_over_gloo(tmp_path: Any) -> None:
    shared = {"GLOO_SOCKET_IFNAME": "lo", "MEETING": str(tmp_path / "meeting")}
    for process in [processes.start(DDP, RANK=str(rank), **shared) for rank in range(2)]:
        process.finish()


def test_components_have_dlpack() -> None:
    assert torch.equal(torch.from_dlpack(A.values()), A.values())
    assert torch.equal(torch.from_dlpack(A.indices()), A.indices())


def test_defaults() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert ls.eye(3).dtype == ls.random((3, 3), 0.5).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    B = matrix()
    with torch.device("meta"):
        for result in (B @ X, B @ B, B + B, B * 2, B.to_format("csc"), torch.softmax(B, 1), B.sum(1), B.to_dense()):
            assert result.device.type == "cpu"
