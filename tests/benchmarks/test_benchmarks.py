"""The benchmarks run, on a folder of small files, and what they compute is right."""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import libsparse as ls

ROOT = Path(__file__).parents[2]
RUN = ROOT / "benchmarks" / "run.py"
OURS = "libsparse"


def run(*arguments: str, status: int = 0) -> str:
    done = subprocess.run([sys.executable, str(RUN), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "small"
    folder.mkdir(parents=True)
    ls.write(folder / "matrix.mtx.gz", ls.random((60, 60), 0.08, format="csr"))
    ls.write(folder / "tensor.tns", ls.random((9, 8, 7), 0.1))
    return folder.parent


def test_all_kernels_on_a_folder_and_a_peer_of_ones_own_that_computes_something_else(
    data: Path, tmp_path: Path
) -> None:
    peer = tmp_path / "other.py"
    peer.write_text(
        "from peers.peer import Peer\n"
        "class Other(Peer):\n"
        "    title = 'other'\n"
        "    def spmv(self, p):\n"
        "        return lambda: p.A.values.new_zeros(p.A.shape[0])\n"
        "PEERS = [Other()]\n"
    )
    options = ("--data", str(data), "--rounds", "1", "--threads", "1", "--widths", "4", "--peer", str(peer))
    peers = "torch int32 CSR$|plain C|SciPy|other$"
    said = run("kernels", *options, "--peers", peers, "--out", str(tmp_path / "all.json"))
    assert "WRONG: other: spmv on matrix" in said
    found = json.loads((tmp_path / "all.json").read_text())["kernels"]
    assert all(line.startswith("other: spmv on matrix") for line in found["wrong"])
    assert not any("other" in row["peers"] for row in found["rows"])
    assert all(OURS in row["peers"] for row in found["rows"]), [row["failed"] for row in found["rows"]]
    assert {row["matrix"] for row in found["rows"]} == {"matrix", "tensor"}
    assert {"spmv", "spgemm", "attention_backward", "mttkrp", "coo_to_csr"} <= {row["kernel"] for row in found["rows"]}
    assert all(row["bound"] > 0 for row in found["rows"])


def test_errors_are_relative_to_the_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUN.parent))
    from method import checking

    one = checking.read(torch.tensor([1.0, 2.0]))
    assert checking.error(checking.read(torch.tensor([1.0, 2.1])), one, one) == pytest.approx(0.05, rel=1e-3)
    sparse = checking.read(torch.tensor([[0.0, 3.0]]).to_sparse_csr())
    assert checking.error(sparse, sparse, sparse) == 0
    assert checking.error(checking.read(torch.tensor([[1.0, 3.0]])), sparse, sparse) > 1


def test_judge_tells_a_slower_build_from_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUN.parent))
    from method import judge

    draw = random.Random(0)

    def results(name: str, factor: float, drift: float = 1.0) -> str:
        rows = []
        for matrix in "abc":
            noise = [drift * draw.gauss(1, 0.03) for _ in range(15)]
            own = [factor * n * draw.gauss(1, 0.01) if matrix == "b" else n * draw.gauss(1, 0.01) for n in noise]
            peers = {OURS: {"samples": own}, "torch int32 CSR": {"samples": noise}}
            told = {"title": "SpMV", "width": 0, "new": False, "dtype": "f32", "threads": 1, "family": "f"}
            rows.append({**told, "matrix": matrix, "peers": peers})
        (tmp_path / name).write_text(json.dumps({"kernels": {"rows": rows}}))
        return str(tmp_path / name)

    before = results("before", 1)
    assert judge.main([before, results("after", 1)]) == 0
    assert judge.main([before, results("busy", 1, drift=2)]) == 0
    assert judge.main([before, results("faster", 0.8)]) == 0
    assert judge.main([before, results("slower", 1.2)]) == 1


def test_tuned_kernels(tmp_path: Path) -> None:
    run("tuned", "--quick", "--kernels", "spmv", "--threads", "1", "--out", str(tmp_path / "tuned.json"))
    (row,) = json.loads((tmp_path / "tuned.json").read_text())["tuned"]["rows"]
    assert min(row["bayesian"]["tried"], row["random"]["tried"]) > 0
    for tuner in ("learned", "bayesian", "random"):
        found = row[tuner]
        assert found["failed"] <= found["tried"]
        stays = not found["schedule"]  # else the gain is measured once more
        assert found["gain"] == 1 and found["calls"] == math.inf if stays else found["gain"] > 0


def test_tuners(tmp_path: Path) -> None:
    options = ("--only", "Branins", "--peers", "libsparse|uniform")
    run("tune", "--quick", "--rounds", "1", *options, "--out", str(tmp_path / "tune.json"))
    found = json.loads((tmp_path / "tune.json").read_text())["tune"]
    assert [len(tuners["libsparse"]["needed"]) for tuners in found.values() if isinstance(tuners, dict)] == [1]


def test_tuners_on_every_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUN.parent))
    from suites import tune

    compare = tune._compared
    # each measurement of some of the objectives compiles a kernel
    monkeypatch.setattr(tune, "_compared", lambda *args: compare(*args[:-1], budget=5))
    options = argparse.Namespace(quick=True, rounds=1, peers="libsparse|uniform", only=None, data=None)
    found = {title: tuners for title, tuners in tune.run(options).items() if isinstance(tuners, dict)}
    assert len(found) == 8
    assert all(len(tuners["libsparse"]["needed"]) == 1 for tuners in found.values())


def test_new_operands_have_patterns_that_nobody_has_seen() -> None:
    made = """
import torch
import libsparse as ls
from method.operands import Matrix, Problem, Triplets

A = ls.random((60, 40), 0.08, format="csr")
x = torch.rand(40)
M = Matrix("A", "random", A.crow_indices(), A.col_indices(), A.values(), (60, 40))
problems = [Problem("spmv", {"A": M, "x": x}).fresh() for _ in range(20)]
for p in problems:
    assert ls.from_csr(p.A.crow, p.A.col, p.A.values, p.A.shape).nnz == M.nnz and p.x is x
assert len({tuple(p.A.col.tolist()) for p in problems}) == 20
T = Triplets(M.rows.int(), M.col, M.values, M.shape)
lists = [Problem("coo_to_csr", {"T": T}).fresh().T for _ in range(20)]
for t in lists:
    assert torch.equal(ls.from_coo(torch.stack([t.i, t.j]), t.values, t.shape).to_dense(), A.to_dense())
assert len({tuple(t.i.tolist()) for t in lists}) == 20
"""
    subprocess.run([sys.executable, "-c", made], cwd=ROOT / "benchmarks", check=True)
