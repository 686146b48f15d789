"""Tables of more than 64 attributes."""

import numpy as np
import pytest

import culmen


def best(matrix, weights, k):
    scores = matrix.astype(np.float64) @ weights
    return np.argsort(-scores, kind="stable")[:k]


@pytest.mark.parametrize("width", [65, 300, 1024])
def test_answers_are_those_of_a_product(width, tmp_path):
    random = np.random.default_rng(width)
    matrix = random.standard_normal((1500, width)).astype(np.float32)
    index = culmen.Index.build(matrix)
    index.save(tmp_path / "index")
    questions = random.standard_normal((130, width))
    for each in (index, culmen.Index.open(tmp_path / "index")):
        answers = each.search(questions, k=5)
        for q, weights in enumerate(questions):
            assert (answers.ids[q] == best(matrix, weights, 5)).all()
        assert (each.search(questions[0], k=5).ids == answers.ids[0]).all()


@pytest.mark.skipif(culmen.num_devices() == 0, reason="no GPU")
@pytest.mark.parametrize("width", [65, 300, 1024])
def test_a_gpu_answers_as_the_cpu(width):
    random = np.random.default_rng(width)
    index = culmen.Index.build(random.standard_normal((3000, width)), device="cuda:0")
    on_gpu = index.to("cuda:0")
    questions = random.standard_normal((300, width))
    for k in (1, 10, 200):
        on_cpu, there = index.search(questions, k=k), on_gpu.search(questions, k=k)
        assert (on_cpu.ids == there.ids).all()
        assert (on_cpu.scores == there.scores).all()
    filters = {"where": "a0 > 0 and a64 <= 0.5"}
    assert (index.search(questions[0], k=9, **filters).ids == on_gpu.search(questions[0], k=9, **filters).ids).all()


def test_more_than_1024_attributes_are_refused():
    with pytest.raises(culmen.InputError, match="1025 attributes"):
        culmen.Index.build(np.ones((3, 1025), np.float32))
