// Mouse, pen and fingers on the stage: strokes become marks, two fingers zoom, the wheel zooms, the middle button moves.

const CLICK = 4; // CSS pixels that a hand may move within a click
const CORNER = 10; // how near the first corner of a polygon a click closes it
const MOST_PIXELS = 20_000; // of one mark
const ERASER = 6; // CSS pixels at least: nobody hits a single pixel

/**
 * @typedef {{pointer: number, kind: "mark" | "corner" | "move", label: any, shape: string, at: number[][],
 *   startX: number, startY: number, x: number, y: number, moved: boolean, shift: boolean}} Stroke
 */
export class Pointer {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./state.js").Store} store
   * @param {{label: () => any, mark: (label: any, shape: string, at: number[][], radius: number) => void, tell: (x: number, y: number) => void}} person
   */
  constructor(stage, store, person) {
    this.stage = stage;
    this.store = store;
    this.person = person;
    /** @type {Map<number, number[]>} */ this.touches = new Map();
    /** @type {Stroke | null} */ this.stroke = null;
    /** @type {number[][]} */ this.corners = []; // of a polygon in the making
    this.spaceHeld = false;
    const { element } = stage;
    element.addEventListener("pointerdown", (event) => this._down(event));
    element.addEventListener("pointermove", (event) => this._move(event));
    element.addEventListener("pointerup", (event) => this._up(event));
    element.addEventListener("pointercancel", (event) => this._leave(event));
    element.addEventListener("pointerleave", () => this._brush(null));
    element.addEventListener("mousedown", (event) => event.preventDefault()); // the focus is given by hand
    element.addEventListener("contextmenu", (event) => event.preventDefault());
    element.addEventListener("dblclick", () => this.closePolygon());
    element.addEventListener("wheel", (event) => this._wheel(event), { passive: false });
    let shown = "";
    store.on(["tool", "image"], ({ tool, image }) => {
      if (shown !== (shown = `${tool} ${image?.key}`)) this.cancel();
    });
  }

  /** Gives up what is being drawn. @returns {boolean} whether there was something */
  cancel() {
    const was = this.stroke !== null || this.corners.length > 0;
    this.stroke = null;
    this.corners = [];
    this._sketch(null);
    return was;
  }

  /** Another corner of a polygon; near the first one it closes. @param {number[]} pixel */
  corner(pixel) {
    const [first] = this.corners;
    const { scale } = this.stage.view;
    if (this.corners.length > 2 && Math.hypot(first[0] - pixel[0], first[1] - pixel[1]) * scale < CORNER) {
      this.closePolygon();
      return;
    }
    const last = this.corners.at(-1);
    if (last && last[0] === pixel[0] && last[1] === pixel[1]) {
      this.closePolygon();
      return;
    }
    this.corners.push(pixel);
    this._sketchPolygon();
  }

  dropCorner() {
    this.corners.pop();
    this._sketchPolygon();
    return true;
  }

  /** @returns {boolean} whether there was one */
  closePolygon() {
    if (this.corners.length < 3) return false;
    const corners = this.corners;
    this.corners = [];
    this._sketch(null);
    this.person.mark(this.person.label(), "polygon", corners, 0);
    return true;
  }

  /** The width of the brush; an eraser is never too thin to hit something. */
  radiusFor(label) {
    const { radius } = this.store.values;
    if (label !== null) return radius;
    return Math.min(200, Math.max(radius, Math.ceil(ERASER / this.stage.view.scale)));
  }

