"""The contract of capi/libsparse.h: every function, every kind of error, and that nothing crashes the host."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from library import LIBRARY, run

HEADER = Path(__file__).parents[2] / "capi" / "libsparse.h"


def test_versions(tmp_path: Path) -> None:
    """Both versions are there, and the one of the interface is the header's."""
    abi, version = run("print(lib.c.libsparse_abi_version(), lib.version())", tmp_path).split()
    declared = re.search(r"#define LIBSPARSE_ABI_VERSION (\d+)", HEADER.read_text())
    assert declared is not None
    assert abi == declared.group(1)
    assert version


def test_compile_describe_release(tmp_path: Path) -> None:
    """A kernel is compiled, described and released; its object is in the cache."""
    out = run(
        """
        status, error, handle = lib.compile(spmv(cache))
        assert (status, error) == (0, {}) and handle
        status, error, info = lib.info(handle)
        assert (status, error) == (0, {})
        assert info["abi"] == lib.c.libsparse_abi_version() and info["version"] == lib.version()
        kinds = "threads extent extent pos crd vals vals vals"
        assert " ".join(slot["kind"] for slot in info["slots"]) == kinds
        assert lib.release(handle) == (0, {})
        print(os.path.join(cache, "v" + info["version"], info["object"]), info["compute"])
        """,
        tmp_path,
    )
    path, symbol = out.split()
    assert symbol in exports(Path(path))


def test_same_kernel_twice(tmp_path: Path) -> None:
    """Two handles of one kernel are released one by one."""
    run(
        """
        first, second = lib.compile(spmv(cache))[2], lib.compile(spmv(cache))[2]
        assert first != second and lib.info(first) == lib.info(second)
        assert lib.release(first) == (0, {})
        assert lib.info(second)[0] == 0
        assert lib.release(second) == (0, {})
        """,
        tmp_path,
    )


def test_handles_are_checked(tmp_path: Path) -> None:
    """Released and foreign handles are errors, again and again."""
    run(
        """
        handle = lib.compile(spmv(cache))[2]
        assert lib.release(handle) == (0, {})
        local = ctypes.c_int64()
        for wrong in (handle, handle, 0, 1, 2**64 - 1, ctypes.addressof(local)):
            assert kind(lib.release(wrong)) == "handle", wrong
            assert kind(lib.info(wrong)) == "handle", wrong
        """,
        tmp_path,
    )


def test_tuners(tmp_path: Path) -> None:
    """A search begins with the compiler's schedule, takes measurements, and checks what it is given."""
    run(
        """
        status, error, tuner = lib.tune_open(spmv(cache))
        assert (status, error) == (0, {}) and "order" in lib.tune_space(tuner)[2]
        first, second = lib.tune_ask(tuner)[2], lib.tune_ask(tuner)[2]
        assert first["default"] and "default" not in second and second["schedule"] != first["schedule"]
        assert lib.tune_tell(tuner, {"point": first["point"], "seconds": 1e-3}) == (0, {})
        assert lib.tune_tell(tuner, {"point": second["point"], "failed": True}) == (0, {})
        assert kind(lib.tune_tell(tuner, {"point": second["point"], "seconds": 0})) == "syntax"
        assert kind(lib.tune_tell(tuner, {"point": {}, "seconds": 1})) == "syntax"
        assert kind(lib.tune_tell(tuner, None)) == "syntax"
        assert kind(lib.tune_open(None)) == kind(lib.tune_open(spmv(cache), "[]")) == "syntax"
        kernel = lib.compile(spmv(cache))[2]
        assert kind(lib.tune_ask(kernel)) == kind(lib.info(tuner)) == "handle"
        assert lib.release(tuner) == (0, {})
        assert kind(lib.tune_ask(tuner)) == kind(lib.tune_tell(tuner, {})) == kind(lib.tune_space(tuner)) == "handle"
        """,
        tmp_path,
    )


def test_what_a_model_sees_of_a_search(tmp_path: Path) -> None:
    """Steps can be described and proposed; whoever asks for the learned model gets its proposals."""
    run(
        """
        tuner = lib.tune_open(spmv(cache))[2]
        status, error, moves = lib.tune_moves(tuner)
        assert (status, error) == (0, {}) and {"prefetch": "16"} in moves
        status, error, seen = lib.tune_about("describe", tuner, [{}, {"prefetch": "16"}, {"prefetch": "3"}])
        assert (status, error) == (0, {}) and seen["features"][2] is None
        assert len(seen["features"][0]) == len(seen["features"][1]) == len(seen["names"])
        step = next(found for m in moves if (found := lib.tune_about("propose", tuner, m)[2]))
        assert step["schedule"] and "default" not in step
        assert lib.tune_about("propose", tuner, {"prefetch": "3"}) == (0, {}, None)
        assert kind(lib.tune_about("propose", tuner, [])) == kind(lib.tune_about("describe", tuner, {})) == "syntax"
        assert kind(lib.tune_moves(0)) == kind(lib.tune_about("describe", 0, [])) == "handle"
        assert kind(lib.tune_open(spmv(cache), '{"method": "other"}')) == "syntax"
        learned = lib.tune_open(spmv(cache), '{"method": "learned"}')[2]
        assert lib.tune_ask(learned)[2]["default"] and lib.tune_ask(learned)[2]["schedule"]
        """,
        tmp_path,
    )


