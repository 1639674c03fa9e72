"""What the fuzzer once found stays found: every input of `finds` is read, in a process that may crash."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_mutations import mutated
from fuzz_one import outcome
from fuzz_targets import TARGETS, seeds_of
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
FINDS = HERE / "finds"
QUICK = [name for name, target in TARGETS.items() if not target.needs_run and name != "command line"]
FINE = ("read", "refused")


def test_every_find_is_read_or_refused(tmp_path):
    finds = [path for path in sorted(FINDS.iterdir()) if path.name != "README.md"]
    program = "import replay_finds, sys; replay_finds.main(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, str(tmp_path)],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = json.loads(done.stdout)
    assert outcomes.keys() == {path.name for path in finds}
    assert {name: how for name, how in outcomes.items() if how not in FINE} == {}


@pytest.mark.parametrize("name", QUICK)
def test_seeds_are_read(name, tmp_path):
    assert {outcome(name, seed, tmp_path) for seed in seeds_of(name, tmp_path)} <= {"read", "refused"}
    assert "read" in {outcome(name, seed, tmp_path) for seed in seeds_of(name, tmp_path)}


@pytest.mark.parametrize("name", QUICK)
def test_mutations_are_read_or_refused(name, tmp_path_factory):
    """A few of what tools/fuzz.py tries by the million."""
    folder = tmp_path_factory.mktemp("fuzz")
    seeds = seeds_of(name, folder)

    @settings(max_examples=15, deadline=None)
    @given(st.randoms(use_true_random=False), st.sampled_from(seeds))
    def check(rng, seed):
        assert outcome(name, mutated(TARGETS[name].kind, seed, seeds, rng, 65_536), folder) in FINE

    check()


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40))
def test_options_of_any_text(text):
    for first in "hkn":
        assert outcome("options", (first + text).encode("utf-8", "surrogatepass"), Path()) in FINE
