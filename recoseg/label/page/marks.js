// Marks that the labels' tiles do not hold yet: what was done here, drawn at once, until the server's picture has it.

/** @typedef {{id: string, image: string, class: any, shape: string, at: number[][], radius: number, number: number | null, undone: boolean}} Mark */

export class LocalMarks {
  constructor() {
    /** @type {Mark[]} */ this.marks = [];
  }

  /** @param {any} action of type mark */
  add(action) {
    this.marks.push({ ...action, radius: action.radius ?? 0, number: null, undone: false });
  }

  /** The server has it as that number. @returns {Mark | undefined} */
  accepted(id, number) {
    const mark = this.find(id);
    if (mark) mark.number = number;
    return mark;
  }

  remove(id) {
    this.marks = this.marks.filter((mark) => mark.id !== id);
  }

  find(id) {
    return this.marks.find((mark) => mark.id === id);
  }

  /** Forgets what the tiles of the image on the stage show, and what is saved of the others. */
  forget(image, shown) {
    this.marks = this.marks.filter((mark) => mark.number === null || (mark.image === image && mark.number > shown));
  }

  /** Those to draw over an image, in their order. */
  of(image) {
    return this.marks.filter((mark) => mark.image === image && !mark.undone);
  }
}

/** The box that a mark can change, both corners included. @param {{at: number[][], radius?: number}} mark */
export function boxOf({ at, radius = 0 }) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of at) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x);
    bottom = Math.max(bottom, y);
  }
  return [left - radius, top - radius, right + radius, bottom + radius];
}

/**
 * Paints a mark with the context's fill and stroke; one unit of the context is a pixel of the image.
 * @param {CanvasRenderingContext2D} context @param {number} thinnest of lines, in units
 */
export function paintMark(context, { shape, at, radius }, thinnest) {
  context.beginPath();
  if (shape === "points") {
    for (const [x, y] of at) {
      if (radius === 0) context.rect(x, y, 1, 1);
      else {
        context.moveTo(x + 0.5, y + 0.5);
        context.arc(x + 0.5, y + 0.5, radius + 0.5, 0, 2 * Math.PI);
      }
    }
    context.fill();
    return;
  }
  if (shape === "box") {
    const [left, top, right, bottom] = boxOf({ at });
    context.fillRect(left, top, right - left + 1, bottom - top + 1);
    return;
  }
  at.forEach(([x, y], index) => context[index ? "lineTo" : "moveTo"](x + 0.5, y + 0.5));
  if (at.length === 1) context.lineTo(at[0][0] + 0.5, at[0][1] + 0.5);
  context.lineJoin = context.lineCap = "round";
  context.lineWidth = Math.max(thinnest, shape === "scribble" ? 2 * radius + 1 : 1);
  if (shape === "polygon") {
    context.closePath();
    context.fill();
  }
  context.stroke();
}

/** A dot that can be seen on anything. One unit of the context is a CSS pixel. */
export function paintDot(context, x, y, colour, size = 4.5) {
  context.beginPath();
  context.arc(x, y, size + 1.5, 0, 2 * Math.PI);
  context.fillStyle = "rgb(0 0 0 / .55)";
  context.fill();
  context.beginPath();
  context.arc(x, y, size + 0.75, 0, 2 * Math.PI);
  context.fillStyle = "#fff";
  context.fill();
  context.beginPath();
  context.arc(x, y, size - 0.75, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
}

export const VOID_COLOUR = "#5c6068";
