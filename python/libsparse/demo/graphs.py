"""The demo's graphs: Planetoid files where they are found, else a citation-like graph that is generated on the spot."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from libsparse._io.files import read
from libsparse._lang.errors import FormatError, LibsparseError

_BESIDE = Path("shared") / "data" / "gnn"
_TRAIN_PER_CLASS, _VALIDATION, _TEST = 20, 500, 1000


@dataclass(frozen=True)
class Graph:
    """A node classification task.

    Attributes:
        name: Its name.
        source: Where it comes from, for people.
        adjacency: CSR, symmetrically normalised, with self loops.
        features: CSR, one row a node, rows sum to one.
        labels: Class of each node, -1 where unknown.
        train: Nodes to learn from; `validation` and `test` likewise.
    """

    name: str
    source: str
    adjacency: Tensor
    features: Tensor
    labels: Tensor
    train: Tensor
    validation: Tensor
    test: Tensor

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1


def find_data(given: str | None) -> Path | None:
    """The folder with graphs: the given one, or one that lies beside the clone or the current folder.

    Raises:
        LibsparseError: The given folder has no graph in Planetoid's layout.
    """
    if given:
        folder = Path(given).expanduser()
        if not names(folder):
            raise LibsparseError(
                f"{folder} has no Planetoid graph: expected <name>_adj.mtx.gz, <name>_feat.mtx.gz "
                "and <name>_labels.tsv.gz"
            )
        return folder
    clone = Path(__file__).resolve().parents[3]
    starts = [Path.cwd(), *([clone] if (clone / "pyproject.toml").exists() else [])]
    folders = [base / _BESIDE for start in starts for base in (start, start.parent, start.parent.parent)]
    return next(filter(names, folders), None)


def names(folder: Path) -> list[str]:
    """The graphs of a folder that have all three files."""
    found = (path.name.removesuffix("_labels.tsv.gz") for path in sorted(folder.glob("*_labels.tsv.gz")))
    return [name for name in found if all((folder / f"{name}_{part}.mtx.gz").exists() for part in ("adj", "feat"))]


def load(folder: Path, name: str) -> Graph:
    """A graph in Planetoid's layout: `<name>_adj.mtx.gz`, `<name>_feat.mtx.gz` and `<name>_labels.tsv.gz`."""
    edges = read(folder / f"{name}_adj.mtx.gz").indices().long()
    stored = read(folder / f"{name}_feat.mtx.gz", dtype=torch.float32)
    count, width = stored.shape
    labels, splits = _read_labels(folder / f"{name}_labels.tsv.gz", count)
    rows, columns = stored.indices().long()
    return Graph(
        name=name,
        source=f"Planetoid files, {name}",
        adjacency=normalised_adjacency(edges, count),
        features=_row_normalised(rows, columns, stored.values().clone(), (count, width)),
        labels=labels,
        train=splits["train"],
        validation=splits["val"],
        test=splits["test"],
    )


def _read_labels(path: Path, count: int) -> tuple[Tensor, dict[str, Tensor]]:
    labels = torch.full((count,), -1, dtype=torch.int64)
    splits: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.split("\t")
            if number == 1 and fields[0] == "node":
                continue
            try:
                node, label, split = int(fields[0]), int(fields[1]), fields[2].strip()
                labels[node] = label
            except (ValueError, IndexError):
                raise FormatError(
                    f"{path}: line {number}: expected node, label, split, found {line.strip()!r}"
                ) from None
            if split in splits and label >= 0:
                splits[split].append(node)
    return labels, {name: torch.tensor(nodes, dtype=torch.int64) for name, nodes in splits.items()}


def _csr(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    coo = torch.sparse_coo_tensor(torch.stack([rows, columns]), values, shape, check_invariants=False)
    return coo.coalesce().to_sparse_csr()


def _row_normalised(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    sums = torch.zeros(shape[0]).index_add_(0, rows, values)
    return _csr(rows, columns, values / sums.clamp(min=1e-12)[rows], shape)


def normalised_adjacency(edges: Tensor, count: int) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of the undirected graph with these edges (2, any), each counted once."""
    both = torch.cat([edges, edges.flip(0), torch.arange(count).expand(2, count)], dim=1)
    keys = (both[0] * count + both[1]).unique()
    rows, columns = keys // count, keys % count
    scale = torch.bincount(rows, minlength=count).float().rsqrt()
    return _csr(rows, columns, scale[rows] * scale[columns], (count, count))


def generate(nodes: int = 20_000, classes: int = 7, words: int = 2_000, seed: int = 0) -> Graph:
    """A graph like a citation network, the same for the same arguments.

    Papers belong to planted fields, cite mostly within their field and mostly the well-known papers, and use the words
    of their field more often than others do.
    """
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (nodes,), generator=random)
    labels[:classes] = torch.arange(classes)
    edges = _citations(labels, classes, random)
    rows, columns = _word_use(labels, classes, words, random)
    train, validation, test = _split(labels, classes, random)
    return Graph(
        name=f"generated-{nodes // 1000}k",
        source=f"generated citation-like graph, seed {seed} (no data folder was found or given)",
        adjacency=normalised_adjacency(edges, nodes),
        features=_row_normalised(rows, columns, torch.ones(rows.numel()), (nodes, words)),
        labels=labels,
        train=train,
        validation=validation,
        test=test,
    )


def _citations(labels: Tensor, classes: int, random: torch.Generator) -> Tensor:
    nodes = labels.numel()
    source = torch.arange(nodes).repeat_interleave(torch.randint(1, 5, (nodes,), generator=random))
    # the early members of a field are cited most: rank = size * u^2 falls off like citation counts do
    by_class = torch.argsort(labels, stable=True)
    sizes = torch.bincount(labels, minlength=classes)
    starts = sizes.cumsum(0) - sizes
    field = torch.where(
        torch.rand(source.numel(), generator=random) < 0.72,
        labels[source],
        torch.randint(classes, (source.numel(),), generator=random),
    )
    rank = (sizes[field] * torch.rand(source.numel(), generator=random).square()).long()
    return torch.stack([source, by_class[starts[field] + rank]])


def _word_use(labels: Tensor, classes: int, words: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
    nodes, length = labels.numel(), 20
    common = 1.0 / torch.arange(10.0, words + 10.0)
    drawn = torch.multinomial(common, nodes * length, replacement=True, generator=random).view(nodes, length)
    special = torch.randint(words, (classes, 60), generator=random)
    own = special[labels].gather(1, torch.randint(60, (nodes, length), generator=random))
    drawn = torch.where(torch.rand(nodes, length, generator=random) < 0.12, own, drawn)
    keys = (torch.arange(nodes)[:, None] * words + drawn).unique()
    return keys // words, keys % words


def _split(labels: Tensor, classes: int, random: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    order = torch.randperm(labels.numel(), generator=random)
    train = torch.cat([order[labels[order] == c][:_TRAIN_PER_CLASS] for c in range(classes)])
    rest = order[~torch.isin(order, train)]
    return train, rest[:_VALIDATION], rest[_VALIDATION : _VALIDATION + _TEST]
