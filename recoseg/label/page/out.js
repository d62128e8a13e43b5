// What comes out: an accepted prediction, which becomes labels by a person's choice, and files.

import { byId, counted } from "./dom.js";

/**
 * @param {import("./state.js").Store} store
 * @param {import("./server.js").Server} server
 * @param {import("./actions.js").Actions} actions
 * @param {{say: (text: string) => void, warn: (text: string) => void}} page
 */
export function bindOut(store, server, actions, page) {
  const accept = byId("accept");
  store.on(["image"], ({ image }) => (accept.disabled = !image?.prediction));
  accept.addEventListener("click", async () => {
    const { key, prediction } = store.values.image;
    const record = await actions.whenSaved({ type: "accept", image: key, version: prediction, above: Number(byId("above").value) });
    if (record) page.say("The prediction is accepted.");
  });

  byId("export").addEventListener("submit", async (event) => {
    event.preventDefault();
    const what = [...document.querySelectorAll("#export-what input:checked")].map((box) => box.value);
    const text = byId("export-text");
    if (!what.length) {
      text.textContent = "Tick what you want.";
      return;
    }
    text.textContent = "Writing …";
    try {
      const { folder, files, left_out: leftOut } = await server.ask("/api/export", { body: { what, of: byId("export-of").value } });
      text.textContent = `${counted(files, "file")} in ${folder}${leftOut ? `; ${counted(leftOut, "image")} cannot be read` : ""}`;
    } catch (error) {
      text.textContent = "";
      page.warn(`Export: ${error.message}`);
    }
  });
}
