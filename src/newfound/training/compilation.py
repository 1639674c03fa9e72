"""How programs are compiled and kept between processes: a second fit of the same shape starts at once."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import jax

MOST_BYTES = 256 * 2**20  # of kept programs; those not used for longest go first


def keep_compiled_programs() -> None:
    """Let JAX keep compiled programs in the user's cache folder, unless the process has chosen one of its own.

    This changes settings of the whole process, so only the command line calls it, or a user who sets NEWFOUND_CACHE to
    a folder. The empty string keeps nothing.
    """
    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    folder = _folder()
    if folder is None:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_compilation_cache_max_size", MOST_BYTES)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def keep_compiled_programs_if_asked() -> None:
    """For a user's own program: only where NEWFOUND_CACHE names a folder."""
    if os.environ.get("NEWFOUND_CACHE"):
        keep_compiled_programs()


def _folder() -> Path | None:
    chosen = os.environ.get("NEWFOUND_CACHE")
    if chosen == "":
        return None
    from platformdirs import user_cache_path

    folder = (Path(chosen) if chosen else user_cache_path("newfound")) / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:  # a read-only home is no reason to fail: compile each time
        return None
    return folder


def training_options(*, is_brief: bool) -> dict[str, Any]:
    """XLA's options for the training step.

    Matrix products of the sizes of a step are quicker by Eigen than by YNNPACK, XLA's default, which is left its
    reductions: an eighth off the step at batch 64 x 200 units. A brief training is compiled for longer than it runs;
    XLA's older code generator takes two thirds of the time, for steps that take an eighth more.
    """
    return _accepted(EIGEN + OLDER_GENERATOR if is_brief else EIGEN)


def validation_options(*, is_brief: bool) -> dict[str, Any]:
    """XLA's options for the evaluation of validation rows, of which a brief training has a few."""
    return _accepted(OLDER_GENERATOR + UNOPTIMISED if is_brief else ())


Options = tuple[tuple[str, Any], ...]
EIGEN: Options = (("xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_REDUCE"),)
OLDER_GENERATOR: Options = (("xla_cpu_use_fusion_emitters", False),)
UNOPTIMISED: Options = (("xla_backend_optimization_level", 0),)


@cache
def _accepted(options: Options) -> dict[str, Any]:
    """Those that this XLA takes; none on another device than a CPU."""
    if not options or jax.default_backend() != "cpu":
        return {}
    if _compiles(options):
        return dict(options)
    return dict(option for option in options if _compiles((option,)))


def _compiles(options: Options) -> bool:
    try:
        jax.jit(lambda x: x + 1.0, compiler_options=dict(options))(0.0)
    except (RuntimeError, ValueError):
        return False
    return True
