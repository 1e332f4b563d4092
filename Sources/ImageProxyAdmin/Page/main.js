// Polls the server, each part at its own interval, and not while the page is hidden.
import { chartsInterval, refreshCharts, startCharts } from "./charts.js";
import { startDialogs } from "./dialogs.js";
import { find, put } from "./elements.js";
import { load, startGallery } from "./gallery.js";
import { refreshRequests } from "./requests.js";
import { startSettings } from "./settings.js";
import { refreshSummary, showAway } from "./summary.js";
import { refreshTransfers } from "./transfers.js";

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

function shown() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

async function repeat(task, interval) {
  for (let failures = 0; ; ) {
    await shown();
    try {
      await task();
      failures = 0;
    } catch {
      failures += 1;
      showAway();
    }
    await wait(failures ? Math.min(10, 2 ** failures) : interval());
  }
}

function startTheme() {
  const button = find("theme");
  const words = { auto: ["Auto", "the system's"], light: ["Light", "light"], dark: ["Dark", "dark"] };
  const now = () => document.documentElement.dataset.theme ?? "auto";
  const show = () => {
    const [label, meaning] = words[now()];
    put(button, label);
    button.setAttribute("aria-label", `Colours: ${meaning}`);
  };
  button.addEventListener("click", () => {
    const theme = { auto: "light", light: "dark", dark: "auto" }[now()];
    if (theme === "auto") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("theme");
    } else {
      document.documentElement.dataset.theme = theme;
      localStorage.setItem("theme", theme);
    }
    show();
  });
  show();
}

startTheme();
startCharts();
startDialogs();
startGallery();
startSettings();
void repeat(refreshSummary, () => 2);
void repeat(refreshCharts, chartsInterval);
void repeat(refreshTransfers, () => 0.5);
void repeat(load, () => 5);
void repeat(refreshRequests, () => 5);
