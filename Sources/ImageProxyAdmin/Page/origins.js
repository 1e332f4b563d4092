// The origins: one row each, coloured by its state.
import { find, make, metric, put, reconcile } from "./elements.js";
import { count, milliseconds, percent, rate } from "./format.js";

const states = { closed: "asked", open: "left alone", "half-open": "being tried" };

/** The columns: a title, its metric, and the words of an origin. */
const columns = [
  ["Origin", "imgcache_origin_available", ({ name, url }) => (name === url ? url : `${name} ${url}`)],
  ["State", "imgcache_origin_available", ({ state }) => states[state] ?? state],
  ["Requests", "imgcache_origin_transfers_total", ({ requestsPerSecond }) => rate(requestsPerSecond)],
  ["Errors", "imgcache_origin_transfers_total", ({ errorRatio }) => percent(errorRatio)],
  ["p95", "imgcache_origin_transfer_seconds", ({ p95 }) => milliseconds(p95)],
  ["Since the start", "imgcache_origin_failed_transfers_total", totals],
];

function totals({ requests, clientErrors, serverErrors, failures, refused }) {
  const words = [`${count(requests)} requests`];
  if (clientErrors) words.push(`${count(clientErrors)} 4xx`);
  if (serverErrors) words.push(`${count(serverErrors)} 5xx`);
  if (failures) words.push(`${count(failures)} failures`);
  if (refused) words.push(`${count(refused)} not sent`);
  return words.join(", ");
}

/** From the share of errors that the service itself reports as a problem. */
function tone({ state, errorRatio }) {
  if (state !== "closed") return "bad";
  return errorRatio >= 0.1 ? "poor" : "good";
}

export function showOrigins(origins) {
  const host = find("origins");
  if (!host.firstChild) {
    const titles = columns.map(([title, of]) => make("span", "", [metric(of, title)], { role: "columnheader" }));
    host.append(make("div", "row title", titles, { role: "row" }), make("div", "body", [], { role: "rowgroup" }));
  }
  reconcile(host.lastChild, origins, (origin) => origin.name, create, (row, origin) => {
    row.className = `row ${tone(origin)}`;
    columns.forEach(([, , words], index) => put(row.children[index], words(origin)));
    row.children[0].title = origin.url;
  });
}

function create() {
  const cells = columns.map(([title]) => make("span", "", "", { role: "cell", "data-title": title }));
  return make("div", "row", cells, { role: "row" });
}
