// Everything by keyboard: classes by number, a crosshair by arrows, tools and images by letters. Also the list of keys.

import { byId, make } from "./dom.js";

const STEP = 12; // CSS pixels that an arrow key moves the crosshair by
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const TOOLS = { d: "draw", g: "polygon", b: "box", e: "erase", v: "move" };

const LISTS = {
  "Label": [
    ["1 … 9", "choose a class"], ["0", "nothing of these classes here"],
    ["click", "label a pixel"], ["drag", "scribble"],
    ["Shift + click", "corner of a polygon; the first one again closes it"], ["Shift + drag", "fill a box"],
    ["right click, right drag", "erase"],
    ["Ctrl + Z", "undo"], ["Ctrl + Shift + Z, Ctrl + Y", "redo"],
  ],
  "Keyboard only": [
    ["← ↑ → ↓", "move the crosshair; with Shift by one pixel"], ["Enter", "label there, set a corner"],
    ["S", "begin and end a scribble"], ["Delete", "erase there"],
    ["D G B E V", "draw, polygon, box, erase, move"], ["[ ]", "thinner, wider"],
    ["Esc", "give up what is begun"], ["Backspace", "take back a corner"],
  ],
  "See": [
    ["wheel, + −, pinch", "zoom"], ["space + drag, middle button, two fingers", "move the image"], ["F", "fit"],
    ["N, P, Page Down, Page Up", "next, previous image"],
    ["O", "overlay: none, prediction, confidence"], ["L", "labels on and off"], [", .", "less, more opacity"],
    ["A", "the chosen class alone"],
  ],
  "Ask": [
    ["Q", "show where to click next"], ["M", "answer by keys: a pixel, one key, the next"], ["X", "cannot tell: skip it"],
  ],
};

export class Keys {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./pointer.js").Pointer} pointer
   * @param {import("./state.js").Store} store
   * @param {any} person what keys do beyond the stage
   */
  constructor(stage, pointer, store, person) {
    this.stage = stage;
    this.pointer = pointer;
    this.store = store;
    this.person = person;
    /** @type {number[][] | null} */ this.scribble = null;
    /** @type {number[] | null} */ this.boxFrom = null;
    document.addEventListener("keydown", (event) => this._down(event));
    document.addEventListener("keyup", (event) => {
      if (event.key === " ") this.pointer.spaceHeld = false;
    });
    window.addEventListener("blur", () => (this.pointer.spaceHeld = false));
    stage.element.addEventListener("focus", () => {
      if (stage.element.matches(":focus-visible") && store.values.image) this._showCrosshair();
    });
    byId("help-lists").append(...Object.entries(LISTS).map(([title, keys]) => make("section", {},
      make("h3", {}, title),
      make("dl", {}, ...keys.flatMap(([key, meaning]) => [make("dt", {}, key), make("dd", {}, meaning)])))));
    byId("help-open").addEventListener("click", () => byId("help").showModal());
  }

  _down(event) {
    if (document.querySelector("dialog[open]") || event.altKey) return;
    const { target } = event;
    const writes = target.matches?.("input:not([type=radio], [type=checkbox], [type=range]), textarea, select");
    if (writes && !(event.key === "Escape")) return;
    const isDone = event.ctrlKey || event.metaKey ? this._withControl(event) : this._plain(event);
    if (isDone) event.preventDefault();
  }

  _withControl(event) {
    const key = event.key.toLowerCase();
    if (key === "z") this.person[event.shiftKey ? "redo" : "undo"]();
    else if (key === "y") this.person.redo();
    else return false;
    return true;
  }

  /** @returns {boolean} whether the key meant something */
  _plain(event) {
    const { key, target } = event;
    const isOnStage = target === this.stage.element || target === document.body;
    if (isOnStage && this._onStage(event)) return true;
    if (/^[0-9]$/.test(key)) this.person.choose(Number(key));
    else if (key === "Escape") this._escape();
    else if (key === "?") byId("help").showModal();
    else if (TOOLS[key.toLowerCase()]) this.store.set({ tool: TOOLS[key.toLowerCase()] });
    else return this._letter(key);
    return true;
  }

  _letter(key) {
    const { values } = this.store;
    const commands = {
      f: () => this._look((view) => view.fit()),
      "+": () => this._zoom(1.25), "=": () => this._zoom(1.25), "-": () => this._zoom(0.8),
      n: () => this.person.step(1), p: () => this.person.step(-1),
      q: () => this.person.showSpot(), m: () => this.person.ask(), x: () => this.person.skip(),
      o: () => this.person.nextLayer(), l: () => this.store.set({ marks: !values.marks }),
      a: () => this.person.alone(),
      ",": () => this.store.set({ opacity: Math.max(0, values.opacity - 0.1) }),
      ".": () => this.store.set({ opacity: Math.min(1, values.opacity + 0.1) }),
      "[": () => this.store.set({ radius: Math.max(0, values.radius - 1) }),
      "]": () => this.store.set({ radius: Math.min(40, values.radius + 1) }),
      PageDown: () => this.person.step(1), PageUp: () => this.person.step(-1),
    };
    const command = commands[key.length === 1 ? key.toLowerCase() : key];
    command?.();
    return command !== undefined;
  }

