"""Compiled programs kept between processes: a second fit of the same shape starts at once."""

import os
from pathlib import Path

import jax


def keep_compiled_programs() -> None:
    """Point JAX's persistent cache at the user's cache folder, unless the user has chosen one, or none.

    Set NEWFOUND_CACHE to choose the folder, or to the empty string to keep nothing.
    """
    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    folder = _folder()
    if folder is None:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def _folder() -> Path | None:
    chosen = os.environ.get("NEWFOUND_CACHE")
    if chosen == "":
        return None
    from platformdirs import user_cache_path

    folder = (Path(chosen) if chosen else user_cache_path("newfound")) / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:  # a read-only home is no reason to fail: compile each time
        return None
    return folder
