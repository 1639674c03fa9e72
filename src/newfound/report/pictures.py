"""Rows of pixels as images inside the page."""

import base64
import io

import numpy as np
from PIL import Image

LONGEST_SIDE = 72  # pixels; larger images are shrunk, so that the page stays small enough to send
PNG_SIDE = 40  # smaller ones are kept as they are; of larger ones JPEG needs a quarter of the bytes


def limits(X: np.ndarray) -> tuple[float, float]:
    """What is black and what is white: the range of the type where it is plain, else that of the rows."""
    if X.dtype == np.uint8:
        return 0.0, 255.0
    finite = X[np.isfinite(X)]
    if finite.size == 0 or (finite.min() >= 0 and finite.max() <= 1):
        return 0.0, 1.0
    return float(finite.min()), float(finite.max())


def data_uri(row: np.ndarray, shape: tuple[int, ...], black_white: tuple[float, float]) -> str:
    """One row as a small PNG or JPEG; `shape` is (height, width) or (height, width, channels)."""
    image = Image.fromarray(_pixels(row, shape, black_white))
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    kind = "PNG" if max(image.size) <= PNG_SIDE or image.mode == "RGBA" else "JPEG"
    stored = io.BytesIO()
    image.save(stored, format=kind, optimize=True, **({"quality": 82} if kind == "JPEG" else {}))
    return f"data:image/{kind.lower()};base64,{base64.b64encode(stored.getvalue()).decode()}"


def _pixels(row: np.ndarray, shape: tuple[int, ...], black_white: tuple[float, float]) -> np.ndarray:
    low, high = black_white
    share = (np.nan_to_num(row.astype(float), nan=low) - low) / max(high - low, 1e-12)
    pixels = (np.clip(share, 0, 1) * 255).round().astype(np.uint8).reshape(shape)
    if pixels.ndim == 3 and pixels.shape[2] not in (3, 4):  # what PNG has no colours for is drawn in grey
        return pixels.mean(axis=2).astype(np.uint8)
    return pixels
