"""The Lanczos-3 filter over all pixels of a picture, in 64-bit floating point: what resized pictures are compared with."""

import numpy as np


def weights(source: int, target: int) -> np.ndarray:
    scale = source / target
    result = np.zeros((target, source))
    for pixel in range(target):
        x = (np.arange(source) + 0.5 - (pixel + 0.5) * scale) / max(scale, 1)
        row = np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)
        result[pixel] = row / row.sum()
    return result


def exact(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    """Not rounded."""
    across = weights(pixels.shape[1], width)
    columns = np.stack([pixels[:, :, c].astype(np.float64) @ across.T for c in range(pixels.shape[2])], axis=2)
    return np.einsum("ij,jkc->ikc", weights(pixels.shape[0], height), columns)


def rounded(pixels: np.ndarray) -> np.ndarray:
    return np.clip(np.floor(pixels + 0.5), 0, 255).astype(np.uint8)
