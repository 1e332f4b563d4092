"""What Pillow and pyvips do for the image benchmarks, as one would write it with them.

    peers.py pillow FILE OUTPUT             one thumbnail: JPEG of quality 80, or PNG, by the output's name
    peers.py pillow-batch LIST DIRECTORY    each line's file, as DIRECTORY/NUMBER.jpg, in two processes
    peers.py pyvips-batch LIST DIRECTORY
    peers.py pillow-animation FILE OUTPUT   all frames, 200 pixels wide, as WebP of quality 80
    peers.py placeholders FILE CALLS        microseconds of CPU of each, as JSON
"""

import sys


def pillow(file: str, output: str) -> None:
    from PIL import Image, ImageOps

    with Image.open(file) as image:
        # For a JPEG this sets the decoder's scale first (draft), to at least twice the size that is wanted.
        image.thumbnail((256, 256), Image.Resampling.LANCZOS, reducing_gap=2.0)
        turned = ImageOps.exif_transpose(image)
        if output.endswith(".png"):
            turned.save(output)
            return
        if turned.mode in ("RGBA", "LA", "PA", "P"):
            turned = turned.convert("RGBA")
            flat = Image.new("RGB", turned.size, "white")
            flat.paste(turned, mask=turned.getchannel("A"))
            turned = flat
        elif turned.mode not in ("RGB", "L"):
            turned = turned.convert("RGB")
        turned.save(output, "JPEG", quality=80)


def pillow_animation(file: str, output: str) -> None:
    from PIL import Image, ImageSequence

    with Image.open(file) as animation:
        size = (200, round(animation.height * 200 / animation.width))
        times, loop = [], animation.info.get("loop", 1)

        def frames():
            for frame in ImageSequence.Iterator(animation):
                times.append(frame.info.get("duration", 100))
                yield frame.convert("RGBA").resize(size, Image.Resampling.LANCZOS)

        all_frames = list(frames())
        all_frames[0].save(output, save_all=True, append_images=all_frames[1:], duration=times, loop=loop, quality=80, method=4)


def pyvips(file: str, output: str) -> None:
    import pyvips

    image = pyvips.Image.thumbnail(file, 256, height=256, size="down")
    if image.hasalpha():
        image = image.flatten(background=255)
    image.jpegsave(output, Q=80, keep="none")


def placeholders(file: str, calls: int) -> None:
    import json
    import time

    import blurhash
    import numpy
    from PIL import Image
    from thumbhash.encode import rgba_to_thumbhash

    with Image.open(file) as whole:
        whole.thumbnail((100, 100), Image.Resampling.LANCZOS)
        image = whole.convert("RGBA")
    pixels = numpy.asarray(image).flatten().tolist()
    opaque = image.convert("RGB")  # closed by each call
    results = {}
    for name, call in [
        ("thumbHash", lambda: rgba_to_thumbhash(image.width, image.height, pixels)),
        ("blurHash", lambda: blurhash.encode(opaque.copy(), 4, 3)),
    ]:
        start = time.process_time()
        for _ in range(calls):
            call()
        results[name] = (time.process_time() - start) * 1e6 / calls
    print(json.dumps(results))


def _one(job: tuple) -> None:
    function, file, output = job
    function(file, output)


def batch(function, list_file: str, directory: str) -> None:
    import multiprocessing
    import os

    # Two processes share the two cores; libvips' own threads would only be in each other's way.
    os.environ["VIPS_CONCURRENCY"] = "1"
    with open(list_file) as lines:
        files = lines.read().splitlines()
    jobs = [(function, file, f"{directory}/{number}.jpg") for number, file in enumerate(files)]
    pool = multiprocessing.Pool(2)
    for _ in pool.imap_unordered(_one, jobs):
        pass
    pool.close()
    pool.join()


if __name__ == "__main__":
    what, source, target = sys.argv[1:4]
    if what.endswith("-batch"):
        batch({"pillow-batch": pillow, "pyvips-batch": pyvips}[what], source, target)
    elif what == "pillow-animation":
        pillow_animation(source, target)
    elif what == "placeholders":
        placeholders(source, int(target))
    else:
        pillow(source, target)
