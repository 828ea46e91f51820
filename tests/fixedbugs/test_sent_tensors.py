"""What torch.distributed sends: errors say what to hand over, and attributes that are no buffers are no obstacle."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch.distributed import fsdp
from torch.nn.parallel import DistributedDataParallel

import libsparse as ls

pytestmark = pytest.mark.compiler


class Convolution(torch.nn.Module):
    """A layer on a graph that is not trained."""

    def __init__(self, is_buffer: bool = True) -> None:
        super().__init__()
        graph = ls.random((6, 6), 0.5)
        if is_buffer:
            self.register_buffer("graph", graph)
        else:
            self.graph = graph
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.graph @ self.linear(x)


@pytest.fixture(autouse=True)
def group(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("module", [Convolution, lambda: ls.nn.SparseLinear(5, 6, density=0.5)])
def test_sparse_parameters_and_buffers_are_refused(module):
    with pytest.raises(ls.UnsupportedError, match=r"DistributedDataParallel takes a parameter of values.*no buffer"):
        DistributedDataParallel(module())


def test_attributes_are_not_sent():
    model = DistributedDataParallel(Convolution(is_buffer=False))
    model(torch.rand(6, 4)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_functions_of_torch_distributed_have_their_name():
    with pytest.raises(ls.UnsupportedError, match=r"torch.distributed.all_reduce .* work on A.values"):
        dist.all_reduce(ls.eye(3))


@pytest.mark.skipif(not hasattr(fsdp, "fully_shard"), reason="torch 2.6 is the first with it")
def test_sharded_modules():
    with pytest.raises(ls.DtypeError, match=r"the source \(shape \(6, 5\), .*fully_shard takes a parameter of values"):
        fsdp.fully_shard(ls.nn.SparseLinear(5, 6, density=0.5))
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), ls.nn.SparseLinear(5, 6, density=0.5))
    fsdp.fully_shard(model, ignored_params={model[1].weight})
    model(torch.rand(3, 4)).sum().backward()
    assert model[1].weight.grad is not None
