"""The model that is shipped: an ensemble of gradient-boosted trees, and the file that the compiler reads it from."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import Dataset, Floats, squeezed

_MEMBERS = 3  # of the ensemble
_SHARE = 0.75  # of the bases that each is trained on
_TREES, _LEAVES, _RATE = 220, 63, 0.1
_SPREAD_TREES, _SPREAD_LEAVES = 60, 15
_FAST = 2  # times that what is as fast as the compiler's counts more than what takes twice as long
_LEAST = 0.01  # how far off is not told from nothing
_OF_NORMAL = 0.635 / math.log(2)  # of the standard deviation over the mean of logarithms, of normal numbers
_LEAF, _ABSENT = 1, 2


def _boosted(trees: int, leaves: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=trees,
        max_leaf_nodes=leaves,
        learning_rate=_RATE,
        min_samples_leaf=20,
        l2_regularization=1.0,
        max_features=0.5,
        early_stopping=False,
        random_state=0,
    )


class Trees:
    """An ensemble of sums of trees.

    Attributes:
        members: The fitted models.
        samples: How many rows they were trained on.
        spread: A model of how far the members are off, on bases that they have not seen, as a logarithm to base 2.
    """

    def __init__(self, data: Dataset, rows: NDArray[np.bool_], trees: int = _TREES) -> None:
        """Train on some rows of a dataset."""
        target = squeezed(data.slowdown)
        weight = 1 / (1 + _FAST * np.maximum(target, 0))
        bases = sorted({data.bases[p] for p in np.unique(data.problem[rows])})
        of_row = np.array(data.bases)[data.problem]
        random = np.random.default_rng(0)
        self.members, self.samples = [], int(rows.sum())
        off, judges = np.zeros(len(target)), np.zeros(len(target))
        for _ in range(_MEMBERS):
            chosen = set(random.choice(bases, int(_SHARE * len(bases)), replace=False))
            mine = rows & np.isin(of_row, list(chosen))
            model = _boosted(trees, _LEAVES).fit(data.features[mine], target[mine], weight[mine])
            self.members.append(model)
            rest = rows & ~mine
            off[rest] += model.predict(data.features[rest]) - target[rest]
            judges[rest] += 1
        unseen = judges > 0
        far = np.log2(np.abs(off[unseen] / judges[unseen]) + _LEAST)
        self.spread = _boosted(_SPREAD_TREES, _SPREAD_LEAVES).fit(data.features[unseen], far + _OF_NORMAL)

    def predict(self, features: Floats) -> NDArray[np.float64]:
        """The mean of the members."""
        mean: NDArray[np.float64] = np.mean([m.predict(features) for m in self.members], axis=0)
        return mean

    def deviation(self, features: Floats) -> NDArray[np.float64]:
        """How far the mean is off, about."""
        found: NDArray[np.float64] = np.exp2(self.spread.predict(features))
        return found

    def write(self, path: Path, data: Dataset) -> None:
        """Writes the file; see `libsparse/tune/learned/model.go`."""
        header = {
            "features": data.names,
            "groups": [len(m._predictors) for m in self.members],
            "spread": len(self.spread._predictors),
            "digest": data.digest,
            "samples": self.samples,
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        parts = [struct.pack("<I", len(text)), text]
        for member in (*self.members, self.spread):
            first = float(member._baseline_prediction[0, 0])
            for number, (predictor,) in enumerate(member._predictors):
                nodes = _preorder(predictor.nodes, first if number == 0 else 0.0)
                parts += [struct.pack("<H", len(nodes)), *nodes]
        path.write_bytes(b"".join(parts))

    def examples(self, path: Path, data: Dataset, rows: NDArray[np.bool_]) -> None:
        """Writes a few rows with predictions, which a test compares with those of the compiler."""
        some = data.features[rows][:: max(1, int(rows.sum()) // 12)][:12]
        features = [[None if np.isnan(x) else float(x) for x in row] for row in some]
        found = {"predictions": self.predict(some).tolist(), "deviations": self.deviation(some).tolist()}
        path.write_text(json.dumps({"features": features, **found}) + "\n")


def _preorder(nodes: Any, shift: float) -> list[bytes]:
    """The nodes of a tree in the order of a walk to the left; `shift` is added to all leaves."""
    out: list[bytes] = []

    def visit(at: int) -> None:
        node, place = nodes[at], len(out)
        if node["is_leaf"]:
            out.append(struct.pack("<BBHf", 0, _LEAF, 0, node["value"] + shift))
            return
        out.append(b"")
        visit(node["left"])
        right = len(out)
        visit(node["right"])
        flags = _ABSENT if node["missing_go_to_left"] else 0
        threshold = np.float32(node["num_threshold"])
        if threshold > node["num_threshold"]:  # numbers are compared as float32: none between the two moves
            threshold = np.nextafter(threshold, np.float32(-np.inf))
        out[place] = struct.pack("<BBHf", node["feature_idx"], flags, right, threshold)

    visit(0)
    return out
