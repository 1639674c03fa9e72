import os

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture
def strict_numbers():
    """No silent change of dtype or rank: for the mathematics that is ours (Optax relies on such changes)."""
    import jax

    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield
