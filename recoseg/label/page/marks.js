// Marks that the labels' tiles do not hold yet: what was done here, drawn at once, until the server's picture has it.

/** @typedef {{id: string, image: string, class: any, shape: string, at: number[][], radius: number, number: number | null, undone: boolean}} Mark */

export class LocalMarks {
  constructor() {
    /** @type {Mark[]} */ this.marks = [];
  }

  /** @param {any} action of type mark @returns {Mark} */
  add(action) {
    const mark = { ...action, radius: action.radius ?? 0, number: null, undone: false };
    this.marks.push(mark);
    return mark;
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
    const [[x, y], [otherX, otherY]] = at;
    context.fillRect(Math.min(x, otherX), Math.min(y, otherY), Math.abs(x - otherX) + 1, Math.abs(y - otherY) + 1);
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
export function paintDot(context, x, y, colour, size = 1) {
  for (const [radius, style] of [[6, "rgb(0 0 0 / .55)"], [5.25, "#fff"], [3.75, colour]]) {
    context.beginPath();
    context.arc(x, y, radius * size, 0, 2 * Math.PI);
    context.fillStyle = style;
    context.fill();
  }
}

export const VOID_COLOUR = "#5c6068";
