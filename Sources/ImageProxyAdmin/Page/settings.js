// The settings in force, read when they are opened.
import { get } from "./api.js";
import { find, make, put } from "./elements.js";

export function startSettings() {
  find("settings").addEventListener("toggle", () => {
    if (find("settings").open) void load();
  });
}

async function load() {
  const list = find("settings-list");
  try {
    const settings = await get("api/settings");
    put(list, Object.entries(settings).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", words(value))]));
  } catch (error) {
    put(list, [make("dt", "", "Not read"), make("dd", "", error.message)]);
  }
}

function words(value) {
  if (value === "") return "none";
  return typeof value === "object" ? JSON.stringify(value).replaceAll(",", ", ") : String(value);
}
