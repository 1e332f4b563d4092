"""Memory and descriptors of the server over time: a CSV file, and a picture of it."""

import os
import re
import time

columns = ["seconds", "pid", "memory", "descriptors", "threads", "store", "responses", "wrong"]


class Samples:
    def __init__(self, soak):
        self.soak = soak
        self.rows = []
        self.most_memory = self.most_descriptors = 0
        first = self.take()
        self.first_descriptors = first["descriptors"] if first else 0

    def run(self):
        while not self.soak.is_over():
            row = self.take()
            if row:
                self.rows.append(row)
            time.sleep(1 if self.soak.options.seconds > 30 else 0.2)

    def take(self):
        """How the server is now; None while it is being started again."""
        pid = self.soak.process.pid
        try:
            with open(f"/proc/{pid}/status") as file:
                status = dict(line.split(":", 1) for line in file)
            descriptors = len(os.listdir(f"/proc/{pid}/fd"))
            row = {
                "seconds": round(time.monotonic() - self.soak.start, 1), "pid": pid,
                "memory": int(status["VmRSS"].split()[0]) << 10, "descriptors": descriptors,
                "threads": int(status["Threads"]), "store": size(self.soak.store),
                "responses": self.soak.findings.counts.get("requests", 0), "wrong": self.soak.findings.counts.get("wrong", 0),
            }
        except (OSError, KeyError):
            return None
        self.most_memory = max(self.most_memory, row["memory"])
        self.most_descriptors = max(self.most_descriptors, descriptors)
        return row

    def kinds(self):
        """What the open descriptors lead to, by kind."""
        folder = f"/proc/{self.soak.process.pid}/fd"
        found = {}
        for number in os.listdir(folder):
            try:
                kind = re.sub(r"[0-9a-f]{6,}|[0-9]+", "N", os.readlink(os.path.join(folder, number)))
            except OSError:
                continue
            found[kind] = found.get(kind, 0) + 1
        return found

    def write(self, csv, svg):
        if csv:
            with open(csv, "w") as file:
                file.write(",".join(columns) + "\n")
                for row in self.rows:
                    file.write(",".join(str(row[column]) for column in columns) + "\n")
        if svg:
            with open(svg, "w") as file:
                file.write(picture(self.rows))


def size(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
            except OSError:
                pass
    return total


def picture(rows):
    """Two panels over one axis of time; a gap where the server was killed and began again."""
    width, height, left, gap = 760, 150, 70, 44
    last = max([row["seconds"] for row in rows] + [1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {2 * (height + gap) + 10}" font-family="sans-serif" '
        'font-size="12"><style>text{fill:#555}path{fill:none;stroke-width:1.3}.rule{stroke:#ddd}'
        '@media(prefers-color-scheme:dark){text{fill:#aaa}.rule{stroke:#333}}</style>'
    ]
    panels = [("memory", "resident memory", 1 << 20, " MiB", "#0d6e84"), ("descriptors", "open descriptors", 1, "", "#b3651e")]
    for index, (column, title, unit, suffix, colour) in enumerate(panels):
        top = 24 + index * (height + gap)
        most = max([row[column] / unit for row in rows] + [1]) * 1.1
        parts.append(f'<text x="{left}" y="{top - 8}" font-weight="bold">{title}</text>')
        for step in range(3):
            y = top + height - height * step / 2
            parts.append(f'<path class="rule" d="M{left} {y:.0f}H{width - 10}"/>')
            parts.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{most * step / 2:.0f}{suffix}</text>')
        # The highest value of each process in each step of one unit of width.
        peaks = {}
        for row in rows:
            place = (round((width - left - 10) * row["seconds"] / last), row["pid"])
            peaks[place] = max(peaks.get(place, 0), row[column])
        edge, process = "", None
        for (x, pid), value in peaks.items():
            edge += f'{"L" if pid == process else "M"}{left + x} {top + height - height * value / unit / most:.0f}'
            process = pid
        parts.append(f'<path stroke="{colour}" d="{edge}"/>')
        for step in range(5):
            x = left + (width - left - 10) * step / 4
            parts.append(f'<text x="{x:.0f}" y="{top + height + 15}" text-anchor="middle">{last * step / 4 / 60:.1f} min</text>')
    return "".join(parts) + "</svg>\n"
