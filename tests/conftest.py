import os

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture
def strict_numbers():
    """No silent change of dtype or rank: for the mathematics that is ours (Optax relies on such changes)."""
    import jax

    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def interrupted_at_third_chunk(monkeypatch):
    """Ctrl-C while the third chunk of steps is computed."""
    from newfound.training import loop

    calls, real = [], loop.compiled_train_chunk()

    def compute(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(loop, "compiled_train_chunk", lambda: compute)
