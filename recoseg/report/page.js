// Sorting the table of classes, switching the view of the pictures, opening the settings for print.
"use strict";

for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;

// ---- Sorting: largest first (names: A first), then the reverse, then the dataset's own order.

const table = document.querySelector("table.classes");
if (table) makeSortable(table, document.getElementById("sort-run"));

function makeSortable(table, chooser) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const heads = [...table.querySelectorAll("th[data-key]")];
  const orders = ["none", "descending", "ascending"];

  function valueOf(row, key) {
    const perRun = key === "iou" || key === "accuracy";
    return row.getAttribute("data-" + (perRun ? key + "-" + (chooser ? chooser.value : "0") : key));
  }

  function compare(key, one, other) {
    if (key === "class") return other.localeCompare(one, undefined, { numeric: true });
    return one - other;
  }

  function sort(head) {
    const { key } = head.dataset;
    const order = head.getAttribute("aria-sort");
    const sign = order === "ascending" ? 1 : -1;
    const known = original.filter((row) => valueOf(row, key) !== null);
    const unknown = original.filter((row) => valueOf(row, key) === null);
    known.sort((one, other) => sign * compare(key, valueOf(one, key), valueOf(other, key)));
    body.append(...(order === "none" ? original : [...known, ...unknown]));
  }

  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const next = orders[(orders.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      for (const each of heads) each.setAttribute("aria-sort", each === head ? next : "none");
      sort(head);
    });
  }

  if (chooser) {
    chooser.addEventListener("change", () => {
      const head = heads.find((each) => each.getAttribute("aria-sort") !== "none");
      if (head && head.dataset.key !== "class" && head.dataset.key !== "share") return sort(head);
      table.querySelector("th[data-key=iou] button").click();
    });
  }
}

// ---- Pictures: labels, labels over the image, errors. All pictures change together.

const gallery = document.getElementById("gallery");
if (gallery) makeSwitchable(gallery, [...document.querySelectorAll("input[name=view]")]);

function makeSwitchable(gallery, choices) {
  for (const tiles of gallery.querySelectorAll(".tiles")) {
    tiles.style.setProperty("--photo", `url(${tiles.querySelector("img.photo").src})`);
  }

  function show(choice) {
    choice.checked = true;
    gallery.dataset.view = choice.value;
  }

  function cycle() {
    show(choices[(choices.findIndex((choice) => choice.checked) + 1) % choices.length]);
  }

  for (const choice of choices) choice.addEventListener("change", () => show(choice));
  show(choices.find((choice) => choice.checked)); // a browser may remember another than the first
  gallery.addEventListener("click", (event) => {
    if (event.target.closest(".frame")) cycle();
  });
  document.addEventListener("keydown", (event) => {
    const choosing = document.activeElement.matches("select"); // there a letter picks an option
    if (event.key === "v" && !event.ctrlKey && !event.metaKey && !event.altKey && !choosing) cycle();
  });
}

// ---- Paper shows what is folded away on the screen.

window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
