// Requests to the server. URLs are relative, so the page works below any path.

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function answer(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // Not JSON: the status is sufficient.
  }
  if (!response.ok) throw new Refusal(response.status, body?.message ?? `The server answered ${response.status}.`);
  return body;
}

export async function get(path, parameters = {}) {
  const query = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join("&");
  return answer(await fetch(query ? `${path}?${query}` : path, { cache: "no-store" }));
}

/** A request that changes something: JSON and the token, which no other page can send. */
export async function change(method, path, token, body) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return answer(
    await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }));
}
