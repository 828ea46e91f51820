"""The shape of the Python sources: who may import whom, no circles, and files and functions of a readable size."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch.utils import _device

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "libsparse"
FILES = sorted(PACKAGE.rglob("*.py"))
SOURCES = [*FILES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]
LONGEST_FILE, LONGEST_FUNCTION = 350, 60

# From the lowest room to the highest: each may import those that are named, and itself.
LANG = {"_lang"}
STORAGE = {*LANG, "_storage"}
COMPILER = {*STORAGE, "_compiler"}
RUNTIME = {*COMPILER, "_runtime"}
OPS = {*RUNTIME, "_autograd", "_ops"}
TRACE = {*OPS, "_trace"}
TENSOR = {*TRACE, "_tensor"}
MAY_IMPORT = {
    "_lang": LANG,
    "_storage": STORAGE,
    "_compiler": COMPILER,
    "_runtime": RUNTIME,
    "_autograd": {*RUNTIME, "_autograd"},
    "_ops": OPS,
    "_trace": TRACE,
    "_tensor": TENSOR,
    "_torch": {*TENSOR, "_torch"},
    "_io": {*COMPILER, "_tensor", "_io"},
    "_fusion": {*TENSOR, "_fusion"},
    "_tools": {*TENSOR, "_fusion", "_tools"},
    "linalg": {"", "linalg"},
    "sampling": {"", "sampling"},
    "dglsp": {"", "sampling", "dglsp"},
    "nn": {
        *TENSOR,
        "_torch",
        "sampling",
        "",
        "nn",
    },  # layers, on what users see; samples for loaders of other libraries
    "demo": {*COMPILER, "_io", "", "demo"},
    "_cli": {*RUNTIME, "demo", "", "_cli"},
    "": {
        *TENSOR,
        "_torch",
        "_fusion",
        "_io",
        "_tools",
        "_cli",
        "demo",
        "linalg",
        "dglsp",
        "nn",
        "sampling",
        "",
    },  # the package itself, which shows what is public
}

# What is optional or slow to import, and needed by few.
LAZY = {
    "_cli/commands.py": {"libsparse.demo"},
    "_compiler/kernel.py": {"libsparse._compiler.unusable"},  # where a kernel can't be used
    "_compiler/target.py": {"platform"},  # for systems without /proc
    "__init__.py": {
        "libsparse._compiler.target",  # which asks the system, with the first tensor
        "libsparse._ops.expression_gradient",  # and five modules that it needs
        "libsparse._tools.background",  # with the option
        "libsparse._tools.examples",
        "libsparse.nn.geometric",  # with PyG
        "warnings",
        "libsparse._torch.functions",  # with the first tensor, and forty modules that it needs
    },
    "_fusion/compiled.py": {"libsparse._fusion.following", "libsparse._fusion.traces"},
    "_io/binsparse_files.py": {"binsparse"},
    "_io/matrix_market.py": {"libsparse._io"},  # its module in C
    "_io/scipy_npz.py": {"numpy"},
    "_ops/assemble.py": {"libsparse._ops.arranging"},  # with the first coordinates
    "_ops/einsum.py": {"libsparse._ops.filled_products"},
    "_ops/evaluate.py": {"libsparse._ops.assignments"},
    "_ops/export.py": {"numpy", "scipy.sparse", "scipy.sparse.linalg"},
    "_ops/layout_patterns.py": {"libsparse._ops.arranging"},
    "_ops/linear_algebra.py": {"scipy.sparse.linalg"},
    "_ops/operands.py": {"libsparse._storage.boxes"},  # with the first diagonal
    "_ops/products.py": {"libsparse._ops.sampled"},
    "_runtime/discovery.py": {"libsparse._runtime.rooms"},  # with the first result that is written before it is counted
    "_runtime/dispatch.py": {  # where something is tuned, repeated, new and scattered, or large and transposed
        "libsparse._runtime.first_uses",
        "libsparse._runtime.lasting",
        "libsparse._runtime.panels",
        "libsparse._runtime.tuned",
        "libsparse._storage.carried",
    },
    "_runtime/likes.py": {"libsparse._runtime.bindings"},  # with the second pattern
    "_runtime/repeats.py": {"libsparse._runtime.reader"},  # with the first call that is looked at
    "_storage/sorting.py": {"libsparse._storage"},  # its module in C
    "demo/models.py": {"torch_geometric.nn"},  # where it is installed
    "sampling/draws.py": {"libsparse.sampling"},  # its module in C
    "_tools/tuning_report.py": {"html"},
    "_tools/explain.py": {"html", "libsparse._fusion.report"},
    "_tools/schedule.py": {"html"},
    "_tensor/diagonal_methods.py": {"libsparse._ops.indexing.diagonals"},
    "_ops/picture.py": {"matplotlib"},
    "_tensor/exports.py": {"libsparse._ops.export", "libsparse._ops.picture"},
    "_tensor/sparse_tensor.py": {"libsparse._ops.export"},
    "_trace/building.py": {"libsparse._ops.arranging"},
    "_trace/dynamo.py": {"torch._dynamo"},  # which torch imports when something is compiled
    "_trace/library.py": {"libsparse._ops.expression_gradient"},
    "_trace/moves.py": {"libsparse._ops.indexing"},
    "_trace/proxies.py": {"torch.fx.experimental"},  # for make_fx only
    "_trace/patterns.py": {"torch.fx.experimental"},
    "_torch/interop.py": {"scipy.sparse"},
}


def modules(path: Path) -> Iterator[tuple[str, ast.stmt, bool]]:
    """The modules that a file imports, with the statement, and whether it stands inside of a function."""

    def visit(node: ast.AST, inside: bool) -> Iterator[tuple[str, ast.stmt, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, child, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                yield from ((name, child, inside) for name in _imported(path, child))
            yield from visit(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), False)


def _imported(path: Path, node: ast.ImportFrom) -> list[str]:
    base = node.module or ""
    if node.level:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        base = ".".join([*parts[: len(parts) - node.level], *filter(None, [node.module])])
    names = [f"{base}.{alias.name}" for alias in node.names]
    return [name if file_of(name) else base for name in names]


def file_of(module: str) -> Path | None:
    """The file of a module of the package."""
    place = PACKAGE.parent.joinpath(*module.split("."))
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p in _KNOWN), None)


def run_by(module: str) -> set[Path]:
    """The files that run when a module is imported: its own, and the `__init__.py` of each package around it."""
    parts = module.split(".")
    around = {file_of(".".join(parts[:length])) for length in range(1, len(parts) + 1)}
    return {path for path in around if path is not None}


_KNOWN = frozenset(FILES)
# They show users the names of modules that may import them.
_SHOWN = frozenset(PACKAGE / part / "__init__.py" for part in ("", "dglsp", "linalg", "nn", "sampling"))


def room(path: Path) -> str:
    """The sub-package that a file is in, "" for the package itself."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def test_each_room_imports_what_is_below_it():
    assert {room(path) for path in FILES} == set(MAY_IMPORT), "name every room, and what it may import"
    for path in FILES:
        for module, _, _ in modules(path):
            found = file_of(module)
            if found is not None and room(found) not in MAY_IMPORT[room(path)]:
                pytest.fail(f"{path.relative_to(ROOT)} imports {module}, which is above it; see MAY_IMPORT")


