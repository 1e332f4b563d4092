"""Pictures that are like photos, the same ones every time: light whose spectrum falls as that of photos does, things with
edges in front of it, the grain of a sensor. Needs numpy and Pillow (`Benchmarks/run` puts them below `Benchmarks/.venv`)."""

import json
import os
from pathlib import Path

import numpy as np
from PIL import Image

ASSETS = Path(__file__).resolve().parents[2] / "TestAssets"


def _clouds(random: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Amplitude as the inverse of the frequency; mean 0, standard deviation 1."""
    noise = np.fft.rfft2(random.standard_normal((height, width), dtype=np.float32))
    down, across = np.fft.fftfreq(height)[:, None] * height, np.fft.rfftfreq(width)[None, :] * width
    noise *= np.maximum(np.hypot(down, across), 1).astype(np.float32) ** -1.15
    light = np.fft.irfft2(noise, (height, width))
    return ((light - light.mean()) / light.std()).astype(np.float32)


def photo(width: int, height: int, seed: int = 1) -> Image.Image:
    random = np.random.default_rng(seed)
    light = _clouds(random, height, width) * 45 + 128
    colours = [np.repeat(np.repeat(_clouds(random, height // 4, width // 4), 4, axis=0), 4, axis=1) for _ in range(2)]
    colours = [np.pad(c, ((0, height - c.shape[0]), (0, width - c.shape[1])), mode="edge") * 18 for c in colours]
    planes = [light + colours[0], light - 0.5 * colours[0] - 0.3 * colours[1], light + colours[1]]
    for _ in range(60):
        radius = int(height * random.uniform(0.01, 0.12))
        x, y = int(random.uniform(radius, width - radius)), int(random.uniform(radius, height - radius))
        inside = np.hypot(*np.mgrid[-radius:radius, -radius:radius]) < radius
        for plane, shade in zip(planes, random.uniform(-50, 50, 3)):
            plane[y - radius:y + radius, x - radius:x + radius] += inside * np.float32(shade)
    grain = random.standard_normal((height, width), dtype=np.float32) * 2.5
    return Image.fromarray(np.stack([np.clip(plane + grain, 0, 255).astype(np.uint8) for plane in planes], axis=2))


def images_folder() -> Path:
    """The folder that the tests' variable names, else TestAssets."""
    return Path(os.environ.get("IMGCACHE_IMAGES") or ASSETS)


def assets(folder: Path = ASSETS, smallest: int = 100) -> list[Path]:
    """The good JPEG, PNG and WebP files that are at least so many pixels wide and high."""
    files = json.loads((folder / "manifest.json").read_text())["files"]
    return [folder / file["path"] for file in files
            if file["kind"] == "good" and file["format"] in ("jpeg", "png", "webp")
            and min(file.get("width") or 0, file.get("height") or 0) >= smallest and (folder / file["path"]).exists()]
