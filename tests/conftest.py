import os

import hypothesis
import pytest

hypothesis.settings.register_profile("the same on every machine", deadline=None, derandomize=True)
hypothesis.settings.load_profile("the same on every machine")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "PYTEST_XDIST_WORKER" in os.environ:  # several processes share the cores: threads that wait for each other cost most
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is read from or written to the user's own cache; compiled programs are kept in pytest's.

    They are so in subprocesses, too. (By JAX's own variables: newfound then leaves its settings alone.) Most of the
    time goes to compiling programs that then run for a moment, so they are compiled in haste; but see `optimised`.
    """
    folder = config.rootpath / ".pytest_cache" / "newfound"
    os.environ["NEWFOUND_CACHE"] = str(folder)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "programs")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"


@pytest.fixture(scope="module")
def optimised():
    """Programs as users have them: for files that train large networks for long, or count what a program does."""
    import jax

    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


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

    monkeypatch.setattr(loop, "compiled_train_chunk", lambda is_brief: compute)
