// The gallery of predictions: which panel of each strip is shown, and in which order.
"use strict";

for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;

const cards = document.getElementById("cards");
const leastFirst = [...cards.children];

// ---- A narrow screen begins with overlays: three panels beside each other would be stamps.

const views = [...document.querySelectorAll("input[name=view]")];
const begin = matchMedia("(max-width: 44rem)").matches ? "overlay" : "side";

function show(view) {
  view.checked = true;
  cards.dataset.view = view.value;
}

for (const view of views) view.addEventListener("change", () => show(view));
show(views.find((view) => view.checked) ?? views.find((view) => view.value === begin));

// ---- The file has the least certain first.

const orders = {
  least: () => leastFirst,
  most: () => leastFirst.toReversed(),
  name: () => {
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    return leastFirst.toSorted((one, other) => compare(one.dataset.name, other.dataset.name));
  },
};
const order = document.getElementById("order");

function sort() {
  cards.append(...orders[order.value]());
}

order.addEventListener("change", sort);
if (order.value !== "least") sort(); // a browser may remember another

// ---- Paper shows all panels, and fetches what was never in sight.

window.addEventListener("beforeprint", () => {
  for (const image of cards.querySelectorAll("img")) image.loading = "eager";
  cards.dataset.view = "side";
});
window.addEventListener("afterprint", () => {
  cards.dataset.view = views.find((view) => view.checked).value;
});
