// The most requested and the slowest targets.
import { get } from "./api.js";
import { find, make, put, reconcile } from "./elements.js";
import { bytes, count, milliseconds } from "./format.js";

export async function refreshRequests() {
  const { mostRequested, slowest } = await get("api/requests");
  show("most-requested", mostRequested, (item) => item.target, (item) => `${count(item.requests)} · ${bytes(item.sentBytes)}`);
  show("slowest", slowest, (item) => `${item.target} ${item.milliseconds}`, (item) => `${milliseconds(item.milliseconds)} · ${item.cache ?? item.status}`);
}

function show(id, items, keyOf, figures) {
  const list = find(id);
  if (items.length === 0) {
    if (!list.querySelector(".empty")) put(list, [make("li", "empty", "No requests.")]);
    return;
  }
  list.querySelector(".empty")?.remove();
  reconcile(list, items, keyOf, create, (element, item) => {
    const [target, note] = element.children;
    put(target, item.target);
    target.title = item.target;
    put(note, figures(item));
  });
}

function create() {
  return make("li", "name", [make("span"), make("span", "note")]);
}
