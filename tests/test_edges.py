import numpy as np
import pytest

from newfound import GMDGM
from newfound.training.edges import edges


def square(top, left, brightness=255, size=28):
    image = np.zeros((size, size), np.uint8)
    image[top : top + 10, left : left + 10] = brightness
    return image.ravel()


def cross(size=28):
    image = np.zeros((size, size), np.uint8)
    image[size // 2] = image[:, size // 2] = 255
    return image.ravel()


def test_edges_hardly_notice_a_pixels_shift_or_another_brightness():
    images = np.stack([square(8, 8), square(9, 8), square(8, 8, brightness=100), cross()])
    same, shifted, darker, other = edges(images, (28, 28))
    np.testing.assert_allclose(same, darker, atol=1e-4)
    pixels = images.astype(float)
    noticed_by_pixels = np.linalg.norm(pixels[0] - pixels[1]) / np.linalg.norm(pixels[0] - pixels[3])
    assert np.linalg.norm(same - shifted) / np.linalg.norm(same - other) < 0.7 * noticed_by_pixels


def test_edges_tell_the_two_sides_of_a_bright_thing_apart():
    left = edges(np.tile(np.repeat([0, 255], 14), 28).astype(np.uint8)[None], (28, 28))
    right = edges(np.tile(np.repeat([255, 0], 14), 28).astype(np.uint8)[None], (28, 28))
    assert np.abs(left - right).max() > 0.3


@pytest.mark.parametrize("shape", [(28, 28), (8, 8), (5, 9), (1, 6), (6, 1), (12, 10, 3), (200, 160)])
def test_edges_of_images_of_any_shape_are_finite(shape):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, int(np.prod(shape))), dtype=np.uint8)
    images[0] = 0
    found = edges(images, shape)
    assert np.isfinite(found).all()
    assert (found[0] == 0).all()
    assert len(found) == 3


def test_images_are_fitted_by_their_edges_and_the_shape_is_kept(tmp_path):
    import newfound

    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 40)
    X = np.stack([cross(8) if t else square(2, 2, size=8) for t in truth])
    X = np.clip(X + rng.integers(0, 20, X.shape), 0, 255).astype(np.uint8)
    model = GMDGM(2, image_shape=(8, 8), max_epochs=2, warm_epochs=2, hidden=(8,), random_state=0, progress=False).fit(
        X
    )
    model.save(tmp_path / "model")
    assert newfound.load(tmp_path / "model").image_shape == (8, 8)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((4, 4), "makes 16 pixels, but X has 64 columns"), ((64,), "must be \\(height, width\\)"), (8, "must be")],
)
def test_a_shape_that_does_not_fit_is_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        GMDGM(2, image_shape=shape).fit(np.zeros((10, 64), np.uint8))
