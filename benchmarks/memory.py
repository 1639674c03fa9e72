"""Peak memory and seconds of a fit on MNIST: 60,000 x 784 bytes, the digits 5 to 9 without any label.

NEWFOUND_DATA=../shared/data python benchmarks/memory.py [--epochs 2]
"""

import argparse
import resource
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()

    from newfound import GMDGM
    from newfound.data import read_dataset
    from newfound.masking import mask_labels

    mnist = read_dataset("mnist")
    X, y = mnist.X, mask_labels(mnist.y, hide=range(5, 10), keep=0.2, random_state=0)
    began = time.perf_counter()
    model = GMDGM(n_new=40, min_sd=0.1, latent_dim=5, max_epochs=arguments.epochs, random_state=0).fit(X, y)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"MNIST, {X.shape[0]:,} x {X.shape[1]} uint8: fitted in {seconds:.0f} s ({model.ending_}), ", end="")
    print(f"peak resident memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
