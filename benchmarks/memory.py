"""Peak memory and seconds of a fit on MNIST: 60,000 x 784 bytes, the digits 5 to 9 without any label.

NEWFOUND_DATA=... python benchmarks/memory.py [--epochs 2]
"""

import argparse
import resource
import time

import repository  # noqa: F401


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()

    from experiments.named import load_named
    from newfound import GMDGM, Config, mask_labels

    mnist = load_named("mnist").train
    X, y = mnist.X, mask_labels(mnist.labels.codes, hide=range(5, 10), keep=0.2, random_state=0)
    config = Config().replace(min_std=0.1)
    began = time.perf_counter()
    model = GMDGM(n_new=40, latent_dim=5, max_epochs=arguments.epochs, random_state=0, config=config).fit(X, y)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"MNIST, {X.shape[0]:,} x {X.shape[1]} uint8: fitted in {seconds:.0f} s ({model.termination_condition_}), ",
        end="",
    )
    print(f"peak resident memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
