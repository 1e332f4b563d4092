// The figures at the top and the store's state.
import { get } from "./api.js";
import { find, make, put } from "./elements.js";
import {
  bytes, bytesParts, count, countParts, date, duration, milliseconds, millisecondsParts, percent, rate,
} from "./format.js";

const states = {
  ready: "ready", starting: "starting", stopping: "shutting down", unwritable: "store cannot be written",
  undecodable: "images cannot be decoded",
};

let newest = null;

/** Whether the server has a token to purge with. */
export function mayPurge() {
  return newest?.canPurge ?? false;
}

export async function refreshSummary() {
  newest = await get("api/summary");
  showState(newest);
  showFigures(newest);
  showStore(newest.store, newest.evictions, newest.memory, newest.remote, newest.origins);
}

export function showAway() {
  put(find("state"), "no response");
  find("dot").dataset.state = "away";
}

function showState({ state, origins, version, now, started }) {
  const origin = origins.length === 1 ? origins[0].url : `${count(origins.length)} origins`;
  put(find("state"), `${states[state] ?? state}, up ${duration(now - started)}`);
  find("dot").dataset.state = state === "ready" ? "ready" : "away";
  put(find("origin"), origin);
  find("origin").title = origin;
  put(find("version"), `imgcache ${version}`);
  const host = origin.replace(/^https?:\/\//, "");
  document.title = host ? `${host}: imgcache` : "imgcache";
}

function figure(id, [value, unit], note) {
  put(find(`figure-${id}`), unit ? [value, make("span", "unit", ` ${unit}`)] : value);
  put(find(`note-${id}`), note);
}

function showFigures({ totals, recent, active }) {
  const asked = totals.hits + totals.misses;
  const ratio = percent(asked > 0 ? totals.hits / asked : null).replace(" %", "");
  const ready = percent(asked > 0 ? totals.ready / asked : null);
  figure(
    "ratio", [ratio, asked > 0 ? "%" : ""],
    `${ready} ready; last minute ${percent(recent.hitRatio)}, ${percent(recent.readyRatio)}`);
  figure("saved", bytesParts(totals.savedBytes), `of ${bytes(totals.sentBytes)} sent`);
  figure("requests", countParts(totals.requests), `${rate(recent.requestsPerSecond)}, ${count(active)} under way`);
  figure(
    "latency", millisecondsParts(recent.p50), `p95 ${milliseconds(recent.p95)}, p99 ${milliseconds(recent.p99)}`);
  figure("origin", bytesParts(totals.originBytes), originNote(totals));
  figure("errors", [`${count(totals.clientErrors)}, ${count(totals.serverErrors)}`], errorsNote(totals));
}

function errorsNote({ clientErrors, serverErrors, requests }) {
  return requests > 0 ? `${percent(clientErrors / requests)}, ${percent(serverErrors / requests)} of requests` : "";
}

function originNote({ originRequests, resumedBytes }) {
  const requests = `${count(originRequests)} ${originRequests === 1 ? "request" : "requests"}`;
  return resumedBytes > 0 ? `${requests}, ${bytes(resumedBytes)} resumed` : requests;
}

// MARK: The store

function showStore(store, evictions, memory, remote, origins) {
  const host = find("store");
  if (!host.firstChild) {
    host.append(
      make("div", "fill", ["bodies", "partials", "index"].map((name) => make("span", name)), { role: "img" }),
      make("dl", "facts"), make("div", "ages", [], { role: "img" }), make("p", "ages-scale"));
  }
  const [fill, facts, ages, scale] = host.children;
  const share = (part) => Math.min(100, (part / Math.max(1, store.capacity)) * 100);
  const parts = [store.bodyBytes + store.doomedBytes, store.partialBytes, store.indexBytes];
  parts.forEach((part, index) => { fill.children[index].style.width = `${share(part).toFixed(2)}%`; });
  fill.setAttribute("aria-label", `${percent(store.usedBytes / store.capacity)} of the capacity is used`);
  const lines = [
    ["Used", `${bytes(store.usedBytes)} of ${bytes(store.capacity)} (${percent(store.usedBytes / store.capacity)})`],
    ["Holds", `${count(store.entries)} entries, ${bytes(store.bodyBytes)}`],
    ["Unfinished", store.partials ? `${count(store.partials)}, ${bytes(store.partialBytes)} set aside` : "none"],
    ["Free on disk", bytes(store.freeSpace)],
    ["Memory", `${bytes(memory.usedBytes)} of ${bytes(memory.capacity)} in ${count(memory.entries)} files and images`],
    ["Evicted", evictedWords(evictions)],
    ...(remote ? [["Shared store", sharedWords(remote)]] : []),
    ...origins.map((origin) => [`Origin ${origin.name}`, originWords(origin)]),
  ];
  put(facts, lines.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
  showAges(ages, scale, evictions.ages);
}

/** An origin's place, and whether it is asked. */
function originWords({ url, state, failures, refused }) {
  const words = [url, { closed: "asked", open: "clients refused after failures", "half-open": "one request tries it" }[state]];
  if (failures) words.push(`${count(failures)} failures`);
  if (refused) words.push(`${count(refused)} requests not sent`);
  return words.join(", ");
}

/** The store that machines share: what it spared, and what is wrong with it. */
function sharedWords(remote) {
  const asked = remote.hits + remote.misses;
  const words = [
    remote.isAvailable ? `${count(remote.hits)} of ${count(asked)} found` : "left alone after failures",
    `${count(remote.imageHits)} images not rendered here`,
    `${bytes(remote.readBytes)} read, ${bytes(remote.writtenBytes)} written`,
  ];
  if (remote.waiting) words.push(`${count(remote.waiting)} uploads wait`);
  if (remote.dropped) words.push(`${count(remote.dropped)} dropped`);
  if (remote.errors) words.push(`${count(remote.errors)} errors`);
  if (remote.damaged) words.push(`${count(remote.damaged)} damaged`);
  return words.join(", ");
}

function evictedWords({ count: number, bytes: size, last, medianAge }) {
  if (!number) return "nothing yet";
  const words = `${count(number)}, ${bytes(size)}; unused for ${duration(medianAge)} (median)`;
  return last ? `${words}; last ${date(last.at)}, unused for ${duration(last.age)}` : words;
}

/** A column for each span of time that evicted entries had lain unused. */
function showAges(host, scale, ages) {
  const most = Math.max(1, ...ages.map((age) => age.count));
  const total = ages.reduce((sum, age) => sum + age.count, 0);
  host.hidden = scale.hidden = total === 0;
  if (total === 0) return;
  const words = ages.map((age) => `${age.upTo ? `up to ${duration(age.upTo)}` : "longer"}: ${count(age.count)}`);
  put(host, ages.map((age, index) => {
    const column = make("span", age.count ? "" : "none", undefined, { title: words[index] });
    column.style.height = `${Math.max(3, (age.count / most) * 100)}%`;
    return column;
  }));
  host.setAttribute("aria-label", `Unused before eviction, ${words.filter((_, i) => ages[i].count).join(", ")}`);
  const longest = ages.findLast((age) => age.upTo)?.upTo ?? 0;
  put(scale, [
    make("span", "", `evicted after ${duration(ages[0].upTo)} unused`), make("span", "", `${duration(longest)} and more`),
  ]);
}
