"""Pictures to look at, for screenshots: hills under a sky, painted by the browser itself."""

import base64
import os

painter = """
(seed, width, height) => {
  let state = seed * 2654435761 >>> 0;
  const random = () => { state = (state * 1664525 + 1013904223) >>> 0; return state / 2 ** 32; };
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  const brush = canvas.getContext('2d');
  const hue = random() * 360, dusk = random();
  const sky = brush.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, `hsl(${200 + 40 * dusk} ${40 + 25 * random()}% ${28 + 40 * (1 - dusk)}%)`);
  sky.addColorStop(.75, `hsl(${30 + 20 * random()} ${60 + 30 * dusk}% ${72 + 10 * random()}%)`);
  brush.fillStyle = sky;
  brush.fillRect(0, 0, width, height);
  const [x, y, r] = [width * (.15 + .7 * random()), height * (.2 + .3 * random()), height * (.05 + .05 * random())];
  const glow = brush.createRadialGradient(x, y, r / 3, x, y, r * 5);
  glow.addColorStop(0, 'rgba(255,246,220,.95)');
  glow.addColorStop(.2, 'rgba(255,236,190,.5)');
  glow.addColorStop(1, 'rgba(255,236,190,0)');
  brush.fillStyle = glow;
  brush.fillRect(0, 0, width, height);
  const layers = 4 + Math.floor(random() * 3);
  for (let layer = 0; layer < layers; layer += 1) {
    const depth = layer / (layers - 1);
    const waves = [1, 2, 4, 8, 16, 31].map((n) => [n, random() * 7, (random() + .3) / n ** (.75 + .35 * depth)]);
    brush.fillStyle = `hsl(${(hue * .35 + 130 + 60 * (1 - depth)) % 360} ${14 + 26 * depth}% ${64 - 50 * depth}%)`;
    brush.beginPath();
    brush.moveTo(0, height);
    for (let i = 0; i <= width; i += 2) {
      const wave = waves.reduce((sum, [n, phase, size]) => sum + Math.sin(i / width * n * 3 + phase) * size, 0);
      brush.lineTo(i, height * (.48 + .42 * depth) + wave * height * .07);
    }
    brush.lineTo(width, height);
    brush.fill();
  }
  return canvas.toDataURL('image/jpeg', .88).split(',')[1];
}
"""

names = """
aurora-ridge birch-valley cedar-pass dawn-over-the-fjord eagle-hills fog-at-the-lake glacier-view heather-moor
indigo-evening juniper-slope kestrel-rock lark-meadow midsummer north-face october-light pine-forest quiet-bay
red-cliffs snow-line tarn-in-spring upland-morning violet-hour west-wind yew-wood
""".split()


def paint(browser, folder):
    """Paths of the pictures by name."""
    pictures = {}
    for number, name in enumerate(names):
        width, height = [(1200, 800), (900, 1200), (1600, 900)][number % 3]
        path = os.path.join(folder, name + ".jpg")
        with open(path, "wb") as file:
            file.write(base64.b64decode(browser.value(f"({painter})({number + 11}, {width}, {height})")))
        pictures[name + ".jpg"] = path
    return pictures
