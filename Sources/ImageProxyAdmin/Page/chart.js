// A chart: stacked areas or lines over time, drawn as SVG at its size on the screen.
import { draw, make } from "./elements.js";
import { clock } from "./format.js";

const gutter = 64; // for the numbers at the right
const foot = 18; // for the times below
const roof = 6;

/** All charts show the same moment when the pointer or the arrow keys are on one of them. */
const cursor = { index: null, charts: [] };

function moveCursor(index) {
  cursor.index = index;
  for (const chart of cursor.charts) chart.showCursor();
}

export class Chart {
  /**
   * series: [{key, name, tone, area}]; a tone is a class of the style sheet: accent, grey, faint, soft, warn; plain: a number without a
   * line.
   * top: a fixed upper end, if there is one. stacked: each series stands on those before it.
   */
  constructor(host, { name, series, format, top = null, floor = 1, base = 10, stacked = false }) {
    Object.assign(this, { name, series, format, top, floor, base, stacked, data: null });
    this.values = new Map();
    const keys = series.map((one) => {
      const value = make("b", "", "–");
      this.values.set(one.key, value);
      return make("span", `key ${one.tone}`, [one.name, value]);
    });
    this.plot = draw("svg", { class: "plot", tabindex: "0", role: "slider", "aria-label": name, "aria-valuemin": "0" });
    host.append(make("figure", "chart", [make("figcaption", "", [make("span", "name", name), ...keys]), this.plot]));
    cursor.charts.push(this);
    this.listen();
    new ResizeObserver(() => this.render()).observe(this.plot);
  }

  listen() {
    this.plot.addEventListener("pointermove", (event) => moveCursor(this.indexAt(event)));
    this.plot.addEventListener("pointerleave", () => moveCursor(null));
    this.plot.addEventListener("blur", () => moveCursor(null));
    this.plot.addEventListener("keydown", (event) => {
      const last = (this.data?.length ?? 1) - 1;
      const now = cursor.index ?? last;
      const step = event.shiftKey ? 10 : 1;
      const goal = {
        ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step,
        PageDown: now - 60, PageUp: now + 60, Home: 0, End: last,
      }[event.key];
      if (event.key === "Escape") moveCursor(null);
      else if (goal !== undefined) moveCursor(Math.min(last, Math.max(0, goal)));
      else return;
      event.preventDefault();
    });
  }

  indexAt(event) {
    if (!this.data) return null;
    const box = this.plot.getBoundingClientRect();
    const share = (event.clientX - box.left) / Math.max(1, this.width);
    return Math.min(this.data.length - 1, Math.max(0, Math.round(share * (this.data.length - 1))));
  }

  /** data: {start, step, length, series: {key: [number or null]}} */
  show(data) {
    this.data = data;
    this.render();
  }

  render() {
    const box = this.plot.getBoundingClientRect();
    if (!this.data || box.width < 40) return;
    this.width = box.width - gutter;
    this.height = box.height - foot;
    this.plot.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const layers = this.layers();
    const top = this.top ?? niceTop(Math.max(this.floor, ...layers.flatMap((layer) => layer.upper.filter(isNumber))), this.base);
    this.x = (index) => (index / Math.max(1, this.data.length - 1)) * this.width;
    this.y = (value) => roof + (1 - Math.min(value, top) / top) * (this.height - roof);
    const parts = this.rules(top);
    for (const layer of layers) parts.push(...this.paths(layer));
    this.line = draw("line", { class: "cursor", y1: roof, y2: this.height, visibility: "hidden" });
    this.time = draw("text", { y: this.height + 13, "text-anchor": "middle", visibility: "hidden" });
    this.plot.replaceChildren(...parts, this.line, this.time);
    this.showCursor();
  }

  /** What is drawn of each series: its upper edge, and for stacked ones the lower. */
  layers() {
    let below = null;
    return this.series.filter((one) => one.tone !== "plain").map((one) => {
      const own = this.data.series[one.key] ?? [];
      const upper = this.stacked && below ? own.map((value, index) => (isNumber(value) ? value + below[index] : null)) : own;
      const layer = { ...one, upper, lower: this.stacked ? below : null };
      if (this.stacked) below = upper;
      return layer;
    });
  }

