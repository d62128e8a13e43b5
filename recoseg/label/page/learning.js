// What is seen of learning: what the learner does, the curve of agreement, and full training with its progress.

import { byId, counted, draw, make, percent } from "./dom.js";

const [WIDTH, HEIGHT] = [280, 96];

/** Clicks that the agreement is a share of, and the fewest that give a percentage. */
const [LATEST, FEW] = [50, 20];

/** @param {import("./state.js").Store} store @param {import("./server.js").Server} server @param {(message: string) => void} warn */
export function bindLearning(store, server, warn) {
  store.on(["learner", "classes"], ({ learner, classes }) => learner && showLearner(learner, classes ?? []));
  store.on(["training", "learner"], ({ training, learner }) => training && showTraining(training, learner));
  const buttons = [byId("train"), byId("discard")];
  const request = async (what) => {
    for (const button of buttons) button.disabled = true;
    try {
      store.set({ training: await server.ask("/api/training", { body: { do: what } }) });
    } catch (error) {
      warn(`Training: ${error.message}`);
    }
    for (const button of buttons) button.disabled = false;
  };
  byId("train").addEventListener("click", () => request(store.values.training?.phase === "running" ? "stop" : "start"));
  byId("discard").addEventListener("click", () => request("discard"));
}

function showLearner(learner, classes) {
  const { phase, message, features, seconds, agreement } = learner;
  const texts = {
    waiting: "Click at least one pixel of two classes to start training.",
    features: "Reading the images …",
    learning: "Training on your clicks …",
    ready: seconds ? `Up to date: trained in ${seconds.toFixed(1)} s.` : "Up to date.",
    failed: "The learner stopped.",
  };
  const text = byId("learner");
  text.dataset.phase = phase;
  const isLooking = features.done < features.total && phase !== "failed";
  const known = isLooking ? `${features.done.toLocaleString("en")} of ${counted(features.total, "image")} looked at.` : "";
  const words = [texts[phase] ?? phase, message, known].filter(Boolean).join(" ");
  if (text.textContent !== words) text.textContent = words;
  progress("features", features.done, features.total, isLooking);
  const { count, latest, curve } = agreement ?? { count: 0 };
  byId("agreement").hidden = !count;
  if (!count) return;
  const recent = Math.min(count, LATEST);
  const isFew = recent < FEW;
  byId("agreement-now").textContent = isFew ? `${Math.round(latest * recent)} of ${recent}` : percent(latest);
  byId("agreement-of").textContent = isFew ? "clicks were" : `of the latest ${recent} clicks were`;
  byId("curve").replaceChildren(agreementChart(curve, count, latest));
  byId("agreement-classes").replaceChildren(...classes
    .filter(({ id }) => agreement.classes?.[id])
    .map(({ id, name }) => {
      const [right, clicks] = agreement.classes[id];
      return make("li", {}, `${name}: ${right} of ${counted(clicks, "click")}`);
    }));
}

function showTraining(training, learner) {
  const { phase, message, step, steps, held_back: held, used } = training;
  const isRunning = phase === "running";
  const texts = {
    none: "Full training takes minutes and is usually more accurate.",
    running: steps ? `Full training: step ${step.toLocaleString("en")} of ${steps.toLocaleString("en")}.` : "Full training begins …",
    stopped: "Full training is stopped; it goes on from there.",
    finished: "Full training is finished.",
    failed: "Full training failed.",
  };
  const scores = held ? ` On points held back: quick ${percent(held.quick)}, full ${percent(held.full)}${used ? ", which is shown" : ""}.` : "";
  const words = [texts[phase] ?? phase, message].filter(Boolean).join(" ") + scores;
  if (byId("training-text").textContent !== words) byId("training-text").textContent = words;
  progress("training-progress", step, steps, isRunning);
  byId("train").textContent = isRunning ? "Stop training" : phase === "stopped" ? "Go on training" : "Train fully";
  byId("discard").hidden = isRunning || phase === "none";
  byId("train").disabled = !isRunning && (!learner || learner.phase === "waiting");
}

function progress(id, value, max, isShown) {
  const bar = byId(id);
  bar.hidden = !isShown;
  if (max) [bar.max, bar.value] = [max, value];
  else bar.removeAttribute("value");
}

/** @param {number[][]} curve pairs of clicks and share */
function agreementChart(curve, count, latest) {
  const last = Math.max(2, curve.at(-1)[0]);
  const place = ([clicks, share]) => [((clicks - 1) / (last - 1)) * WIDTH, (1 - share) * HEIGHT];
  const chart = draw("svg", { viewBox: `-44 -8 ${WIDTH + 50} ${HEIGHT + 30}`, role: "img",
    "aria-label": `Agreement over ${counted(count, "click")}: ${percent(latest)} of the latest were predicted right` });
  for (const share of [0, 0.5, 1]) {
    const y = (1 - share) * HEIGHT;
    chart.append(draw("line", { x1: 0, x2: WIDTH, y1: y, y2: y }),
      draw("text", { x: -6, y: y + 4, "text-anchor": "end" }, percent(share)));
  }
  chart.append(draw("text", { x: 0, y: HEIGHT + 17 }, "1"),
    draw("text", { x: WIDTH, y: HEIGHT + 17, "text-anchor": "end" }, counted(last, "click")));
  const points = curve.map(place);
  chart.append(draw("path", { d: `M${points.map((point) => point.map((part) => part.toFixed(1)).join(" ")).join("L")}` }));
  const [x, y] = points.at(-1);
  chart.append(draw("circle", { cx: x, cy: y, r: 3.5 }));
  return chart;
}
