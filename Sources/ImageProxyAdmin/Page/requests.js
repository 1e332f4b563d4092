// The most requested, the slowest and the failing targets, and the latest errors.
import { get } from "./api.js";
import { find, isEmpty, make, noted, put, reconcile } from "./elements.js";
import { bytes, clock, count, milliseconds } from "./format.js";

export async function refreshRequests() {
  const { mostRequested, slowest, failing, errors } = await get("api/requests");
  show("most-requested", mostRequested, (item) => item.target, (item) => `${count(item.requests)} · ${bytes(item.sentBytes)}`);
  show("slowest", slowest, (item) => `${item.target} ${item.milliseconds}`, (item) => `${milliseconds(item.milliseconds)} · ${item.cache ?? item.status}`);
  show("failing", failing, (item) => `${item.status} ${item.target}`, (item) => `${count(item.requests)} · ${item.status}`, "No errors.");
  showErrors(errors);
}

function show(id, items, keyOf, figures, nothing = "No requests.") {
  const list = find(id);
  if (isEmpty(list, items, nothing)) return;
  reconcile(list, items, keyOf, noted, (element, item) => {
    const [target, note] = element.children;
    put(target, item.target);
    target.title = item.target;
    put(note, figures(item));
  });
}

/** Each with its cause, and the id that the access log and the response have. */
function showErrors(errors) {
  const list = find("errors");
  put(find("errors-note"), errors.length ? "the latest first" : "");
  if (isEmpty(list, errors, "No errors.")) return;
  reconcile(list, errors, (item) => `${item.at} ${item.id} ${item.target}`, createError, (element, item) => {
    const [name, cause] = element.children;
    put(name.children[0], item.target);
    name.children[0].title = item.target;
    put(name.children[1], `${clock(item.at, true)} · ${item.status}`);
    put(cause, [item.detail ?? item.error ?? "the origin's response", item.id ? `id ${item.id}` : ""].filter(Boolean).join(" · "));
    element.classList.toggle("bad", item.status >= 500);
  });
}

function createError() {
  return make("li", "error", [make("div", "name", [make("span"), make("span", "note")]), make("p", "note")]);
}