def test_no_circle_of_files():
    imports = {path: {f for module, _, _ in modules(path) for f in run_by(module)} for path in FILES}
    done: set[Path] = set()

    def visit(path: Path, above: tuple[Path, ...]) -> None:
        assert path not in above, " imports ".join(str(p.relative_to(PACKAGE)) for p in (*above, path))
        if path not in done and path not in _SHOWN:
            for other in sorted(imports[path] - {path}):
                visit(other, (*above, path))
            done.add(path)

    for path in FILES:
        visit(path, ())


def test_imports_inside_of_functions_are_listed():
    for path in FILES:
        name = str(path.relative_to(PACKAGE))
        for module, node, inside in modules(path):
            allowed = any(module == m or module.startswith(f"{m}.") for m in LAZY.get(name, ()))
            if inside and not allowed:
                pytest.fail(f"{name}:{node.lineno} imports {module} inside of a function; see LAZY")


def test_files_and_functions_are_short():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        assert lines <= LONGEST_FILE, f"{path.relative_to(ROOT)} has {lines} lines, {LONGEST_FILE} are allowed"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                where = f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
                assert length <= LONGEST_FUNCTION, f"{where} has {length} lines, {LONGEST_FUNCTION} are allowed"


def test_tensors_are_made_on_a_named_device():
    factories = {f"torch.{function.__name__}" for function in _device._device_constructors()}
    for path in FILES:
        if room(path) == "demo":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in factories:
                named = {"device", None} & {keyword.arg for keyword in node.keywords}
                assert named, f"{path.relative_to(ROOT)}:{node.lineno}: pass device=; users set a default device"
