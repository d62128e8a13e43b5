// What the page knows: values under names, and who wants to hear when one changes.

/**
 * @typedef {{id: number, name: string, colour: number[], key: number | null, marks: number, pixels: number, share: number | null}} LabelClass
 * @typedef {{key: string, index: number, width: number, height: number, levels: number, tile: number,
 *   pixels: Record<string, number>, accepted: boolean, labels: number, prediction: number}} LabelImage
 * @typedef {{image: string, x: number, y: number, guess: number | null, second: number | null,
 *   confidence: number | null, why: string}} Spot
 * @typedef {number | "void" | null} ClassChoice  null erases
 */

export class Store {
  /** @param {Record<string, any>} values */
  constructor(values) {
    this.values = values;
    /** @type {{names: string[], handler: (values: any) => void}[]} */
    this.listeners = [];
  }

  /** Every value that differs is told to whoever listens to it. @param {Record<string, any>} changes */
  set(changes) {
    const changed = Object.keys(changes).filter((name) => this.values[name] !== changes[name]);
    if (!changed.length) return;
    Object.assign(this.values, changes);
    for (const { names, handler } of this.listeners) {
      if (names.some((name) => changed.includes(name))) handler(this.values);
    }
  }

  /** Calls the handler now, and whenever one of those values changes. */
  on(names, handler) {
    this.listeners.push({ names, handler });
    handler(this.values);
  }
}

/** What a page begins with; the server's state joins it. */
export function newStore() {
  return new Store({
    folder: "", version: 0, total: 0, labelled: 0, classes: [], void: { marks: 0, pixels: 0 }, undo: null, redo: null,
    learner: null, training: null,
    /** @type {LabelImage | null} */ image: null,
    /** @type {ClassChoice} */ chosen: null,
    tool: "draw", radius: 0,
    layer: "prediction", opacity: 0.5, outlines: false, marks: true,
    /** @type {number | null} */ alone: null,
    /** @type {Spot | null} */ spot: null, asking: false,
    /** @type {boolean | null} */ connected: null,
    saving: { unsaved: 0, trouble: "" },
  });
}

/** @param {any} values @param {number | string | null} id @returns {LabelClass | undefined} */
export function classOf(values, id) {
  return values.classes.find((each) => each.id === id);
}

/** For people. @param {any} values @param {ClassChoice} id */
export function nameOf(values, id) {
  if (id === "void") return "nothing of these";
  return classOf(values, id)?.name ?? "no class";
}
