"""What every message about bad data has in common."""

import pytest

from newfound._internal.words import DataError
from newfound.tables.read import read_dataset


def check_refused(source, message, **options):
    with pytest.raises(DataError, match=message) as caught:
        read_dataset(source, **options)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
