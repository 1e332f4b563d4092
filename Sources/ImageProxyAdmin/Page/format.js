// Formats numbers and dates. Independent of the page.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** [number, unit] of a byte count, three digits. */
export function bytesParts(count) {
  let value = Math.max(0, count || 0);
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return [unit === 0 ? String(Math.round(value)) : digits(value), units[unit]];
}

export function bytes(count) {
  return bytesParts(count).join(" ");
}

/** Three digits: 9.87, 98.7, 987. */
function digits(value) {
  if (value >= 99.95) return Math.round(value).toString();
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

/** [number, suffix] of a count: 950, 12.3 k, 4.56 M. */
export function countParts(count) {
  const value = count || 0;
  if (value < 10000) return [Number.isInteger(value) ? String(value) : digits(value), ""];
  if (value < 999500) return [digits(value / 1000), "k"];
  if (value < 999.5e6) return [digits(value / 1e6), "M"];
  return [digits(value / 1e9), "G"];
}

export function count(value) {
  return countParts(value).filter(Boolean).join(" ");
}

export function rate(value) {
  if (value === null || value === undefined) return "–";
  return `${value > 0 && value < 10 ? digits(value) : count(Math.round(value))}/s`;
}

/** [number, unit] of milliseconds. */
export function millisecondsParts(value) {
  if (value === null || value === undefined) return ["–", ""];
  if (value === 0) return ["0", "ms"];
  if (value < 1) return [String(Math.max(1, Math.round(value * 1000))), "µs"];
  if (value < 1000) return [digits(value), "ms"];
  return [digits(value / 1000), "s"];
}

export function milliseconds(value) {
  return millisecondsParts(value).filter(Boolean).join(" ");
}

export function percent(ratio) {
  if (ratio === null || ratio === undefined) return "–";
  const value = ratio * 100;
  // 99.96 % must not be displayed as 100 %.
  if (value > 99.9 && value < 100) return "> 99.9 %";
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value >= 99.95 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}

const spans = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** The two largest units: 3 h 12 min. */
export function duration(seconds) {
  let left = Math.max(0, Math.round(seconds));
  const words = [];
  for (const [length, unit] of spans) {
    if (left >= length || (unit === "s" && words.length === 0)) {
      words.push(`${Math.floor(left / length)} ${unit}`);
      left %= length;
      if (words.length === 2) break;
    } else if (words.length === 1) {
      break;
    }
  }
  return words.join(" ");
}

const clockTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const clockSecond = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

export function clock(seconds, withSeconds) {
  return (withSeconds ? clockSecond : clockTime).format(new Date(seconds * 1000));
}

export function date(seconds) {
  return dateTime.format(new Date(seconds * 1000));
}

/** File name and what stands before it, of a URL. */
export function urlParts(url) {
  const plain = url.replace(/^https?:\/\//, "");
  const query = plain.search(/[?#]/);
  const path = query < 0 ? plain : plain.slice(0, query);
  const slash = path.lastIndexOf("/");
  if (slash < 0) return { file: plain, where: "" };
  const file = plain.slice(slash + 1);
  return file ? { file: decoded(file), where: path.slice(0, slash) } : { file: "/", where: path.slice(0, slash) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
