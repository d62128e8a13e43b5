// Where to click next: shows the image and the pixel; and the mouse-free mode, in which one key answers and the next comes.

import { byId, percent } from "./dom.js";
import { nameOf } from "./state.js";

const AHEAD = 3; // spots that are asked for at a time, so that the next is there before the answer is saved

export class Queue {
  /**
   * @param {import("./server.js").Server} server
   * @param {import("./state.js").Store} store
   * @param {import("./actions.js").Actions} actions
   * @param {{goTo: (spot: any) => Promise<void>, say: (text: string) => void, warn: (text: string) => void}} page
   */
  constructor(server, store, actions, page) {
    this.server = server;
    this.store = store;
    this.actions = actions;
    this.page = page;
    /** @type {import("./state.js").Spot[]} */ this.spots = [];
    /** @type {Set<string>} */ this.answered = new Set();
    this.isMoving = false;
    byId("show-spot").addEventListener("click", () => this.show());
    byId("ask").addEventListener("click", () => this.toggle());
    byId("skip").addEventListener("click", () => this.skip());
    byId("stop-asking").addEventListener("click", () => this.toggle());
    store.on(["spot", "asking", "classes"], (values) => this._tell(values));
  }

  /** Opens the image of the best spot, with a ring around the pixel. */
  async show() {
    try {
      const [spot] = await this._ask();
      if (!spot) return this.page.warn("No pixel left to ask for.");
      await this._go(spot);
    } catch (error) {
      this.page.warn(`Where next: ${error.message}`);
    }
    return undefined;
  }

  async toggle() {
    if (this.store.values.asking) {
      this.store.set({ asking: false, spot: null });
      this.page.say("Stopped asking.");
      return;
    }
    if (!this.store.values.classes.length) {
      this.page.warn("Add a class first.");
      byId("new-name").focus();
      return;
    }
    this.store.set({ asking: true });
    byId("stage").focus({ preventScroll: true });
    await this.show();
    if (!this.store.values.spot) this.store.set({ asking: false });
  }

  /** One key: the pixel is of that class. @param {import("./state.js").ClassChoice} label */
  answer(label) {
    const { spot } = this.store.values;
    if (!spot || this.isMoving) return; // nobody answers for a pixel that is not there yet
    this.actions.mark(spot.image, label, "points", [[spot.x, spot.y]]);
    this.page.say(`${nameOf(this.store.values, label)}.`);
    this._next(spot);
  }

  /** Nobody can tell. */
  skip() {
    const { spot } = this.store.values;
    if (!spot || this.isMoving) return;
    this.actions.do({ type: "skip", image: spot.image, at: [[spot.x, spot.y]] });
    if (this.store.values.asking) this._next(spot);
    else this.store.set({ spot: null });
  }

  /** A mark by hand; on the spot that is shown, it is its answer. */
  marked(image, label, shape, at) {
    const { spot } = this.store.values;
    if (!spot || label === null || spot.image !== image || shape !== "points") return;
    if (Math.hypot(at[0][0] - spot.x, at[0][1] - spot.y) > 8) return;
    if (this.store.values.asking) this._next(spot);
    else this.store.set({ spot: null });
  }

  /** Taken back: the pixel is asked for again. */
  undone() {
    this.answered.clear();
    this.spots = [];
  }

  _next(spot) {
    this.answered.add(placeOf(spot));
    this.spots = this.spots.filter((each) => !this.answered.has(placeOf(each)));
    const [next] = this.spots;
    if (next) this._go(next).catch(() => this.store.set({ spot: null }));
    else this.store.set({ spot: null });
  }

  /** The server knows the latest answer: its new opinion on the rest, and the next one if there was none. */
  async refill() {
    if (!this.store.values.asking) return;
    try {
      const [first] = await this._ask();
      if (this.store.values.spot) return;
      if (first) await this._go(first);
      else this._finish();
    } catch { /* the next answer asks again */ }
  }

  _finish() {
    this.store.set({ asking: false, spot: null });
    this.page.warn("No pixel left to ask for.");
  }

  async _ask() {
    const { spots } = await this.server.ask("/api/next", { query: { client: this.server.client, count: AHEAD } });
    this.spots = spots.filter((spot) => !this.answered.has(placeOf(spot)));
    return this.spots;
  }

  async _go(spot) {
    this.isMoving = true;
    try {
      await this.page.goTo(spot);
      this.store.set({ spot });
    } finally {
      this.isMoving = false;
    }
  }

  _tell(values) {
    const { spot, asking } = values;
    byId("ask").setAttribute("aria-pressed", String(asking));
    byId("question").hidden = !spot;
    byId("stop-asking").hidden = !asking;
    if (!spot) return;
    const guess = spot.guess === null ? "" : `Predicted: ${nameOf(values, spot.guess)}, ${percent(spot.confidence)} sure`;
    byId("question-text").textContent = asking ? "Which class is the pixel in the ring?" : "A click here is of most use";
    byId("question-why").textContent = [spot.why, guess].filter(Boolean).join(" · ");
    if (asking) this.page.say(`Which class is the pixel at ${spot.x}, ${spot.y} of ${spot.image}? ${guess}`);
  }
}

function placeOf({ image, x, y }) {
  return `${x} ${y} ${image}`;
}
