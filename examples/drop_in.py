"""A script that knows nothing of libsparse, and runs on it after one line: `ls.enable()`.

The network is the first graph convolutional network in PyTorch as people still write it: a COO matrix from the legacy
constructor, and `torch.spmm`. Both runs begin with the same weights; their losses agree, their times don't.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from options import Plots, run, save

import libsparse as ls


# --- the script, as it was written for torch.sparse -------------------------------------------------------------------
class GraphConvolution(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(inputs, outputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))
        torch.nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.spmm(adj, x @ self.weight) + self.bias


class GCN(torch.nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(inputs, hidden), GraphConvolution(hidden, classes)

    def forward(self, x, adj):
        return F.log_softmax(self.gc2(F.relu(self.gc1(x, adj)), adj), dim=1)


def to_torch(matrix):
    matrix = matrix.tocoo().astype(np.float32)
    indices = torch.from_numpy(np.vstack((matrix.row, matrix.col)).astype(np.int64))
    return torch.sparse_coo_tensor(indices, torch.from_numpy(matrix.data), matrix.shape)


def train(adj, x, labels, steps):
    torch.manual_seed(0)
    model = GCN(x.shape[1], 64, int(labels.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses, times = [], []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = F.nll_loss(model(x, adj), labels)
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
        losses.append(loss.item())
    return losses, 1e3 * sorted(times)[len(times) // 2]


# --- and what is around it --------------------------------------------------------------------------------------------
def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    nodes, random = (2000 if quick else 30_000), np.random.default_rng(0)
    labels = random.integers(5, size=nodes)
    ends = random.integers(nodes, size=(2, 12 * nodes))
    ends = ends[:, (labels[ends[0]] == labels[ends[1]]) | (random.random(12 * nodes) < 0.1)]
    adjacency = scipy.sparse.coo_matrix((np.ones(ends.shape[1]), ends), shape=(nodes, nodes))
    adjacency = (adjacency + adjacency.T + scipy.sparse.identity(nodes)).tocsr()
    adjacency = scipy.sparse.diags(1 / np.asarray(adjacency.sum(1)).ravel()) @ adjacency
    x = torch.randn(nodes, 64)
    task = to_torch(adjacency), x, torch.from_numpy(labels), 10 if quick else 40

    plain, plain_ms = train(*task)
    ls.enable()
    ours, ours_ms = train(*task)
    ls.disable()

    apart = max(abs(a - b) for a, b in zip(plain, ours, strict=True))
    print(f"{nodes:,} nodes, {adjacency.nnz:,} entries; losses differ by {apart:.1e} at most")
    print(f"a step takes {plain_ms:.1f} ms, after ls.enable() {ours_ms:.1f} ms")
    if plots:
        from matplotlib.figure import Figure

        left, right = (figure := Figure(figsize=(9, 4))).subplots(1, 2)
        left.plot(plain, label="torch.sparse")
        left.plot(ours, "--", label="after ls.enable()")
        left.set(xlabel="step", ylabel="loss")
        left.legend()
        right.bar(["torch.sparse", "after ls.enable()"], [plain_ms, ours_ms])
        right.set(ylabel="ms a step")
        save(figure, plots, "drop_in")
    return {"apart": apart}


if __name__ == "__main__":
    run(main, __doc__)
