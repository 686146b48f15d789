"""Contexts of threads that search with weights in device memory, without a GPU: a stand-in makes them."""

import gc
import threading

from culmen._device import _OnGpu
from culmen._schema import Schema


class Context:
    alive = 0

    def __init__(self):
        Context.alive += 1

    def __del__(self):
        Context.alive -= 1


class Copy(_OnGpu):
    __slots__ = ()

    def _make_context(self, stream, device):
        return Context()


def copy():
    return Copy._of(object(), object.__new__(Schema))


def test_a_thread_has_one_for_each_stream():
    on_gpu = copy()
    assert on_gpu._context(7, 0) is on_gpu._context(7, 0)
    assert on_gpu._context(7, 0) is not on_gpu._context(8, 0)
    assert on_gpu._context(7, 0) is not on_gpu._context(7, 1)
    of_thread = []
    thread = threading.Thread(target=lambda: of_thread.append(on_gpu._context(7, 0) is on_gpu._context(7, 0)))
    thread.start()
    thread.join()
    assert of_thread == [True]


def test_those_of_threads_that_have_ended_are_gone():
    on_gpu, before = copy(), Context.alive
    for _ in range(8):
        thread = threading.Thread(target=on_gpu._context, args=(7, 0))
        thread.start()
        thread.join()
    gc.collect()
    assert Context.alive == before


def test_those_of_all_threads_go_with_the_copy():
    on_gpu, before, end, made = copy(), Context.alive, threading.Event(), threading.Event()
    copies = [on_gpu]

    def search():
        copies.pop()._context(7, 0)
        made.set()
        end.wait(10)

    thread = threading.Thread(target=search)
    thread.start()
    assert made.wait(10)
    assert Context.alive == before + 1
    del on_gpu
    gc.collect()
    assert Context.alive == before
    end.set()
    thread.join()
