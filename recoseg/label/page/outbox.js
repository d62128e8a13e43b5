// Actions on their way: kept in the browser until the server says that they are on the disk, and sent again until then.

import { Refusal } from "./server.js";

const MOST = 100; // actions at a time
const MOST_LETTERS = 2_000_000; // the server takes 4 MB

/** @typedef {{place?: number, stored?: Promise<any>, folder: string, client: string, action: any}} Entry */

export class Outbox {
  /**
   * @param {import("./server.js").Server} server
   * @param {Shelf} shelf
   * @param {{accepted: (record: any) => void, refused: (action: any, message: string) => void,
   *   changed: (unsaved: number, trouble: string) => void}} listener
   */
  constructor(server, shelf, listener) {
    this.server = server;
    this.shelf = shelf;
    this.listener = listener;
    /** @type {Entry[]} */ this.entries = [];
    this.trouble = "";
    this.sending = false;
    this.pause = 500;
    this.timer = 0;
    this.oneByOne = 0;
  }

  /** What tabs before this one could not send; the ids keep anything from being done twice. */
  async restore() {
    const kept = await this.shelf.read();
    const isNew = ({ action }) => !this.entries.some((entry) => entry.action.id === action.id);
    this.entries = [...kept.filter(isNew), ...this.entries];
    this._tell();
    this.hurry();
    return this.entries.map((entry) => entry.action);
  }

  /** @param {any} action with an `id` */
  add(action) {
    const entry = { folder: this.shelf.folder, client: this.server.client, action };
    this.entries.push(entry);
    this.shelf.put(entry);
    this._tell();
    this._send();
  }

  /** Tries at once, such as when the server is heard of again. */
  hurry() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.pause = 500;
    this._send();
  }

  async _send() {
    if (this.sending || this.timer || !this.entries.length) return;
    this.sending = true;
    const batch = this._batch();
    try {
      const actions = batch.map((entry) => entry.action);
      const { records } = await this.server.ask("/api/actions", { body: { client: batch[0].client, actions } });
      this._done(batch);
      this.trouble = "";
      this.pause = 500;
      this.oneByOne = Math.max(0, this.oneByOne - batch.length);
      for (const record of records) this.listener.accepted(record);
    } catch (error) {
      this._failed(batch, error);
    }
    this.sending = false;
    this._tell();
    this._send();
  }

  /** As many as fit, of one client and in their order. */
  _batch() {
    const most = this.oneByOne ? 1 : MOST;
    const batch = [];
    let letters = 0;
    for (const entry of this.entries.slice(0, most)) {
      letters += JSON.stringify(entry.action).length;
      if (batch.length && (letters > MOST_LETTERS || entry.client !== batch[0].client)) break;
      batch.push(entry);
    }
    return batch;
  }

  _failed(batch, error) {
    if (error instanceof Refusal && error.final && error.status !== 403) {
      if (batch.length > 1) {
        this.oneByOne = batch.length; // one of them is at fault: find out which
        return;
      }
      this.oneByOne = Math.max(0, this.oneByOne - 1);
      this._done(batch);
      this.listener.refused(batch[0].action, error.message);
      return;
    }
    this.trouble = error instanceof Refusal ? error.message : "the server does not answer";
    this.timer = setTimeout(() => {
      this.timer = 0;
      this._send();
    }, this.pause);
    this.pause = Math.min(2 * this.pause, 8000);
  }

  _done(batch) {
    this.entries = this.entries.filter((entry) => !batch.includes(entry));
    this.shelf.remove(batch);
  }

  _tell() {
    this.listener.changed(this.entries.length, this.trouble);
  }
}

/** The browser's database of unsent actions. Where there is none, the page's memory has to do, and says so. */
export class Shelf {
  constructor() {
    this.folder = ""; // which folder's server this is, as it says: another may come to the same address later
    this.works = true;
    this.database = open().catch(() => {
      this.works = false;
      return null;
    });
  }

  /** @returns {Promise<Entry[]>} */
  async read() {
    const entries = await this._do("readonly", (store) => store.getAll());
    return (entries ?? []).filter((entry) => entry.folder === this.folder);
  }

  /** @param {Entry} entry */
  put(entry) {
    const { folder, client, action } = entry;
    entry.stored = this._do("readwrite", (store) => store.put({ folder, client, action }));
  }

  /** @param {Entry[]} entries */
  async remove(entries) {
    for (const entry of entries) {
      const place = entry.place ?? (await entry.stored);
      if (place !== null && place !== undefined) this._do("readwrite", (store) => store.delete(place));
    }
  }

  async _do(mode, work) {
    const database = await this.database;
    if (!database) return null;
    try {
      return await promised(work(database.transaction("unsent", mode).objectStore("unsent")));
    } catch {
      this.works = false;
      return null;
    }
  }
}

async function open() {
  const request = indexedDB.open("recoseg label", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("unsent", { keyPath: "place", autoIncrement: true });
  return promised(request);
}

function promised(request) {
  return new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
}
