"""The Go compiler behind its C interface, entered for compiling, explaining and files only, never on a kernel call.

Go can't live through a fork: a child of a process that has loaded the library runs the compiler as a subprocess.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import json
import mmap
import os
import queue
import resource
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, InternalError, ToolchainError, from_kind
from libsparse._lang.waiting import Waiting, begin

from .version import ABI_VERSION, VERSION

_FOLDER = Path(__file__).parents[1]
LIBRARY = _FOLDER / "_libsparse.so"
EXECUTABLE = _FOLDER / "_libsparse_go"
_SUBPROCESS_SECONDS = 150
_GO_THREADS = 8
_GO_DESCRIPTORS = 16
_GO_ADDRESSES = 1 << 30  # bytes, of which most are never used
_MAP_NORESERVE = 0x4000  # Linux's number, which Python has no name for before 3.13

_lock: Any = threading.Lock()
os.register_at_fork(after_in_child=_lock._at_fork_reinit)
_library: ctypes.CDLL | None = None
_entered_by = 0  # the process that loads or has loaded Go; set before loading starts


_DIGEST = _FOLDER / "_compiler" / "build.txt"


def _build() -> str:
    """The digest that the build has written down, if it is that of the library by its size."""
    try:
        stat = LIBRARY.stat()
    except OSError:
        return ""
    try:
        size, _, digest = _DIGEST.read_text().partition(" ")
    except OSError:
        size = digest = ""
    return digest if size == str(stat.st_size) else f"{stat.st_size}-{stat.st_mtime_ns}"


BUILD = _build()
"""Text that changes when the compiler is rebuilt, "" where there is none."""


def compile_request(request: dict[str, Any]) -> dict[str, Any]:
    """Has the compiler make a kernel (or find it in its cache) and returns the kernel's description."""
    text = json.dumps(request)
    with Waiting(f"compiling {request.get('spec') or request.get('expr')}"):
        if must_not_enter():
            answer = _run(["compile"], text.encode()).decode()
        else:
            answer = _interruptible(lambda: _compile(text.encode()))
    return dict(json.loads(answer))


def _compile(text: bytes) -> str:
    library = load()
    handle = ctypes.c_size_t()
    check(library, lambda error: library.libsparse_compile(text, ctypes.byref(handle), error))
    try:
        return string(library, lambda out, error: library.libsparse_kernel_info(handle, out, error))
    finally:
        check(library, lambda error: library.libsparse_release(handle, error))


def _interruptible(work: Callable[[], str]) -> str:
    """Computes in another thread, so that Ctrl-C ends the wait at once; the thread goes on and its kernel is kept.

    Python handles signals between its own instructions, in the main thread only, and not while that is inside of Go.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: queue.SimpleQueue[Callable[[], str]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answer = work()
        except BaseException as error:  # raised again by whoever waits
            done.put(functools.partial(_raise, error))
        else:
            done.put(lambda: answer)

    thread = threading.Thread(target=run, name="libsparse compiler", daemon=True)
    begin(thread)
    answer = done.get()
    thread.join()
    return answer()


def _raise(error: BaseException) -> str:
    raise error


def explain_request(request: dict[str, Any], stage: str) -> str:
    """The compiler's account of a request, of one stage or (with "") of all."""
    if not isinstance(stage, str):
        raise DtypeError(f"explain: stage is a {type(stage).__name__}; expected the name of one, such as 'scheduled'")
    text = json.dumps(request)
    if must_not_enter():
        return _run(["explain", stage] if stage else ["explain"], text.encode()).decode()
    library = load()
    return string(library, lambda out, error: library.libsparse_explain(text.encode(), stage.encode(), out, error))


def ask(command: Sequence[str], request: dict[str, Any]) -> str:
    """What the executable prints for a command about a request; it may take minutes, and no process but its own."""
    return _run([*command], json.dumps(request).encode(), limit=None).decode()


