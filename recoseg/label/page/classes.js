// The classes as coloured buttons: choose, add, rename, recolour, show alone, delete with a word on what goes with it.

import { byId, counted, css, fromHex, hex, make, percent } from "./dom.js";

export class ClassesPanel {
  /**
   * @param {import("./state.js").Store} store
   * @param {import("./actions.js").Actions} actions
   * @param {(label: any) => void} choose what a button does
   */
  constructor(store, actions, choose) {
    this.store = store;
    this.actions = actions;
    this.choose = choose;
    this.list = byId("classes");
    this.dialog = byId("edit-class");
    /** @type {any} */ this.edited = null;
    /** @type {Map<any, any>} */ this.rows = new Map();
    store.on(["classes", "void", "chosen", "folder"], () => this._show());
    byId("add-class").addEventListener("submit", (event) => this._add(event));
    byId("edit-cancel").addEventListener("click", () => this.dialog.close());
    byId("delete-class").addEventListener("click", () => this._delete());
    this.dialog.querySelector("form").addEventListener("submit", () => this._change());
  }

  async _add(event) {
    event.preventDefault();
    const field = byId("new-name");
    const name = field.value.trim();
    if (!name) return;
    field.value = "";
    const record = await this.actions.whenSaved({ type: "add_class", name });
    if (record) this.choose(record.class, record.name); // the list of classes may come later
    else field.value ||= name; // refused: to be changed and tried again
  }

  _show() {
    const { classes, chosen, folder } = this.store.values;
    const entries = [...classes.map((each) => each.id), ...(classes.length ? ["void"] : [])];
    const before = document.activeElement?.closest?.("#classes li");
    for (const [id, row] of this.rows) {
      if (entries.includes(id)) continue;
      row.item.remove();
      this.rows.delete(id);
    }
    entries.forEach((id, index) => {
      if (!this.rows.has(id)) this.rows.set(id, this._row(id));
      const { item } = this.rows.get(id);
      if (this.list.children[index] !== item) this.list.insertBefore(item, this.list.children[index] ?? null);
    });
    classes.forEach((each) => this._fill(each));
    if (classes.length) this._fillVoid();
    byId("no-classes").hidden = classes.length > 0 || !folder;
    for (const [id, row] of this.rows) row.button.setAttribute("aria-pressed", String(id === chosen));
    if (before && !before.isConnected) (this.list.querySelector("button") ?? byId("new-name")).focus();
  }

  _row(id) {
    const box = make("span", { class: "box", "aria-hidden": "true" });
    const name = make("span", { class: "name" });
    const count = make("span", { class: "count muted" });
    const key = make("kbd", { "aria-hidden": "true" });
    const button = make("button", { type: "button", class: "class", "aria-pressed": "false" }, box, name, count, key);
    button.addEventListener("click", () => this.choose(id));
    const item = make("li", {}, button);
    const row = { item, box, name, count, key, button, edit: null };
    if (id === "void") return row;
    row.edit = make("button", { type: "button", class: "quiet", title: "Rename, recolour, delete" }, "⋯");
    row.edit.addEventListener("click", () => this._open(id));
    item.append(row.edit);
    return row;
  }

  _fill({ id, name, colour, key, marks, share }) {
    const row = this.rows.get(id);
    row.box.style.background = css(colour);
    row.item.style.setProperty("--colour", css(colour));
    row.name.textContent = name;
    row.name.title = name;
    row.key.textContent = key ?? "";
    row.key.hidden = !key;
    row.count.textContent = share === null ? counted(marks, "mark") : `${counted(marks, "mark")} · ${percent(share, share < 0.1 ? 1 : 0)}`;
    row.count.title = share === null ? "" : `${percent(share, 1)} of all predicted pixels`;
    row.item.style.setProperty("--share", String(share > 0.01 ? share : 0));
    const shared = share === null ? "" : `, ${percent(share, 1)} of what is predicted`;
    row.button.setAttribute("aria-label", `${name}${key ? `, key ${key}` : ""}, ${counted(marks, "mark")}${shared}`);
    row.edit.setAttribute("aria-label", `Edit class ${name}`);
  }

  _fillVoid() {
    const row = this.rows.get("void");
    const { marks } = this.store.values.void;
    row.box.classList.add("void");
    row.name.textContent = "Nothing of these";
    row.key.textContent = "0";
    row.count.textContent = counted(marks, "mark");
    row.button.setAttribute("aria-label", `Nothing of these classes here, key 0, ${counted(marks, "mark")}`);
  }

  _open(id) {
    this.edited = this.store.values.classes.find((each) => each.id === id);
    if (!this.edited) return;
    byId("edit-name").value = this.edited.name;
    byId("edit-colour").value = hex(this.edited.colour);
    byId("delete-warning").hidden = true;
    byId("delete-class").textContent = "Delete";
    this.dialog.showModal();
    byId("edit-name").select();
  }

  _change() {
    const { id, name, colour } = this.edited;
    const wanted = { name: byId("edit-name").value.trim(), colour: fromHex(byId("edit-colour").value) };
    const changes = {};
    if (wanted.name && wanted.name !== name) changes.name = wanted.name;
    if (String(wanted.colour) !== String(colour)) changes.colour = wanted.colour;
    if (Object.keys(changes).length) this.actions.do({ type: "change_class", class: id, ...changes });
  }

  /** First says what would go, then does it. */
  _delete() {
    const { id } = this.edited;
    const now = this.store.values.classes.find((each) => each.id === id);
    const warning = byId("delete-warning");
    if (now && warning.hidden && now.pixels) {
      warning.textContent = `${counted(now.marks, "mark")} with ${counted(now.pixels, "labelled pixel")} will go with “${now.name}”. You can undo this.`;
      warning.hidden = false;
      byId("delete-class").textContent = `Delete with ${counted(now.marks, "mark")}`;
      return;
    }
    this.dialog.close();
    if (!now) return;
    this.actions.do({ type: "delete_class", class: id });
  }
}
