"""Several devices: the rows of a step are spread over them, and the answer is that of one."""

import json
import os
import subprocess
import sys

import numpy as np

FIT = """
import json
import jax
import numpy as np
from small import blobs, quick
from newfound.estimator import GMDGM
from newfound.training import loop
spread, real = [], loop.over_devices

def noting(chunk, states):
    spread.append(real(chunk, states))
    return spread[-1]

loop.over_devices = noting
X, truth = blobs(300)
y = np.where(np.arange(300) % 3, -1, truth % 2)
model = GMDGM(2, **quick(max_epochs=4, pretrain_epochs=2, batch_size=16)).fit(X, y)
rows = spread[0][0].rows
odd = np.zeros((1, 2, 15, 3), np.float32)
print(json.dumps({
    "devices": jax.local_device_count(),
    "spread": len(rows.sharding.device_set) if isinstance(rows, jax.Array) else 1,
    "odd is left alone": real([odd], None)[0][0] is odd,
    "p": model.predict_proba(X).tolist(),
}))
"""


def fit(n_devices):
    flags = f"--xla_force_host_platform_device_count={n_devices}"
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    environment = os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FIT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_two_devices_give_the_answer_of_one():
    one, two = fit(1), fit(2)
    assert (one["devices"], one["spread"]) == (1, 1)
    assert (two["devices"], two["spread"]) == (2, 2)
    assert two["odd is left alone"]  # a batch that cannot be divided stays on one device
    np.testing.assert_allclose(one["p"], two["p"], atol=2e-3)
