// The page as a whole: makes its parts, joins them, and tells them what the server says.

import { Actions } from "./actions.js";
import { ClassesPanel } from "./classes.js";
import { byId, counted, percent, settled, uniqueName } from "./dom.js";
import { ImageOpener } from "./image_opener.js";
import { Keys } from "./keys.js";
import { bindLearning } from "./learning.js";
import { LocalMarks } from "./marks.js";
import { bindOut } from "./out.js";
import { Outbox, Shelf } from "./outbox.js";
import { bindOverlays, LAYERS } from "./overlays.js";
import { Pointer } from "./pointer.js";
import { Queue } from "./queue.js";
import { bindSaved, say, warn } from "./saved.js";
import { EventFeed, Refusal, Server } from "./server.js";
import { Stage } from "./stage.js";
import { nameOf, newStore } from "./state.js";
import { Thumbnails } from "./thumbnails.js";

const server = new Server(uniqueName());
const store = newStore();
const marks = new LocalMarks();
const actions = new Actions(store, marks, server.client);
const shelf = new Shelf();
const outbox = new Outbox(server, shelf, {
  accepted: applied,
  refused: (action, message) => {
    actions.refused(action);
    (action.type.endsWith("do") ? say : warn)(`Not done: ${message}`);
  },
  changed: (unsaved, trouble) => store.set({ saving: { unsaved, trouble } }),
});
actions.outbox = outbox;

const stage = new Stage(byId("stage"), server, store, marks);
actions.added = (mark) => stage.add(mark);
actions.redraw = () => stage.redraw("labels");
const thumbnails = new Thumbnails(server, store, (index) => opener.at(index));
const opener = new ImageOpener(server, store, stage, thumbnails);
const queue = new Queue(server, store, actions, { goTo: (spot) => opener.spot(spot), say, warn });
const person = {
  label, mark, tell, say, undo, redo, alone,
  choose: (key) => choose(key === 0 ? "void" : store.values.classes.find((each) => each.key === key)?.id),
  step: (by) => opener.step(by),
  showSpot: () => queue.show(),
  ask: () => queue.toggle(),
  skip: () => queue.skip(),
  nextLayer: () => store.set({ layer: LAYERS[(LAYERS.indexOf(store.values.layer) + 1) % LAYERS.length] }),
};
const pointer = new Pointer(stage, store, person);
new Keys(stage, pointer, store, person);
new ClassesPanel(store, actions, choose);
bindOverlays(store);
bindLearning(store, server, warn);
bindOut(store, server, actions, { say, warn });
bindSaved(store, shelf);
bindFrame();

let heard = 0; // the number of the last action that the stream of events told
let isCaughtUp = false;
const feed = new EventFeed(server, {
  since: () => heard,
  tell: hear,
  opened: () => {
    store.set({ connected: true });
    isCaughtUp = false;
    outbox.hurry();
  },
  lost: () => store.set({ connected: false }),
});

async function begin() {
  try {
    await load();
  } catch (error) {
    if (error instanceof Refusal && error.final) {
      warn(error.status === 403 ? "Open the address that recoseg label printed: it lets this browser in." : error.message, true);
      return;
    }
    store.set({ connected: false });
    setTimeout(begin, 1500);
    return;
  }
  outbox.restore().then((unsent) => actions.restored(unsent));
  heard = store.values.version;
  feed.open();
  remember();
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (wanted) await opener.key(wanted).catch(() => opener.at(0));
  else await opener.at(0);
  if (!store.values.classes.length) byId("new-name").focus();
}

async function load() {
  const { id, learner, training, folder, total, ...counted } = await server.ask("/api/state");
  shelf.folder = id;
  store.set({ learner, training, folder, total });
  count(counted);
  document.title = `${store.values.folder} · recoseg label`;
}

/** Classes and what is counted; an answer may be overtaken by an event, and then is old. */
function count(counted) {
  if (counted.version >= store.values.version) store.set(counted);
}

// ---- What the server tells

function hear(name, data) {
  if (!isCaughtUp) catchUp();
  if (name === "action") {
    heard = Math.max(heard, data.number);
    applied(data);
  } else if (name === "reload") {
    heard = data.version;
    load().catch(() => {});
    stage.labels.renew(data.version);
    stage.redraw("labels");
    thumbnails.forget();
  } else if (name === "classes") count(data);
  else if (name === "learner" || name === "training") store.set({ [name]: data });
  else if (name === "shares") {
    store.set({ classes: store.values.classes.map((each) => ({ ...each, share: data[each.id] ?? null })) });
  } else if (name === "predictions") opener.predicted(data);
  else if (name === "trouble") warn(data.message);
}

/** What changed before the stream was listened to, and is not an action. */
function catchUp() {
  isCaughtUp = true;
  load().catch(() => {});
  opener.renew();
}

