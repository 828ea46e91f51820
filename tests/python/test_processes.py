"""What the package does to its process: lazy loading, the disk cache, forks, threads, OpenMP, memory."""

from __future__ import annotations

import threading

import processes
import pytest
import torch
from libsparse._compiler import native

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
RUNTIMES = "import re\nfound = re.findall(r'(/.*lib(?:gomp|iomp5|omp)[-.].*)', maps)\nprint(len(set(found)))"


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
def test_a_second_process_needs_no_go_and_the_first_keeps_its_limits(tmp_path):
    limited = "import resource as r\nr.setrlimit(r.RLIMIT_NOFILE, (500, r.getrlimit(r.RLIMIT_NOFILE)[1]))\n" + SPMM
    limited += "print(r.getrlimit(r.RLIMIT_NOFILE)[0])\n" + MAPS + RUNTIMES
    go, files, runtimes = processes.run(limited, tmp_path).split()
    assert go == "True"
    assert files == "500"
    assert runtimes == "1"
    second = "import subprocess, torch\nsubprocess.Popen = None\n" + SPMM + MAPS + "print('_libsparse.so' in maps)"
    assert processes.run(second, tmp_path).split() == ["False", "False"]


@pytest.mark.compiler
def test_eight_processes_compile_once(tmp_path):
    compiler = tmp_path / "cc"
    log = tmp_path / "log"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *kernel*.c*) echo run >> {log};; esac\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    started = [processes.start(SPMM, tmp_path / "cache", LIBSPARSE_CC=str(compiler)) for _ in range(8)]
    for process in started:
        process.finish(timeout=200)
    objects = list((tmp_path / "cache").rglob("kernel.so"))
    assert len(objects) == 1
    assert log.read_text().splitlines() == ["run"]


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
def test_set_num_threads_is_obeyed(tmp_path):
    code = """
        import torch, libsparse as ls, os
        torch.set_num_threads(1)
        a = ls.random((4000, 4000), 0.01, generator=torch.Generator().manual_seed(0))
        x = torch.randn(4000, 64)
        a @ x
        def threads(): return len(os.listdir("/proc/self/task"))
        before = threads()
        for _ in range(3): a @ x
        one = threads() - before
        torch.set_num_threads(3)
        for _ in range(3): a @ x
        print(one, threads() - before)
        """
    # The Go runtime of the first process, which compiles, starts threads when it likes; the second has none.
    outs = [processes.run(code, tmp_path, OPENBLAS_NUM_THREADS="1") for _ in range(2)]
    assert outs[1].split() == ["0", "2"]


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
    options = dict(num_workers=WORKERS, multiprocessing_context="CONTEXT", collate_fn=unwrap, batch_size=1)
    loader = DataLoader(Graphs(a), **options)
    for i, (out, scaled) in enumerate(loader):
        torch.testing.assert_close(out, (a @ torch.ones(200, i + 1)))
        torch.testing.assert_close(scaled.to_dense(), a.to_dense() * i)
    print("done")
"""


@pytest.mark.compiler
@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_data_loader_workers(tmp_path, context):
    script = tmp_path / "loader.py"
    workers = "2" if context == "fork" else "1"  # the others import torch in every worker
    script.write_text(LOADER.replace("CONTEXT", context).replace("WORKERS", workers))
    code = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    if context != "fork":  # the main module has to be importable in the worker
        code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-W', 'ignore', {str(script)!r}], check=True)"
        code += "\nprint('done')"
    run = processes.run if context == "fork" else processes.anew
    assert run(code, tmp_path / "cache", timeout=110).endswith("done")


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
    library = native.load()
    with pytest.raises(ls.InternalError, match=r"(?i)panic"):
        native.check(library, lambda error: library.libsparse_debug_panic(error))
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
