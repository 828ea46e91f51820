"""Matrices to measure on: real graphs where the data folder is found, else generated stand-ins that are labelled so."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from libsparse.demo.graphs import Graph, find_data, generate, load, names, normalised_adjacency
from torch import Tensor

import libsparse as ls

GRAPHS = (
    "gnn/cora_adj",
    "gnn/citeseer_adj",
    "gnn/pubmed_adj",
    "gnn/coauthor_cs_adj",
    "gnn/amazon_photo_adj",
    "gnn/tolokers_adj",
    "graphs/email-Enron",
    "graphs/musae-git",
    "graphs/cit-HepPh",
    "graphs/ego-Twitter-undirected",
)
SCHEDULES = (
    "gnn/cora_adj",
    "gnn/pubmed_adj",
    "gnn/amazon_photo_adj",
    "graphs/PGPgiantcompo",
    "graphs/minnesota",
    "suitesparse/bcsstk16",
    "suitesparse/G67",
    "suitesparse/cryg10000",
    "lp/netlib_maros-r7",
    "pruned/squeezenet_fire6_conv3x3_2",
)
_SCHEDULES_QUICK = ("gnn/cora_adj", "graphs/minnesota", "pruned/squeezenet_fire6_conv3x3_2")
FIT = (
    "gnn/citeseer_adj",
    "gnn/uai_adj",
    "gnn/chameleon_directed_adj",
    "graphs/fb-Reed98",
    "graphs/airfoil1",
    "graphs/ca-HepPh",
    "suitesparse/cryg2500",
    "suitesparse/bcspwr10",
    "suitesparse/G22",
    "lp/netlib_woodw",
    "qp/mm_CVXQP3_L_A",
    "pruned/squeezenet_fire4_conv3x3_2",
)
_QUICK = ("gnn/cora_adj", "gnn/pubmed_adj", "graphs/email-Enron")


class Matrix(NamedTuple):
    """A float32 CSR matrix with int32 indices."""

    name: str
    crow: Tensor
    col: Tensor
    values: Tensor
    shape: tuple[int, int]


def graphs(data: str | None, quick: bool) -> list[Matrix]:
    """The matrices of the kernel suite, with random values."""
    folder = find_data(data)
    wanted = _QUICK if quick else GRAPHS
    if folder is not None and (folder.parent / "graphs").is_dir():
        return [_read(folder.parent / f"{name}.mtx.gz", name) for name in wanted]
    print("no data folder found: generated stand-ins")
    sizes = [2_000, 20_000, 100_000] if not quick else [2_000, 20_000]
    return [_stand_in(nodes, degree) for nodes in sizes for degree in (4, 20, 60)]


def schedule_matrices(data: str | None, quick: bool) -> list[Matrix]:
    """The matrices of the schedules suite: graphs, meshes, a linear program and pruned weights."""
    folder = find_data(data)
    wanted = _SCHEDULES_QUICK if quick else SCHEDULES
    if folder is not None and (folder.parent / "suitesparse").is_dir():
        return [_read(folder.parent / f"{name}.mtx.gz", name) for name in wanted]
    print("no data folder found: generated stand-ins")
    return [_stand_in(nodes, degree) for nodes in (2_000, 20_000) for degree in (4, 20, 60)][: 3 if quick else 6]


def fit_matrices(data: str | None) -> list[Matrix]:
    """The matrices that the cost model is fitted on, none of which the schedules suite judges it by."""
    folder = find_data(data)
    if folder is not None and (folder.parent / "suitesparse").is_dir():
        return [_read(folder.parent / f"{name}.mtx.gz", name) for name in FIT]
    print("no data folder found: generated stand-ins")
    return [_stand_in(nodes, degree) for nodes in (1_000, 5_000, 30_000) for degree in (3, 12, 40)]


def task(data: str | None) -> Graph:
    """Cora, else the demo's generated graph."""
    folder = find_data(data)
    if folder is not None and "cora" in names(folder):
        return load(folder, "cora")
    print("Cora was not found: the demo's generated graph stands in")
    return generate()


def random_matrix(rows: int, columns: int, nnz: int, seed: int = 0) -> Matrix:
    """A matrix with `nnz` entries at random places."""
    random = torch.Generator().manual_seed(seed)
    keys = torch.randperm(rows * columns, generator=random)[:nnz].sort().values
    crow = torch.zeros(rows + 1, dtype=torch.int32)
    crow[1:] = torch.bincount(keys // columns, minlength=rows).cumsum(0)
    values = torch.rand(nnz, generator=random) - 0.5
    return Matrix(f"random {rows}x{columns}, {nnz} entries", crow, (keys % columns).int(), values, (rows, columns))


def _read(path: Path, name: str) -> Matrix:
    stored = ls.read(path, dtype=torch.float32, format="csr")
    crow, col = stored.crow_indices().int(), stored.col_indices().int()
    return Matrix(name, crow, col, _random_values(col), tuple(stored.shape))


def _stand_in(nodes: int, degree: int) -> Matrix:
    random = torch.Generator().manual_seed(nodes + degree)
    source = torch.randint(nodes, (nodes * degree // 2,), generator=random)
    target = (nodes * torch.rand(source.numel(), generator=random).square()).long()
    made = normalised_adjacency(torch.stack([source, target]), nodes)
    crow, col = made.crow_indices().int(), made.col_indices().int()
    return Matrix(f"stand-in {nodes} x {degree}", crow, col, _random_values(col), tuple(made.shape))


def _random_values(like: Tensor) -> Tensor:
    return torch.rand(like.numel(), generator=torch.Generator().manual_seed(1)) - 0.5
