// Creates elements. Text is inserted as text, never as markup.

export function find(id) {
  return document.getElementById(id);
}

/** An element with a class, text or children, and attributes. */
export function make(name, className, content, attributes = {}) {
  const element = document.createElement(name);
  if (className) element.className = className;
  put(element, content);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function put(element, content) {
  if (content === undefined || content === null) return;
  if (Array.isArray(content)) element.replaceChildren(...content);
  else if (element.textContent !== String(content)) element.textContent = content;
}

/** A text that links to a metric. */
export function metric(name, text) {
  return make("a", "metric", text, { href: `metrics?name=${name}` });
}

/** A list item of a text and a note at its right. */
export function noted() {
  return make("li", "name", [make("span"), make("span", "note")]);
}

/** Names that link to metrics, with a value each: [name, metric, value]. Gives the cells of the values. */
export function facts(host, lines) {
  if (host.children.length !== lines.length * 2) {
    put(host, lines.flatMap(([name, of]) => [make("dt", "", [metric(of, name)]), make("dd")]));
  }
  return lines.map(([, , value], index) => {
    const cell = host.children[index * 2 + 1];
    put(cell, value);
    return cell;
  });
}

/** Shows words in place of the items of a list that has none. Gives whether it has none. */
export function isEmpty(list, items, words) {
  const shown = list.querySelector(".empty");
  if (items.length > 0) shown?.remove();
  else if (!shown) put(list, [make("li", "empty", words)]);
  return items.length === 0;
}

const space = "http://www.w3.org/2000/svg";

export function draw(name, attributes = {}, text) {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * Brings a list's children to `items`, keeping the element of each key, so that focus and pictures stay.
 * `create` makes an element, `update` fills it.
 */
export function reconcile(list, items, keyOf, create, update) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let place = list.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let element = old.get(key);
    if (element) {
      old.delete(key);
    } else {
      element = create(item);
      element.dataset.key = key;
    }
    update(element, item);
    if (element === place) place = place.nextElementSibling;
    else list.insertBefore(element, place);
  }
  for (const element of old.values()) element.remove();
}
