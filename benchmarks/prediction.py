"""Rows a second of `predict_proba`, for one row, a thousand and a million, beside scikit-learn's MLP of the same size.

python benchmarks/prediction.py
"""

import warnings
from typing import Any

import numpy as np
from measure import in_turn, seconds_of

N_COLUMNS, N_CLASSES, MILLION = 784, 45, 1_000_000


def measure(rounds: int = 5) -> dict[str, Any]:
    from sklearn.neural_network import MLPClassifier

    from newfound import GMDGM, Config

    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (5_000, N_COLUMNS), dtype=np.uint8)
    y = np.arange(len(X)) % N_CLASSES
    brief = {"max_epochs": 1, "random_state": 0, "verbose": False, "config": Config().replace(pretrain_epochs=0)}
    newfound = GMDGM(0, **brief).fit(X, y)
    unit = (X / 255).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one pass does not converge, nor need it
        perceptron = MLPClassifier((200, 200), max_iter=1, random_state=0).fit(unit, y)
    results = {}
    for n in (1, 1_000):
        runs = {
            "newfound": lambda n=n: newfound.predict_proba(X[:n]),
            "MLPClassifier": lambda n=n: perceptron.predict_proba(unit[:n]),
        }
        results[str(n)] = {name: round(n / seconds) for name, seconds in in_turn(runs, rounds).items()}
    many = np.resize(X, (MILLION, N_COLUMNS))
    seconds = {"newfound": seconds_of(lambda: newfound.predict_proba(many))}
    many = (many / np.float32(255)).astype(np.float32, copy=False)
    seconds["MLPClassifier"] = seconds_of(lambda: perceptron.predict_proba(many))
    results[str(MILLION)] = {name: round(MILLION / took) for name, took in seconds.items()}
    for n, rates in results.items():
        print(f"{int(n):>9,} rows: " + ", ".join(f"{name} {rate:,} rows/s" for name, rate in rates.items()))
    return results


if __name__ == "__main__":
    measure()
