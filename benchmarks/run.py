"""The one front door of the benchmarks.

python benchmarks/run.py [latency] [models] [kernels] [schedules] [options]
python benchmarks/run.py judge BEFORE.json AFTER.json
python benchmarks/run.py plot RESULTS.json FOLDER
python benchmarks/run.py page RESULTS.json
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import time
from pathlib import Path

if "--realtime" in sys.argv and "OMP_PROC_BIND" not in os.environ:  # before torch starts threads
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (AttributeError, PermissionError) as error:
        sys.exit(f"--realtime: {error}; it needs Linux and root, or CAP_SYS_NICE")
    os.environ["OMP_PROC_BIND"] = "true"
    os.execv(sys.executable, [sys.executable, *sys.argv])

from method import machine, results
from method.worker import quieten

SUITES = ("latency", "models", "kernels", "schedules")
# Only when they are named: they take memory, time, or write sources.
REQUESTED = ("large", "scaling", "fit", "tune", "tuned", "background", "collect", "learn", "waconet")
TOOLS = ("judge", "page", "plot")


def main() -> int:
    """Runs the suites that are named and writes one JSON file; or a tool on such files."""
    if sys.argv[1:] and sys.argv[1] in TOOLS:
        status: int = importlib.import_module(f"method.{sys.argv[1]}").main(sys.argv[2:])
        return status
    options = _options()
    quieten()
    described = machine.describe()
    found: dict[str, object] = {"machine": described, "options": {k: str(v) for k, v in vars(options).items()}}
    print(", ".join(f"{name}: {value}" for name, value in described.items()))
    if machine.load() > 0.5:
        print(f"note: the load is {machine.load():.1f}; beside others' work, times on several threads say little")
    wrong: list[str] = []
    path = Path(options.out or Path(__file__).parent / "results" / time.strftime("%Y%m%d-%H%M%S.json"))
    for name in options.suites or SUITES:
        print(f"\n{name}", flush=True)
        suite = importlib.import_module(f"suites.{name}").run(options)
        wrong += suite.get("wrong", [])
        found[name] = suite
        found["load at the end"] = machine.load()
        results.save(path, found)  # after each suite, so that what was measured is there whatever happens next
    print(f"\nload {machine.load():.1f} at the end; written to {os.path.relpath(path)}")
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if any(results.is_ours(line.split(":")[0]) for line in wrong) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("suites", nargs="*", help=f"any of {', '.join(SUITES)} (default: all), or {', '.join(REQUESTED)}")
    add("--data", help="folder of .mtx, .tns and .npz files, read recursively (default: generated matrices)")
    add("--only", metavar="REGEX", help="matrices whose folder/name matches")
    add("--most", type=int, metavar="NNZ", help="leave out larger matrices")
    add("--kernels", type=_list, help="names of kernels or regular expressions, by commas (see benchmarks/kernels)")
    add("--widths", type=_numbers, help="columns of dense operands, by commas")
    add("--peers", metavar="REGEX", help="peers whose title matches")
    add("--peer", action="append", default=[], metavar="PATH", help="a Python file with further peers")
    add("--dtype", type=_list, default=["f32"], help="f32, f64, bf16, by commas")
    add("--threads", type=_numbers, help="numbers of threads, by commas (default: torch's choice)")
    add("--align", type=int, default=64, help="operands begin at a multiple of 64 bytes, or at 16 after one")
    add("--rounds", type=int, help="turns of each candidate (default 15, quick 7)")
    add("--rows", type=int, default=1_000_000, help="of the matrix of the suite large (default 1000000)")
    add("--no-new", dest="new", action="store_false", help="only operands that were seen before")
    add(
        "--versus",
        metavar="CHECKOUT",
        help="another built checkout; its kernels and models take turns with ours",
    )
    add("--processes", type=int, help="begin anew so often, each with a part of the rounds (default 1; 3 if versus)")
    add("--held-out", action="store_true", help="matrices that the learned model has not seen, in the suite tuned")
    add(
        "--changes", metavar="REGEX", help="collect only schedules with a parameter like that, and add them to the data"
    )
    add("--realtime", action="store_true", help="ahead of other processes (Linux, as root): for a shared machine")
    add("--quick", action="store_true", help="fewer kernels, matrices and rounds")
    add("--out", metavar="FILE", help="where the JSON goes (default: benchmarks/results)")
    options = parser.parse_args()
    unknown = set(options.suites) - {*SUITES, *REQUESTED}
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    options.threads = options.threads or [_default_threads()]
    options.processes = options.processes or (3 if options.versus else 1)
    options.rounds = -(-(options.rounds or (7 if options.quick else 15)) // options.processes)
    options.builds = _builds(options.versus, parser) if options.versus else {}
    return options


def _default_threads() -> int:
    import torch

    return torch.get_num_threads()


def _list(text: str) -> list[str]:
    return re.split(r"\s*,\s*", text)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in _list(text)]


def _builds(checkout: str, parser: argparse.ArgumentParser) -> dict[str, dict[str, str]]:
    """The two builds that are compared, each with its environment; kernels are cached apart."""
    here, other = Path(__file__).resolve().parents[1], Path(checkout).expanduser().resolve()
    if not (other / "python" / "libsparse" / "_libsparse.so").exists():
        parser.error(f"--versus {other}: no build of libsparse there; run `make build` in it")
    build = here / "build" / "bench"

    def environment(root: Path, name: str) -> dict[str, str]:
        return {"PYTHONPATH": str(root / "python"), "LIBSPARSE_CACHE_DIR": str(build / f"kernels-{name}")}

    return {results.OURS: environment(here, "here"), f"{results.OURS} in {other}": environment(other, "there")}


if __name__ == "__main__":
    sys.exit(main())