  /** Keys that mean the image; elsewhere they mean buttons, sliders and lists. */
  _onStage(event) {
    const { key } = event;
    if (key in ARROWS) this._walk(ARROWS[key], event.shiftKey);
    else if (key === " ") this.pointer.spaceHeld = true;
    else if (key === "Enter") this._enter();
    else if (key === "Delete") this._put("points", [this._showCrosshair()], null);
    else if (key.toLowerCase() === "s") this._scribble();
    else if (key === "Backspace" && this.pointer.corners.length) this.pointer.dropCorner();
    else return false;
    return true;
  }

  _showCrosshair() {
    const { view } = this.stage;
    const inside = (at, size) => Math.max(0, Math.min(size - 1, Math.floor(at + 1e-6)));
    if (!this.stage.crosshair) {
      const [x, y] = view.toImage(view.width / 2, view.height / 2);
      const { spot, image } = this.store.values;
      this.stage.crosshair = spot?.image === image.key ? [spot.x, spot.y] : [inside(x, image.width), inside(y, image.height)];
      this.stage.redraw("tools");
    }
    return this.stage.crosshair;
  }

  _walk([across, down], isFine) {
    const { image } = this.store.values;
    if (!image) return;
    const from = this._showCrosshair();
    const step = isFine ? 1 : Math.max(1, Math.round(STEP / this.stage.view.scale));
    const to = (at, by, size) => Math.max(0, Math.min(size - 1, at + by * step));
    const pixel = [to(from[0], across, image.width), to(from[1], down, image.height)];
    this.stage.crosshair = pixel;
    this.stage.view.reveal(pixel[0] + 0.5, pixel[1] + 0.5);
    if (this.scribble) this._sketch([...this.scribble, pixel]);
    this.stage.shift();
    this.person.tell(...pixel, true);
  }

  _enter() {
    if (!this.stage.crosshair && this.pointer.closePolygon()) return undefined; // one that the mouse began
    const pixel = this._showCrosshair();
    const { tool } = this.store.values;
    if (this.scribble) return this._scribble();
    if (tool === "erase") return this._put("points", [pixel], null);
    const label = this.person.label();
    if (label === undefined) return undefined;
    if (tool === "polygon" || this.pointer.corners.length) return this.pointer.corner(pixel);
    if (tool !== "box") return this._put("points", [pixel], label);
    if (!this.boxFrom) {
      this.boxFrom = pixel;
      this.person.say("First corner of a box.");
    } else {
      this.person.mark(label, "box", [this.boxFrom, pixel], 0);
      this.boxFrom = null;
    }
    return undefined;
  }

  _put(shape, at, label) {
    this.person.mark(label, shape, at, this.pointer.radiusFor(label));
  }

  _scribble() {
    const pixel = this._showCrosshair();
    const label = this.store.values.tool === "erase" ? null : this.person.label();
    if (label === undefined) return;
    if (!this.scribble) {
      this._sketch([pixel]);
      this.person.say("Scribble begun; S ends it.");
      return;
    }
    const at = this.scribble;
    this.scribble = null;
    this.stage.sketch = null;
    this._put(at.length > 1 ? "scribble" : "points", at, label);
  }

  _sketch(at) {
    const label = this.store.values.tool === "erase" ? null : this.person.label();
    this.scribble = at;
    this.stage.sketch = { shape: "scribble", at, radius: this.pointer.radiusFor(label), class: label };
    this.stage.redraw("tools");
  }

  _escape() {
    const wasBegun = this.pointer.cancel() || this.scribble !== null || this.boxFrom;
    this.scribble = this.boxFrom = null;
    if (wasBegun) return;
    if (this.store.values.asking) this.person.ask();
    else if (this.store.values.spot) this.store.set({ spot: null });
    else if (this.stage.crosshair) {
      this.stage.crosshair = null;
      this.stage.redraw("tools");
    }
  }

  _zoom(factor) {
    const { crosshair, view } = this.stage;
    const [x, y] = crosshair ? view.toStage(crosshair[0] + 0.5, crosshair[1] + 0.5) : [view.width / 2, view.height / 2];
    this._look(() => view.zoom(factor, x, y));
  }

  _look(change) {
    change(this.stage.view);
    this.stage.shift();
  }
}
