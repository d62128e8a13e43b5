// What a person can do to labels and classes: drawn at once, put into the outbox, undone and redone without end.

import { uniqueName } from "./dom.js";

const STEPS = ["mark", "accept", "add_class", "change_class", "delete_class"];

export class Actions {
  /**
   * @param {import("./state.js").Store} store
   * @param {import("./marks.js").LocalMarks} marks
   * @param {string} client
   */
  constructor(store, marks, client) {
    this.store = store;
    this.marks = marks;
    this.client = client;
    /** @type {any} */ this.outbox = null;
    /** @type {string[]} */ this.done = []; // by this tab, and active as far as it knows
    /** @type {string[]} */ this.undone = [];
    /** @type {Map<string, (record: any) => void>} */ this.waiting = new Map();
    /** @type {Set<string>} */ this.chosen = new Set(); // undos and redos of which the server says what they are about
    /** @type {(mark: any) => void} */ this.added = () => {}; // the stage listens
    this.redraw = () => {};
  }

  /** @param {import("./state.js").ClassChoice} label @param {string} shape @param {number[][]} at */
  mark(image, label, shape, at, radius = 0) {
    return this.do({ type: "mark", image, class: label, shape, at, radius });
  }

  /** @param {any} action without an id; it gets one, which is returned */
  do(action) {
    const whole = { id: uniqueName(), ...action };
    this._draw(whole);
    if (STEPS.includes(whole.type)) {
      this.done.push(whole.id);
      this.undone = [];
    }
    this.outbox.add(whole);
    return whole.id;
  }

  /** As `do`; the record comes when it is saved, null when it is refused. @returns {Promise<any>} */
  whenSaved(action) {
    return new Promise((tell) => this.waiting.set(this.do(action), tell));
  }

  /** The latest of this tab; when there is none left, the latest of anybody, which the server knows. */
  undo() {
    return this._turn("undo", this.done, this.undone);
  }

  redo() {
    return this._turn("redo", this.undone, this.done);
  }

  /** @param {string[]} from @param {string[]} to whose is it then */
  _turn(type, from, to) {
    const id = from.pop();
    if (id === undefined) {
      if (!this.store.values[type]) return false;
      this.chosen.add(this.do({ type }));
      return true;
    }
    to.push(id);
    const mark = this.marks.find(id);
    if (mark) mark.undone = type === "undo";
    this.do({ type, action: id });
    return true;
  }

  get canUndo() {
    return this.done.length > 0 || this.store.values.undo !== null;
  }

  get canRedo() {
    return this.undone.length > 0 || this.store.values.redo !== null;
  }

  /** What an earlier page left unsent is drawn again. @param {any[]} actions */
  restored(actions) {
    for (const action of actions) this._draw(action);
    for (const { type, action } of actions) {
      const mark = this.marks.find(action);
      if (mark) mark.undone = type === "undo";
    }
    this.redraw();
  }

  /** A record of the journal, of this tab or another. */
  recorded(record) {
    this.marks.accepted(record.id, record.number);
    this.waiting.get(record.id)?.(record);
    this.waiting.delete(record.id);
    const [from, to] = record.type === "undo" ? [this.done, this.undone] : [this.undone, this.done];
    if (this.chosen.delete(record.id)) to.push(record.action);
    else if (record.client !== this.client && from.includes(record.action)) from.splice(from.indexOf(record.action), 1);
  }

  /** The server will never take it. */
  refused(action) {
    this.marks.remove(action.id);
    this.done = this.done.filter((id) => id !== action.id);
    this.undone = this.undone.filter((id) => id !== action.id && id !== action.action);
    const mark = this.marks.find(action.action);
    if (mark) mark.undone = action.type === "redo";
    this.waiting.get(action.id)?.(null);
    this.waiting.delete(action.id);
    this.redraw();
  }

  _draw(action) {
    if (action.type === "mark" && !this.marks.find(action.id)) this.added(this.marks.add(action));
    else this.redraw();
  }
}
