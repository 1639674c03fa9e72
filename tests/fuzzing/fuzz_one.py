"""One input to one target: worked, refused in one sentence of newfound's own, or a find."""

import traceback
import warnings
from pathlib import Path
from types import TracebackType

from fuzz_targets import TARGETS

import newfound

SOURCES = (str(Path(newfound.__file__).parent), str(Path(__file__).parents[2] / "experiments"))
OWN = (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)  # as the command line has
ALSO_SPEAK = {"estimator": ("sklearn",)}  # whose sentences are as good as ours


def outcome(name: str, data: bytes, folder: Path) -> str:
    """ "read", "refused", or what is wrong: the exception and where it was raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", category=RuntimeWarning, module="newfound")
            TARGETS[name].read(data, folder)
    except OWN as error:
        return "refused" if _is_a_sentence(error, name) else _signature(error)
    except TypeError as error:  # scikit-learn's rule for cells that are no numbers
        return "refused" if name == "estimator" and "real number" in str(error) else _signature(error)
    except Exception as error:
        return _signature(error)
    return "read"


def _is_a_sentence(error: Exception, name: str) -> bool:
    """Raised by a line of newfound (not by a library that it called), and fit to be read."""
    where = _last(error.__traceback__)
    is_ours = where.startswith(SOURCES) or any(f"/{lib}/" in where for lib in ALSO_SPEAK.get(name, ()))
    said = str(error)
    return is_ours and len(said) >= 20 and ("sklearn" in where or (len(said) <= 3_000 and said.isprintable()))


def _last(trace: TracebackType | None) -> str:
    """The file that an error was raised in; `traceback.extract_tb` takes longer than most inputs."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else trace.tb_frame.f_code.co_filename


def _signature(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(SOURCES)]
    at = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    what = str(error).split("\n")[0][:80] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} in {at} {what}".rstrip()
