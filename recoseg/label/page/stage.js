// The large image: four canvases on top of each other (image, prediction, labels, tools), drawn anew only where needed.

import { dotsOf, labelPicture, numbersOf, predictionPicture, VOID, NONE } from "./colours.js";
import { css } from "./dom.js";
import { paintDot, paintMark, VOID_COLOUR } from "./marks.js";
import { Refusal } from "./server.js";
import { classOf } from "./state.js";
import { drawTile, Loader, TileLayer } from "./tiles.js";
import { View } from "./view.js";

const LAYERS = ["image", "prediction", "labels", "tools"];

export class Stage {
  /**
   * @param {HTMLElement} element holds a canvas for each layer
   * @param {import("./server.js").Server} server
   * @param {import("./state.js").Store} store
   * @param {import("./marks.js").LocalMarks} marks
   */
  constructor(element, server, store, marks) {
    this.element = element;
    this.store = store;
    this.marks = marks;
    this.view = new View();
    this.ratio = 1;
    this.size = 1; // of dots and crosshair, as text is larger on large screens
    /** @type {number[] | null} */ this.crosshair = null; // a pixel of the image
    /** @type {number[] | null} */ this.brush = null; // x, y and radius on the stage
    /** @type {any} */ this.sketch = null; // a mark that is being made
    /** @type {Set<string>} */ this.stale = new Set();
    this.frame = 0;
    this.moved = () => {};
    this.canvases = Object.fromEntries(LAYERS.map((name) => [name, element.querySelector(`canvas[data-layer=${name}]`)]));
    this._makeLayers(server);
    new ResizeObserver(() => this._resize()).observe(element);
    store.on(["classes", "layer", "outlines", "alone"], () => this.redraw("prediction"));
    store.on(["classes", "marks"], () => this.redraw("labels"));
    store.on(["classes", "chosen", "spot"], () => this.redraw("tools"));
    store.on(["opacity"], ({ opacity }) => (this.canvases.prediction.style.opacity = String(opacity)));
  }

  _makeLayers(server) {
    const loader = new Loader(3);
    const query = (image, { level, x, y }) => ({ key: image.key, level, x, y });
    this.image = new TileLayer("image", loader, (image, place, _, signal) => (
      server.picture("/api/tile/image", query(image, place), signal)
    ), (place, picture) => this._drawArrived(place, picture));
    this.labels = new TileLayer("labels", loader, async (image, place, v, signal) => {
      if (v === 0) return null;
      return numbersOf(await server.picture("/api/tile/labels", { ...query(image, place), v }, signal));
    }, () => this.redraw("labels"));
    this.prediction = new TileLayer("prediction", loader, async (image, place, v, signal) => {
      if (v === 0) return null;
      try {
        return numbersOf(await server.picture("/api/tile/prediction", { ...query(image, place), v }, signal));
      } catch (error) {
        if (error instanceof Refusal && error.status === 404) return null;
        throw error;
      }
    }, () => this.redraw("prediction"));
  }

  /** @param {import("./state.js").LabelImage} image */
  open(image) {
    this.image.open(image, 1);
    this.labels.open(image, image.labels);
    this.prediction.open(image, image.prediction);
    this.view.show(image);
    this.crosshair = null;
    this.sketch = null;
    this.shift();
  }

  /** After zoom or pan. */
  shift() {
    this.redraw(...LAYERS);
    this.moved();
  }

