// Where the image lies on the stage: scale and offset, zoom and pan. Lengths of the stage are CSS pixels.

const LARGEST = 48; // CSS pixels for one of the image

export class View {
  constructor() {
    this.width = 1; // of the stage
    this.height = 1;
    this.scale = 1; // CSS pixels for one pixel of the image
    this.x = 0; // where its top left corner is
    this.y = 0;
    this.image = { width: 1, height: 1 };
    this.fitted = true;
  }

  /** @param {{width: number, height: number}} image */
  show(image) {
    this.image = image;
    this.fit();
  }

  /** A stage of another size keeps what is in its middle, or the whole image. */
  resize(width, height) {
    const [x, y] = this.toImage(this.width / 2, this.height / 2);
    this.width = width;
    this.height = height;
    if (this.fitted) this.fit();
    else this.centre(x, y);
  }

  fittingScale() {
    const margin = 16;
    const across = Math.max(1, this.width - margin) / this.image.width;
    const down = Math.max(1, this.height - margin) / this.image.height;
    return Math.min(across, down, LARGEST);
  }

  fit() {
    this.scale = this.fittingScale();
    this.centre(this.image.width / 2, this.image.height / 2);
    this.fitted = true;
  }

  /** Brings that place of the image to the middle. */
  centre(x, y, scale = this.scale) {
    this.scale = this._limited(scale);
    this.x = this.width / 2 - x * this.scale;
    this.y = this.height / 2 - y * this.scale;
    this._hold();
  }

  /** Brings that place in sight at that scale, with as little as possible beside the image, and `below` left free. */
  focus(x, y, scale, below = 0) {
    this.centre(x, y, scale);
    const filled = (at, size, stage) => (size < stage ? (stage - size) / 2 : Math.min(0, Math.max(stage - size, at)));
    this.x = filled(this.x, this.image.width * this.scale, this.width);
    this.y = filled(this.y, this.image.height * this.scale, this.height);
    const [, atY] = this.toStage(x, y);
    this.y -= Math.max(0, atY - (this.height - below));
  }

  /** What is under that place of the stage stays there. */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const [imageX, imageY] = this.toImage(x, y);
    this.scale = this._limited(this.scale * factor);
    this.x = x - imageX * this.scale;
    this.y = y - imageY * this.scale;
    this._hold();
  }

  pan(x, y) {
    this.x += x;
    this.y += y;
    this._hold();
  }

  /** Moves just as much as is needed to have that place on the stage, away from its edge. */
  reveal(x, y) {
    const [atX, atY] = this.toStage(x, y);
    const edge = Math.min(48, this.width / 4, this.height / 4);
    const need = (at, size) => (at < edge ? edge - at : at > size - edge ? size - edge - at : 0);
    this.pan(need(atX, this.width), need(atY, this.height));
  }

  /** From the stage to the image, with fractions. */
  toImage(x, y) {
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }

  toStage(x, y) {
    return [this.x + x * this.scale, this.y + y * this.scale];
  }

  _limited(scale) {
    return Math.min(LARGEST, Math.max(Math.min(this.fittingScale(), 1) / 2, scale));
  }

  /** Some of the image always stays in sight. */
  _hold() {
    this.fitted = false;
    const held = (at, size, stage) => {
      const some = Math.min(size, stage) / 2;
      return Math.min(stage - some, Math.max(some - size, at));
    };
    this.x = held(this.x, this.image.width * this.scale, this.width);
    this.y = held(this.y, this.image.height * this.scale, this.height);
  }
}
