"""What the package does to its process: lazy loading, the disk cache, forks, threads, OpenMP, memory."""

from __future__ import annotations

import os
import stat
import threading
import time

import processes
import pytest
import torch
from libsparse._compiler import kernel, native
from libsparse._compiler.request import OutputInfo, Request
from libsparse._compiler.request import key as request_key

import libsparse as ls

SPMM = """
import torch, libsparse as ls
from libsparse._compiler import native
a = ls.tensor(torch.eye(50) + torch.eye(50).roll(1, 0))
x = torch.arange(50 * 16.0).reshape(50, 16)
torch.testing.assert_close(a @ x, a.to_dense() @ x)
print(native._library is not None)
"""
MAPS = "maps = open('/proc/self/maps').read()\n"


def test_import_loads_neither_go_nor_a_compiler(tmp_path):
    out = processes.run(
        """
        import sys, subprocess, os
        import torch
        def refuse(*a, **k): raise SystemExit("started a process")
        subprocess.Popen = refuse
        import libsparse as ls
        from libsparse._compiler import native
        print("_libsparse" in open("/proc/self/maps").read(), native._library is not None)
        a = ls.tensor(torch.eye(3))
        a.T, a.to_dense(), repr(a)
        print("_libsparse" in open("/proc/self/maps").read())
        """,
        tmp_path / "cache",
    )
    assert out.split() == ["False", "False", "False"]
    assert not (tmp_path / "cache").exists()


@pytest.mark.compiler
def test_second_process_needs_no_go(tmp_path):
    assert processes.run(SPMM, tmp_path) == "True"
    second = "import subprocess, torch\nsubprocess.Popen = None\n" + SPMM + MAPS + "print('_libsparse.so' in maps)"
    assert processes.run(second, tmp_path).split() == ["False", "False"]


def spmm(columns=16):
    """A fresh tensor and product, so that nothing prepared is reused."""
    kernel.forget()
    a = ls.tensor(torch.eye(50) + torch.eye(50).roll(1, 0))
    x = torch.arange(50.0 * columns).reshape(50, columns)
    torch.testing.assert_close(a @ x, a.to_dense() @ x)


@pytest.fixture
def compiled(monkeypatch):
    """Counts how often the compiler is asked."""
    asked = []
    real = native.compile_request
    monkeypatch.setattr(native, "compile_request", lambda request: asked.append(request) or real(request))
    return asked


@pytest.mark.compiler
def test_cache_is_private_and_can_be_cleared(tmp_path, compiled):
    cache = tmp_path / "cache"
    with ls.options(cache_dir=cache):
        spmm()
        assert stat.S_IMODE(cache.stat().st_mode) == 0o700
        info = ls.cache.info()
        assert info.kernels == 1
        assert info.bytes > 0
        assert info.path == ls.cache.path
        spmm()
        assert len(compiled) == 1
        ls.cache.clear()
        assert ls.cache.info().kernels == 0
        spmm()
        assert len(compiled) == 2


@pytest.mark.compiler
def test_cache_drops_what_was_not_used_for_longest(tmp_path, monkeypatch):
    old = tmp_path / f"v{ls.__version__}" / "kernels" / "00" / ("0" * 64)
    old.mkdir(parents=True, mode=0o700)
    (old / "kernel.so").write_bytes(bytes(2 << 20))
    day = time.time() - 86400
    os.utime(old / "kernel.so", (day, day))
    monkeypatch.setenv("LIBSPARSE_CACHE_MIB", "1")
    with ls.options(cache_dir=tmp_path):
        spmm()
        assert old.exists()  # the size is first looked at when the folder is an hour old
        (checked,) = tmp_path.rglob("trim.lock")
        os.utime(checked, (day, day))
        spmm(columns=3)
        assert not old.exists()
        assert ls.cache.info().kernels == 2


def test_cache_size_must_be_a_number(tmp_path, monkeypatch):
    monkeypatch.setenv("LIBSPARSE_CACHE_MIB", "much")
    with ls.options(cache_dir=tmp_path), pytest.raises(ls.LibsparseError, match="positive number of MiB"):
        spmm()


