// The page as a whole: makes its parts, joins them, and tells them what the server says.

import { Actions } from "./actions.js";
import { ClassesPanel } from "./classes.js";
import { byId, counted, percent, settled, uniqueName } from "./dom.js";
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

const token = new URLSearchParams(location.search).get("token") ?? "";
const server = new Server(token, uniqueName());
const store = newStore();
const marks = new LocalMarks();
const actions = new Actions(store, marks, server.client);
const shelf = new Shelf(token);
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
const thumbnails = new Thumbnails(server, store, openAt);
const queue = new Queue(server, store, actions, { goTo, say, warn });
const person = {
  label, mark, tell, say, undo, redo, alone,
  choose: (index) => choose(index === "void" ? "void" : store.values.classes[index]?.id),
  step: (by) => openAt(thumbnails.current + by),
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
      warn(error.status === 403 ? "The server wants the token: use the address that it printed." : error.message);
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
  if (wanted) await openKey(wanted).catch(() => openAt(0));
  else await openAt(0);
  if (!store.values.classes.length) byId("new-name").focus();
}

async function load() {
  const { learner, training, folder, total, ...counted } = await server.ask("/api/state");
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
  } else if (name === "predictions") predicted(data);
  else if (name === "trouble") warn(data.message);
}

/** What changed before the stream was listened to, and is not an action. */
function catchUp() {
  isCaughtUp = true;
  load().catch(() => {});
  if (store.values.image) renew(store.values.image.key, opening);
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
    refresh(record.image);
  }
  if (record.client === server.client && (record.type === "mark" || record.type === "skip")) queue.refill();
  stage.redraw("labels");
}

const toRefresh = new Set();
const refreshSoon = settled(async () => {
  const keys = [...toRefresh];
  toRefresh.clear();
  for (const key of keys) {
    const image = await server.ask("/api/image", { query: { key } }).catch(() => null);
    if (!image) continue;
    thumbnails.update(image);
    if (store.values.image?.key === key) learned(image);
  }
}, 250);

/** Counts of an image, once its labels are at rest. */
function refresh(key) {
  toRefresh.add(key);
  refreshSoon();
}

function predicted({ version, images }) {
  const { image } = store.values;
  if (!image || !images.includes(image.key)) return;
  store.set({ image: { ...image, prediction: version } });
  stage.prediction.renew(version);
  stage.redraw("prediction");
}

// ---- Which image is open

let opening = 0;

async function openAt(index) {
  if (index < 0 || index >= store.values.total) return;
  const turn = ++opening;
  thumbnails.choose(index);
  const image = await thumbnails.image(index).catch(() => null);
  if (turn !== opening || !image) return;
  present(image);
  await renew(image.key, turn);
}

async function openKey(key) {
  const turn = ++opening;
  if (store.values.image?.key === key) return;
  const image = await server.ask("/api/image", { query: { key, client: server.client } });
  if (turn !== opening) return;
  thumbnails.choose(image.index);
  present(image);
}

function present(image) {
  if (store.values.spot && store.values.spot.image !== image.key && !store.values.asking) store.set({ spot: null });
  store.set({ image });
  stage.open(image);
  showPlace();
  history.replaceState(null, "", `#${encodeURIComponent(image.key)}`);
}

/** What is new of an image that was shown as it was known; also tells the learner who looks where. */
async function renew(key, turn) {
  const image = await server.ask("/api/image", { query: { key, client: server.client } }).catch(() => null);
  if (!image || turn !== opening) return;
  thumbnails.update(image);
  learned(image);
  stage.labels.renew(image.labels);
  stage.prediction.renew(image.prediction);
  stage.redraw("labels", "prediction");
}

/** An answer on the open image; events may have overtaken it. */
function learned(image) {
  const { labels, prediction } = store.values.image;
  store.set({ image: { ...image, labels: Math.max(labels, image.labels), prediction: Math.max(prediction, image.prediction) } });
}

function showPlace() {
  const { image, total } = store.values;
  byId("number").value = String(thumbnails.current + 1);
  byId("number").max = String(total);
  byId("previous").disabled = thumbnails.current <= 0;
  byId("next").disabled = thumbnails.current >= total - 1;
  if (!image) return;
  byId("image-name").textContent = image.key;
  byId("image-name").title = image.key;
  stage.element.setAttribute("aria-label", `Image ${image.key}, ${image.width} by ${image.height} pixels`);
}

/** Opens the image of a spot, close enough to see the pixel and far enough to know what it is part of. */
async function goTo(spot) {
  await openKey(spot.image);
  const { view } = stage;
  const close = Math.min(4, Math.min(view.width, view.height) / 320);
  const below = byId("question").offsetHeight + 60; // the question must not hide what it is about
  view.focus(spot.x + 0.5, spot.y + 0.5, Math.max(view.fittingScale(), close), below);
  stage.crosshair = null;
  stage.shift();
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

function choose(id) {
  if (id === undefined) return;
  store.set({ chosen: id, ...(store.values.tool === "erase" ? { tool: "draw" } : {}) });
  if (store.values.asking) queue.answer(id);
  else say(`${nameOf(store.values, id)} chosen.`);
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
  store.on(["total"], ({ total }) => {
    byId("total").textContent = total.toLocaleString("en");
    showPlace();
  });
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
  byId("previous").addEventListener("click", () => openAt(thumbnails.current - 1));
  byId("next").addEventListener("click", () => openAt(thumbnails.current + 1));
  byId("number").addEventListener("change", () => openAt(Number(byId("number").value) - 1));
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
