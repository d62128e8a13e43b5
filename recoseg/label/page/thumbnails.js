// Thumbnails of all images, of which only those in sight exist: ten thousand are no more work than ten.

import { byId, css, make } from "./dom.js";
import { Loader } from "./tiles.js";

const PAGE = 100; // images that are asked for at a time
const [FIRST_PAUSE, LONGEST_PAUSE] = [2000, 120_000]; // milliseconds before a missing picture is asked for again

export class Thumbnails {
  /**
   * @param {import("./server.js").Server} server
   * @param {import("./state.js").Store} store
   * @param {(index: number) => void} open what a click does
   */
  constructor(server, store, open) {
    this.server = server;
    this.store = store;
    this.open = open;
    this.box = byId("thumbnails");
    this.space = make("div", { class: "space", role: "presentation" });
    this.box.append(this.space);
    /** @type {(any | undefined)[]} */ this.images = [];
    /** @type {Map<number, Promise<void>>} */ this.pages = new Map();
    /** @type {Map<number, any>} */ this.items = new Map();
    /** @type {Map<number, {pause: number, end: number}>} */ this.missing = new Map(); // by place
    this.loader = new Loader(1);
    this.current = 0;
    this.frame = 0;
    this.box.addEventListener("scroll", () => this.show());
    this.box.addEventListener("keydown", (event) => this._key(event));
    new ResizeObserver(() => this._resized()).observe(this.box);
    store.on(["total", "classes"], () => this.show());
    store.on(["connected"], ({ connected }) => connected && this._askAgain());
  }

  /** @returns {Promise<any>} the image at that place */
  async image(index) {
    await this._page(Math.floor(index / PAGE));
    return this.images[index];
  }

  /** What is known anew of an image. */
  update(image) {
    this.images[image.index] = image;
    if (this.items.has(image.index)) this._fill(this.items.get(image.index), image.index);
  }

  /** All may have changed. */
  forget() {
    this.pages.clear();
    this._askAgain();
  }

  /** Marks the image that is open, and brings it into sight. */
  choose(index) {
    this.current = index;
    const { columns, across, isRow } = this._grid();
    const start = Math.floor(index / columns) * across;
    const [from, size] = isRow ? [this.box.scrollLeft, this.box.clientWidth] : [this.box.scrollTop, this.box.clientHeight];
    if (start < from || start + across > from + size) {
      this.box.scrollTo({ [isRow ? "left" : "top"]: Math.max(0, start - (size - across) / 2), behavior: "instant" });
    }
    this.show();
  }

