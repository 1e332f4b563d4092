// The cached entries: a grid, searched on the server, navigated with the arrow keys.
import { get } from "./api.js";
import { confirmPurge, showDetails } from "./dialogs.js";
import { find, make, put, reconcile } from "./elements.js";
import { bytes, urlParts } from "./format.js";

/** On a narrow screen two cards stand in a row: a page of many would be long. */
const pageSize = matchMedia("(max-width: 560px)").matches ? 12 : 48;

let entries = [];
let search = "";
let next = null;
let asked = 0;
const items = new WeakMap();

export function startGallery() {
  const field = find("search");
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      search = field.value.trim();
      void load();
    }, 200);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && entries.length) {
      event.preventDefault();
      focus(0);
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, dialog");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
  for (const choice of ["kind", "sort"]) find(choice).addEventListener("change", () => void load());
  find("more").addEventListener("click", () => void loadMore());
  find("purge-many").addEventListener("click", () => void purge({ search }));
  find("entries").addEventListener("keydown", moveOn);
}

/** Asks again for as much as is shown, so that what is new and what has gone is seen. */
export async function load() {
  const mine = (asked += 1);
  const wanted = Math.max(pageSize, Math.min(entries.length, 480));
  let found;
  try {
    found = await get("api/entries", { ...selection(), limit: wanted });
  } catch (error) {
    if (mine === asked) put(find("gallery-note"), error.message);
    throw error;
  }
  // A later request has replaced this one.
  if (mine !== asked) return;
  show(found.entries, found.next);
}

function selection() {
  return { search, kind: find("kind").value, sort: find("sort").value };
}

async function loadMore() {
  const mine = (asked += 1);
  const found = await get("api/entries", { ...selection(), limit: pageSize, after: next });
  if (mine !== asked) return;
  const first = entries.length;
  const known = new Set(entries.map((entry) => entry.id));
  show([...entries, ...found.entries.filter((entry) => !known.has(entry.id))], found.next);
  focus(first);
}

function show(list, more) {
  entries = list;
  next = more;
  const host = find("entries");
  const had = host.contains(document.activeElement) ? indexOf(document.activeElement) : -1;
  reconcile(host, entries, (entry) => entry.id, create, update);
  find("more").hidden = !next;
  put(find("more"), entries.length ? "Show more" : "Search further");
  put(find("gallery-note"), noteText());
  const current = host.querySelector('.open[tabindex="0"]');
  if (!current && host.firstElementChild) setCurrent(host.firstElementChild);
  // The focused entry is gone: focuses the one that took its place.
  if (had >= 0 && !host.contains(document.activeElement)) {
    if (entries.length) focus(Math.min(had, entries.length - 1));
    else find("search").focus();
  }
}

function noteText() {
  const isAll = find("kind").value === "all";
  // The number of entries that a search examines at a time.
  if (entries.length === 0 && next) return `No match for “${search}” among the newest entries.`;
  if (entries.length === 0 && !isAll) return "No such entries.";
  if (entries.length === 0) return search ? `No entry's URL contains “${search}”.` : "No entries yet.";
  const number = next ? `the newest ${entries.length}` : `${entries.length}`;
  return search ? `${number} with “${search}”` : number;
}

// MARK: One entry

function create(entry) {
  const picture = make("span", "picture");
  const open = make("button", "open", [picture, ...["file", "where", "fresh"].map((name) => make("span", name))], {
    type: "button", tabindex: "-1",
  });
  const drop = make("button", "drop danger", "Purge", { type: "button", tabindex: "-1" });
  const element = make("li", "entry", [open, drop]);
  open.addEventListener("click", () => void details(element));
  open.addEventListener("focus", () => setCurrent(element));
  drop.addEventListener("click", () => void purge({ entry: items.get(element) }));
  if (entry.preview) {
    const image = make("img", "", undefined, { alt: "", loading: "lazy", decoding: "async", width: 176, height: 132 });
    image.addEventListener("error", () => image.replaceWith(kind(entry)));
    image.src = entry.preview;
    picture.append(image);
  } else {
    picture.append(kind(entry));
  }
  return element;
}

function kind({ type }) {
  return make("span", "", (type || "file").split(/[/;+]/)[1] ?? type ?? "file");
}

function update(element, entry) {
  items.set(element, entry);
  const [open, drop] = element.children;
  const { file, where } = urlParts(entry.url);
  const [, name, place, fresh] = open.children;
  put(name, file);
  put(place, entry.recipe ? `${bytes(entry.size)}, ${entry.recipe}` : `${bytes(entry.size)}, ${where}`);
  put(fresh, [entry.status ? `Status ${entry.status}` : "", entry.freshness.summary].filter(Boolean).join(". "));
  fresh.className = `fresh is-${entry.freshness.state}`;
  open.title = entry.url;
  open.setAttribute("aria-label", `${file}, ${bytes(entry.size)}, ${entry.recipe ?? where}, ${entry.status ? `status ${entry.status}, ` : ""}${entry.freshness.summary}`);
  drop.setAttribute("aria-label", `Purge ${file}`);
}

async function details(element) {
  const wants = await showDetails(items.get(element));
  if (wants === "purge") await purge({ entry: items.get(element) });
}

async function purge(what) {
  if (await confirmPurge(what)) await load();
}

// MARK: The keyboard

function indexOf(inside) {
  return [...find("entries").children].indexOf(inside.closest(".entry"));
}

/** One entry is in the tab order, and its purge button after it. */
function setCurrent(element) {
  for (const button of find("entries").querySelectorAll('[tabindex="0"]')) button.tabIndex = -1;
  for (const button of element.querySelectorAll("button")) button.tabIndex = 0;
}

function focus(index) {
  const element = find("entries").children[index];
  if (!element) return;
  setCurrent(element);
  element.querySelector(".open").focus();
}

function moveOn(event) {
  const index = indexOf(event.target);
  if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Delete") {
    event.preventDefault();
    void purge({ entry: entries[index] });
    return;
  }
  const columns = getComputedStyle(find("entries")).gridTemplateColumns.split(" ").length;
  const goal = {
    ArrowLeft: index - 1, ArrowRight: index + 1, ArrowUp: index - columns, ArrowDown: index + columns,
    Home: 0, End: entries.length - 1,
  }[event.key];
  if (goal === undefined) return;
  event.preventDefault();
  if (goal < 0 && event.key === "ArrowUp") find("search").focus();
  else focus(Math.min(entries.length - 1, Math.max(0, goal)));
}