def test_features_of_patterns(tmp_path: Path) -> None:
    """Those of arrays that fit their description; anything else is an error."""
    run(
        """
        pos, crd = (ctypes.c_int32 * 3)(0, 1, 3), (ctypes.c_int32 * 3)(0, 0, 1)
        csr = {"format": "ds", "extents": [2, 2], "index": "i32", "pos": [0, 3], "crd": [0, 3]}
        status, error, features = lib.pattern_features(csr, None, None, pos, crd)
        assert (status, error) == (0, {}) and abs(features[0] - 1.585) < 0.01
        bitmap = {"format": "db", "extents": [2, 2], "index": "i32", "pos": [0, 0], "crd": [0, 0]}
        assert set(lib.pattern_features(bitmap, None, None, None, None)[2]) == {None}
        for change, expected in [
            ({"format": "d?"}, "format"), ({"index": "f32"}, "dtype"), ({"pos": [0]}, "shape"),
            ({"extents": [2]}, "shape"), ({"crd": [0, 2]}, "format"), ({"crd": [3, 3]}, "syntax"),
        ]:
            assert kind(lib.pattern_features({**csr, **change}, None, None, pos, crd)) == expected, change
        """,
        tmp_path,
    )


def test_null_arguments(tmp_path: Path) -> None:
    """NULL is an error where something is needed, and allowed for the place of the error."""
    run(
        """
        assert kind(lib.compile(None)) == "syntax"
        assert kind(lib.explain(None)) == "syntax"
        assert kind(lib.explain(spmv(cache), None)) == "syntax"
        handle = lib.compile(spmv(cache))[2]
        request = json.dumps(spmv(cache)).encode()
        for call in (
            lambda error: lib.c.libsparse_version(None, error),
            lambda error: lib.c.libsparse_compile(request, None, error),
            lambda error: lib.c.libsparse_kernel_info(handle, None, error),
            lambda error: lib.c.libsparse_explain(request, b"", None, error),
        ):
            error = c_void_p()
            assert kind(lib.outcome(call(byref(error)), error)) == "syntax"
            assert call(None) == 1
        assert lib.c.libsparse_release(0, None) == 1
        assert lib.c.libsparse_debug_panic(None) == 1
        lib.c.libsparse_free(None)
        """,
        tmp_path,
    )


@pytest.mark.parametrize(
    ("request_text", "kind", "part"),
    [
        ("", "syntax", "JSON"),
        ("nonsense", "syntax", "JSON"),
        ('{"spec": "i->i"', "syntax", "JSON"),
        ('{"spec": 3}', "syntax", "JSON"),
        ('{"sepc": "i->i"}', "syntax", "sepc"),
        ("{}", "syntax", "spec and expr"),
    ],
)
def test_malformed_requests(tmp_path: Path, request_text: str, kind: str, part: str) -> None:
    """What is no request is a syntax error that says so."""
    run(
        f"""
        for outcome in (lib.compile({request_text!r}), lib.explain({request_text!r})):
            assert kind(outcome) == {kind!r} and {part!r} in outcome[1]["message"], outcome
        """,
        tmp_path,
    )


def test_kinds_of_user_errors(tmp_path: Path) -> None:
    """Each mistake has its kind, and a message that names what is wrong."""
    run(
        """
        def check(request, want, part):
            outcome = lib.compile(request)
            assert kind(outcome) == want and part in outcome[1]["message"], outcome
        check(spmv(cache) | {"combine": "power"}, "unsupported", "power")
        check(spmv(cache) | {"reduce": "median"}, "unsupported", "median")
        check(spmv(cache, format="dz"), "format", "dz")
        check(spmv(cache, format="ds:0"), "format", "ds:0")
        check(spmv(cache, format="dds"), "shape", "A")
        check(spmv(cache, dtype="f31"), "dtype", "f31")
        check(spmv(cache, index="f32"), "dtype", "index type")
        check(spmv(cache, shape=[64]), "shape", "A")
        check(spmv(cache, name="x"), "syntax", "x")
        check(spmv(cache) | {"spec": "ij,j->k"}, "syntax", "k")
        check(spmv(cache) | {"spec": "ij,jk->i"}, "shape", "x(j,k)")
        check(spmv(cache) | {"output": {"dtype": "i33"}}, "dtype", "i33")
        """,
        tmp_path,
    )


