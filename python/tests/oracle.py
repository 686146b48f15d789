"""The contract (docs/contract.md) in the plainest way: the chain over every row, then a sort."""

import ctypes
import ctypes.util

import numpy as np

_fma = ctypes.CDLL(ctypes.util.find_library("m")).fma
_fma.restype = ctypes.c_double
_fma.argtypes = [ctypes.c_double] * 3
fma = np.frompyfunc(_fma, 3, 1)


def scores(matrix, weights):
    """float64 [rows] of a float64 matrix [rows, attributes]."""
    chain = np.zeros(len(matrix), dtype=object)
    for i, weight in enumerate(weights):
        if weight != 0:
            chain = fma(float(weight), matrix[:, i], chain)
    return chain.astype(np.float64) + 0.0


def top(matrix, ids, weights, k, passes=None, min_score=None):
    """Ids and scores of the k best rows, as lists."""
    all_scores = scores(matrix, weights)
    keep = np.ones(len(ids), dtype=bool) if passes is None else passes
    if min_score is not None:
        keep = keep & (all_scores >= min_score)
    rows = np.flatnonzero(keep)
    order = rows[np.lexsort((ids[rows], -all_scores[rows]))][:k]
    return ids[order].tolist(), all_scores[order].tolist()
