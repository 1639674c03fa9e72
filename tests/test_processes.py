"""Processes that were forked after JAX had started are refused: there it would hang."""

import os

import pytest
from small import blobs, quick

from newfound import GMDGM


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")  # Python and JAX warn of it, too
def test_a_fork_of_a_process_that_has_computed_is_refused_in_one_sentence():
    X, truth = blobs()
    model = GMDGM(**quick()).fit(X, truth)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        told = ""
        try:
            model.predict(X)
        except RuntimeError as error:
            told = str(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        assert "JAX does not survive a fork" in pipe.read()
    assert len(model.predict(X)) == len(X)  # and here all is as it was
