"""How near lossless 256-pixel thumbnails come to exact ones: a Lanczos-3 filter in 64-bit floating point over the fully decoded
picture.

The mean over ten photos of SSIMULACRA2 (100: the same) and SSIM of the luma (1: the same), beside Pillow (LANCZOS, with
draft) and vipsthumbnail. A zone plate, every frequency in every direction, tells aliasing and blur: PSNR. A disc on
transparency whose hidden colour is another tells fringes: the largest difference from the exact thumbnail, put on black and
on white. The photos are those of the folder that IMGCACHE_IMAGES names, as far as they are there; the rest are TestAssets'
and synthesised.
"""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import numpy as np
from exact import exact, rounded
from measure import heading, table
from origin import IMGCACHE, folder
from pictures import assets, images_folder, photo
from PIL import Image, ImageOps
from scipy.ndimage import gaussian_filter
from ssimulacra2 import compute_ssimulacra2

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()

PEERS = str(Path(__file__).parent / "images/peers.py")
PHOTOS = [
    "jpeg/exif-orientation-examples__Landscape_0.jpg", "jpeg/exif-orientation-examples__Landscape_6.jpg",
    "jpeg/test-assets__book-beside-flowers.jpg", "jpeg/test-assets__japanese-shop.jpg", "jpeg/test-assets__portrait.jpg",
    "jpeg/test-assets__mongolels.jpg", "jpeg/jpeg-decoder__mjpeg.jpg", "jpeg/zune-image__large_no_samp_7680_4320.jpg",
    "png/codec-corpus__ebfd571f1c6824316047a29cb5f376eec15f56dd51821119c1842be068a8b950.png",
    "png/codec-corpus__24.png",
]
COMMANDS = {
    "imgcache thumb": lambda file, out: [IMGCACHE, "thumb", file, "-o", out, "--size", "256", "--keep-profile"],
    "Pillow, LANCZOS, draft": lambda file, out: [sys.executable, PEERS, "pillow", file, out],
    "vipsthumbnail": lambda file, out: ["vipsthumbnail", file, "--size", "256x256", "-o", out],
}


def ssim(one: np.ndarray, other: np.ndarray) -> float:
    """Wang and others 2004: Gaussian window of 1.5 pixels, luma."""
    a, b = (np.asarray(Image.fromarray(image).convert("L")).astype(float) for image in (one, other))
    mean = lambda image: gaussian_filter(image, 1.5, truncate=3.5)
    mean_a, mean_b = mean(a), mean(b)
    variance_a, variance_b = mean(a * a) - mean_a**2, mean(b * b) - mean_b**2
    covariance = mean(a * b) - mean_a * mean_b
    return float(((2 * mean_a * mean_b + 6.5025) * (2 * covariance + 58.5225)
                  / ((mean_a**2 + mean_b**2 + 6.5025) * (variance_a + variance_b + 58.5225))).mean())


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    return 10 * np.log10(255**2 / ((one.astype(float) - other.astype(float)) ** 2).mean())


def thumbnail(name: str, file: Path, mode: str) -> np.ndarray:
    out = work / "thumbnail.png"
    out.unlink(missing_ok=True)
    subprocess.run(COMMANDS[name](str(file), str(out)), check=True, stdout=subprocess.DEVNULL)
    return np.asarray(Image.open(out).convert(mode))


def photos() -> list[Path]:
    found = [images_folder() / name for name in PHOTOS if (images_folder() / name).exists()]
    for path in assets(smallest=256):
        if len(found) < 6 and path not in found and path.suffix == ".jpg" and Image.open(path).mode == "RGB":
            found.append(path)
    print(f"{len(found)} photos, {10 - len(found)} synthesised ones\n")
    for number in range(10 - len(found)):
        path = work / f"photo-{number}.jpg"
        photo(3000 - 200 * number, 2000, seed=number).save(path, quality=90)
        found.append(path)
    return found


def likeness(files: list[Path]) -> dict[str, tuple[float, float]]:
    scores: dict[str, list] = {name: [] for name in COMMANDS}
    for file in files:
        full = np.asarray(ImageOps.exif_transpose(Image.open(file)).convert("RGB"))
        references: dict[tuple, np.ndarray] = {}
        for name in COMMANDS:
            result = thumbnail(name, file, "RGB")
            size = (result.shape[1], result.shape[0])
            if size not in references:
                references[size] = rounded(exact(full, *size))
            paths = [str(work / "exact.png"), str(work / "result.png")]
            for pixels, path in zip((references[size], result), paths):
                Image.fromarray(pixels).save(path)
            scores[name].append((compute_ssimulacra2(*paths), ssim(references[size], result)))
    return {name: tuple(np.mean(values, axis=0)) for name, values in scores.items()}


def zone_plate(size: int = 1024) -> Path:
    """From no change at all in the middle to what the picture just holds at the sides."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    path = work / "zone.png"
    Image.fromarray(rounded(127.5 + 127.5 * np.cos(np.pi * (x * x + y * y) / size)), "L").save(path)
    return path


def disc(size: int = 1024) -> Path:
    """Red, with a soft edge; where it is transparent its colour would be green."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    alpha = np.clip(size * 0.4 - np.hypot(x, y), 0, 1)
    pixels = np.zeros((size, size, 4))
    pixels[..., 0], pixels[..., 1] = np.where(alpha > 0, 220, 0), np.where(alpha > 0, 30, 255)
    pixels[..., 3] = alpha * 255
    path = work / "disc.png"
    Image.fromarray(rounded(pixels)).save(path)
    return path


def fringe(name: str, file: Path) -> float:
    full = np.asarray(Image.open(file)).astype(float)
    result = thumbnail(name, file, "RGBA").astype(float)
    premultiplied = full.copy()
    premultiplied[..., :3] *= full[..., 3:] / 255
    filtered = exact(premultiplied, result.shape[1], result.shape[0])
    # Overshoot of the filter: alpha is clamped and the colour preserved.
    alpha = np.clip(filtered[..., 3:] / 255, 0, 1)
    colour = np.clip(filtered[..., :3] / np.maximum(filtered[..., 3:] / 255, 1e-9), 0, 255)
    worst = 0.0
    for ground in (0, 255):
        expected = colour * alpha + ground * (1 - alpha)
        shown = result[..., :3] * result[..., 3:] / 255 + ground * (1 - result[..., 3:] / 255)
        worst = max(worst, np.abs(expected - shown).max())
    return worst


heading("Likeness to exact thumbnails", "thumb-quality")
with folder(options.tmpfs) as work:
    found = likeness(photos())
    plate, round_one = zone_plate(), disc()
    plate_pixels = np.asarray(Image.open(plate).convert("RGB"))
    rows = []
    for name in COMMANDS:
        result = thumbnail(name, plate, "RGB")
        reference = rounded(exact(plate_pixels, result.shape[1], result.shape[0]))
        rows.append([f"`{name}`" if name[0].islower() else name, f"{found[name][0]:.2f}", f"{found[name][1]:.5f}",
                     f"{psnr(reference, result):.1f}", f"{fringe(name, round_one):.1f}"])
    table(["", "SSIMULACRA2", "SSIM", "zone plate, dB", "edge of a disc, largest difference"], rows)
