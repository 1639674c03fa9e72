"""Every named bad input there is, by its kind; `python all_bad_inputs.py` counts them."""

from bad_archives import ARCHIVES
from bad_files import ARRAYS, IMAGES, TABLES
from bad_values import HIDE, KEEP, LABELS, NUMBERS, SETTINGS

FILES = {
    f"{kind}: {what}": bad
    for kind, some in (("table", TABLES), ("array", ARRAYS), ("image", IMAGES))
    for what, bad in some.items()
}
ALL = {
    "files": FILES,
    "archives": ARCHIVES,
    "labels": LABELS,
    "settings": SETTINGS,
    "--hide": HIDE,
    "--keep": KEEP,
    "--epochs": NUMBERS,
}

if __name__ == "__main__":
    for kind, some in ALL.items():
        print(f"{kind}: {len(some)}")
    print(f"all: {sum(map(len, ALL.values()))}")
