// Images: what is rendered, what it costs, and whether its workers live.
import { facts, find, noted, put, reconcile } from "./elements.js";
import { count, milliseconds, rate } from "./format.js";

const workers = { available: "in worker processes", unavailable: "no worker can be started", off: "in the service's own process" };

/** The totals of the last minute, one every two seconds, for rates. */
const seen = [];

export function showImages(images, now) {
  seen.push({ now, encoded: images.encoded, cpu: images.cpu });
  while (seen.length > 31 || seen[0].encoded > images.encoded) seen.shift();
  const [first] = seen;
  const elapsed = now - first.now;
  const perSecond = (name) => (elapsed > 0 ? (images[name] - first[name]) / elapsed : null);
  put(find("images-note"), `${count(images.encoded)} since the start`);
  const cores = perSecond("cpu");
  const lines = [
    ["Rendered", "imgcache_images_encoded_total", rate(perSecond("encoded"))],
    ["CPU", "imgcache_image_cpu_seconds", cores === null ? "–" : `${cores.toFixed(2)} cores; ${images.steps.map(step).join(", ")}`],
    ["Decoded", "imgcache_image_workers_available", workers[images.workers] ?? images.workers],
    ["Crashes", "imgcache_image_crashes_total", `${count(images.crashes)}; ${count(images.replacements)} workers replaced`],
    ["Damaged", "imgcache_images_damaged_total", `${count(images.damaged)} from damaged originals`],
  ];
  const cells = facts(find("images"), lines);
  cells[2].classList.toggle("bad", images.workers !== "available");
  cells[3].classList.toggle("bad", images.crashes > 0);
  reconcile(find("kinds"), images.kinds.slice(0, 8), (kind) => `${kind.format} ${kind.preset}`, noted, (element, kind) => {
    put(element.children[0], kind.preset ? `${kind.format}, preset ${kind.preset}` : kind.format);
    put(element.children[1], count(kind.count));
  });
}

function step({ name, p95 }) {
  return `${name} ${milliseconds(p95)}`;
}
