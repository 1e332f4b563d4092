// The running transfers from the origin.
import { get } from "./api.js";
import { find, isEmpty, make, put, reconcile } from "./elements.js";
import { bytes, count, percent, urlParts } from "./format.js";

/** When each transfer was last seen with how many bytes, for its speed. */
const seen = new Map();

export async function refreshTransfers() {
  const { transfers, more } = await get("api/transfers");
  const list = find("transfers");
  const now = performance.now();
  const keys = new Set(transfers.map((transfer) => transfer.id));
  for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key);
  put(find("transfers-note"), transfers.length ? count(transfers.length + more) : "");
  if (isEmpty(list, transfers, "No transfers.")) return;
  reconcile(list, transfers, (transfer) => transfer.id, create, (element, transfer) => update(element, transfer, now));
}

function create() {
  return make("li", "", [
    make("div", "name", [make("span"), make("span", "note")]),
    make("div", "track", [make("span", "kept"), make("span", "new")], { role: "progressbar", "aria-valuemin": "0" }),
    make("p", "note"),
  ]);
}

function update(element, transfer, now) {
  const [name, track, note] = element.children;
  const { file, where } = urlParts(transfer.url);
  put(name.firstElementChild, `${where}/${file}`);
  name.title = transfer.url;
  const { received, total, resumedFrom } = transfer;
  put(name.lastElementChild, total ? percent(received / total) : "");
  track.setAttribute("aria-label", transfer.url);
  track.classList.toggle("unknown", !total);
  if (total) {
    track.setAttribute("aria-valuemax", total);
    track.setAttribute("aria-valuenow", received);
  }
  const width = (part) => `${total ? Math.min(100, (part / total) * 100).toFixed(2) : 0}%`;
  track.firstElementChild.style.width = width(Math.min(received, resumedFrom));
  track.lastElementChild.style.left = width(resumedFrom);
  track.lastElementChild.style.width = total ? width(Math.max(0, received - resumedFrom)) : received ? "100%" : "0";
  put(note, words(transfer, speed(transfer, now)));
}

function speed({ id, received }, now) {
  const last = seen.get(id);
  if (!last || received < last.received) {
    seen.set(id, { received, at: now, speed: null });
    return null;
  }
  if (now - last.at < 500) return last.speed;
  const current = (received - last.received) / ((now - last.at) / 1000);
  const smooth = last.speed === null ? current : last.speed * 0.6 + current * 0.4;
  seen.set(id, { received, at: now, speed: smooth });
  return smooth;
}

function words({ phase, received, total, resumedFrom, retryAfter, reason }, current) {
  const parts = [];
  if (phase === "queued") parts.push("waiting for a slot");
  if (phase === "waiting") parts.push("waiting for another process");
  if (phase === "storing") parts.push("storing");
  if (phase === "retrying") parts.push(`trying again in ${Math.ceil(retryAfter)} s: ${reason}`);
  if (received > 0 || phase === "transferring") parts.push(total ? `${bytes(received)} of ${bytes(total)}` : bytes(received));
  if (phase === "transferring" && current !== null) parts.push(`${bytes(current)}/s`);
  if (resumedFrom > 0) parts.push(total ? `resumed at ${percent(resumedFrom / total)}` : `resumed at ${bytes(resumedFrom)}`);
  return parts.join(", ");
}
