import jax
import numpy as np

from newfound.models.networks import key_of


def test_uniform_numbers_are_uniform_and_independent():
    draws = np.asarray(jax.random.uniform(key_of(0), (1000, 200)))
    assert abs(draws.mean() - 0.5) < 0.003
    assert abs(draws.var() - 1 / 12) < 0.002
    counts = np.histogram(draws, bins=64, range=(0, 1))[0]
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 110  # χ² with 63 degrees of freedom, p ≈ 0.0002
    for lag in (1, 2, 200):
        flat = draws.ravel()
        assert abs(np.corrcoef(flat[:-lag], flat[lag:])[0, 1]) < 0.01


def test_keys_that_differ_give_unrelated_numbers():
    keys = [key_of(0), key_of(1), *jax.random.split(key_of(0), 3), jax.random.fold_in(key_of(0), 1)]
    draws = np.stack([jax.random.normal(key, (20_000,)) for key in keys])
    related = np.corrcoef(draws) - np.eye(len(keys))
    assert np.abs(related).max() < 0.03


def test_vmap_gives_what_each_key_gives_alone():
    keys = jax.random.split(key_of(3), 5)
    together = jax.vmap(lambda key: jax.random.uniform(key, (7,)))(keys)
    alone = np.stack([jax.random.uniform(key, (7,)) for key in keys])
    np.testing.assert_array_equal(together, alone)


def test_a_seed_of_any_size_makes_a_key():
    jax.random.normal(key_of(2**40 + 5), (3,))


def slow_words(key: tuple[int, int], n: int) -> list[int]:
    """The same hash in Python's own integers, one position after the other."""
    mask = 0xFFFFFFFF

    def mix(h: int) -> int:
        h = ((h ^ (h >> 16)) * 0x7FEB352D) & mask
        h = ((h ^ (h >> 15)) * 0x846CA68B) & mask
        return h ^ (h >> 16)

    return [mix((mix((i * 0x9E3779B9 + key[0]) & mask) + key[1]) & mask) for i in range(n)]


def test_bits_are_what_a_loop_in_integers_gives():
    key = key_of(7)
    words = np.asarray(jax.random.key_data(key)).tolist()
    bits = jax.random.bits(key, (50,), "uint32")
    assert np.asarray(bits).tolist() == slow_words(tuple(words), 50)
