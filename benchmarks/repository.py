"""Import it before `experiments`, which is not installed: then a script finds it from every folder."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