  _position(event) {
    const { left, top } = this.stage.element.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  /** The pixel there, also outside of the image: what leaves it is cut off, and comes back where the hand does. */
  _place(x, y) {
    return this.stage.view.toImage(x, y).map(Math.floor);
  }

  /** The pixel of the image there; outside, the nearest. */
  _pixel(x, y) {
    const { width, height } = this.stage.view.image;
    const [imageX, imageY] = this._place(x, y);
    return [Math.max(0, Math.min(width - 1, imageX)), Math.max(0, Math.min(height - 1, imageY))];
  }

  _isInside(x, y) {
    const { width, height } = this.stage.view.image;
    const [imageX, imageY] = this.stage.view.toImage(x, y);
    return imageX >= 0 && imageY >= 0 && imageX < width && imageY < height;
  }

  _down(event) {
    if (event.target.closest("#question") || !this.store.values.image) return;
    this.stage.element.focus({ preventScroll: true });
    this.stage.element.setPointerCapture(event.pointerId);
    const [x, y] = this._position(event);
    if (event.pointerType === "touch") {
      this.touches.set(event.pointerId, [x, y]);
      if (this.touches.size > 1) { // a pinch: whatever the first finger began was not meant
        this.stroke = null;
        this._sketch(null);
        this._sketchPolygon();
        return;
      }
    }
    this.stage.crosshair = null;
    this._begin(event, x, y);
  }

  _begin(event, x, y) {
    const { tool } = this.store.values;
    const shared = { pointer: event.pointerId, startX: x, startY: y, x, y, moved: false, shift: event.shiftKey, at: [this._pixel(x, y)] };
    const moves = event.button === 1 || (event.button === 0 && (tool === "move" || this.spaceHeld));
    if (moves) {
      event.preventDefault();
      this.stroke = { ...shared, kind: "move", label: null, shape: "" };
      return;
    }
    if (!this._isInside(x, y) && !this.corners.length) return;
    const erases = event.button === 2 || tool === "erase";
    const label = erases ? null : this.person.label();
    if (label === undefined) return; // no class yet
    const isArea = !erases && (this.corners.length > 0 || event.shiftKey || tool === "polygon" || tool === "box");
    if (isArea) this.stroke = { ...shared, kind: "corner", label, shape: tool === "polygon" ? "polygon" : "box" };
    else this.stroke = { ...shared, kind: "mark", label, shape: "scribble" };
    if (!isArea) this._sketchStroke();
  }

  _move(event) {
    const [x, y] = this._position(event);
    if (this.touches.has(event.pointerId)) {
      const before = [...this.touches.values()].map((place) => [...place]);
      this.touches.set(event.pointerId, [x, y]);
      if (this.touches.size === 2) return this._pinch(before);
    }
    if (this._isInside(x, y)) this.person.tell(...this._pixel(x, y));
    this._brush([x, y]);
    const { stroke } = this;
    if (!stroke || stroke.pointer !== event.pointerId) {
      if (this.corners.length) this._sketchPolygon(this._pixel(x, y));
      return;
    }
    if (Math.hypot(x - stroke.startX, y - stroke.startY) > CLICK) stroke.moved = true;
    if (stroke.kind === "move") {
      this.stage.view.pan(x - stroke.x, y - stroke.y);
      [stroke.x, stroke.y] = [x, y];
      this.stage.shift();
    } else if (stroke.kind === "mark" && stroke.moved) {
      for (const part of event.getCoalescedEvents?.() ?? [event]) this._extend(stroke, ...this._position(part));
      this._extend(stroke, x, y);
      this._sketchStroke();
    } else if (stroke.kind === "corner" && stroke.moved && stroke.shape === "box" && !this.corners.length) {
      stroke.at = [stroke.at[0], this._pixel(x, y)];
      this._sketch({ shape: "box", at: stroke.at, radius: 0, class: stroke.label });
    }
  }

  _extend(stroke, x, y) {
    const pixel = this._place(x, y);
    const last = stroke.at.at(-1);
    if (pixel[0] === last[0] && pixel[1] === last[1]) return;
    stroke.at.push(pixel);
    if (stroke.at.length < MOST_PIXELS) return;
    this.person.mark(stroke.label, "scribble", stroke.at, this.radiusFor(stroke.label));
    stroke.at = [pixel];
  }

  _up(event) {
    this.touches.delete(event.pointerId);
    const { stroke } = this;
    if (!stroke || stroke.pointer !== event.pointerId) return;
    this.stroke = null;
    if (stroke.kind === "move") return;
    this._sketch(null);
    if (stroke.kind === "mark") {
      this.person.mark(stroke.label, stroke.at.length > 1 ? "scribble" : "points", stroke.at, this.radiusFor(stroke.label));
    } else if (stroke.shape === "box" && stroke.moved && !this.corners.length) {
      this.person.mark(stroke.label, "box", stroke.at, 0);
    } else if (stroke.shape === "polygon" || stroke.shift || this.corners.length) {
      this.corner(stroke.at[0]);
    }
  }

  _leave(event) {
    this.touches.delete(event.pointerId);
    if (this.stroke?.pointer === event.pointerId) {
      this.stroke = null;
      this._sketchPolygon();
    }
  }

  /** Two fingers: their middle moves the image, their distance zooms it. */
  _pinch(before) {
    const after = [...this.touches.values()];
    const middle = (places) => [0, 1].map((axis) => (places[0][axis] + places[1][axis]) / 2);
    const apart = (places) => Math.max(1, Math.hypot(places[0][0] - places[1][0], places[0][1] - places[1][1]));
    const [from, to] = [middle(before), middle(after)];
    this.stage.view.pan(to[0] - from[0], to[1] - from[1]);
    this.stage.view.zoom(apart(after) / apart(before), ...to);
    this.stage.shift();
  }

  _wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    const speed = event.ctrlKey ? 0.01 : 0.0015; // a pinch on a touch pad comes as a wheel with Ctrl
    const turn = Math.max(-300, Math.min(300, event.deltaY * lines));
    this.stage.view.zoom(Math.exp(-turn * speed), ...this._position(event));
    this.stage.shift();
  }

  /** A ring as wide as what the pointer would mark, if that is wider than the pointer. @param {number[] | null} place */
  _brush(place) {
    const { tool } = this.store.values;
    const size = (this.radiusFor(tool === "erase" ? null : 0) + 0.5) * this.stage.view.scale;
    const isWanted = place && (tool === "erase" || (tool === "draw" && size > 4)) && !this.corners.length;
    if (!isWanted && !this.stage.brush) return;
    this.stage.brush = isWanted ? [...place, size] : null;
    this.stage.redraw("tools");
  }

  _sketchStroke() {
    const { label, at, moved } = this.stroke;
    this._sketch({ shape: moved ? "scribble" : "points", at, radius: this.radiusFor(label), class: label });
  }

  _sketchPolygon(pointer = null) {
    if (!this.corners.length) return this._sketch(null);
    const at = pointer ? [...this.corners, pointer] : this.corners;
    this._sketch({ shape: "polygon", at, radius: 0, class: this.person.label() ?? null });
  }

  _sketch(sketch) {
    this.stage.sketch = sketch;
    this.stage.redraw("tools");
  }
}
