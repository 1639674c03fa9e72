"""The recipes of docs/scaling.md, run as they are printed: Spark and Ray, where they are installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM

DOCUMENT = (Path(__file__).parent.parent.parent / "docs" / "scaling.md").read_text()
BLOCKS = dict(re.findall(r"<!-- run: (\w+) -->\n```python\n(.*?)```", DOCUMENT, re.DOTALL))
NAMES = list("abcde")

BEFORE = {
    "spark": """
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
rows = spark.createDataFrame(frame)
""",
    "ray": """
import ray
ray.init(num_cpus=1, include_dashboard=False, _node_ip_address="127.0.0.1")
rows = ray.data.from_pandas(frame)
""",
}
AFTER = {"spark": "said = answers.toPandas()\nspark.stop()", "ray": "said = answers.to_pandas()\nray.shutdown()"}


def test_every_recipe_is_run_here():
    assert set(BLOCKS) == set(BEFORE)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "package"), [("spark", "pyspark"), ("ray", "ray")])
def test_an_engine_answers_as_this_process_does(engine, package, tmp_path):
    """In a process of its own, as a user would have it: no JAX there, and what it starts ends with it."""
    pytest.importorskip(package, reason=f"{package} is not installed")
    X, truth = blobs(n=600)
    frame = pd.DataFrame(X.astype(float), columns=NAMES)
    y = np.array(["one", "two", ""])[some_labels(truth)]
    model = GMDGM(**quick()).fit(frame, y)
    model.save(tmp_path / "run" / "model")
    frame.assign(id=range(600)).to_parquet(tmp_path / "rows.parquet")
    script = f"import pandas as pd\nframe = pd.read_parquet('rows.parquet')\n{BEFORE[engine]}{BLOCKS[engine]}\n"
    (tmp_path / "recipe.py").write_text(f"{script}{AFTER[engine]}\nsaid.to_parquet('said.parquet')\n")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "recipe.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = pd.read_parquet(tmp_path / "said.parquet").sort_values("id")
    assert (said["newfound_class"].to_numpy() == model.predict(frame)).all()
    np.testing.assert_allclose(said["newfound_p_new"], model.predict_new_proba(frame), atol=1e-6)
