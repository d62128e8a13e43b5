// What a person can do to labels and classes: drawn at once, put into the outbox, undone and redone without end.

import { uniqueName } from "./dom.js";
import { boxOf, LocalMarks } from "./marks.js";

const STEPS = ["mark", "accept", "add_class", "change_class", "delete_class"];

export class Actions {
  /**
   * @param {import("./state.js").Store} store
   * @param {LocalMarks} marks
   * @param {string} client
   */
  constructor(store, marks, client) {
    this.store = store;
    this.marks = marks;
    this.client = client;
    /** @type {any} */ this.outbox = null;
    /** @type {string[]} */ this.done = []; // by this tab, and active as far as it knows
    /** @type {string[]} */ this.undone = [];
    /** @type {Map<string, number[]>} */ this.boxes = new Map(); // of marks, by their ids
    /** @type {Map<string, (record: any) => void>} */ this.waiting = new Map();
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

  /** The latest of this tab; when there is none left, the latest of anybody. */
  undo() {
    const id = this.done.pop() ?? this.store.values.undo?.id;
    if (!id || this.undone.includes(id)) return false; // the server is just about to hear of it
    this.undone.push(id);
    const mark = this.marks.find(id);
    if (mark) mark.undone = true;
    this.do({ type: "undo", action: id });
    return true;
  }

  redo() {
    const id = this.undone.pop() ?? this.store.values.redo?.id;
    if (!id || this.done.includes(id)) return false;
    this.done.push(id);
    const mark = this.marks.find(id);
    if (mark) mark.undone = false;
    this.do({ type: "redo", action: id });
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

  /**
   * A record of the journal, of this tab or another.
   * @returns {number[] | null} the box that it changes in its image; null: it may be anywhere
   */
  recorded(record) {
    this.marks.accepted(record.id, record.number);
    this.waiting.get(record.id)?.(record);
    this.waiting.delete(record.id);
    if (record.client !== this.client) this._heard(record);
    if (record.type === "mark") this.boxes.set(record.id, boxOf(record));
    return this.boxes.get(record.type === "mark" ? record.id : record.action) ?? null;
  }

  /** The server will never take it. */
  refused(action) {
    this.marks.remove(action.id);
    this.done = this.done.filter((id) => id !== action.id);
    this.undone = this.undone.filter((id) => id !== action.id && id !== action.action);
    const mark = this.marks.find(action.action);
    if (mark) mark.undone = false;
    this.waiting.get(action.id)?.(null);
    this.waiting.delete(action.id);
    this.redraw();
  }

  /** Somebody else undid or redid something: it is no more, or again, for this tab to undo. */
  _heard({ type, action }) {
    if (type === "undo") this.done = this.done.filter((id) => id !== action);
    if (type === "redo") this.undone = this.undone.filter((id) => id !== action);
  }

  _draw(action) {
    if (action.type === "mark" && !this.marks.find(action.id)) this.marks.add(action);
    this.redraw();
  }
}
