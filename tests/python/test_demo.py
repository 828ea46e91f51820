"""The demo's parts: the generated graph, the three implementations, the report, and the command line around them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from libsparse.__main__ import main
from libsparse._tools.doctor import doctor
from libsparse.demo.graphs import find_data, generate, load, normalised_adjacency
from libsparse.demo.memory import peaks
from libsparse.demo.models import CONTENDERS, ExpertGCN, LibsparseGCN, PyGGCN, TorchGCN
from libsparse.demo.training import train

import libsparse as ls


@pytest.fixture(scope="module")
def graph():
    return generate(nodes=2000, words=200)


def test_adjacency_is_normalised_with_loops_and_without_duplicates():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]])  # one edge twice, one loop
    plain = torch.tensor([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    scale = plain.sum(1).rsqrt()
    torch.testing.assert_close(normalised_adjacency(edges, 3).to_dense(), scale[:, None] * plain * scale)


def test_the_generated_graph_is_the_same_every_time(graph):
    again = generate(nodes=2000, words=200)
    assert torch.equal(graph.adjacency.col_indices(), again.adjacency.col_indices())
    assert torch.equal(graph.features.col_indices(), again.features.col_indices())
    assert torch.equal(graph.test, again.test)
    assert graph.train.numel() == 20 * graph.classes
    assert not set(graph.train.tolist()) & set(graph.validation.tolist() + graph.test.tolist())
    sums = graph.features.to_dense().sum(1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_every_implementation_computes_the_same_scores_and_gradients(graph):
    results = []
    kinds = [LibsparseGCN, TorchGCN, ExpertGCN, *([PyGGCN] if find_spec("torch_geometric") else [])]
    for kind in kinds:
        model = kind(graph, seed=0)
        torch.manual_seed(1)
        scores = model.train()()
        scores.square().sum().backward()
        results.append([scores.detach(), *(p.grad for p in model.parameters())])
    for others in results[1:]:
        for mine, theirs in zip(results[0], others, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_the_plain_script_runs_unchanged_under_override(graph):
    with torch.no_grad():
        plain = TorchGCN(graph, seed=0).eval()()
        with ls.override():
            ours = TorchGCN(graph, seed=0).eval()()
    assert ours.layout == plain.layout
    torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)


def test_memory_is_measured_in_a_process_of_its_own(graph):
    found = peaks([graph], "libsparse")
    assert found is None or 0 < found[0] < 2**30


def test_training_learns_and_agrees(graph):
    runs = train(graph, CONTENDERS, seeds=1, epochs=30)
    assert [run.title for run in runs] == [c.title for c in CONTENDERS]
    for each in runs:
        assert each.losses[0][-1] < each.losses[0][0]
        assert abs(each.accuracy - runs[1].accuracy) <= 0.02  # 1000 nodes, few epochs
    assert runs[0].accuracy > 2 / graph.classes


def write_planetoid(folder: Path) -> None:
    small = generate(nodes=2000, words=100)
    edges = small.adjacency.to_sparse_coo().indices()
    lines = [f"{r + 1} {c + 1}" for r, c in edges.t().tolist() if r > c]
    adjacency = (
        f"%%MatrixMarket matrix coordinate pattern symmetric\n2000 2000 {len(lines)}\n" + "\n".join(lines) + "\n"
    )
    (folder / "tiny_adj.mtx.gz").write_bytes(gzip.compress(adjacency.encode()))
    ls.write(folder / "tiny_feat.mtx.gz", ls.from_torch(small.features))
    split = dict.fromkeys(small.train.tolist(), "train")
    split |= dict.fromkeys(small.validation.tolist(), "val") | dict.fromkeys(small.test.tolist(), "test")
    text = "node\tlabel\tsplit\n"
    text += "".join(f"{n}\t{label}\t{split.get(n, '-')}\n" for n, label in enumerate(small.labels.tolist()))
    (folder / "tiny_labels.tsv.gz").write_bytes(gzip.compress(text.encode()))


def test_planetoid_files_are_read_and_found(tmp_path, monkeypatch):
    folder = tmp_path / "shared" / "data" / "gnn"
    folder.mkdir(parents=True)
    write_planetoid(folder)
    read, made = load(folder, "tiny"), generate(nodes=2000, words=100)
    torch.testing.assert_close(read.adjacency.to_dense(), made.adjacency.to_dense())
    torch.testing.assert_close(read.features.to_dense(), made.features.to_dense())
    assert torch.equal(read.test.sort().values, made.test.sort().values)
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path / "clone")
    assert find_data(None) == folder
    with pytest.raises(ls.LibsparseError, match="no Planetoid graph"):
        find_data(str(tmp_path))


def test_the_report_holds_everything_and_loads_nothing(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="run `make demo` first")
    pytest.importorskip("tqdm", reason="run `make demo` first")
    folder = tmp_path / "data"
    folder.mkdir()
    write_planetoid(folder)
    path = tmp_path / "report.html"
    assert main(["demo", "--data", str(folder), "--epochs", "6", "--quick", "--report", str(path)]) in (0, 1)
    printed = capsys.readouterr().out
    page = path.read_text(encoding="utf-8")
    for title in ("libsparse", "torch.sparse", "expert torch"):
        assert title in printed
        assert title in page
    assert "what the compiler chose" in printed
    assert page.count("data:image/svg+xml;base64,") == 4
    assert "http" not in page
    assert "<script" not in page


def test_epochs_that_leave_nothing_to_time_are_refused(capsys):
    assert main(["demo", "--quick", "--epochs", "5"]) == 1
    assert "expected a seed and more than 5 epochs" in capsys.readouterr().err


def test_the_demo_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "libsparse.demo.run", None)
    assert main(["demo"]) == 1
    assert "pip install 'libsparse[demo]'" in capsys.readouterr().err


def test_command_line_errors_are_one_line(capsys):
    assert main(["explain", "ij,jk->ik", "csr:4x4", "--dtype", "half16"]) == 1
    assert main(["explain", "ij,jk->ik", "csr"]) == 1
    error = capsys.readouterr().err
    assert "no torch dtype" in error
    assert "format:shape" in error
    assert "Traceback" not in error


def test_explain_prints_the_stages(capsys):
    assert main(["explain", "ij,jk->ik", "csr:200x100", "dense:100x16"]) == 0
    assert "kernel_compute" in capsys.readouterr().out


def test_doctor_finds_what_is_there_and_says_what_to_do_about_the_rest(tmp_path):
    assert doctor().ok, str(doctor())
    sick = {
        **os.environ,
        "PATH": "",
        "LIBSPARSE_CC": "",
        "CC": "",
        "LIBSPARSE_CACHE_DIR": "/proc/nowhere",
    }
    code = (
        "import libsparse._compiler.native as g, pathlib; g.LIBRARY = g.EXECUTABLE = pathlib.Path('/nowhere');"
        "from libsparse._tools.doctor import doctor; print(doctor())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=sick, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.count("MISSING") == 4
    assert done.stdout.count("->") == 4
    assert "apt install gcc" in done.stdout
    assert "make build" in done.stdout
