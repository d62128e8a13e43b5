// Tiles of one layer of the image: which are needed, fetched at most once, kept while there is room.

import { Refusal } from "./server.js";

const KEPT = 192; // tiles of one layer

/** Fetches what the latest frame needs, the first first. */
export class Loader {
  /** @param {number} atOnce browsers allow six requests to one server: events and actions need two of them */
  constructor(atOnce) {
    this.atOnce = atOnce;
    /** @type {Map<string, {layer: string, start: () => Promise<void>}>} */ this.waiting = new Map();
    this.running = 0;
  }

  /** Replaces what a layer waits for. @param {{name: string, start: () => Promise<void>}[]} jobs */
  want(layer, jobs) {
    for (const [name, job] of this.waiting) if (job.layer === layer) this.waiting.delete(name);
    for (const { name, start } of jobs) this.waiting.set(`${layer} ${name}`, { layer, start });
    this._next();
  }

  _next() {
    for (const [name, { start }] of this.waiting) {
      if (this.running >= this.atOnce) return;
      this.waiting.delete(name);
      this.running += 1;
      start().finally(() => {
        this.running -= 1;
        this._next();
      });
    }
  }
}

/**
 * @typedef {{level: number, x: number, y: number, left: number, top: number, right: number, bottom: number}} Place
 *   of a tile, and its edges in pixels of the image
 * @typedef {{version: number, wanted: number, content: any, loading: boolean}} Kept
 */
export class TileLayer {
  /**
   * @param {string} name
   * @param {Loader} loader
   * @param {(image: any, place: Place, version: number, signal: AbortSignal) => Promise<any>} load content of a tile; null: there is none
   * @param {(place?: Place, content?: any) => void} arrived without a place: it is time to look what is missing
   */
  constructor(name, loader, load, arrived) {
    this.name = name;
    this.loader = loader;
    this.load = load;
    this.arrived = arrived;
    /** @type {any} */ this.image = null;
    this.version = 0;
    /** @type {Map<string, Kept>} */ this.tiles = new Map();
    this.stop = new AbortController();
  }

  /** Forgets all and begins with another image. */
  open(image, version) {
    this.stop.abort();
    this.stop = new AbortController();
    this.loader.want(this.name, []);
    this.tiles.clear();
    this.image = image;
    this.version = version;
  }

  /** There is something newer, in the whole image or only within a box of it; the old stays until it is here. */
  renew(version, box = null) {
    this.version = Math.max(version, this.version);
    for (const [name, kept] of this.tiles) {
      const { left, top, right, bottom } = this.place(...name.split(" ").map(Number));
      const touched = !box || (box[0] < right && box[2] >= left && box[1] < bottom && box[3] >= top);
      if (touched) kept.wanted = this.version;
    }
  }

  /** @returns {Place} */
  place(level, x, y) {
    const size = this.image.tile * 2 ** level;
    const [left, top] = [x * size, y * size];
    return { level, x, y, left, top, right: Math.min(left + size, this.image.width), bottom: Math.min(top + size, this.image.height) };
  }

  /** The level whose pixels are no larger than those of the screen, as far as there is one. */
  levelAt(scale) {
    return Math.min(this.image.levels - 1, Math.max(0, Math.floor(Math.log2(1 / scale) + 0.01)));
  }

  /** Places on the stage at a level, from its middle outwards. @param {import("./view.js").View} view */
  visible(view, level) {
    const size = this.image.tile * 2 ** level;
    const [left, top] = view.toImage(0, 0);
    const [right, bottom] = view.toImage(view.width, view.height);
    const first = (from) => Math.max(0, Math.floor(from / size));
    const last = (to, all) => Math.min(Math.ceil(all / size), Math.ceil(to / size)) - 1;
    const places = [];
    for (let y = first(top); y <= last(bottom, this.image.height); y += 1) {
      for (let x = first(left); x <= last(right, this.image.width); x += 1) places.push(this.place(level, x, y));
    }
    const away = (place) => Math.hypot(place.left + place.right - left - right, place.top + place.bottom - top - bottom);
    return places.sort((one, other) => away(one) - away(other));
  }

