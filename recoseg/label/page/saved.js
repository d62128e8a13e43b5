// The honest word on what is saved, what is said aloud, and notices of what went wrong.

import { byId, counted, make } from "./dom.js";

const NOTICE = 8000; // milliseconds

/** @param {import("./state.js").Store} store @param {{works: boolean}} shelf */
export function bindSaved(store, shelf) {
  store.on(["saving", "connected"], ({ saving, connected }) => {
    const { unsaved, trouble } = saving;
    if (unsaved && trouble) {
      const kept = shelf.works ? "It is kept in this browser, and sent again." : "It is kept only while this page is open, and sent again.";
      show("unsaved", `Not saved: ${counted(unsaved, "action")}`, `${trouble}. ${kept}`, `, ${trouble}`);
    } else if (unsaved) show("saving", "Saving", "On its way to the disk.");
    else if (connected === null) show("saving", "Opening", "The server has not answered yet.");
    else if (!connected) show("gone", "Saved, but the server is gone", "It does not answer. The page goes on trying.");
    else show("saved", "Saved", "Everything is on the disk of the server.");
  });
  window.addEventListener("beforeunload", (event) => {
    if (!store.values.saving.unsaved) return;
    event.preventDefault();
    event.returnValue = ""; // for older browsers
  });
}

function show(state, text, more, reason = "") {
  const box = byId("saved");
  const before = box.dataset.state;
  box.dataset.state = state;
  box.title = more;
  byId("saved-text").textContent = text;
  byId("saved-reason").textContent = reason;
  const isGood = (each) => each === "saved" || each === "saving";
  if (isGood(before) !== isGood(state)) say(`${text}. ${more}`); // not with every click
}

/** For those who do not see the image. @param {string} text */
export function say(text) {
  byId("said").textContent = text;
}

/** A line that goes away by itself, unless it `lasts`. @param {string} text */
export function warn(text, lasts = false) {
  const close = make("button", { type: "button", "aria-label": "Close", class: "quiet" }, "×");
  const notice = make("p", { class: "notice" }, make("span", {}, text), close);
  close.addEventListener("click", () => notice.remove());
  if (!lasts) setTimeout(() => notice.remove(), NOTICE);
  const all = byId("notices");
  all.append(notice);
  while (all.children.length > 3) all.firstChild.remove();
}
