"""The loop of a fuzzer: libFuzzer's, guided by coverage, where atheris is installed; else a plain one."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None


@contextmanager
def instrumented() -> Iterator[None]:
    """What is imported within tells which lines it reached."""
    if atheris is None:
        yield
        return
    with atheris.instrument_imports(include=["newfound"], enable_loader_override=False):
        yield


def fuzz(name: str, one_input: Callable[[bytes], None], corpus: Path, n: int, seed: int, at_most: int) -> None:
    from fuzz_mutations import mutated
    from fuzz_targets import TARGETS

    kind = TARGETS[name].kind
    first = [path.read_bytes() for path in sorted(corpus.iterdir())[:200]]
    if atheris is None:
        rng = random.Random(seed)
        for _ in range(n):
            one_input(mutated(kind, rng.choice(first), first, rng, at_most))
        return

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.2:
            return atheris.Mutate(data, max_size)
        return mutated(kind, data, first, rng, max_size)

    options = [
        f"-runs={n}",
        f"-seed={seed}",
        f"-max_len={at_most}",
        "-timeout=1000000",
        "-rss_limit_mb=0",
        "-verbosity=0",
    ]
    atheris.Setup(["fuzz", *options, "-len_control=0", str(corpus)], one_input, custom_mutator=mutate)
    atheris.Fuzz()