def read_tensor(path: str, options: dict[str, Any]) -> tuple[tuple[int, ...], Tensor, Tensor | None]:
    """Shape, coordinates (ndim, nnz) and values (int64, float64, complex128 or none) of a text file's tensor.

    Args:
        path: The file; its ending says how it is read.
        options: `shape`, of a .tns file, and `memory`, the bytes that there are for the result and a copy of it.

    Raises:
        OSError: The file can't be opened or read.
        LibsparseError: The file is malformed; the message names it and the line.
    """
    text = json.dumps(options)
    if must_not_enter():
        answer = _run(["read", path, text], b"", limit=None)
        head, _, data = answer.partition(b"\n")
        shape, coordinates, values = _arrays(json.loads(head))
        for array in (coordinates, values):
            if array is not None and array.nbytes:
                ctypes.memmove(array.data_ptr(), data, array.nbytes)
                data = data[array.nbytes :]
        return shape, coordinates, values
    library = load()
    handle = ctypes.c_size_t()
    check(library, lambda error: library.libsparse_read(os.fsencode(path), text.encode(), ctypes.byref(handle), error))
    try:
        info = string(library, lambda out, error: library.libsparse_tensor_info(handle, out, error))
        shape, coordinates, values = _arrays(json.loads(info))
        to = (coordinates.data_ptr(), None if values is None else values.data_ptr())
        check(library, lambda error: library.libsparse_tensor_copy(handle, *to, error))
        info = string(library, lambda out, error: library.libsparse_tensor_info(handle, out, error))
        count = json.loads(info)["entries"]  # of a large file it is known only now
    finally:
        check(library, lambda error: library.libsparse_release(handle, error))
    return shape, coordinates[:, :count], None if values is None else values[:count]


def _arrays(info: dict[str, Any]) -> tuple[tuple[int, ...], Tensor, Tensor | None]:
    """Shape, and room for coordinates and values."""
    shape, count = tuple(info["shape"]), info["entries"]
    dtype = {"i64": torch.int64, "f64": torch.float64, "c128": torch.complex128}.get(info["dtype"])
    coordinates = torch.empty(len(shape), count, dtype=torch.int64, device="cpu")
    return shape, coordinates, None if dtype is None else torch.empty(count, dtype=dtype, device="cpu")


def write_tensor(path: str, shape: tuple[int, ...], code: str, coordinates: Tensor, values: Tensor | None) -> None:
    """Write a tensor to a text file, whose ending says how.

    Coordinates are (ndim, nnz), int64; values are int64, float64 or complex128, by the kind of the dtype that `code`
    names, which says how many digits they have; None where that is bool.
    """
    header = json.dumps({"shape": shape, "dtype": code, "entries": coordinates.shape[1]})
    plain = torch.empty(0, device="cpu") if values is None else values.resolve_conj().resolve_neg().contiguous()
    arrays = [coordinates.contiguous(), plain]
    if must_not_enter():
        data = [ctypes.string_at(array.data_ptr(), array.nbytes) for array in arrays if array.nbytes]
        _run(["write", path, header], b"".join(data), limit=None)
        return
    library = load()
    pointers = [array.data_ptr() for array in arrays]
    check(library, lambda error: library.libsparse_write(os.fsencode(path), header.encode(), *pointers, error))


def must_not_enter() -> bool:
    """Whether the compiler has to run in a process of its own: in a forked child, or where Go couldn't begin.

    Go aborts the process where it can't have the threads, descriptors or addresses that it needs to begin with.
    """
    if _entered_by == 0 and not (_has_descriptors() and _has_addresses() and _has_threads()):
        return True
    return _entered_by not in (0, os.getpid())


def _has_descriptors() -> bool:
    found: list[int] = []
    try:
        while len(found) < _GO_DESCRIPTORS:
            found.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        for descriptor in found:
            os.close(descriptor)
    return True


def _has_addresses() -> bool:
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return True
    try:
        mmap.mmap(-1, _GO_ADDRESSES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE, 0).close()
    except OSError:
        return False
    return True


def _has_threads() -> bool:
    release, ended = threading.Lock(), threading.Semaphore(0)

    def wait() -> None:
        with release:
            pass
        ended.release()

    started = 0
    with release:
        try:
            for _ in range(_GO_THREADS):
                _thread.start_new_thread(wait, ())  # a Thread would wait until it runs
                started += 1
        except RuntimeError:
            pass
    for _ in range(started):
        ended.acquire()
    return started == _GO_THREADS