@pytest.mark.compiler
@pytest.mark.parametrize(
    "damage", ["truncate object", "alter object", "delete object", "alter request", "truncate request", "empty request"]
)
def test_damaged_entries_are_rebuilt(tmp_path, compiled, damage):
    with ls.options(cache_dir=tmp_path):
        spmm()
        (obj,), (req,) = tmp_path.rglob("kernel.so"), tmp_path.rglob("requests/*.json")
        good, target = obj.read_bytes(), obj if "object" in damage else req
        data = target.read_bytes()
        bad = data[:-200] + bytes(200) if target is obj else data.replace(b'"index":"i"', b'"index":"k"')
        target.unlink()  # not written in place: this process has the object mapped
        if "delete" not in damage:
            target.write_bytes(bad if "alter" in damage else data[: len(data) // 2] if "truncate" in damage else b"")
        spmm()
        assert len(compiled) == 2
        assert obj.stat().st_size == len(good)
        assert target is obj or req.read_bytes() == data
        spmm()
        assert len(compiled) == 2


@pytest.mark.compiler
def test_eight_processes_compile_once(tmp_path):
    compiler = tmp_path / "cc"
    log = tmp_path / "log"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *kernel*.c*) echo run >> {log};; esac\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    started = [processes.start(SPMM, tmp_path / "cache", LIBSPARSE_CC=str(compiler)) for _ in range(8)]
    for process in started:
        _, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
    objects = list((tmp_path / "cache").rglob("kernel.so"))
    assert len(objects) == 1
    assert log.read_text().splitlines() == ["run"]


def test_answers_are_filed_under_the_compiler(monkeypatch):
    described = Request("ij,j->i", False, (), OutputInfo())
    names = set()
    for compiler in ("", "gcc", "clang"):
        monkeypatch.setenv("LIBSPARSE_CC", compiler)
        monkeypatch.delenv("CC", raising=False)
        names.add(request_key(described, "build"))
    assert len(names) == 3


@pytest.mark.compiler
def test_missing_compiler_is_one_clear_error(tmp_path):
    out = processes.run(
        """
        import torch, libsparse as ls
        a, x = ls.tensor(torch.eye(3)), torch.ones(3, 2)
        try:
            a @ x
        except ls.ToolchainError as e:
            print(str(e).splitlines()[0])
        import os
        del os.environ["LIBSPARSE_CC"]
        print((a @ x).sum().item())
        """,
        tmp_path,
        LIBSPARSE_CC="/nonexistent/cc",
    )
    assert "/nonexistent/cc" in out.splitlines()[0]
    assert out.splitlines()[1] == "6.0"


@pytest.mark.compiler
def test_unwritable_cache_is_a_typed_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    out = processes.run(
        """
        import torch, libsparse as ls
        try:
            print(ls.tensor(torch.eye(3)) @ torch.ones(3, 2))
        except ls.ToolchainError as e:
            print("ToolchainError")
        """,
        blocked / "cache",
    )
    assert "ToolchainError" in out


@pytest.mark.compiler
def test_one_openmp_runtime(tmp_path):
    out = processes.run(
        SPMM
        + MAPS
        + "import re\nfound = re.findall(r'(/.*lib(?:gomp|iomp5|omp)[-.].*)', maps)\nprint(len(set(found)))",
        tmp_path,
    )
    assert out.split()[-1] == "1"


@pytest.mark.compiler
def test_set_num_threads_is_obeyed(tmp_path):
    out = processes.run(
        """
        import torch, libsparse as ls, os
        torch.set_num_threads(1)
        a = ls.random((4000, 4000), 0.01)
        x = torch.randn(4000, 64)
        a @ x
        def threads(): return len(os.listdir("/proc/self/task"))
        before = threads()
        for _ in range(3): a @ x
        one = threads() - before
        torch.set_num_threads(3)
        for _ in range(3): a @ x
        print(one, threads() - before)
        """,
        tmp_path,
        OPENBLAS_NUM_THREADS="1",
    )
    one, three = map(int, out.split())
    assert (one, three) == (0, 2)


@pytest.mark.compiler
def test_open_file_limit_is_kept(tmp_path):
    out = processes.run(
        "import resource as r\nr.setrlimit(r.RLIMIT_NOFILE, (500, r.getrlimit(r.RLIMIT_NOFILE)[1]))\n"
        + SPMM
        + "print(r.getrlimit(r.RLIMIT_NOFILE)[0])",
        tmp_path,
    )
    assert out.split() == ["True", "500"]


FORK = """
import os, torch, libsparse as ls
a = ls.random((300, 300), 0.2)
x = torch.randn(300, 64)
torch.set_num_threads(2)
want = a @ x  # Go is loaded, and below an OpenMP team is open
y = torch.randn(300)
want_y = a.to_dense() @ y
big = ls.random((4000, 4000), 0.01); big @ torch.randn(4000, 64)
pid = os.fork()
if pid == 0:
    ok = (a @ x).tolist() == want.tolist()  # a cached kernel; torch's own operators could hang here
    got = (a @ y).tolist()  # a new one
    ok = ok and max(abs(g - w) for g, w in zip(got, want_y.tolist())) < 1e-3
    os._exit(0 if ok else 1)
print(os.waitpid(pid, 0)[1])
"""


@pytest.mark.compiler
def test_forked_child_runs_cached_and_new_kernels(tmp_path):
    assert processes.run(FORK, tmp_path, timeout=60) == "0"


LOADER = """
import torch, libsparse as ls
from torch.utils.data import DataLoader, Dataset

class Graphs(Dataset):
    def __init__(self, a): self.a = a
    def __len__(self): return 6
    def __getitem__(self, i):
        x = torch.ones(200, i + 1)
        return self.a @ x, self.a * float(i)

def unwrap(items): return items[0]

if __name__ == "__main__":
    a = ls.random((200, 200), 0.1)
    a @ torch.ones(200, 3)
    loader = DataLoader(Graphs(a), num_workers=2, multiprocessing_context="CONTEXT", collate_fn=unwrap, batch_size=1)
    for i, (out, scaled) in enumerate(loader):
        torch.testing.assert_close(out, (a @ torch.ones(200, i + 1)))
        torch.testing.assert_close(scaled.to_dense(), a.to_dense() * i)
    print("done")
"""


@pytest.mark.compiler
@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_data_loader_workers(tmp_path, context):
    script = tmp_path / "loader.py"
    script.write_text(LOADER.replace("CONTEXT", context))
    code = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    if context != "fork":  # the main module has to be importable in the worker
        code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-W', 'ignore', {str(script)!r}], check=True)"
        code += "\nprint('done')"
    assert processes.run(code, tmp_path / "cache", timeout=110).endswith("done")


def test_threads_share_one_call():
    a = ls.random((200, 200), 0.1, dtype=torch.float64)
    inputs = [torch.randn(200, 8, dtype=torch.float64) for _ in range(4)]
    want = [a.to_dense() @ x for x in inputs]
    square = a.to_dense().T @ a.to_dense().T
    a @ inputs[0]
    wrong = []

    def work(number):
        same = [torch.allclose(a @ inputs[number], want[number]) for _ in range(20)]
        same += [torch.allclose((a.T @ a.T).to_dense(), square) for _ in range(20)]
        if not all(same):
            wrong.append(number)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert wrong == []


@pytest.mark.compiler
def test_errors_of_the_compiler_are_typed():
    library = native._load()
    with pytest.raises(ls.InternalError, match=r"(?i)panic"):
        native._check(library, lambda error: library.libsparse_debug_panic(error))
    a = ls.tensor(torch.eye(3))
    torch.testing.assert_close(a @ torch.ones(3, 2), torch.ones(3, 2))


@pytest.mark.slow
@pytest.mark.compiler
def test_nothing_dense_is_allocated(tmp_path):
    out = processes.run(
        """
        import re, torch, libsparse as ls
        n, nnz = 1_000_000, 5_000_000
        g = torch.Generator().manual_seed(0)
        index = torch.randint(n, (2, nnz), generator=g)
        a = ls.from_coo(index, torch.randn(nnz, generator=g), (n, n)).requires_grad_()
        del index
        x = torch.randn(n, 16, requires_grad=True)
        out = a @ x
        out.sum().backward()
        assert a.grad.nnz == a.nnz and x.grad.shape == x.shape
        k = 12345
        row = a.detach().values()[a.crow_indices()[k]:a.crow_indices()[k + 1]]
        col = a.col_indices()[a.crow_indices()[k]:a.crow_indices()[k + 1]].long()
        torch.testing.assert_close(out[k].detach(), row @ x.detach()[col], atol=1e-4, rtol=1e-4)
        # getrusage would count what the parent used before it started this process
        print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
        """,
        tmp_path,
        timeout=300,
    )
    assert int(out) < 2048, out