def test_no_compiler(tmp_path: Path) -> None:
    """Without a C compiler the error is one sentence that says what to do."""
    run(
        """
        outcome = lib.compile(spmv(cache, path="/nowhere"))
        assert kind(outcome) == "toolchain"
        message = outcome[1]["message"]
        assert "no C compiler was found" in message and "install gcc" in message, message
        assert "\\n" not in message and ". " not in message, message
        outcome = lib.compile(spmv(cache, cc="/nowhere/cc"))
        assert kind(outcome) == "toolchain" and "/nowhere/cc" in outcome[1]["message"], outcome
        """,
        tmp_path,
    )


def test_broken_compiler(tmp_path: Path) -> None:
    """A compiler that fails is an error of the toolchain with its output, and leaves no kernel behind."""
    compiler = tmp_path / "cc"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) echo broken 1.0; exit 0;; esac\necho out of luck >&2\nexit 3\n'
    )
    compiler.chmod(0o755)
    run(
        """
        for _ in range(2):
            outcome = lib.compile(spmv(cache, cc=sys.argv[2]))
            assert kind(outcome) == "toolchain" and "out of luck" in outcome[1]["detail"], outcome
        assert lib.compile(spmv(cache))[0] == 0
        """,
        tmp_path / "cache",
        str(compiler),
    )


def test_cache_that_is_a_file(tmp_path: Path) -> None:
    """A cache folder that can't be made is an error of the cache."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    run(
        """
        for place in (sys.argv[2], sys.argv[2] + "/below", ""):
            outcome = lib.compile(spmv(place))
            assert kind(outcome) == "cache", outcome
            assert place in outcome[1]["message"], outcome
        """,
        tmp_path,
        str(blocked),
    )


def test_panic(tmp_path: Path) -> None:
    """A panic inside becomes an error, and the library goes on."""
    run(
        """
        for _ in range(3):
            outcome = lib.panic()
            assert kind(outcome) == "internal" and "goroutine" in outcome[1]["detail"], outcome
        status, error, handle = lib.compile(spmv(cache))
        assert (status, error) == (0, {})
        assert lib.release(handle) == (0, {})
        """,
        tmp_path,
    )


def test_explain(tmp_path: Path) -> None:
    """Stages are printed one by one or all; an unknown one is an error that lists them."""
    run(
        """
        status, error, text = lib.explain(spmv(cache), "notation")
        assert (status, error, text) == (0, {}, "out(i) = A(i,j) * x(j)\\n"), text
        status, error, text = lib.explain(spmv(cache))
        assert status == 0 and text.startswith("== notation ==") and "kernel_compute" in text
        outcome = lib.explain(spmv(cache), "nonsense")
        assert kind(outcome) == "unsupported" and "notation" in outcome[1]["message"]
        """,
        tmp_path,
    )


def test_threads(tmp_path: Path) -> None:
    """Many threads compile, describe and release at once; equal requests give equal kernels."""
    run(
        """
        from concurrent.futures import ThreadPoolExecutor
        def work(n):
            request = spmv(cache, dtype="f32") if n % 2 else spmv(cache, index="i64")
            status, error, handle = lib.compile(request)
            assert (status, error) == (0, {}), error
            key = lib.info(handle)[2]["key"]
            assert lib.release(handle) == (0, {}) and kind(lib.release(handle)) == "handle"
            return key
        with ThreadPoolExecutor(8) as pool:
            keys = list(pool.map(work, range(32)))
        assert len(set(keys[0::2])) == 1 and len(set(keys[1::2])) == 1 and keys[0] != keys[1]
        """,
        tmp_path,
    )


def exports(library: Path) -> set[str]:
    """The functions that a shared library defines for others."""
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in listing.stdout.splitlines() if line.split()[-2] == "T"}


def test_header_matches_library() -> None:
    """The header declares exactly what the library exports under its prefix."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    declared = set(re.findall(r"\b(libsparse_\w+)\(", text))
    exported = {name for name in exports(LIBRARY) if name.startswith("libsparse")}
    assert declared == exported


def test_header_compiles(tmp_path: Path) -> None:
    """The header stands alone, in C and in C++."""
    source = '#include "libsparse.h"\nint main(void) { return libsparse_abi_version() != LIBSPARSE_ABI_VERSION; }\n'
    for language in ("c", "c++"):
        subprocess.run(
            ["cc", "-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", str(HEADER.parent), "-"],
            input=source,
            text=True,
            check=True,
            cwd=tmp_path,
        )
