"""A fork of a process that has fitted can predict; what needs JAX is refused there, where it would hang."""

import os

import numpy as np
import pytest
from small import blobs, quick

from newfound import GMDGM


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")  # Python and JAX warn of it, too
def test_a_fork_of_a_process_that_has_fitted_predicts_and_refuses_to_fit_in_one_sentence():
    X, truth = blobs()
    model = GMDGM(**quick()).fit(X, truth)
    expected = model.predict(X)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        told = "predicted, " if np.array_equal(model.predict(X), expected) else ""
        try:
            model.fit(X, truth)
        except RuntimeError as error:
            told += str(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    assert told.startswith("predicted, ")
    assert "JAX does not survive a fork" in told
    assert len(model.predict(X)) == len(X)  # and here all is as it was
