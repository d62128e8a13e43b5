// Sorting tables, flipping pictures, telling the numbers of heat maps, opening what is folded for print.
"use strict";

for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;

// ---- Sorting: largest first (names: A first), then the reverse, then the dataset's own order.

for (const table of document.querySelectorAll("table.sortable")) {
  makeSortable(table, document.getElementById(table.dataset.chooser));
}

function makeSortable(table, chooser) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const heads = [...table.querySelectorAll("th[data-key]")];
  const orders = ["none", "descending", "ascending"];

  // Where there are several runs, a row has iou-0, iou-1, ..., and the chooser says which counts.
  function valueOf(row, key) {
    return row.getAttribute("data-" + key) ?? row.getAttribute(`data-${key}-${chooser ? chooser.value : "0"}`);
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

// ---- Pictures: all change their view together.

const gallery = document.getElementById("gallery");
if (gallery) makeSwitchable(gallery, [...document.querySelectorAll("input[name=view]")]);

function makeSwitchable(gallery, choices) {
  for (const tiles of gallery.querySelectorAll(".tiles")) lendFirst(tiles);
  const over = document.getElementById("over");

  function show(choice) {
    choice.checked = true;
    gallery.dataset.view = choice.value;
    gallery.dataset.over = over.checked;
  }

  // Round and round through the single views; from side by side one comes to the image.
  function turn(by) {
    const now = choices.findIndex((choice) => choice.checked);
    const count = choices.length - 1;
    show(choices[now === 0 ? (by > 0 ? 1 : count) : ((now - 1 + by + count) % count) + 1]);
  }

  for (const choice of choices) choice.addEventListener("change", () => show(choice));
  over.addEventListener("change", () => show(choices.find((choice) => choice.checked)));
  show(choices.find((choice) => choice.checked)); // a browser may remember another than the first
  gallery.addEventListener("click", (event) => {
    if (event.target.closest(".frame")) turn(1);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
    if (/^\d$/.test(event.key) && choices[event.key]) show(choices[event.key]);
    else if (event.key === "o") over.click();
    else if (gallery.contains(event.target) && event.key === "ArrowRight") turn(1);
    else if (gallery.contains(event.target) && event.key === "ArrowLeft") turn(-1);
    else return;
    event.preventDefault();
  });
}

// The image and the truth are in the file once; the tiles of the other runs get copies to flip to.
function lendFirst(tiles) {
  const [first, ...others] = tiles.querySelectorAll(".frame");
  tiles.style.setProperty("--photo", `url(${first.querySelector("[data-view=image] img").src})`);
  for (const frame of others) {
    for (const view of ["truth", "image"]) {
      const copy = first.querySelector(`[data-view=${view}]`).cloneNode(true);
      copy.classList.add("copy");
      frame.prepend(copy);
    }
  }
}

// ---- Heat maps: the number under the pointer, or under a cursor that the arrow keys move.

for (const cells of document.querySelectorAll(".cells")) makeTelling(cells);

function makeTelling(cells) {
  const names = JSON.parse(cells.dataset.names);
  const values = JSON.parse(cells.dataset.values);
  const { says, decimals } = cells.dataset;
  const count = names.length;
  const cursor = cells.querySelector(".cursor");
  const readout = cells.closest(".heat").querySelector(".readout");
  let place = [0, 0];

  function tell(row, column) {
    place = [row, column].map((index) => Math.min(count - 1, Math.max(0, index)));
    const value = values[place[0] * count + place[1]];
    const parts = {
      row: names[place[0]],
      column: names[place[1]],
      value: value === null ? "–" : (value / 10 ** decimals).toFixed(decimals).replace("-", "−"),
    };
    readout.textContent = says.replace(/\{(\w+)\}/g, (_, part) => parts[part]);
    cursor.hidden = false;
    cursor.style.top = `${(100 * place[0]) / count}%`;
    cursor.style.left = `${(100 * place[1]) / count}%`;
  }

  function pointed(event) {
    const box = cells.getBoundingClientRect();
    const share = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    tell(...share.map((part) => Math.floor(part * count)));
  }

  cells.addEventListener("pointermove", pointed);
  cells.addEventListener("pointerdown", pointed);
  cells.addEventListener("focus", () => {
    if (cells.matches(":focus-visible")) tell(...place);
  });
  cells.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    tell(place[0] + step[0], place[1] + step[1]);
  });
}

// ---- Paper shows what is folded away on the screen, and all views of the pictures.

window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  if (gallery) gallery.dataset.view = "side";
});
window.addEventListener("afterprint", () => {
  if (gallery) gallery.dataset.view = document.querySelector("input[name=view]:checked").value;
});
