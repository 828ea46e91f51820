"""Files of tensors through the C interface."""

from __future__ import annotations

from pathlib import Path

from library import run


def test_files(tmp_path: Path) -> None:
    """A tensor is written, read, described, copied and released."""
    run(
        """
        path = sys.argv[1] + "/a.ttx.gz"
        header = {"shape": [2, 3, 4], "dtype": "f32", "entries": 2}
        coordinates, values = (ctypes.c_int64 * 6)(0, 1, 0, 2, 3, 0), (ctypes.c_double * 2)(0.5, -2)
        assert lib.write(path, header, coordinates, values) == (0, {})
        status, error, handle = lib.read(path)
        assert (status, error) == (0, {}) and handle
        assert lib.tensor_info(handle) == (0, {}, header | {"dtype": "f64"})
        found, numbers = (ctypes.c_int64 * 6)(), (ctypes.c_double * 2)()
        assert lib.tensor_copy(handle, found, numbers) == (0, {})
        assert list(found) == list(coordinates) and list(numbers) == list(values)
        assert kind(lib.info(handle)) == "handle"
        assert lib.release(handle) == (0, {}) and kind(lib.release(handle)) == "handle"
        assert kind(lib.tensor_info(handle)) == kind(lib.tensor_copy(handle, found, numbers)) == "handle"
        kernel = lib.compile(spmv(cache))[2]
        assert kind(lib.tensor_info(kernel)) == "handle"
        assert lib.write(path, header | {"dtype": "bool"}, coordinates, None) == (0, {})
        handle = lib.read(path, {"memory": 1 << 30})[2]
        assert lib.tensor_info(handle)[2]["dtype"] == "bool" and lib.tensor_copy(handle, found, None) == (0, {})
        """,
        tmp_path,
    )


def test_errors_of_files(tmp_path: Path) -> None:
    """Each mistake has its kind, also in the arguments."""
    run(
        """
        from pathlib import Path
        path = sys.argv[1] + "/a.tns"
        Path(path).write_text("1 2 0.5\\n1 x 1\\n")
        outcome = lib.read(path)
        assert kind(outcome) == "format" and path + ", line 2" in outcome[1]["message"], outcome
        assert kind(lib.read(path, {"shape": [1, 1]})) == "bounds"
        assert kind(lib.read(path + "x")) == "system" and lib.read(path + "x")[1]["detail"] == "2"
        assert kind(lib.read(None)) == kind(lib.read(path, None)) == kind(lib.read(path, "{")) == "syntax"
        assert lib.c.libsparse_read(path.encode(), b"{}", None, None) == 1
        Path(path).write_text("1 2 0.5\\n")
        handle, memory = lib.read(path)[2], (ctypes.c_int64 * 2)()
        assert kind(lib.tensor_copy(handle, None, memory)) == kind(lib.tensor_copy(handle, memory, None)) == "syntax"
        header = {"shape": [2, 3], "dtype": "i64", "entries": 1}
        assert kind(lib.write(path, header, None, memory)) == kind(lib.write(path, header, memory, None)) == "syntax"
        assert kind(lib.write(None, header, memory, memory)) == kind(lib.write(path, None, memory, memory)) == "syntax"
        for change in ({"shape": [-1, 3]}, {"dtype": "i63"}, {"entries": -1}, {"entries": 1 << 62}):
            assert kind(lib.write(path, header | change, memory, memory)) == "format"
        assert kind(lib.write("/nowhere/a.tns", header, memory, memory)) == "system"
        assert kind(lib.write(path, header | {"dtype": "c64"}, memory, memory)) == "dtype"
        assert kind(lib.write(path + "x", header, memory, memory)) == "unsupported"
        """,
        tmp_path,
    )
