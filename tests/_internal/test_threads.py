"""Work on several threads gives what one thread gives, in order, and leaves BLAS as it was."""

import threading

import numpy as np
import pytest
from small import blobs, quick, some_labels
from threadpoolctl import ThreadpoolController, threadpool_limits

from newfound import GMDGM
from newfound._internal.threads import ahead, in_threads
from newfound.models.in_numpy import Inference


def blas_threads():
    return [library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_piece_is_answered_in_order_with_one_thread_of_blas_in_each(n_threads):
    with threadpool_limits(n_threads, user_api="blas"):
        before = blas_threads()
        seen = in_threads(lambda piece: (piece, blas_threads()), range(50))
        assert blas_threads() == before
    assert [piece for piece, _ in seen] == list(range(50))
    assert {n for _, threads in seen for n in threads} == {1}


def test_an_error_in_a_piece_is_raised_and_blas_is_as_it_was():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda piece: 1 / piece, [1, 2, 0, 3])
    assert blas_threads() == before


def test_two_callers_at_once_put_back_what_the_first_one_found():
    before, both_inside = blas_threads(), threading.Barrier(2, timeout=30)

    def caller():
        in_threads(lambda piece: both_inside.wait() if piece == 0 else piece, [0, 1])

    callers = [threading.Thread(target=caller) for _ in range(2)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert blas_threads() == before


def test_one_item_is_made_ahead_and_no_more():
    made = []

    def items():
        for i in range(6):
            made.append(i)
            yield i

    for i in ahead(items()):
        assert len(made) <= i + 2
    assert made == list(range(6))


def test_an_error_on_the_way_comes_after_the_items_before_it():
    def items():
        yield 1
        raise KeyError("cut short")

    coming = ahead(items())
    assert next(coming) == 1
    with pytest.raises(KeyError, match="cut short"):
        next(coming)


def test_whoever_stops_early_waits_for_nobody():
    n_threads = threading.active_count()
    coming = ahead(iter(range(1_000_000)))
    assert next(coming) == 0
    coming.close()
    assert threading.active_count() == n_threads


def test_rows_answered_on_two_threads_have_the_bits_of_rows_answered_on_one(monkeypatch):
    X, truth = blobs()
    model = GMDGM(2, **quick()).fit(X, some_labels(truth))
    monkeypatch.setattr(Inference, "_block_rows", 70)
    answers = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            answers.append(model.predict_proba(np.tile(X, (10, 1))))
    np.testing.assert_array_equal(*answers)