def load() -> ctypes.CDLL:
    global _library, _entered_by
    with _lock:
        if _library is not None:
            return _library
        if not LIBRARY.exists():
            raise ToolchainError(f"the compiler {LIBRARY} is missing; run `make build`, or install libsparse again")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        _entered_by = os.getpid()
        try:
            library = ctypes.CDLL(str(LIBRARY))
            found = library.libsparse_abi_version()  # returns once Go's start-up is over
        except OSError as error:
            raise ToolchainError(f"the compiler {LIBRARY} can't be loaded: {error}") from error
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)  # Go raises it as it starts
        if found != ABI_VERSION:
            raise InternalError(f"{LIBRARY} has interface {found}, expected {ABI_VERSION}; run `make build` again")
        text, handle, pointer = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
        signatures: dict[str, list[Any]] = {
            "compile": [text, pointer],
            "kernel_info": [handle, pointer],
            "release": [handle],
            "explain": [text, text, pointer],
            "read": [text, text, pointer],
            "tensor_info": [handle, pointer],
            "tensor_copy": [handle, pointer, pointer],
            "write": [text, text, pointer, pointer],
            "tune_open": [text, text, pointer],
            "tune_ask": [handle, pointer],
            "tune_tell": [handle, text],
            "tune_space": [handle, pointer],
            "tune_moves": [handle, pointer],
            "tune_describe": [handle, text, pointer],
            "tune_propose": [handle, text, pointer],
            "pattern_features": [text, pointer, pointer],
            "version": [pointer],
        }
        for name, arguments in signatures.items():
            getattr(library, f"libsparse_{name}").argtypes = [*arguments, pointer]  # the last is the error's
        library.libsparse_free.argtypes = [pointer]
        library.libsparse_free.restype = None
        version = string(library, lambda out, error: library.libsparse_version(out, error))
        if version != VERSION:
            raise InternalError(f"{LIBRARY} is of version {version}, the package of {VERSION}; install libsparse again")
        _library = library
        return library


def check(library: ctypes.CDLL, call: Callable[[Any], int]) -> None:
    error = ctypes.c_void_p()
    if call(ctypes.byref(error)) == 0:
        return
    text = ctypes.string_at(error.value).decode("utf-8", "replace") if error.value else "{}"
    library.libsparse_free(error)
    raise _to_exception(text)


def string(library: ctypes.CDLL, call: Callable[[Any, Any], int]) -> str:
    out = ctypes.c_void_p()
    check(library, lambda error: call(ctypes.byref(out), error))
    try:
        return ctypes.string_at(out.value or 0).decode("utf-8")
    finally:
        library.libsparse_free(out)


def _run(arguments: list[str], data: bytes, limit: float | None = _SUBPROCESS_SECONDS) -> bytes:
    if not EXECUTABLE.exists():
        raise ToolchainError(f"the compiler {EXECUTABLE} is missing; run `make build`, or install libsparse again")
    command = [str(EXECUTABLE), *arguments]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=limit, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{' '.join(command)} failed: {error}") from error
    if b"pthread_create failed" in done.stderr:  # what Go says as it aborts
        raise ToolchainError(
            "the compiler can't start a thread: raise the limit of processes and threads (ulimit -u, or the pids limit "
            "of the container)"
        )
    if done.returncode != 0 or (done.stderr and not done.stdout):  # 0 also where the program ignores how children end
        raise _to_exception(done.stderr.decode("utf-8", "replace"))
    return done.stdout


def _to_exception(text: str) -> Exception:
    try:
        error = json.loads(text)
        if error["kind"] == "system":
            number = int(error["detail"])
            return OSError(number, os.strerror(number))
        return from_kind(error["kind"], error["message"], error.get("detail", ""))
    except (ValueError, KeyError, TypeError):
        return from_kind("internal", "the compiler failed without saying why", text[-2000:])