  /** @param {...string} layers */
  redraw(...layers) {
    for (const layer of layers) this.stale.add(layer);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this._draw();
    });
  }

  /** A new mark goes on top of what is there: nothing else has to be drawn again. */
  add(mark) {
    const { image, marks } = this.store.values;
    if (!marks || mark.image !== image?.key) return;
    this.canvases.labels.hidden = false;
    this._drawMark(this.canvases.labels.getContext("2d"), mark);
  }

  /** What is known of a pixel: its label and its prediction. */
  tell(x, y) {
    const label = this.labels.at(x, y, this.view, this.ratio);
    const guess = this.prediction.at(x, y, this.view, this.ratio);
    const read = (found, band) => found.content[band][found.y * found.content.width + found.x];
    const id = label ? read(label, "ids") : NONE;
    return {
      label: id === NONE ? null : id === VOID ? "void" : id,
      guess: guess ? read(guess, "ids") : null,
      confidence: guess ? read(guess, "second") / 255 : null,
    };
  }

  _resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.size = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    for (const canvas of Object.values(this.canvases)) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    this.view.resize(width, height);
    this.shift();
    this._draw(); // at once: a canvas of a new size is empty
  }

  _draw() {
    const stale = this.stale;
    this.stale = new Set();
    if (!this.image.image) return;
    if (stale.has("image")) this._drawImage();
    if (stale.has("prediction")) this._drawPrediction();
    if (stale.has("labels")) this._drawLabels();
    if (stale.has("tools")) this._drawTools();
    const { scale, x, y } = this.view;
    this.element.dataset.view = [scale, x, y].join(" "); // for whoever wants to know where a pixel is
  }

  /** An empty canvas; pixels of the image become squares when they are large. */
  _clean(layer) {
    const context = this.canvases[layer].getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    context.imageSmoothingEnabled = this.view.scale * this.ratio < 2;
    context.imageSmoothingQuality = "medium";
    return context;
  }

  /** One unit is a CSS pixel. */
  _onStage(context) {
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  /** One unit is a pixel of the image. */
  _onImage(context) {
    const { scale, x, y } = this.view;
    const unit = scale * this.ratio;
    context.setTransform(unit, 0, 0, unit, x * this.ratio, y * this.ratio);
  }

  _drawImage() {
    const context = this._clean("image");
    for (const part of this.image.frame(this.view, this.ratio)) {
      drawTile(context, this.view, this.ratio, part, part.kept.content);
    }
  }

  /** A tile of the image hides what is below it: it alone is drawn, unless everything is about to be. */
  _drawArrived(place, picture) {
    const isWanted = place?.level === this.image.levelAt(this.view.scale * this.ratio);
    if (!isWanted || this.stale.has("image")) this.redraw("image");
    else drawTile(this.canvases.image.getContext("2d"), this.view, this.ratio, { place, from: place }, picture);
  }

  _drawPrediction() {
    const context = this._clean("prediction");
    const { layer } = this.store.values;
    const parts = this.prediction.frame(this.view, this.ratio); // also when hidden: the readout tells them
    const isShown = layer !== "none" && parts.length > 0;
    this.canvases.prediction.hidden = !isShown; // empty layers cost time too
    if (!isShown) return;
    for (const part of parts) {
      drawTile(context, this.view, this.ratio, part, predictionPicture(part.kept.content, this.store.values));
    }
  }

  _drawLabels() {
    const context = this._clean("labels");
    const { classes, image, marks } = this.store.values;
    const parts = this.labels.frame(this.view, this.ratio);
    this.marks.forget(image.key, this.labels.oldest(this.view, this.ratio));
    const fresh = this.marks.of(image.key);
    const isShown = marks && parts.length + fresh.length > 0;
    this.canvases.labels.hidden = !isShown;
    if (!isShown) return;
    for (const part of parts) drawTile(context, this.view, this.ratio, part, labelPicture(part.kept.content, classes));
    for (const part of parts) this._drawDots(context, part);
    for (const mark of fresh) this._drawMark(context, mark);
  }

  /** On pixels that are too small to be seen. */
  _drawDots(context, { place, from, kept }) {
    const unit = 2 ** from.level;
    if (unit * this.view.scale >= 9) return;
    this._onStage(context);
    for (const { x, y, id } of dotsOf(kept.content)) {
      const [imageX, imageY] = [from.left + x * unit, from.top + y * unit];
      if (imageX < place.left || imageX >= place.right || imageY < place.top || imageY >= place.bottom) continue;
      paintDot(context, ...this.view.toStage(imageX, imageY), this._colour(id === VOID ? "void" : id), this.size);
    }
  }

  _drawMark(context, mark) {
    const erases = mark.class === null;
    this._onImage(context);
    context.globalCompositeOperation = erases ? "destination-out" : "source-over";
    context.fillStyle = context.strokeStyle = this._colour(mark.class);
    paintMark(context, mark, 1.5 / this.view.scale);
    context.globalCompositeOperation = "source-over";
    if (erases || mark.shape !== "points" || (2 * mark.radius + 1) * this.view.scale >= 9) return;
    this._onStage(context);
    for (const [x, y] of mark.at) paintDot(context, ...this.view.toStage(x + 0.5, y + 0.5), this._colour(mark.class), this.size);
  }

  _colour(id) {
    if (id === "void") return VOID_COLOUR;
    const found = classOf(this.store.values, id);
    return found ? css(found.colour) : "#fff";
  }

  _drawTools() {
    const context = this._clean("tools");
    const { spot, image, chosen } = this.store.values;
    if (this.sketch) this._drawSketch(context);
    this._onStage(context);
    if (this.brush) this._drawRings(context, ...this.brush, [[2.5, "rgb(0 0 0 / .5)"], [1.25, "#fff"]]);
    if (spot && spot.image === image.key) this._drawSpot(context, ...this.view.toStage(spot.x + 0.5, spot.y + 0.5));
    if (this.crosshair) {
      const [x, y] = this.view.toStage(this.crosshair[0] + 0.5, this.crosshair[1] + 0.5);
      this._drawCrosshair(context, x, y, chosen === null ? "#fff" : this._colour(chosen));
    }
  }

  /** A mark in the making; an area shows its corners. */
  _drawSketch(context) {
    const sketch = this.sketch;
    const colour = sketch.class === null ? "rgb(255 255 255 / .6)" : this._colour(sketch.class);
    this._onImage(context);
    context.fillStyle = context.strokeStyle = colour;
    const isArea = sketch.shape === "polygon" || sketch.shape === "box";
    context.globalAlpha = isArea ? 0.45 : 1;
    paintMark(context, sketch, 1.5 / this.view.scale);
    context.globalAlpha = 1;
    this._onStage(context);
    const isSmall = (2 * sketch.radius + 1) * this.view.scale < 9;
    const dots = isArea ? sketch.at : sketch.shape === "points" && sketch.class !== null && isSmall ? sketch.at : [];
    for (const [x, y] of dots) paintDot(context, ...this.view.toStage(x + 0.5, y + 0.5), colour, this.size);
  }

  _drawCrosshair(context, x, y, colour) {
    const { size } = this;
    const arms = (width, style) => {
      context.lineWidth = width * size;
      context.strokeStyle = style;
      context.beginPath();
      for (const [across, down] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 6 * size * across, y + 6 * size * down);
        context.lineTo(x + 20 * size * across, y + 20 * size * down);
      }
      context.stroke();
    };
    arms(5, "rgb(0 0 0 / .7)");
    arms(3.5, "#fff");
    arms(2, colour);
  }

  /** One over the other, so that they can be seen on anything. */
  _drawRings(context, x, y, radius, rings) {
    for (const [width, style] of rings) {
      context.lineWidth = width;
      context.strokeStyle = style;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  _drawSpot(context, x, y) {
    const radius = Math.max(11 * this.size, this.view.scale);
    this._drawRings(context, x, y, radius, [[6, "rgb(0 0 0 / .65)"], [3.5, "#fff"]]);
    this._drawRings(context, x, y, radius + 26 * this.size, [[3, "rgb(0 0 0 / .4)"], [1, "rgb(255 255 255 / .9)"]]);
    context.fillStyle = "#fff";
    context.strokeStyle = "#000";
    context.lineWidth = 1;
    context.beginPath();
    context.arc(x, y, 2, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}
