// What lies over the image: prediction or confidence, how strong, outlines, one class alone; and the tools above it.

import { byId, make, percent } from "./dom.js";

export const LAYERS = ["none", "prediction", "confidence"];

/** @param {import("./state.js").Store} store */
export function bindOverlays(store) {
  bindChoice(store, "layer");
  bindChoice(store, "tool");
  bindTick(store, "outlines");
  bindTick(store, "marks");
  bindSlider(store, "opacity", (value) => value / 100, (value) => Math.round(100 * value), (value) => percent(value));
  bindSlider(store, "radius", (value) => value, (value) => value, (value) => `${2 * value + 1} px`);
  store.on(["layer"], ({ layer }) => {
    byId("confidence-scale").hidden = layer !== "confidence";
    byId("outlines").disabled = layer !== "prediction";
  });

  const alone = byId("alone");
  alone.addEventListener("change", () => store.set({ alone: alone.value === "" ? null : Number(alone.value) }));
  store.on(["classes", "alone"], ({ classes, alone: chosen }) => {
    if (chosen !== null && !classes.some(({ id }) => id === chosen)) return store.set({ alone: null });
    alone.replaceChildren(make("option", { value: "" }, "all classes"),
      ...classes.map(({ id, name }) => make("option", { value: id }, `${name} alone`)));
    alone.value = chosen === null ? "" : String(chosen);
    return undefined;
  });
}

function bindChoice(store, name) {
  const choices = [...document.querySelectorAll(`input[name=${name}]`)];
  for (const choice of choices) choice.addEventListener("change", () => store.set({ [name]: choice.value }));
  store.on([name], (values) => {
    for (const choice of choices) choice.checked = choice.value === values[name];
  });
}

function bindTick(store, name) {
  const box = byId(name);
  box.addEventListener("change", () => store.set({ [name]: box.checked }));
  store.on([name], (values) => (box.checked = values[name]));
}

function bindSlider(store, name, read, write, tell) {
  const slider = byId(name);
  slider.addEventListener("input", () => store.set({ [name]: read(Number(slider.value)) }));
  store.on([name], (values) => {
    slider.value = String(write(values[name]));
    byId(`${name}-text`).textContent = tell(values[name]);
    slider.setAttribute("aria-valuetext", tell(values[name]));
  });
}
