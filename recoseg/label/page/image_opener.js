// Which image is open: by its place, its key or a spot of the queue; and what becomes known of it meanwhile.

import { byId, settled } from "./dom.js";
import { warn } from "./saved.js";

const CLOSE = 320; // pixels of the image around a spot that are in sight at least
const REST = 250; // milliseconds without a further mark before an image is counted again

export class ImageOpener {
  /**
   * @param {import("./server.js").Server} server
   * @param {import("./state.js").Store} store
   * @param {import("./stage.js").Stage} stage
   * @param {import("./thumbnails.js").Thumbnails} thumbnails
   */
  constructor(server, store, stage, thumbnails) {
    this.server = server;
    this.store = store;
    this.stage = stage;
    this.thumbnails = thumbnails;
    this.turn = 0; // the latest wish counts, whichever answer comes last
    /** @type {Set<string>} */ this.changed = new Set();
    this.countSoon = settled(() => this._count(), REST);
    byId("previous").addEventListener("click", () => this.step(-1));
    byId("next").addEventListener("click", () => this.step(1));
    byId("number").addEventListener("change", () => this.at(Number(byId("number").value) - 1));
    store.on(["total", "image"], () => this._showPlace());
  }

  /** @param {number} by places on from here */
  step(by) {
    return this.at(this.thumbnails.current + by);
  }

  /** At once as it is known, and then as it is. @param {number} index */
  async at(index) {
    if (!(index >= 0 && index < this.store.values.total)) return;
    const turn = ++this.turn;
    this.thumbnails.choose(index);
    const image = await this.thumbnails.image(index).catch(() => null);
    if (turn !== this.turn || !image) return;
    this._present(image);
    await this.renew();
  }

  /** @param {string} key */
  async key(key) {
    const turn = ++this.turn;
    if (this.store.values.image?.key === key) return;
    const image = await this._ask(key);
    if (turn !== this.turn) return;
    this.thumbnails.choose(image.index);
    this._present(image);
  }

  /** Close enough to see the pixel and far enough to know what it is part of. @param {import("./state.js").Spot} spot */
  async spot({ image, x, y }) {
    await this.key(image);
    if (this.store.values.image?.key !== image) throw new Error("another image was opened");
    const { view } = this.stage;
    const close = Math.min(4, Math.min(view.width, view.height) / CLOSE);
    const below = byId("question").offsetHeight + 60; // the question must not hide what it is about
    view.focus(x + 0.5, y + 0.5, Math.max(view.fittingScale(), close), below);
    this.stage.crosshair = null;
    this.stage.shift();
  }

  /** What is new of the open image; also tells the learner who looks where. */
  async renew() {
    const { turn, stage } = this;
    if (!this.store.values.image) return;
    const image = await this._ask(this.store.values.image.key).catch(() => null);
    if (!image || turn !== this.turn) return;
    this.thumbnails.update(image);
    const { width, height } = this.store.values.image;
    if (image.width !== width || image.height !== height) return this._present(image); // its file was replaced
    this._know(image);
    stage.labels.renew(image.labels);
    stage.prediction.renew(image.prediction);
    stage.redraw("labels", "prediction");
  }

  /** Its labels changed: it is counted again once they are at rest. @param {string} key */
  refresh(key) {
    this.changed.add(key);
    this.countSoon();
  }

  /** @param {{version: number, images: string[]}} news */
  predicted({ version, images }) {
    const { image } = this.store.values;
    if (!image || !images.includes(image.key)) return;
    this.store.set({ image: { ...image, prediction: version } });
    if (version) this.stage.prediction.renew(version);
    else this.stage.prediction.open(image, 0); // it is no longer valid
    this.stage.redraw("prediction");
  }

  async _ask(key) {
    const image = await this.server.ask("/api/image", { query: { key, client: this.server.client } });
    if (!image.width) warn(`The image ${key} cannot be read.`);
    return image;
  }

  async _count() {
    const keys = [...this.changed];
    this.changed.clear();
    for (const key of keys) {
      const image = await this.server.ask("/api/image", { query: { key } }).catch(() => null); // nobody looks: no client
      if (!image) continue;
      this.thumbnails.update(image);
      if (this.store.values.image?.key === key) this._know(image);
    }
  }

  /** An answer on the open image; events may have overtaken it. */
  _know(image) {
    const { labels, prediction } = this.store.values.image;
    this.store.set({ image: {
      ...image, labels: Math.max(labels, image.labels), prediction: Math.max(prediction, image.prediction),
    } });
  }

  _present(image) {
    const { spot, asking } = this.store.values;
    if (spot && spot.image !== image.key && !asking) this.store.set({ spot: null });
    this.store.set({ image });
    this.stage.open(image);
    history.replaceState(null, "", `#${encodeURIComponent(image.key)}`);
  }

  _showPlace() {
    const { image, total } = this.store.values;
    const { current } = this.thumbnails;
    byId("total").textContent = total.toLocaleString("en");
    const isTyped = document.activeElement === byId("number") && byId("image-name").textContent === image?.key;
    if (!isTyped) byId("number").value = String(current + 1);
    byId("number").max = String(total);
    byId("previous").disabled = current <= 0;
    byId("next").disabled = current >= total - 1;
    if (!image) return;
    byId("image-name").textContent = byId("image-name").title = image.key;
    this.stage.element.setAttribute("aria-label", `Image ${image.key}, ${image.width} by ${image.height} pixels`);
  }
}