  paths({ upper, lower, tone, area }) {
    const parts = [];
    for (const [from, to] of runs(upper)) {
      let edge = "";
      for (let i = from; i <= to; i += 1) edge += `${i === from ? "M" : "L"}${this.x(i).toFixed(1)} ${this.y(upper[i]).toFixed(1)}`;
      // A single value between two gaps is a dot.
      if (from === to) edge += "h1";
      if (area) {
        let back = "";
        for (let i = to; i >= from; i -= 1) back += `L${this.x(i).toFixed(1)} ${this.y(lower?.[i] ?? 0).toFixed(1)}`;
        parts.push(draw("path", { class: `area ${tone}`, d: `${edge}${back}Z` }));
      }
      // Stacked areas have no edges, which would also be drawn where a value is zero.
      if (!lower) parts.push(draw("path", { class: `line ${tone}`, d: edge }));
    }
    return parts;
  }

  rules(top) {
    const parts = [];
    for (const value of [0, top / 2, top]) {
      const y = Math.round(this.y(value)) + 0.5;
      parts.push(draw("line", { class: "rule", x1: 0, x2: this.width, y1: y, y2: y }));
      parts.push(draw("text", { x: this.width + 8, y: y + 4 }, this.format(value).replace(/\.0+(?=\D|$)/, "")));
    }
    this.times = draw("g");
    const { start, step, length } = this.data;
    const span = step * length;
    let every = [30, 60, 120, 900, 4 * 3600].find((one) => span / one <= 7) ?? 4 * 3600;
    if (this.width < 300) every *= 2;
    // Aligned with local hours.
    const offset = new Date(start * 1000).getTimezoneOffset() * 60;
    for (let at = Math.ceil((start - offset) / every) * every + offset; at < start + span; at += every) {
      const x = this.x((at - start) / step);
      if (x < 16 || x > this.width - 16) continue;
      this.times.append(draw("text", { x, y: this.height + 13, "text-anchor": "middle" }, clock(at, false)));
    }
    parts.push(this.times);
    return parts;
  }

  showCursor() {
    if (!this.data || !this.line) return;
    const last = this.data.length - 1;
    const index = Math.min(cursor.index ?? last, last);
    const at = this.data.start + index * this.data.step;
    const said = [];
    for (const one of this.series) {
      const values = this.data.series[one.key] ?? [];
      const value = this.format((cursor.index === null ? values.findLast(isNumber) : values[index]) ?? null);
      const element = this.values.get(one.key);
      if (element.textContent !== value) element.textContent = value;
      said.push(`${one.name} ${value}`);
    }
    const shown = cursor.index !== null;
    const x = this.x(index);
    for (const part of [this.line, this.time]) part.setAttribute("visibility", shown ? "visible" : "hidden");
    this.times.setAttribute("visibility", shown ? "hidden" : "visible");
    this.line.setAttribute("x1", x);
    this.line.setAttribute("x2", x);
    this.time.setAttribute("x", Math.min(this.width - 24, Math.max(24, x)));
    this.time.textContent = clock(at, this.data.step < 60);
    this.plot.setAttribute("aria-valuemax", last);
    this.plot.setAttribute("aria-valuenow", index);
    this.plot.setAttribute("aria-valuetext", `${this.time.textContent}: ${said.join(", ")}`);
  }
}

function isNumber(value) {
  return value !== null && value !== undefined;
}

/** [first, last] of each stretch without gaps. */
function runs(values) {
  const found = [];
  let from = -1;
  for (let i = 0; i <= values.length; i += 1) {
    const there = i < values.length && isNumber(values[i]);
    if (there && from < 0) from = i;
    if (!there && from >= 0) {
      found.push([from, i - 1]);
      from = -1;
    }
  }
  return found;
}

/** The next 1, 2 or 5 times a power, so that the halves are round too; base 1024 for bytes. */
function niceTop(value, base) {
  const unit = base === 1024 ? 1024 ** Math.max(0, Math.floor(Math.log(value) / Math.log(1024))) : 1;
  const share = value / unit;
  const power = 10 ** Math.floor(Math.log10(share));
  const step = [1, 2, 4, 6, 10].find((one) => one * power >= share) ?? 10;
  return step * power * unit;
}
