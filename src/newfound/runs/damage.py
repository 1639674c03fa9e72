"""What is read of a run may be damaged: whatever that does to a reader becomes one sentence."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from newfound.errors import DataError

Read = TypeVar("Read")
DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError),
    *(MemoryError, OSError),
)


def told(part: Callable[[Any], Read]) -> Callable[[Any], Read]:
    """A property of a run that says so where it cannot be read."""

    @wraps(part)
    def read(run: Any) -> Read:
        from pyarrow import ArrowException
        from safetensors import SafetensorError

        try:
            return part(run)
        except DataError:
            raise
        except (*DAMAGED, ArrowException, SafetensorError) as error:
            raise DataError(
                f"The run {str(run.folder)!r} is damaged: its {part.__name__} cannot be read ({_reason(error)}). "
                f"Copy the whole folder again, or fit again."
            ) from None

    return read


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
