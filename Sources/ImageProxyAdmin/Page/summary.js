// The figures at the top and the store's state.
import { get } from "./api.js";
import { facts, find, make, metric, put } from "./elements.js";
import { showImages } from "./images.js";
import { showOrigins } from "./origins.js";
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
  showProblems(newest.problems);
  showFigures(newest);
  showOrigins(newest.origins);
  showImages(newest.images, newest.now);
  showStore(newest.store, newest.evictions, newest.memory, newest.remote);
}

export function showAway() {
  put(find("state"), "no response");
  find("dot").dataset.state = "away";
}

function showState({ state, problems, origins, version, now, started }) {
  const origin = origins.length === 1 ? origins[0].url : `${count(origins.length)} origins`;
  const words = [states[state] ?? state, `up ${duration(now - started)}`];
  if (problems.length) words.splice(1, 0, `${problems.length} ${problems.length === 1 ? "problem" : "problems"}`);
  put(find("state"), words.join(", "));
  const isBad = state !== "ready" || problems.some((problem) => problem.severity === "error");
  find("dot").dataset.state = isBad ? "away" : problems.length ? "impaired" : "ready";
  put(find("origin"), origin);
  find("origin").title = origin;
  put(find("version"), `imgcache ${version}`);
  const host = origin.replace(/^https?:\/\//, "");
  document.title = host ? `${host}: imgcache` : "imgcache";
}

/** A banner for each thing that is wrong. */
function showProblems(problems) {
  const host = find("problems");
  host.hidden = problems.length === 0;
  const shown = problems.map(({ severity, text }) => severity + text).join();
  // The banners are announced when they change, not every two seconds.
  if (host.dataset.shown === shown) return;
  host.dataset.shown = shown;
  put(host, problems.map(({ severity, text, metric: name }) =>
    make("li", severity, [make("b", "", severity === "error" ? "Error" : "Warning"), make("span", "", text), metric(name, "metric")])));
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
    "latency", millisecondsParts(recent.p95), `p50 ${milliseconds(recent.p50)}, p99 ${milliseconds(recent.p99)}`);
  figure("origin", bytesParts(totals.originBytes), originNote(totals));
  figure("errors", countParts(totals.serverErrors), errorsNote(totals));
}

function errorsNote({ clientErrors, serverErrors, requests }) {
  return requests > 0 ? `${percent(serverErrors / requests)} of requests; 4xx: ${count(clientErrors)}` : "";
}

function originNote({ originRequests, resumedBytes }) {
  const requests = `${count(originRequests)} ${originRequests === 1 ? "request" : "requests"}`;
  return resumedBytes > 0 ? `${requests}, ${bytes(resumedBytes)} resumed` : requests;
}

// MARK: The store

function showStore(store, evictions, memory, remote) {
  const host = find("store");
  if (!host.firstChild) {
    host.append(
      make("div", "fill", ["bodies", "partials", "index"].map((name) => make("span", name)), { role: "img" }),
      make("dl", "facts"), make("div", "ages", [], { role: "img" }), make("p", "ages-scale"));
  }
  const [fill, list, ages, scale] = host.children;
  const share = (part) => Math.min(100, (part / Math.max(1, store.capacity)) * 100);
  const parts = [store.bodyBytes + store.doomedBytes, store.partialBytes, store.indexBytes];
  parts.forEach((part, index) => { fill.children[index].style.width = `${share(part).toFixed(2)}%`; });
  fill.setAttribute("aria-label", `${percent(store.usedBytes / store.capacity)} of the capacity is used`);
  facts(list, [
    ["Used", "imgcache_store_used_bytes", `${bytes(store.usedBytes)} of ${bytes(store.capacity)} (${percent(store.usedBytes / store.capacity)})`],
    ["Holds", "imgcache_store_entries", `${count(store.entries)} entries, ${bytes(store.bodyBytes)}`],
    ["Unfinished", "imgcache_store_partials", store.partials ? `${count(store.partials)}, ${bytes(store.partialBytes)} set aside` : "none"],
    ["Free on disk", "imgcache_store_free_bytes", bytes(store.freeSpace)],
    ["Memory", "imgcache_memory_bytes", `${bytes(memory.usedBytes)} of ${bytes(memory.capacity)} in ${count(memory.entries)} files and images`],
    ["Evicted", "imgcache_evictions_total", evictedWords(evictions)],
    ...(remote ? [["Shared store", "imgcache_remote_available", sharedWords(remote)]] : []),
  ]);
  showAges(ages, scale, evictions.ages);
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
