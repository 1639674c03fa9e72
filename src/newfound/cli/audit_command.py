"""`newfound audit`: are there classes in a file that nobody labelled?"""

import warnings
from typing import TYPE_CHECKING

from newfound.cli.console import AsJson, clear_errors, console_for, listener_on, print_audit, print_json
from newfound.cli.option_values import Masking, observed_labels
from newfound.cli.source_options import (
    ByGroup,
    Categorical,
    ColumnOptions,
    Features,
    Hide,
    Id,
    Ignore,
    ImageSize,
    Keep,
    Label,
    LabelFile,
    Numeric,
    Seed,
    Source,
    read_source,
)

if TYPE_CHECKING:
    from newfound.auditing import Audit
    from newfound.data import Dataset
    from newfound.labels import Labels


def audit(
    source: Source,
    label: Label = None,
    labels: LabelFile = None,
    id: Id = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    features: Features = None,
    image_size: ImageSize = None,
    hide: Hide = None,
    keep: Keep = None,
    by_group: ByGroup = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Are there classes here that nobody labelled? Yes, perhaps or none seen, and how far to trust it.

    Nothing is trained. Each known class is hidden in turn, to see whether it would have been found. Ctrl-C stops this
    and keeps what there is.

    Example: `newfound audit flowers.csv --label species`
    """
    console = console_for(as_json)
    with clear_errors():
        columns = ColumnOptions(
            label, id, ignore, labels, categorical, numeric, features=features, image_size=image_size
        )
        dataset = read_source(console_for(as_json=True), source, columns)
        observed = observed_labels(dataset, Masking(hide, keep, by_group, seed))
        found = _audit(dataset, dataset.labels if observed is None else observed, seed)
    if as_json:
        print_json(found.to_json())
    else:
        print_audit(console, found)


def _audit(dataset: "Dataset", labels: "Labels", seed: int) -> "Audit":
    """What is warned of becomes notes, on standard error."""
    from newfound.auditing import audit

    listener = listener_on(console_for(as_json=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = audit(
            dataset.X,
            labels,
            image_shape=dataset.image_shape,
            feature_types=dataset.schema.feature_types,
            random_state=seed,
        )
    for warning in caught:
        listener.note(str(warning.message))
    return found
