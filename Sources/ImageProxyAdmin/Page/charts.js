// The charts, and their data: series that grow at their end.
import { get } from "./api.js";
import { Chart } from "./chart.js";
import { find } from "./elements.js";
import { bytes, milliseconds, percent, rate } from "./format.js";

/** The hit ratio of one second jumps about; that of ten shows where it goes. */
const window = 10;

const perSecond = (value) => (value === null ? "–" : `${bytes(value)}/s`);

let step = 1;
let series = null;
let charts = [];

export function startCharts() {
  const host = find("charts");
  charts = [
    new Chart(host, {
      name: "Requests", format: rate, stacked: true,
      series: [
        { key: "hits", name: "hits", tone: "accent", area: true },
        { key: "misses", name: "misses", tone: "grey", area: true },
        { key: "passed", name: "passed", tone: "faint", area: true },
        { key: "clientErrors", name: "4xx", tone: "soft", area: true },
        { key: "serverErrors", name: "5xx", tone: "warn", area: true },
      ],
    }),
    new Chart(host, {
      name: "Hit ratio", format: percent, top: 1,
      series: [
        { key: "hitRatio", name: "without the origin", tone: "accent", area: true },
        { key: "readyRatio", name: "ready", tone: "grey" },
      ],
    }),
    new Chart(host, {
      name: "Latency", format: milliseconds,
      series: [
        { key: "p50", name: "p50", tone: "plain" },
        { key: "p95", name: "p95", tone: "accent" },
        { key: "p99", name: "p99", tone: "plain" },
      ],
    }),
    new Chart(host, {
      name: "Traffic", format: perSecond, floor: 1024, base: 1024,
      series: [
        { key: "sent", name: "to clients", tone: "accent", area: true },
        { key: "origin", name: "from the origin", tone: "grey", area: true },
        { key: "saved", name: "saved", tone: "faint" },
      ],
    }),
  ];
  listen(find("span"));
}

function listen(group) {
  const choices = [...group.children];
  const choose = (button) => {
    for (const choice of choices) {
      choice.setAttribute("aria-checked", String(choice === button));
      choice.tabIndex = choice === button ? 0 : -1;
    }
    step = Number(button.dataset.step);
    series = null;
    void refreshCharts();
  };
  for (const choice of choices) choice.addEventListener("click", () => choose(choice));
  group.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const next = choices[(choices.indexOf(document.activeElement) + move + choices.length) % choices.length];
    next.focus();
    choose(next);
  });
}

/** How long to wait before it is worth asking again, in seconds. */
export function chartsInterval() {
  return step === 1 ? 1 : 15;
}

export async function refreshCharts() {
  const asked = step;
  const since = series ? series.start + series.length * series.step : null;
  const news = await get("api/series", { step: asked, since });
  if (asked !== step) return;
  series = series && news.start === since ? joined(series, news) : news;
  const known = sinceStart(series);
  const { hits, ready, misses } = known.series;
  const ratios = { hitRatio: ratio(hits, hits, misses), readyRatio: ratio(ready, hits, misses) };
  const shown = { ...known, series: { ...known.series, ...ratios } };
  for (const chart of charts) chart.show(shown);
}

/** Without the steps before the start of the service, of which there is nothing to show; at least a minute, or an hour. */
function sinceStart(all) {
  const first = all.series.requests.findIndex((value) => value !== null);
  const left = Math.min(first < 0 ? all.length : first, all.length - 60);
  if (left <= 0) return all;
  const own = Object.entries(all.series).map(([key, values]) => [key, values.slice(left)]);
  return { ...all, start: all.start + left * all.step, length: all.length - left, series: Object.fromEntries(own) };
}

function joined(old, news) {
  const series = {};
  for (const key of Object.keys(old.series)) {
    series[key] = [...old.series[key], ...news.series[key]].slice(-old.capacity);
  }
  const length = Math.min(old.capacity, old.length + news.length);
  return { ...old, series, length, start: news.start + news.length * news.step - length * old.step };
}

/** The share of `counted` in hits and misses. */
function ratio(counted, hits, misses) {
  let some = 0;
  let all = 0;
  return hits.map((_, index) => {
    some += counted[index] ?? 0;
    all += (hits[index] ?? 0) + (misses[index] ?? 0);
    const gone = index - window;
    if (gone >= 0) {
      some -= counted[gone] ?? 0;
      all -= (hits[gone] ?? 0) + (misses[gone] ?? 0);
    }
    // Rounded, because sums of fractions drift.
    return all > 1e-6 ? Math.min(1, Math.max(0, some / all)) : null;
  });
}
