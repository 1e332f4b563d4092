// The details of an entry, and the confirmation of a purge.
import { change, Refusal } from "./api.js";
import { find, make, put } from "./elements.js";
import { bytes, date, urlParts } from "./format.js";
import { mayPurge } from "./summary.js";

/** Kept in this variable alone: gone with the page. */
let token = "";

/** Shows a dialog until it is closed. */
function open(dialog) {
  return new Promise((resolve) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
    dialog.showModal();
  });
}

export function startDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    // A click on the backdrop.
    dialog.addEventListener("pointerdown", (event) => {
      const box = dialog.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
      if (event.target === dialog && !inside) dialog.close();
    });
  }
  find("details-close").addEventListener("click", () => find("details").close());
  find("details-purge").addEventListener("click", () => find("details").close("purge"));
  find("purge-cancel").addEventListener("click", () => find("purge").close());
  find("purge-what").addEventListener("change", () => {
    find("purge-target").value = "";
    showTarget();
  });
}

/** Gives "purge" when that was chosen. */
export function showDetails(entry) {
  put(find("details-title"), urlParts(entry.url).file);
  const image = find("details-image");
  image.hidden = !entry.preview;
  if (entry.preview) image.src = entry.preview;
  else image.removeAttribute("src");
  const lines = [
    ["URL", entry.url],
    ["Status", entry.status],
    ["Derived", entry.recipe],
    ["Freshness", entry.freshness.summary],
    ["Why", entry.freshness.reason],
    ["Next request", entry.freshness.next],
    ["Type", entry.type],
    ["Size", `${bytes(entry.size)} (${entry.size} bytes, ${bytes(entry.allocated)} on disk)`],
    ["Stored", date(entry.stored)],
    ["Last used", date(entry.lastUsed)],
    ["ETag", entry.etag],
    ["Varies by", entry.vary],
  ];
  put(find("details-list"), lines.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
  return open(find("details"));
}

/**
 * Asks, and purges. `entry`: that one; else what the form says, with the search as a beginning.
 * Gives whether something was purged.
 */
export async function confirmPurge({ entry = null, search = "" }) {
  const many = !entry;
  put(find("purge-title"), many ? "Purge entries" : `Purge ${urlParts(entry.url).file}?`);
  put(find("purge-text"), entry ? `${entry.url}${entry.recipe ? `, ${entry.recipe}` : ""}: ${bytes(entry.size)}. The next request for it asks the origin.` : "The next requests for it are forwarded to the origin. Thumbnails are purged with their originals.");
  find("purge-what").hidden = !many;
  if (many) {
    find("purge-target").value = search.startsWith("http") ? search : "";
    showTarget();
  } else {
    find("purge-target-field").hidden = true;
  }
  find("purge-token-field").hidden = find("purge-token-note").hidden = token !== "" || !mayPurge();
  find("purge-do").disabled = !mayPurge();
  put(find("purge-wrong"), mayPurge() ? "" : "The server was started without a token for purging (--admin-token-file).");

  const dialog = find("purge");
  const form = find("purge-form");
  form.onsubmit = async (event) => {
    event.preventDefault();
    const done = await send(entry);
    if (done) dialog.close("purged");
  };
  return (await open(dialog)) === "purged";
}

function chosen() {
  return find("purge-form").elements.what.value;
}

function showTarget() {
  const what = chosen();
  const labels = { url: "URL", prefix: "Prefix, such as https://images.example.com/2024/", host: "Host", origin: "Name of the origin" };
  find("purge-target-field").hidden = what === "all";
  put(find("purge-target-label"), labels[what] ?? "");
}

async function send(entry) {
  const wrong = find("purge-wrong");
  const field = find("purge-token");
  put(wrong, "");
  const used = token || field.value;
  const target = find("purge-target").value.trim();
  if (!used) return refuse("A token is required.", field);
  if (!entry && chosen() !== "all" && !target) return refuse("Specify what to purge.", find("purge-target"));
  find("purge-do").disabled = true;
  try {
    const result = entry
      ? await change("DELETE", `api/entries/${encodeURIComponent(entry.id)}`, used)
      : await change("POST", "purge", used, chosen() === "all" ? { all: true } : { [chosen()]: target });
    token = used;
    field.value = "";
    say(result.purged === 0 ? "No matching entries." : `Purged ${result.purged} ${result.purged === 1 ? "entry" : "entries"}.`);
    return true;
  } catch (error) {
    if (error instanceof Refusal && (error.status === 401 || error.status === 403)) {
      token = "";
      find("purge-token-field").hidden = find("purge-token-note").hidden = false;
      return refuse(error.message, field);
    }
    return refuse(error.message, null);
  } finally {
    find("purge-do").disabled = false;
  }
}

function refuse(text, field) {
  put(find("purge-wrong"), text);
  field?.focus();
  return false;
}

let saying = 0;

function say(text) {
  const toast = find("toast");
  put(toast, text);
  clearTimeout(saying);
  saying = setTimeout(() => put(toast, ""), 4000);
}
