// Elements of the page: found, made and filled. Text is always text: nothing here reads markup.

/** @param {string} id @returns {any} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/**
 * An element with attributes and children; texts among the children become text nodes.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes] true: there, without a value; false or null: not there
 * @param {...(Node | string)} children
 * @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a drawing. @returns {any} */
export function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** @param {number} share from 0 to 1 */
export function percent(share, digits = 0) {
  return `${(100 * share).toFixed(digits)}%`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** @param {number[]} colour */
export function css(colour) {
  return `rgb(${colour.join(" ")})`;
}

/** As a colour field has it. @param {number[]} colour */
export function hex(colour) {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} text such as #00a000 */
export function fromHex(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/** A text that nobody else makes up; also where a page is not served securely and has no randomUUID. */
export function uniqueName() {
  const parts = crypto.getRandomValues(new Uint8Array(16));
  return [...parts].map((part) => part.toString(16).padStart(2, "0")).join("");
}

/** Calls `handler` once after a pause without further calls. */
export function settled(handler, milliseconds) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => handler(...given), milliseconds);
  };
}