  /**
   * What to draw now: each visible place with its own tile or, until that is here, the part of a coarser one.
   * Asks for what is missing. @param {number} ratio device pixels for a CSS pixel
   */
  frame(view, ratio) {
    if (!this.image) return [];
    const level = this.levelAt(view.scale * ratio);
    const coarsest = this.image.levels - 1;
    const places = this.visible(view, level);
    const jobs = [];
    if (level !== coarsest) {
      for (const place of this.visible(view, coarsest)) { // to fall back on, and be it out of date
        if (!this.tiles.get(nameOf(place))?.content) this._need(place, jobs);
      }
    }
    const drawn = places.map((place) => {
      const kept = this._need(place, jobs);
      return kept.content ? { place, kept, from: place } : this._coarser(place);
    });
    this.loader.want(this.name, jobs);
    this._forget();
    return drawn.filter((each) => each !== null);
  }

  /** The version that everything on the stage has reached. */
  oldest(view, ratio) {
    if (!this.image) return this.version;
    const places = this.visible(view, this.levelAt(view.scale * ratio));
    const versions = places.map((place) => {
      const kept = this.tiles.get(nameOf(place));
      return kept && kept.version >= kept.wanted ? this.version : (kept?.version ?? -1);
    });
    return Math.min(this.version, ...versions);
  }

  /** The finest tile with that pixel, and the place in it. */
  at(x, y, view, ratio) {
    if (!this.image) return null;
    for (let level = this.levelAt(view.scale * ratio); level < this.image.levels; level += 1) {
      const size = this.image.tile * 2 ** level;
      const [column, row] = [Math.floor(x / size), Math.floor(y / size)];
      const content = this.tiles.get(`${level} ${column} ${row}`)?.content;
      if (content) return { content, x: Math.floor((x - column * size) / 2 ** level), y: Math.floor((y - row * size) / 2 ** level) };
    }
    return null;
  }

  _need(place, jobs) {
    const name = nameOf(place);
    let kept = this.tiles.get(name);
    if (!kept) kept = { version: -1, wanted: this.version, content: null, loading: false };
    this.tiles.delete(name); // and to the end: it is in use
    this.tiles.set(name, kept);
    if (kept.version < kept.wanted && !kept.loading) jobs.push({ name, start: () => this._fetch(place, kept) });
    return kept;
  }

  async _fetch(place, kept) {
    const { signal } = this.stop;
    const version = kept.wanted;
    kept.loading = true;
    try {
      const content = await this.load(this.image, place, version, signal);
      if (signal.aborted) return;
      kept.content = content;
      kept.version = version;
    } catch (error) {
      if (signal.aborted || (error instanceof Refusal && error.final)) return;
      setTimeout(() => { // the next try comes a little later
        kept.loading = false;
        this.arrived();
      }, 1500);
      return;
    }
    kept.loading = false;
    this.arrived(place, kept.content);
  }

  _coarser(place) {
    for (let level = place.level + 1; level < this.image.levels; level += 1) {
      const by = 2 ** (level - place.level);
      const from = this.place(level, Math.floor(place.x / by), Math.floor(place.y / by));
      const kept = this.tiles.get(nameOf(from));
      if (kept?.content) return { place, kept, from };
    }
    return null;
  }

  _forget() {
    for (const name of this.tiles.keys()) {
      if (this.tiles.size <= KEPT) return;
      this.tiles.delete(name);
    }
  }
}

function nameOf(place) {
  return `${place.level} ${place.x} ${place.y}`;
}

/** Draws what is in sight of one part of a frame where it belongs. @param {any} picture of the tile that it is `from` */
export function drawTile(context, view, ratio, { place, from }, picture) {
  const unit = 2 ** from.level;
  const [firstX, firstY] = view.toImage(0, 0);
  const [lastX, lastY] = view.toImage(view.width, view.height);
  const low = (at, start) => Math.max(start, start + Math.floor((at - start) / unit) * unit); // whole pixels of the tile
  const high = (at, start, end) => Math.min(end, start + Math.ceil((at - start) / unit) * unit);
  const [left, right] = [low(firstX, place.left), high(lastX, place.left, place.right)];
  const [top, bottom] = [low(firstY, place.top), high(lastY, place.top, place.bottom)];
  if (right <= left || bottom <= top) return;
  const edge = (start, at) => Math.round((start + at * view.scale) * ratio);
  const [x, y] = [edge(view.x, left), edge(view.y, top)];
  context.drawImage(
    picture,
    (left - from.left) / unit, (top - from.top) / unit, (right - left) / unit, (bottom - top) / unit,
    x, y, edge(view.x, right) - x, edge(view.y, bottom) - y,
  );
}