  show() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this._show();
    });
  }

  _resized() {
    this.choose(this.current);
  }

  /** One row beside another, or one column of many, as the style says. */
  _grid() {
    const style = getComputedStyle(this.box);
    const isRow = style.getPropertyValue("--direction").trim() === "row";
    const wanted = parseFloat(style.getPropertyValue("--thumbnail")) * parseFloat(getComputedStyle(document.documentElement).fontSize);
    const columns = isRow ? 1 : Math.max(1, Math.floor(this.box.clientWidth / wanted));
    const width = isRow ? wanted : this.box.clientWidth / columns;
    const height = isRow ? this.box.clientHeight : width * 0.82;
    return { isRow, columns, width, height, across: isRow ? width : height };
  }

  _show() {
    const { total } = this.store.values;
    const { isRow, columns, width, height, across } = this._grid();
    const length = Math.ceil(total / columns) * across;
    this.space.style.width = isRow ? `${length}px` : "100%";
    this.space.style.height = isRow ? "100%" : `${length}px`;
    this.box.setAttribute("aria-orientation", isRow ? "horizontal" : "vertical");
    const [from, size] = isRow ? [this.box.scrollLeft, this.box.clientWidth] : [this.box.scrollTop, this.box.clientHeight];
    const first = Math.max(0, (Math.floor(from / across) - 1) * columns);
    const last = Math.min(total - 1, (Math.ceil((from + size) / across) + 1) * columns - 1);
    for (const [index, item] of this.items) {
      if ((index >= first && index <= last) || item === document.activeElement) continue;
      item.remove();
      this.items.delete(index);
    }
    for (let index = first; index <= last; index += 1) {
      if (!this.items.has(index)) this._add(index);
      const item = this.items.get(index);
      const [row, column] = [Math.floor(index / columns), index % columns];
      item.style.transform = isRow ? `translate(${index * width}px, 0)` : `translate(${column * width}px, ${row * height}px)`;
      item.style.width = `${width}px`;
      item.style.height = `${height}px`;
      this._fill(item, index);
    }
    this._load(first, last);
    for (let page = Math.floor(first / PAGE); page * PAGE <= last; page += 1) this._page(page).catch(() => {});
  }

  _add(index) {
    const item = make("div", { role: "option", class: "thumbnail", "aria-posinset": index + 1 },
      make("img", { alt: "", draggable: "false", decoding: "async" }), make("span", { class: "number" }, String(index + 1)),
      make("span", { class: "dots" }));
    item.addEventListener("click", () => this.open(index));
    this.items.set(index, item);
    this.space.append(item);
  }

  _fill(item, index) {
    const image = this.images[index];
    const isCurrent = index === this.current;
    item.setAttribute("aria-setsize", String(this.store.values.total));
    item.setAttribute("aria-selected", String(isCurrent));
    item.tabIndex = isCurrent ? 0 : -1;
    if (!image) return item.setAttribute("aria-label", `Image ${index + 1}`);
    item.title = image.key;
    const labelled = this.store.values.classes.filter(({ id }) => image.pixels[id]);
    const names = labelled.map(({ name }) => name);
    if (image.pixels.void) names.push("nothing of these");
    const words = names.length ? `labelled: ${names.join(", ")}` : "not labelled";
    item.setAttribute("aria-label", `${image.key}, ${words}${image.accepted ? ", with an accepted prediction" : ""}`);
    const dots = labelled.slice(0, 8).map(({ colour }) => {
      const dot = make("span");
      dot.style.background = css(colour);
      return dot;
    });
    if (image.accepted) dots.push(make("span", { class: "accepted", title: "Holds an accepted prediction" }, "✓"));
    item.querySelector(".dots").replaceChildren(...dots);
    return undefined;
  }

  /** Pictures of what is in sight, from the first on. */
  _load(first, last) {
    const jobs = [];
    for (let index = first; index <= last; index += 1) {
      const picture = this.items.get(index).querySelector("img");
      const image = this.images[index];
      if (!image || picture.hasAttribute("src") || this.missing.get(index)?.end > performance.now()) continue;
      const start = () => new Promise((done) => {
        picture.onload = () => {
          this.missing.delete(index);
          done();
        };
        picture.onerror = () => {
          picture.removeAttribute("src");
          this._askLater(index);
          done();
        };
        picture.src = this.server.address("/api/thumbnail", { key: image.key });
      });
      jobs.push({ name: String(index), start });
    }
    this.loader.want("thumbnails", jobs);
  }

  /** Each pause is twice as long as the one before. */
  _askLater(index) {
    const pause = Math.min(LONGEST_PAUSE, 2 * (this.missing.get(index)?.pause ?? FIRST_PAUSE / 2));
    this.missing.set(index, { pause, end: performance.now() + pause });
    setTimeout(() => this.show(), pause + 1);
  }

  _askAgain() {
    this.missing.clear();
    this.show();
  }

  _page(page) {
    if (!this.pages.has(page)) {
      const asking = this.server.ask("/api/images", { query: { start: page * PAGE, count: PAGE } }).then(({ start, images }) => {
        images.forEach((image, offset) => (this.images[start + offset] = image));
        this.show();
      });
      asking.catch(() => setTimeout(() => this.pages.delete(page), 1000));
      this.pages.set(page, asking);
    }
    return this.pages.get(page);
  }

  _key(event) {
    const { columns, isRow } = this._grid();
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: isRow ? -1 : -columns, ArrowDown: isRow ? 1 : columns, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    event.stopPropagation();
    const { total } = this.store.values;
    const index = Math.max(0, Math.min(total - 1, this.current + steps[event.key]));
    this.open(index);
    this._show();
    this.items.get(index)?.focus({ preventScroll: true });
  }
}