/** A record of the journal, whoever tells it first: the answer to an action or the stream. */
function applied(record) {
  actions.recorded(record);
  const { image } = store.values;
  if (record.type === "delete_class" || record.undone_type === "delete_class") {
    stage.labels.renew(record.number);
    thumbnails.forget();
  } else if (record.image && record.type !== "skip") {
    if (image?.key === record.image) stage.labels.renew(record.number, record.box);
    else if (record.client === server.client && record.type.endsWith("do")) warn(`In ${record.image}: ${record.type === "undo" ? "undone" : "done again"}.`);
    opener.refresh(record.image);
  }
  if (record.client === server.client && (record.type === "mark" || record.type === "skip")) queue.refill();
  stage.redraw("labels");
}

// ---- What a person does

/** The class that a mark would have; undefined: there is none yet, which the page says. */
function label() {
  const { chosen, classes } = store.values;
  if (chosen === "void" || classes.some(({ id }) => id === chosen)) return chosen;
  warn(classes.length ? "Choose a class first." : "Add a class first.");
  if (!classes.length) byId("new-name").focus();
  return undefined;
}

function mark(label, shape, at, radius) {
  const { image } = store.values;
  actions.mark(image.key, label, shape, at, radius);
  queue.marked(image.key, label, shape, at);
  const name = label === null ? "Erased" : nameOf(store.values, label);
  say(shape === "points" ? `${name} at ${at[0].join(", ")}.` : `${name}: ${shape}.`);
}

function choose(id, name = nameOf(store.values, id)) {
  if (id === undefined) return;
  store.set({ chosen: id, ...(store.values.tool === "erase" ? { tool: "draw" } : {}) });
  if (store.values.asking) queue.answer(id);
  else say(`${name} chosen.`);
}

function alone() {
  const { chosen, alone: shown } = store.values;
  store.set({ alone: typeof chosen === "number" && shown !== chosen ? chosen : null });
}

function undo() {
  queue.undone();
  say(actions.undo() ? "Undone." : "Nothing to undo.");
}

function redo() {
  say(actions.redo() ? "Done again." : "Nothing to do again.");
}

const sayWhere = settled(say, 300);

/** The pixel under the pointer or, `aloud`, the crosshair. */
function tell(x, y, aloud = false) {
  const { label: id, guess, confidence } = stage.tell(x, y);
  const parts = [`${x}, ${y}`];
  if (id !== null) parts.push(`label: ${nameOf(store.values, id)}`);
  if (guess !== null) parts.push(`predicted: ${nameOf(store.values, guess)}, ${percent(confidence)} sure`);
  byId("readout").textContent = parts.join(" · ");
  if (aloud) sayWhere(parts.join("; "));
}

// ---- Buttons around the image

function bindFrame() {
  store.on(["folder"], ({ folder }) => (byId("folder").textContent = folder || "recoseg label"));
  store.on(["labelled", "total"], ({ labelled, total }) => {
    byId("progress").textContent = total ? `${labelled.toLocaleString("en")} of ${counted(total, "image")} labelled` : "";
  });
  store.on(["undo", "redo", "saving"], () => {
    byId("undo").disabled = !actions.canUndo;
    byId("redo").disabled = !actions.canRedo;
  });
  store.on(["tool", "spot"], ({ tool }) => (stage.element.dataset.tool = tool));
  store.on(["classes"], ({ classes, chosen }) => {
    const isThere = chosen === "void" || classes.some(({ id }) => id === chosen);
    if (!isThere) store.set({ chosen: classes[0]?.id ?? null });
  });
  byId("undo").title = "Ctrl + Z";
  byId("redo").title = "Ctrl + Shift + Z";
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  const look = (change) => () => {
    change(stage.view);
    stage.shift();
  };
  byId("zoom-in").addEventListener("click", look((view) => view.zoom(1.5)));
  byId("zoom-out").addEventListener("click", look((view) => view.zoom(1 / 1.5)));
  byId("zoom-fit").addEventListener("click", look((view) => view.fit()));
  stage.moved = () => (byId("zoom-text").textContent = percent(stage.view.scale));
  stage.element.addEventListener("pointerleave", () => (byId("readout").textContent = ""));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    stage.element.focus();
  });
}

/** A reload finds the same class and overlay. */
function remember() {
  const names = ["chosen", "layer", "opacity", "outlines", "radius"];
  const kept = JSON.parse(sessionStorage.getItem("recoseg label") ?? "{}");
  const { classes } = store.values;
  if (kept.chosen !== "void" && !classes.some(({ id }) => id === kept.chosen)) delete kept.chosen;
  store.set(kept);
  store.on(names, (values) => {
    sessionStorage.setItem("recoseg label", JSON.stringify(Object.fromEntries(names.map((name) => [name, values[name]]))));
  });
}

begin();
